import { randomInt } from 'node:crypto';
import type { GraphQLSchema } from 'graphql';
import type { Viewer } from '../auth/viewer.ts';
import { BadUserInput, GatewayError, IdempotencyKeyReused } from '../errors.ts';
import { inBackground } from '../scheduling/at-once.ts';
import type { Clock } from '../scheduling/clock.ts';
import { waitMs } from '../scheduling/wait.ts';
import {
  isFinal,
  type JobError,
  type JobOwner,
  type JobRecord,
  type JobState,
  jobStates,
  newRecord,
} from './job.ts';
import type { JobOperations } from './job-operations.ts';
import { type RunEnd, runJob } from './job-runner.ts';
import {
  type ChangesInput,
  checkedChanges,
  checkedExport,
  type ExportInput,
  type JobWorkload,
} from './job-starts.ts';
import { workOf } from './job-work.ts';
import type { JobFiles } from './storage/job-files.ts';
import type { JobFolder, JobInput } from './storage/job-folder.ts';

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
  /** The files of jobs; `null` if jobs cannot be stored. */
  readonly folder: JobFolder<JobRecord> | null;
  /** The owner of a job with its current permissions; `null` if it may not do anything any more. */
  readonly viewerOf: (owner: JobOwner) => Viewer | null;
  readonly limits: JobLimits;
  /** A job has another state. */
  readonly changed: (record: JobRecord) => void;
  /** Reports an unexpected error. */
  readonly defect: (error: unknown) => void;
}

/** A job with its files. */
export interface StoredJob {
  readonly record: JobRecord;
  readonly files: JobFiles<JobRecord>;
}

/** A job that this process knows. */
interface KnownJob {
  readonly files: JobFiles<JobRecord>;
  record: JobRecord;
  /** Present while it is executed. */
  running: { readonly stop: AbortController; readonly ended: Promise<void> } | null;
}

/** Why a run is stopped: the state that the job has then; `null` if another process continues it. */
class Stopped extends Error {
  readonly state: JobState | null;
  constructor(state: JobState | null) {
    super('the job is stopped');
    this.state = state;
  }
}

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Jobs that have ended and are kept: of all callers and, as for the limits above, not only of one. */
const MOST_ENDED = 500;

/** The jobs of a gateway: they run in the background, from slots that are left, and continue after a restart. */
export class Jobs {
  readonly #options: JobsOptions;
  readonly #jobs = new Map<string, KnownJob>();
  #isDraining = false;
  #cancelExpiry: () => void = () => {};

  constructor(options: JobsOptions) {
    this.#options = options;
  }

