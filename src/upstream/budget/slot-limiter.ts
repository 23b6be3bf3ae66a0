import Bottleneck from 'bottleneck';
import { inBackground } from '../../scheduling/at-once.ts';

/** A job that the limiter lists for a slot. */
interface SlotJob {
  readonly id: string;
  /** Whether the limiter runs its task: then it lists the job until the task resolves. */
  isRunning: boolean;
  /** Resolves the task. */
  end: () => void;
}

/**
 * Counts the taken slots. Each is a job of one Bottleneck limiter; a slot is free while the limiter lists fewer jobs
 * than it may run in parallel. `counts()` includes a job as soon as it is scheduled, so a slot is taken in the turn in
 * which it is requested, before the limiter runs the job.
 *
 * The limiter runs the job some timers later; if the wall clock was set back by an hour, an hour later. A job that does
 * not run yet cannot be ended. So it is not counted, and the next slot uses it.
 */
export class SlotLimiter {
  readonly #limiter: Bottleneck;
  #limit: number;
  #jobs = 0;
  /** Jobs whose slots are free, but which the limiter may still list. */
  readonly #released = new Set<SlotJob>();

  /** @param limit maximum number of taken slots. */
  constructor(limit: number) {
    this.#limit = limit;
    this.#limiter = new Bottleneck({ maxConcurrent: limit });
  }

  /** Changes the limit. Taken slots stay taken, even if they exceed it. */
  set limit(limit: number) {
    if (limit === this.#limit) return;
    this.#limit = limit;
    // Takes effect in a later turn, and decides only when jobs run.
    void this.#limiter.updateSettings({ maxConcurrent: limit });
  }

  /** Number of taken slots; can exceed the limit after it was reduced. */
  get taken(): number {
    for (const job of this.#released) if (!this.#lists(job)) this.#released.delete(job);
    const { EXECUTING, QUEUED, RECEIVED, RUNNING } = this.#limiter.counts();
    return RECEIVED + QUEUED + RUNNING + EXECUTING - this.#released.size;
  }

  /** Takes a slot, even if none is free; returns the function that frees it in this turn, which is called once. */
  take(): () => void {
    const job = this.#notRunning() ?? this.#schedule();
    return () => {
      this.#released.add(job);
      if (job.isRunning) job.end();
    };
  }

  /** A job that can be used for another slot. */
  #notRunning(): SlotJob | undefined {
    for (const job of this.#released) {
      if (job.isRunning) continue;
      this.#released.delete(job);
      return job;
    }
    return undefined;
  }

  #schedule(): SlotJob {
    const id = String(this.#jobs++);
    const job: SlotJob = { id, isRunning: false, end: () => {} };
    const task = (): Promise<void> =>
      new Promise((resolve) => {
        job.isRunning = true;
        job.end = resolve;
        if (this.#released.has(job)) resolve();
      });
    inBackground(this.#limiter.schedule({ id }, task));
    return job;
  }

  #lists({ id }: SlotJob): boolean {
    // The type lacks `null`, the value after the job has ended.
    const status: unknown = this.#limiter.jobStatus(id);
    return status !== null;
  }
}
