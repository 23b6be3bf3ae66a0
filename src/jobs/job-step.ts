import type { Viewer } from '../auth/viewer.ts';
import type { JobError, JobProgress } from './job.ts';

/** The result of a step of a job. */
export interface JobStep {
  /** Whole lines of the output. */
  readonly lines: string;
  /** Identities of the rows in them, for `Identities`. */
  readonly seen: readonly string[];
  readonly progress: JobProgress;
  /** How the job ends with this step; `null` if it goes on. `error` is present if it has failed. */
  readonly end: { readonly error: JobError | null } | null;
  /** Milliseconds until the next step, because an upstream was not available; 0 for none. */
  readonly retryAfterMs: number;
}

/** The steps of a job. */
export interface JobWork {
  /** Maximum number of upstream requests of a step, as far as it can be limited. */
  readonly mostCalls: number;
  /**
   * Executes the next step with the current permissions of its owner.
   * @throws GatewayError when the job cannot continue; the reason of `signal` when that aborts.
   */
  step(viewer: Viewer, signal: AbortSignal): Promise<JobStep>;
}
