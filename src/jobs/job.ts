import type { Role, Viewer } from '../auth/viewer.ts';
import type { UpstreamName } from '../errors.ts';
import type { ExportFormat } from './exports/export-lines.ts';
import type { SavedPace } from './pace.ts';

/** The states of a job. The last four are final. */
export const jobStates = [
  'QUEUED',
  'RUNNING',
  'PAUSED',
  'DONE',
  'FAILED',
  'CANCELED',
  'EXPIRED',
] as const;

/** One of `jobStates`. */
export type JobState = (typeof jobStates)[number];

/** Who has started a job: it acts with the permissions that this caller has at each step. */
export interface JobOwner extends Pick<Viewer, 'callerClass' | 'isAnonymous' | 'name'> {
  readonly role: Role | null;
}

/** Why a job has failed or is paused. */
export interface JobError {
  readonly code: string;
  readonly message: string;
}

/** How far a job is. All times are in milliseconds since 1970. */
export interface JobProgress {
  /** Rows of the list that are complete. */
  readonly rowsDone: number;
  /** `null` while it is unknown. */
  readonly rowsTotal: number | null;
  /** Number of lines with errors. */
  readonly failures: number;
  /** Number of upstream requests so far. */
  readonly calls: number;
  /** Estimated number of further ones; `null` while it is unknown. */
  readonly callsLeft: number | null;
  /** The API that most of them are sent to. */
  readonly upstream: UpstreamName;
  /** When the oldest and the newest data of the output were requested; `null` before the first. */
  readonly oldest: number | null;
  readonly newest: number | null;
  /** With a maximum per minute: the pace so far. */
  readonly pace?: SavedPace;
  /** The cursor after which the next step begins; `null` before the first one. */
  readonly after: string | null;
}

/** What is saved of a job. All times are in milliseconds since 1970. */
export interface JobRecord {
  readonly id: string;
  readonly owner: JobOwner;
  readonly format: ExportFormat;
  /** Whether a step of the most rows fits into the requests of a step, even if nothing is cached: none needs a dry run. */
  readonly isCheap: boolean;
  /** The text of its query, with its variables. */
  readonly text: string;
  readonly variables: Readonly<Record<string, unknown>>;
  /** The name of its file without an extension, such as `channels`. */
  readonly name: string;
  /**
   * The idempotency key by which its owner started it, and the fingerprint of all of its input: a retry finds the job.
   * `null` without a key.
   */
  readonly key: { readonly name: string; readonly fingerprint: string } | null;
  /** Maximum number of its requests per minute; `null` for no limit of its own. */
  readonly maxPerMinute: number | null;
  readonly createdAt: number;
  /** When it may start. */
  readonly startAt: number;
  /** When it has started for the first time; `null` before. */
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly state: JobState;
  /** Present if it has failed, or is paused for a reason. */
  readonly error: JobError | null;
  readonly progress: JobProgress;
}

/** What is decided about a record when it is created. */
type NewJob = Pick<
  JobRecord,
  | 'format'
  | 'id'
  | 'isCheap'
  | 'key'
  | 'maxPerMinute'
  | 'name'
  | 'owner'
  | 'startAt'
  | 'text'
  | 'variables'
> & {
  /** The API that it needs most. */
  readonly upstream: UpstreamName;
  /** The current time in milliseconds since 1970. */
  readonly wall: number;
};

/** The record of a new job, which has not started. */
export function newRecord({ upstream, wall, ...of }: NewJob): JobRecord {
  return {
    ...of,
    createdAt: wall,
    startedAt: null,
    endedAt: null,
    state: 'QUEUED',
    error: null,
    progress: {
      rowsDone: 0,
      rowsTotal: null,
      failures: 0,
      calls: 0,
      callsLeft: null,
      upstream,
      oldest: null,
      newest: null,
      after: null,
    },
  };
}

/** Whether a job has ended for good. */
export function isFinal(state: JobState): boolean {
  return !['QUEUED', 'RUNNING', 'PAUSED'].includes(state);
}

/**
 * Reads a saved record.
 * @throws TypeError for anything else.
 */
export function parseJobRecord(value: Partial<JobRecord> | undefined): JobRecord {
  const { format, id, owner, progress, state, text } = value ?? {};
  if (typeof id !== 'string' || typeof text !== 'string' || !progress || !format || !owner) {
    throw new TypeError('it is incomplete');
  }
  if (!jobStates.some((each) => each === state)) throw new TypeError('it has no state');
  return value as JobRecord;
}
