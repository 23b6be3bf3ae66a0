import type { GraphQLSchema } from 'graphql';
import type { Viewer } from '../auth/viewer.ts';
import { GatewayError } from '../errors.ts';
import { inBackground } from '../scheduling/at-once.ts';
import type { Clock } from '../scheduling/clock.ts';
import { waitMs } from '../scheduling/wait.ts';
import { StoreError } from '../store/engine.ts';
import { ExportRun } from './exports/export-run.ts';
import { isFinal, type JobError, type JobOwner, type JobProgress, type JobRecord } from './job.ts';
import type { JobOperations } from './job-operations.ts';
import { Pace } from './pace.ts';
import { type AddedOutput, JobStorageFull, type StoredJob } from './stored-jobs.ts';

interface JobRunsOptions {
  readonly clock: Clock;
  readonly schema: GraphQLSchema;
  readonly operations: JobOperations;
  /** The owner of a job with its current permissions; `null` if it may not do anything any more. */
  readonly viewerOf: (owner: JobOwner) => Viewer | null;
  /** A job has another state. */
  readonly changed: (record: JobRecord) => void;
  /** Reports an unexpected error. */
  readonly defect: (error: unknown) => void;
}

/** The state in which a job stops, and why. */
type JobEnd = Pick<JobRecord, 'error' | 'state'>;

/** Runs jobs in the background. */
export class JobRuns {
  readonly #options: JobRunsOptions;
  /** A job that is executed, or waits for its time. */
  readonly #runs = new Map<
    StoredJob,
    { readonly stop: AbortController; readonly ended: Promise<void> }
  >();
  #isDrained = false;

  constructor(options: JobRunsOptions) {
    this.#options = options;
  }

  /** Runs a job at its time, if it is to be run and does not run already. */
  begin(job: StoredJob): void {
    if (this.#isDrained || this.#runs.has(job) || !isOpen(job.record)) return;
    const stop = new AbortController();
    const ended = this.#run(job, stop.signal);
    this.#runs.set(job, { stop, ended });
    inBackground(ended);
  }

  /** Stops a job at its last saved progress. */
  async stop(job: StoredJob): Promise<void> {
    for (let run = this.#runs.get(job); run; run = this.#runs.get(job)) {
      run.stop.abort();
      await run.ended;
    }
  }

  /** Stops all jobs at their last saved progress, and begins none any more. */
  async drain(): Promise<void> {
    this.#isDrained = true;
    await Promise.all([...this.#runs.keys()].map((job) => this.stop(job)));
  }

  /** Saves a change of a job. @throws JobStorageFull or StoreError as `StoredJob.save`. */
  async save(job: StoredJob, change: Partial<JobRecord>, added?: AddedOutput): Promise<void> {
    const { state } = job.record;
    const endedAt = isFinal(change.state ?? state) ? this.#options.clock.wall() : null;
    const saving = job.save({ ...job.record, ...change, endedAt }, added);
    if (job.record.state !== state) this.#options.changed(job.record);
    await saving;
  }

  /** Never rejects. */
  async #run(job: StoredJob, signal: AbortSignal): Promise<void> {
    const { clock, defect } = this.#options;
    try {
      await waitMs(clock, job.record.startAt - clock.wall(), signal);
      await this.#steps(job, signal).catch(async (error: unknown) => {
        if (!signal.aborted && isOpen(job.record)) await this.#fail(job, error);
      });
    } catch (error) {
      // The store reports by itself that it cannot be written.
      if (!signal.aborted && !(error instanceof StoreError)) defect(error);
    }
    this.#runs.delete(job);
  }

  /**
   * Executes the steps of a job until it is complete, and saves its progress after each of them. The permissions of its
   * owner are looked up before each step.
   * @throws what ends the job, or the reason of `signal`.
   */
  async #steps(job: StoredJob, signal: AbortSignal): Promise<void> {
    const { clock, viewerOf } = this.#options;
    const { maxPerMinute, owner, progress, startedAt } = job.record;
    await this.save(job, { state: 'RUNNING', startedAt: startedAt ?? clock.wall() });
    const pace = maxPerMinute === null ? null : new Pace(clock, maxPerMinute, progress.pace);
    const paced = (now: JobProgress) => ({ ...now, ...(pace && { pace: pace.saved }) });
    let { calls } = progress;
    const run = await ExportRun.open({ ...this.#options, job });
    // A step that could have begun may have been under way when the run before ended.
    if (startedAt !== null && pace?.waitMs(run.mostCalls) === 0) {
      pace.spent(run.mostCalls);
      await this.save(job, { progress: paced(progress) });
    }
    for (;;) {
      await waitMs(clock, pace?.waitMs(run.mostCalls) ?? 0, signal);
      const viewer = viewerOf(owner);
      if (!viewer) {
        const message = `The token of ${owner.name} was removed or has expired.`;
        throw new GatewayError('UNAUTHENTICATED', message);
      }
      const step = await run.step(viewer, signal);
      if (step.isLast) {
        return this.save(job, { state: 'DONE', error: null, progress: step.progress }, step);
      }
      pace?.spent(step.progress.calls - calls);
      await this.save(job, { progress: paced(step.progress) }, step);
      ({ calls } = step.progress);
      await waitMs(clock, step.retryAfterMs, signal);
    }
  }

  async #fail(job: StoredJob, error: unknown): Promise<void> {
    // The next owner of the store continues it.
    if (error instanceof StoreError && error.fault === 'LOST') return;
    await this.save(job, endOf(error, this.#options.defect));
  }
}

/** A job that someone can repair is paused; any other error is final. */
function endOf(error: unknown, defect: (error: unknown) => void): JobEnd {
  if (error instanceof StoreError) return stopped('PAUSED', 'JOB_STORAGE_FULL', NOT_SAVED);
  if (error instanceof JobStorageFull) return stopped('PAUSED', 'JOB_STORAGE_FULL', error.message);
  if (!(error instanceof GatewayError)) {
    defect(error);
    const message = 'Internal error. The log of the gateway has the cause.';
    return stopped('FAILED', 'INTERNAL_SERVER_ERROR', message);
  }
  const { code, message } = error;
  const isRepairable = code === 'UPSTREAM_UNAUTHENTICATED' || code === 'UPSTREAM_UNAVAILABLE';
  return stopped(isRepairable ? 'PAUSED' : 'FAILED', code, message);
}

const NOT_SAVED =
  'The gateway cannot save the job at this moment, perhaps because its disk is full: its log has the cause. Resume the job once that is repaired.';

function stopped(state: 'FAILED' | 'PAUSED', code: JobError['code'], message: string): JobEnd {
  return { state, error: { code, message } };
}

/** Whether a job is to be run. */
function isOpen({ state }: JobRecord): boolean {
  return state === 'QUEUED' || state === 'RUNNING';
}