  /**
   * Loads the jobs of the process before, and continues those that have not ended.
   * @throws JobStorageFailed if their folder cannot be read.
   */
  async load(): Promise<void> {
    for (const files of (await this.#options.folder?.load()) ?? []) {
      this.#jobs.set(files.record.id, { files, record: files.record, running: null });
    }
    for (const job of this.#jobs.values()) this.#begin(job);
    this.#expireLater();
  }

  /**
   * Starts an export. No upstream request by itself.
   * @throws GatewayError `BAD_USER_INPUT`, `FORBIDDEN`, `IDEMPOTENCY_KEY_REUSED`, `TOO_MANY_JOBS` or
   * `JOBS_NOT_CONFIGURED`.
   */
  async startExport(viewer: Viewer, input: ExportInput): Promise<JobRecord> {
    return this.#start(viewer, input, () => checkedExport(this.#options, viewer, input));
  }

  /**
   * Starts changes. No upstream request by itself.
   * @throws GatewayError as `startExport`; JobStorageFull if there is no space for the lines.
   */
  async startChanges(viewer: Viewer, input: ChangesInput): Promise<JobRecord> {
    const { file } = input;
    return this.#start(viewer, input, () => checkedChanges(this.#options, input), file);
  }

  /** A job that the viewer may see; `null` if there is none. */
  find(viewer: Viewer, id: string): StoredJob | null {
    const job = this.#jobs.get(id);
    return job && maySee(viewer, job.record) ? job : null;
  }

  /** @throws BadUserInput */
  #known(viewer: Viewer, id: string): KnownJob {
    const job = this.#jobs.get(id);
    if (job && maySee(viewer, job.record)) return job;
    throw new BadUserInput('There is no job with this ID.');
  }

  /**
   * The record of a job.
   * @throws BadUserInput `BAD_USER_INPUT` if the viewer has no such job.
   */
  get(viewer: Viewer, id: string): JobRecord {
    return this.#known(viewer, id).record;
  }

  /** The jobs that the viewer may see, the latest first. */
  list(viewer: Viewer, state: JobState | null): JobRecord[] {
    return [...this.#jobs.values()]
      .map(({ record }) => record)
      .filter((record) => maySee(viewer, record) && (state === null || record.state === state))
      .sort((one, other) => other.createdAt - one.createdAt || Number(other.id) - Number(one.id));
  }

  /**
   * When a job will probably be complete, in milliseconds since 1970; `null` if that is unknown. For changes that were
   * only checked: when they would be complete if they were started now.
   */
  readyAt({ maxPerMinute, progress, startAt, state, task }: JobRecord): number | null {
    const { clock, operations } = this.#options;
    const { callsLeft, upstream } = progress;
    const wasOnlyChecked = state === 'DONE' && task.kind === 'CHANGES' && task.checkOnly;
    const goesOn = state === 'QUEUED' || state === 'RUNNING' || wasOnlyChecked;
    if (!goesOn || callsLeft === null) return null;
    const paceMs = maxPerMinute === null ? 0 : (callsLeft * MINUTE_MS) / maxPerMinute;
    const ms = Math.max(paceMs, operations.forecastMs(upstream ?? 'LINKS', callsLeft));
    return Number.isFinite(ms) ? Math.max(clock.wall(), startAt) + ms : null;
  }

  /**
   * Ends, pauses or continues a job. One whose state does not allow that stays as it is.
   * @throws BadUserInput `BAD_USER_INPUT` if the viewer has no such job.
   */
  async turn(viewer: Viewer, id: string, to: 'CANCELED' | 'PAUSED' | 'QUEUED'): Promise<JobRecord> {
    const job = this.#known(viewer, id);
    if (!mayTurn(job.record, to)) return job.record;
    job.running?.stop.abort(new Stopped(to));
    await job.running?.ended;
    // It can have ended by itself meanwhile.
    if (mayTurn(job.record, to)) await this.#end(job, { state: to, error: null });
    this.#begin(job);
    return job.record;
  }

  /** Stops all runs at their last saved progress; the next process continues them. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    this.#cancelExpiry();
    const running = [...this.#jobs.values()].flatMap(({ running }) => running ?? []);
    for (const { stop } of running) stop.abort(new Stopped(null));
    await Promise.all(running.map(({ ended }) => ended));
    await this.#options.folder?.close();
  }

  /** Number of jobs in each state; 0 in those without jobs. */
  get counts(): ReadonlyMap<JobState, number> {
    const counts = new Map<JobState, number>(jobStates.map((state) => [state, 0]));
    for (const { record } of this.#jobs.values()) {
      counts.set(record.state, (counts.get(record.state) ?? 0) + 1);
    }
    return counts;
  }

  async #start(
    viewer: Viewer,
    { isDryRun, key, maxPerMinute, startAt }: ExportInput | ChangesInput,
    check: () => JobWorkload | Promise<JobWorkload>,
    input?: JobInput,
  ): Promise<JobRecord> {
    const { changed, clock } = this.#options;
    const folder = this.#folderFor(viewer);
    const known = key && this.#keyed(viewer, key);
    if (known) return known.record;
    this.#checkRoom(viewer);
    const workload = await check();
    const wall = clock.wall();
    const owner = ownerOf(viewer);
    const job = { ...workload, key, maxPerMinute, startAt: startAt ?? wall };
    const record = newRecord(job, { id: newId(wall), owner, wall });
    if (isDryRun) return record;
    // Jobs of other requests can have been created during the check.
    this.#checkRoom(viewer);
    await this.#forgetSome();
    const files = await folder.create(record.id, record, input);
    const created: KnownJob = { files, record, running: null };
    this.#jobs.set(record.id, created);
    changed(record);
    this.#begin(created);
    return record;
  }

  /** The job that was started with a key. @throws IdempotencyKeyReused if it was another one. */
  #keyed(viewer: Viewer, key: NonNullable<JobRecord['key']>): KnownJob | null {
    for (const job of this.#jobs.values()) {
      const { record } = job;
      // Callers without an identity share their keys: the address of a phone changes.
      const isOwn = isOwnerOf(viewer, record) || (viewer.isAnonymous && record.owner.isAnonymous);
      if (record.key?.name !== key.name || !isOwn) continue;
      if (record.key.fingerprint !== key.fingerprint) throw new IdempotencyKeyReused();
      return job;
    }
    return null;
  }

