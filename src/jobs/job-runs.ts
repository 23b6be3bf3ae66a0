import type { GraphQLSchema } from 'graphql';
import type { Viewer } from '../auth/viewer.ts';
import { GatewayError } from '../errors.ts';
import { inBackground } from '../scheduling/at-once.ts';
import type { Clock } from '../scheduling/clock.ts';
import { waitMs } from '../scheduling/wait.ts';
import { ExportRun } from './exports/export-run.ts';
import {
  isFinal,
  type JobError,
  type JobOwner,
  type JobProgress,
  type JobRecord,
  type JobState,
} from './job.ts';
import type { JobLeases } from './job-leases.ts';
import type { JobOperations } from './job-operations.ts';
import { Pace } from './pace.ts';
import type { JobFiles } from './storage/job-files.ts';
import type { JobFolder } from './storage/job-folder.ts';
import { JobStorageFailed, JobStorageFull } from './storage/storage-errors.ts';

interface JobRunsOptions {
  readonly clock: Clock;
  readonly schema: GraphQLSchema;
  readonly operations: JobOperations;
  readonly folder: JobFolder<JobRecord>;
  readonly leases: JobLeases;
  /** The owner of a job with its current permissions; `null` if it may not do anything any more. */
  readonly viewerOf: (owner: JobOwner) => Viewer | null;
  /** A job has another state. */
  readonly changed: (record: JobRecord) => void;
  /** Reports an unexpected error. */
  readonly defect: (error: unknown) => void;
}

/** How a run of a job ends. */
interface RunEnd extends Pick<JobRecord, 'error' | 'state'> {
  /** The progress of the last step of a job that is complete. */
  readonly progress?: JobProgress;
}

/** A job that this process knows, with its files as they were read or claimed last. */
export class KnownJob {
  files: JobFiles<JobRecord>;
  /** Why it could not be run, as it was reported; empty if it could. */
  failure = '';
  /** Present while this process runs it, or waits for its time or its lease. */
  running: { readonly stop: AbortController; readonly ended: Promise<void> } | null = null;

  constructor(files: JobFiles<JobRecord>) {
    this.files = files;
  }

  /** What is saved of it. */
  get record(): JobRecord {
    return this.files.record;
  }
}

/** Why a run is stopped: the state that the job has then; `null` if another process continues it. */
class Stopped extends Error {
  readonly state: JobState | null;
  constructor(state: JobState | null) {
    super('the job is stopped');
    this.state = state;
  }
}

/** How often a process looks at what others request of a job that it runs, in milliseconds. */
const LOOK_MS = 1000;

/**
 * Runs jobs in the background. Whatever changes a job does so as its owner, with the lease of the job, and at the last
 * checkpoint of the owner before.
 */
export class JobRuns {
  readonly #options: JobRunsOptions;

  constructor(options: JobRunsOptions) {
    this.#options = options;
  }

  /** Runs a job at its time, if it has not ended and no other process runs it. */
  begin(job: KnownJob): void {
    if (job.running || !isOpen(job.record)) return;
    const stop = new AbortController();
    job.running = { stop, ended: this.#run(job, stop) };
    inBackground(job.running.ended);
  }

  /** Stops the run of a job here, at its last saved progress. The job has that state then; `null` leaves its state. */
  async stop({ running }: KnownJob, state: JobState | null): Promise<void> {
    running?.stop.abort(new Stopped(state));
    await running?.ended;
  }

  /**
   * Does something as the owner of a job. `false` if another process is the owner, or the job was removed.
   * @throws JobStorageFailed, and the errors of `work`.
   */
  async own(job: KnownJob, work: () => Promise<void>): Promise<boolean> {
    const { folder, leases } = this.#options;
    const { id } = job.record;
    if (!(await leases.take(id))) return false;
    try {
      const files = await folder.claim(id);
      if (!files) return false;
      job.files = files;
      await work();
      return true;
    } finally {
      // The next owner copies files that are not released.
      await job.files.release().catch(() => {});
      leases.release(id);
    }
  }

  /** Saves a change of a job, by its owner. @throws JobStorageFull or JobStorageFailed. */
  async save({ files }: KnownJob, change: Partial<JobRecord>): Promise<void> {
    const before = files.record;
    await files.checkpoint({ ...before, ...change });
    if (files.record.state !== before.state) this.#options.changed(files.record);
  }

  /** Saves the end of a run, by the owner of the job. @throws JobStorageFull or JobStorageFailed. */
  async end(job: KnownJob, end: RunEnd): Promise<void> {
    const { clock, folder } = this.#options;
    await this.save(job, { ...end, endedAt: isFinal(end.state) ? clock.wall() : null });
    await folder.removeRequests(job.record.id);
  }

  /** Never rejects. */
  async #run(job: KnownJob, stop: AbortController): Promise<void> {
    const { clock, defect } = this.#options;
    try {
      await waitMs(clock, job.record.startAt - clock.wall(), stop.signal);
      await this.own(job, () => this.#runOwned(job, stop));
      job.failure = '';
    } catch (error) {
      // In a shared folder, it is tried again every few seconds.
      if (!(error instanceof Stopped)) {
        if (job.failure !== String(error)) defect(error);
        job.failure = String(error);
      }
    }
    job.running = null;
  }

  async #runOwned(job: KnownJob, stop: AbortController): Promise<void> {
    const { defect } = this.#options;
    const { files } = job;
    // Another process can have ended or paused it before.
    if (!isOpen(files.record)) return;
    const ended = new AbortController();
    await this.#look(files.id, stop);
    inBackground(this.#keepLooking(files.id, stop, ended.signal));
    const end = await this.#endOf(job, stop.signal);
    ended.abort();
    // What another process continues has not ended.
    if (end && files.isOwned) await this.end(job, end).catch(defect);
  }

  /** Stops a run with the state that another process requests. */
  async #look(id: string, stop: AbortController): Promise<void> {
    // The run itself fails if the folder cannot be read.
    const state = await this.#options.folder.requested(id).catch(() => null);
    if (state) stop.abort(new Stopped(state));
  }

