import { hash } from 'node:crypto';
import type { GraphQLSchema } from 'graphql';
import type { Viewer } from '../auth/viewer.ts';
import {
  BadUserInput,
  GatewayError,
  IdempotencyKeyInUse,
  IdempotencyKeyReused,
} from '../errors.ts';
import type { Clock } from '../scheduling/clock.ts';
import { RowLocks, type Unlock } from '../upstream/idempotency/row-locks.ts';
import { EndedJobs } from './ended-jobs.ts';
import {
  isFinal,
  type JobOwner,
  type JobRecord,
  type JobState,
  jobStates,
  newRecord,
} from './job.ts';
import type { JobOperations } from './job-operations.ts';
import { JobRuns } from './job-runs.ts';
import { checkedExport, type ExportInput } from './job-starts.ts';
import { Pace } from './pace.ts';
import type { StoredJob, StoredJobs } from './stored-jobs.ts';

/** Limits of all jobs. */
interface JobLimits {
  /** Maximum number of jobs that have not ended, of all callers and of one. */
  readonly most: number;
  readonly mostPerCaller: number;
  /** How long the output of a job is kept after its end, in milliseconds. */
  readonly keepMs: number;
}

interface JobsOptions {
  readonly clock: Clock;
  readonly schema: GraphQLSchema;
  readonly operations: JobOperations;
  readonly stored: StoredJobs;
  /** The owner of a job with its current permissions; `null` if it may not do anything any more. */
  readonly viewerOf: (owner: JobOwner) => Viewer | null;
  readonly limits: JobLimits;
  /** A job has another state. */
  readonly changed: (record: JobRecord) => void;
  /** Reports an unexpected error. */
  readonly defect: (error: unknown) => void;
}

/** A job by its start. */
export interface StartedJob {
  readonly record: JobRecord;
  /** Whether an earlier request with the same idempotency key has started it. */
  readonly isReplay: boolean;
}

/** How long a start waits for another one with the same idempotency key, in milliseconds. */
const SAME_KEY_MS = 10_000;

/** The jobs of a gateway: they run in the background, from slots that are left, and continue after a restart. */
export class Jobs {
  readonly #options: JobsOptions;
  readonly #runs: JobRuns;
  readonly #keyLocks: RowLocks;
  /** The jobs that are being checked or saved. */
  readonly #starting = new Set<Pick<JobRecord, 'id' | 'owner'>>();
  readonly #ended = new AbortController();
  readonly #endedJobs: EndedJobs;

  constructor(options: JobsOptions) {
    this.#options = options;
    this.#keyLocks = new RowLocks(options.clock);
    this.#endedJobs = new EndedJobs({ ...options, keepMs: options.limits.keepMs });
    this.#runs = new JobRuns({ ...options, changed: (record) => this.#changed(record) });
  }

