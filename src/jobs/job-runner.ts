import type { Viewer } from '../auth/viewer.ts';
import { GatewayError } from '../errors.ts';
import type { Clock } from '../scheduling/clock.ts';
import { waitMs } from '../scheduling/wait.ts';
import type { ExportRun } from './exports/export-run.ts';
import type { JobError, JobOwner, JobProgress, JobState } from './job.ts';
import { Pace } from './pace.ts';
import { JobStorageFull } from './storage/storage-errors.ts';

/** What a job writes its output to. */
interface JobOutput {
  append(lines: string): Promise<void>;
  appendSeen(identities: readonly string[]): Promise<void>;
}

/** How a run of a job ends. */
export interface RunEnd {
  readonly state: JobState;
  readonly error: JobError | null;
  /** Present if the last step is to be saved with the state: a job that has stopped must not go on. */
  readonly progress?: JobProgress;
}

interface JobRunnerOptions {
  readonly clock: Clock;
  readonly owner: JobOwner;
  /** The owner with its current permissions; `null` if it may not do anything any more. */
  readonly viewerOf: (owner: JobOwner) => Viewer | null;
  /** Opens the steps, at the last saved progress. */
  readonly open: () => Promise<ExportRun>;
  readonly output: JobOutput;
  /** Maximum number of requests per minute; `null` for no limit. */
  readonly maxPerMinute: number | null;
  /** The progress of earlier runs; `null` if this is the first. */
  readonly progress: JobProgress | null;
  /** Saves the progress, after the output of a step was appended. */
  readonly save: (progress: JobProgress) => Promise<void>;
  readonly signal: AbortSignal;
  /** Reports an unexpected error. */
  readonly defect: (error: unknown) => void;
}

/**
 * Executes the steps of a job until it is complete or fails, and saves its progress after each of them. The permissions
 * of its owner are looked up before each step.
 * @throws the reason of `signal` when that aborts: the job continues at its last saved progress.
 */
export async function runJob(options: JobRunnerOptions): Promise<RunEnd> {
  const { clock, maxPerMinute, output, owner, progress, save, signal, viewerOf } = options;
  const pace = maxPerMinute === null ? null : new Pace(clock, maxPerMinute, progress?.pace);
  let calls = progress?.calls ?? 0;
  try {
    const work = await options.open();
    // A step that could have begun may have been under way when the run before ended.
    if (progress && pace?.waitMs(work.mostCalls) === 0) {
      pace.spent(work.mostCalls);
      await save({ ...progress, pace: pace.saved });
    }
    for (;;) {
      await waitMs(clock, pace?.waitMs(work.mostCalls) ?? 0, signal);
      const viewer = viewerOf(owner);
      if (!viewer) {
        const message = `The token of ${owner.name} was removed or has expired.`;
        return { state: 'FAILED', error: { code: 'UNAUTHENTICATED', message } };
      }
      const step = await work.step(viewer, signal);
      await output.append(step.lines);
      await output.appendSeen(step.seen);
      if (step.isLast) return { state: 'DONE', error: null, progress: step.progress };
      pace?.spent(step.progress.calls - calls);
      await save({ ...step.progress, ...(pace && { pace: pace.saved }) });
      calls = step.progress.calls;
      await waitMs(clock, step.retryAfterMs, signal);
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    return endOf(error, options.defect);
  }
}

/** A job that someone can repair is paused; any other error is final. */
function endOf(error: unknown, defect: JobRunnerOptions['defect']): RunEnd {
  if (error instanceof JobStorageFull) {
    return { state: 'PAUSED', error: { code: 'JOB_STORAGE_FULL', message: error.message } };
  }
  if (!(error instanceof GatewayError)) {
    defect(error);
    const message = 'Internal error. The log of the gateway has the cause.';
    return { state: 'FAILED', error: { code: 'INTERNAL_SERVER_ERROR', message } };
  }
  const { code, message } = error;
  const isRepairable = code === 'UPSTREAM_UNAUTHENTICATED' || code.startsWith('UPSTREAM_UNAV');
  return { state: isRepairable ? 'PAUSED' : 'FAILED', error: { code, message } };
}