  /** @throws GatewayError `JOBS_NOT_CONFIGURED` */
  #folderFor({ linksCredential }: Viewer): JobFolder<JobRecord> {
    const { folder, limits } = this.#options;
    if (folder && !linksCredential && limits.most > 0) return folder;
    throw new GatewayError(
      'JOBS_NOT_CONFIGURED',
      linksCredential
        ? 'Jobs are not available to callers with an API key of their own, because the gateway does not store keys.'
        : 'This gateway has no jobs. Its operator can set STATE_DIR; with Redis or JOBS_MAX=0, there are none.',
    );
  }

  /** @throws GatewayError `TOO_MANY_JOBS` */
  #checkRoom(viewer: Viewer): void {
    const { most, mostPerCaller } = this.#options.limits;
    const open = [...this.#jobs.values()].filter(({ record }) => !isFinal(record.state));
    const own = open.filter(({ record }) => isOwnerOf(viewer, record)).length;
    if (open.length < most && own < mostPerCaller) return;
    const [limit, whose] =
      own < mostPerCaller ? [most, 'All callers have'] : [mostPerCaller, 'You have'];
    throw new GatewayError(
      'TOO_MANY_JOBS',
      `${whose} ${limit} jobs that have not ended. Wait for one of them, or cancel it.`,
      { details: { limit } },
    );
  }

  /** Executes a job that may run, at its time. */
  #begin(job: KnownJob): void {
    const { state } = job.record;
    if (this.#isDraining || job.running || (state !== 'QUEUED' && state !== 'RUNNING')) return;
    const stop = new AbortController();
    job.running = { stop, ended: this.#run(job, stop.signal) };
    inBackground(job.running.ended);
  }

  /** Never rejects. */
  async #run(job: KnownJob, signal: AbortSignal): Promise<void> {
    const { clock, defect } = this.#options;
    let end: RunEnd | null;
    try {
      await waitMs(clock, job.record.startAt - clock.wall(), signal);
      end = await this.#steps(job, signal);
    } catch (error) {
      if (error instanceof Stopped) end = error.state && { state: error.state, error: null };
      else {
        defect(error);
        end = { state: 'FAILED', error: INTERNAL };
      }
    }
    job.running = null;
    if (end) await this.#end(job, end).catch(defect);
  }

  /** @throws Stopped, and GatewayError if the operation of the job is not valid any more. */
  async #steps(job: KnownJob, signal: AbortSignal): Promise<RunEnd> {
    const { clock, defect, operations, schema, viewerOf } = this.#options;
    const { files, record } = job;
    await this.#save(job, { state: 'RUNNING', startedAt: record.startedAt ?? clock.wall() });
    return runJob({
      clock,
      defect,
      owner: record.owner,
      viewerOf,
      open: () => workOf({ clock, files, operations, record: job.record, schema }),
      output: files,
      maxPerMinute: record.maxPerMinute,
      calls: record.progress.calls,
      save: (progress) => this.#save(job, { progress }),
      signal,
    });
  }

  async #end(job: KnownJob, end: RunEnd): Promise<void> {
    const endedAt = isFinal(end.state) ? this.#options.clock.wall() : null;
    await this.#save(job, { ...end, endedAt });
    if (endedAt !== null) this.#expireLater();
  }

  async #save(job: KnownJob, change: Partial<JobRecord>): Promise<void> {
    const record = { ...job.record, ...change };
    await job.files.checkpoint(record);
    const hasTurned = record.state !== job.record.state;
    job.record = record;
    if (hasTurned) this.#options.changed(record);
  }

  /** At the next time at which something expires; no timer without a job that has ended. */
  #expireLater(): void {
    const { clock, defect } = this.#options;
    this.#cancelExpiry();
    const dues = [...this.#jobs.values()].map(({ record }) => this.#expiresAt(record));
    const at = Math.min(...dues);
    if (this.#isDraining || at === Number.POSITIVE_INFINITY) return;
    const afterMs = Math.min(Math.max(at - clock.wall(), MINUTE_MS), HOUR_MS);
    this.#cancelExpiry = clock.after(afterMs, () =>
      inBackground(
        this.#expire()
          .catch(defect)
          .then(() => this.#expireLater()),
      ),
    );
  }

  /** When the output of a job that has ended is removed, or then the job; `Infinity` for any other job. */
  #expiresAt({ endedAt, state }: JobRecord): number {
    const { keepMs } = this.#options.limits;
    if (endedAt === null) return Number.POSITIVE_INFINITY;
    return endedAt + (state === 'EXPIRED' ? 2 : 1) * keepMs;
  }

  /** Removes the output of jobs that ended long ago and, after as long again, the jobs. */
  async #expire(): Promise<void> {
    const { clock } = this.#options;
    for (const job of this.#jobs.values()) {
      if (this.#expiresAt(job.record) > clock.wall()) continue;
      if (job.record.state === 'EXPIRED') await this.#forget(job);
      else {
        await this.#save(job, { state: 'EXPIRED' });
        await job.files.discardOutput();
      }
    }
  }

  /** Makes room for a job: the caller with most jobs that have ended loses the oldest of them. */
  async #forgetSome(): Promise<void> {
    const all = [...this.#jobs.values()].filter(({ record }) => isFinal(record.state));
    if (all.length < MOST_ENDED) return;
    const byOwner = new Map<string, KnownJob[]>();
    for (const job of all) {
      const { isAnonymous = false, name } = job.record.owner;
      const owner = `${isAnonymous} ${name}`;
      byOwner.set(owner, [...(byOwner.get(owner) ?? []), job]);
    }
    const [most = []] = [...byOwner.values()].sort((one, other) => other.length - one.length);
    const [oldest] = most.sort((one, other) => one.record.createdAt - other.record.createdAt);
    if (oldest) await this.#forget(oldest);
  }

  async #forget({ record }: KnownJob): Promise<void> {
    this.#jobs.delete(record.id);
    await this.#options.folder?.remove(record.id);
  }
}