  /** Continues the jobs of the owner before that have not ended. */
  begin(): void {
    for (const job of this.#all) this.#runs.begin(job);
    this.#endedJobs.expireLater();
  }

  /**
   * Starts an export. No upstream request by itself.
   * @throws GatewayError `BAD_USER_INPUT`, `FORBIDDEN`, `IDEMPOTENCY_KEY_REUSED`, `TOO_MANY_JOBS` or
   * `JOBS_NOT_CONFIGURED`.
   */
  async startExport(viewer: Viewer, input: ExportInput): Promise<StartedJob> {
    refuseKeyOfCaller(viewer);
    const unlock = input.key && (await this.#lockOf(viewer, input.key.name));
    try {
      const known = input.key && this.#keyed(viewer, input.key);
      if (known) return { record: known.record, isReplay: true };
      return { record: await this.#create(viewer, input), isReplay: false };
    } finally {
      unlock?.();
    }
  }

  /** A job that the viewer may see; `null` if there is none. */
  find(viewer: Viewer, id: string): StoredJob | null {
    const job = this.#options.stored.get(id);
    return job && maySee(viewer, job.record) ? job : null;
  }

  /**
   * The same.
   * @throws BadUserInput `BAD_USER_INPUT` if there is none.
   */
  get(viewer: Viewer, id: string): StoredJob {
    const job = this.find(viewer, id);
    if (job) return job;
    throw new BadUserInput('There is no job with this ID.');
  }

  /** The jobs that the viewer may see, the latest first. */
  list(viewer: Viewer, state: JobState | null): JobRecord[] {
    return this.#all
      .map(({ record }) => record)
      .filter((record) => maySee(viewer, record) && (state === null || record.state === state))
      .sort((one, other) => other.createdAt - one.createdAt || Number(other.id) - Number(one.id));
  }

  /** When a job will probably be complete, in milliseconds since 1970; `null` if that is unknown. */
  readyAt({ maxPerMinute, owner, progress, startAt, state }: JobRecord): number | null {
    const { clock, operations } = this.#options;
    const { callsLeft, upstream } = progress;
    const goesOn = state === 'QUEUED' || state === 'RUNNING';
    if (!goesOn || callsLeft === null) return null;
    const pace = maxPerMinute === null ? null : new Pace(clock, maxPerMinute, progress.pace);
    const paceMs = pace?.forecastMs(callsLeft) ?? 0;
    const slotsMs = operations.forecastMs(upstream, callsLeft, owner.callerClass);
    const ms = Math.max(paceMs, slotsMs);
    return Number.isFinite(ms) ? Math.max(clock.wall(), startAt) + ms : null;
  }

  /**
   * Ends, pauses or continues a job. One whose state does not allow that stays as it is.
   * @throws BadUserInput `BAD_USER_INPUT` if the viewer has no such job.
   */
  async turn(viewer: Viewer, id: string, to: 'CANCELED' | 'PAUSED' | 'QUEUED'): Promise<JobRecord> {
    const job = this.get(viewer, id);
    if (!mayTurn(job.record, to)) return job.record;
    await this.#runs.stop(job);
    // It can have ended by itself meanwhile.
    if (mayTurn(job.record, to)) {
      const saving = this.#runs.save(job, { state: to, error: null });
      // If the store cannot be written now, it saves the state later.
      await saving.catch(() => {});
    }
    this.#runs.begin(job);
    return job.record;
  }

  /** Stops all runs at their last saved progress; the next owner of the store continues them. */
  async drain(): Promise<void> {
    this.#ended.abort();
    this.#endedJobs.close();
    await this.#runs.drain();
  }

  /** Number of jobs in each state; 0 in those without jobs. */
  get counts(): ReadonlyMap<JobState, number> {
    const counts = new Map<JobState, number>(jobStates.map((state) => [state, 0]));
    for (const { record } of this.#all) {
      counts.set(record.state, (counts.get(record.state) ?? 0) + 1);
    }
    return counts;
  }

  get #all(): readonly StoredJob[] {
    return this.#options.stored.all;
  }

  /** Lets one start at a time use an idempotency key. @throws IdempotencyKeyInUse */
  async #lockOf(viewer: Viewer, name: string): Promise<Unlock> {
    const terms = { alone: true, patienceMs: () => SAME_KEY_MS, signal: this.#ended.signal };
    const text = JSON.stringify([viewer.isAnonymous ? null : viewer.name, name]);
    const unlock = await this.#keyLocks.lock(hash('sha256', text), terms);
    if (!unlock) throw new IdempotencyKeyInUse(SAME_KEY_MS);
    return unlock;
  }

  async #create(viewer: Viewer, input: ExportInput): Promise<JobRecord> {
    const { clock, stored } = this.#options;
    const { isDryRun, key, maxPerMinute, startAt } = input;
    const wall = clock.wall();
    const starting = this.#takeRoom(ownerOf(viewer), wall);
    try {
      const checked = await checkedExport(this.#options, viewer, input);
      const record = newRecord({
        ...starting,
        ...checked,
        key,
        maxPerMinute,
        startAt: startAt ?? wall,
        wall,
      });
      if (isDryRun) return record;
      this.#endedJobs.forgetSome();
      const job = await stored.create(record);
      this.#changed(record);
      this.#runs.begin(job);
      return record;
    } finally {
      this.#starting.delete(starting);
    }
  }

  /** Integers of 15 digits, like the ids of other objects; later ones are greater. */
  #newId(wall: number): string {
    for (let number = Math.floor(wall) * 100; ; number += 1) {
      const id = String(number);
      if (!this.#options.stored.get(id) && ![...this.#starting].some((each) => each.id === id))
        return id;
    }
  }

  /** The job that was started with a key. @throws IdempotencyKeyReused if it was another one. */
  #keyed(viewer: Viewer, key: NonNullable<JobRecord['key']>): StoredJob | null {
    for (const job of this.#all) {
      const { record } = job;
      // Callers without an identity share their keys: the address of a phone changes.
      const isOwn = isOwnerOf(viewer, record) || (viewer.isAnonymous && record.owner.isAnonymous);
      if (record.key?.name !== key.name || !isOwn) continue;
      if (record.key.fingerprint !== key.fingerprint) throw new IdempotencyKeyReused();
      return job;
    }
    return null;
  }

  /** Counts a start as a job until it is one, or is refused. @throws GatewayError `TOO_MANY_JOBS` */
  #takeRoom(owner: JobOwner, wall: number): Pick<JobRecord, 'id' | 'owner'> {
    const { most, mostPerCaller } = this.#options.limits;
    const records = this.#all.map(({ record }) => record);
    const open = [...records.filter(({ state }) => !isFinal(state)), ...this.#starting];
    const own = open.filter((each) => isOwnerOf(owner, each)).length;
    if (open.length < most && own < mostPerCaller) {
      const start = { id: this.#newId(wall), owner };
      this.#starting.add(start);
      return start;
    }
    const [limit, whose] =
      own < mostPerCaller ? [most, 'All callers have'] : [mostPerCaller, 'You have'];
    throw new GatewayError(
      'TOO_MANY_JOBS',
      `${whose} ${limit} jobs that have not ended. Wait for one of them, or cancel it.`,
      { details: { limit } },
    );
  }

  #changed(record: JobRecord): void {
    this.#options.changed(record);
    if (isFinal(record.state)) this.#endedJobs.expireLater();
  }
}

/** @throws GatewayError `JOBS_NOT_CONFIGURED` */
function refuseKeyOfCaller({ linksCredential }: Viewer): void {
  if (!linksCredential) return;
  throw new GatewayError(
    'JOBS_NOT_CONFIGURED',
    'Jobs are not available to callers with an API key of their own, because the gateway does not store keys.',
  );
}

/** Whether a job can be canceled, paused or continued. */
function mayTurn({ state }: JobRecord, to: 'CANCELED' | 'PAUSED' | 'QUEUED'): boolean {
  if (to !== 'QUEUED') return !isFinal(state) && state !== to;
  return state === 'PAUSED' || state === 'FAILED';
}

/** A job belongs to its caller; administrators see all. */
function maySee(viewer: Viewer, record: JobRecord): boolean {
  return viewer.role === 'admin' || isOwnerOf(viewer, record);
}

function isOwnerOf(
  { isAnonymous, name }: Pick<Viewer, 'isAnonymous' | 'name'>,
  { owner }: Pick<JobRecord, 'owner'>,
): boolean {
  return name === owner.name && isAnonymous === owner.isAnonymous;
}

function ownerOf({ callerClass, isAnonymous, name, role }: Viewer): JobOwner {
  return { name, role, ...(isAnonymous && { isAnonymous }), ...(callerClass && { callerClass }) };
}