  async #keepLooking(id: string, stop: AbortController, ended: AbortSignal): Promise<void> {
    const { clock, folder } = this.#options;
    while (folder.isShared && !ended.aborted) {
      await waitMs(clock, LOOK_MS, ended).catch(() => {});
      if (!ended.aborted) await this.#look(id, stop);
    }
  }

  /** `null` if another process continues the job. */
  async #endOf(job: KnownJob, signal: AbortSignal): Promise<RunEnd | null> {
    try {
      return await this.#steps(job, signal);
    } catch (error) {
      if (error instanceof Stopped) return error.state && { state: error.state, error: null };
      this.#defectOf(job.files, error);
      return { state: 'FAILED', error: INTERNAL };
    }
  }

  /**
   * Executes the steps of a job until it is complete or fails, and saves its progress after each of them. The permissions
   * of its owner are looked up before each step.
   * @throws Stopped: the job continues at its last saved progress.
   */
  async #steps(job: KnownJob, signal: AbortSignal): Promise<RunEnd> {
    const { clock, viewerOf } = this.#options;
    const { files } = job;
    signal.throwIfAborted();
    const { maxPerMinute, owner, progress, startedAt } = files.record;
    await this.save(job, { state: 'RUNNING', startedAt: startedAt ?? clock.wall() });
    const pace = maxPerMinute === null ? null : new Pace(clock, maxPerMinute, progress.pace);
    const save = (now: JobProgress) =>
      this.save(job, { progress: { ...now, ...(pace && { pace: pace.saved }) } });
    let { calls } = progress;
    try {
      const run = await ExportRun.open({ ...this.#options, files });
      // A step that could have begun may have been under way when the run before ended.
      if (startedAt !== null && pace?.waitMs(run.mostCalls) === 0) {
        pace.spent(run.mostCalls);
        await save(progress);
      }
      for (;;) {
        await waitMs(clock, pace?.waitMs(run.mostCalls) ?? 0, signal);
        const viewer = viewerOf(owner);
        if (!viewer) {
          const message = `The token of ${owner.name} was removed or has expired.`;
          return { state: 'FAILED', error: { code: 'UNAUTHENTICATED', message } };
        }
        const step = await run.step(viewer, signal);
        await files.append(step.lines);
        await files.appendSeen(step.seen);
        // Saved with the state: a job that has stopped must not go on.
        if (step.isLast) return { state: 'DONE', error: null, progress: step.progress };
        pace?.spent(step.progress.calls - calls);
        await save(step.progress);
        ({ calls } = step.progress);
        await waitMs(clock, step.retryAfterMs, signal);
      }
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      return endOf(error, (defect) => this.#defectOf(files, defect));
    }
  }

  /** Files that another process has taken over fail as expected. */
  #defectOf({ isOwned }: JobFiles<JobRecord>, error: unknown): void {
    if (isOwned || !(error instanceof JobStorageFailed)) this.#options.defect(error);
  }
}

const INTERNAL: JobError = {
  code: 'INTERNAL_SERVER_ERROR',
  message: 'Internal error. The log of the gateway has the cause.',
};

/** A job that someone can repair is paused; any other error is final. */
function endOf(error: unknown, defect: (error: unknown) => void): RunEnd {
  if (error instanceof JobStorageFull) {
    return { state: 'PAUSED', error: { code: 'JOB_STORAGE_FULL', message: error.message } };
  }
  if (!(error instanceof GatewayError)) {
    defect(error);
    return { state: 'FAILED', error: INTERNAL };
  }
  const { code, message } = error;
  const isRepairable = code === 'UPSTREAM_UNAUTHENTICATED' || code.startsWith('UPSTREAM_UNAV');
  return { state: isRepairable ? 'PAUSED' : 'FAILED', error: { code, message } };
}

/** Whether a job is to be run. */
function isOpen({ state }: JobRecord): boolean {
  return state === 'QUEUED' || state === 'RUNNING';
}