const INTERNAL: JobError = {
  code: 'INTERNAL_SERVER_ERROR',
  message: 'Internal error. The log of the gateway has the cause.',
};

/** Whether a job can be canceled, paused or continued. */
function mayTurn(
  { error, progress, state, task }: JobRecord,
  to: 'CANCELED' | 'PAUSED' | 'QUEUED',
): boolean {
  if (to !== 'QUEUED') return !isFinal(state) && state !== to;
  // The lines of such a job stay invalid.
  const isRefused =
    task.kind === 'CHANGES' && !progress.input.isChecked && error?.code === 'BAD_USER_INPUT';
  return state === 'PAUSED' || (state === 'FAILED' && !isRefused);
}

/** A job belongs to its caller; administrators see all. */
function maySee(viewer: Viewer, record: JobRecord): boolean {
  return viewer.role === 'admin' || isOwnerOf(viewer, record);
}

function isOwnerOf({ isAnonymous, name }: Viewer, { owner }: JobRecord): boolean {
  return name === owner.name && isAnonymous === owner.isAnonymous;
}

function ownerOf({ callerClass, isAnonymous, name, role }: Viewer): JobOwner {
  return { name, role, ...(isAnonymous && { isAnonymous }), ...(callerClass && { callerClass }) };
}

/** Integers of 15 digits, like the ids of other objects; later ones are greater. */
function newId(wall: number): string {
  return String(Math.floor(wall) * 100 + randomInt(100));
}
