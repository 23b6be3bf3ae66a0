import Bottleneck from 'bottleneck';
import { inBackground } from '../../scheduling/at-once.ts';

/** A job that the limiter lists for a slot, or for several that are freed together. */
interface SlotJob {
  readonly id: string;
  /** Whether the limiter runs its task: then it lists the job until the task resolves. */
  isRunning: boolean;
  /** Resolves the task. */
  end: () => void;
}

/** Slots that count as taken. */
export interface TakenSlots {
  /** Frees them, in this turn. To be called once. */
  release(): void;
}

/**
 * The count of the slots that are taken: each is a job of one limiter of Bottleneck, and a slot is free while the
 * limiter lists fewer jobs than it may run at a time. `counts()` includes a job as soon as it is scheduled, so a slot is
 * taken in the turn in which it is asked for, and nothing waits until the limiter runs the job.
 *
 * The limiter runs it some timers later, and after the wall clock was set back by an hour only an hour later. A job that
 * it does not run yet cannot be ended either. So the next slot gets the job, and meanwhile it is not counted.
 */
export class SlotLimiter {
  readonly #limiter: Bottleneck;
  #limit: number;
  #jobs = 0;
  /** Slots beyond the first of each job. */
  #more = 0;
  /** Jobs whose slots are free and which the limiter may still list. */
  readonly #released = new Set<SlotJob>();

  /** @param limit how many slots may be taken at a time. */
  constructor(limit: number) {
    this.#limit = limit;
    this.#limiter = new Bottleneck({ maxConcurrent: limit });
  }

  get limit(): number {
    return this.#limit;
  }

  /** Changes the limit. What is taken stays taken, even if that is more. */
  set limit(limit: number) {
    if (limit === this.#limit) return;
    this.#limit = limit;
    // Takes effect in a later turn, and decides only when jobs run.
    void this.#limiter.updateSettings({ maxConcurrent: limit });
  }

  /** Slots that are taken; more than the limit after it has shrunk. */
  get taken(): number {
    for (const job of this.#released) if (!this.#lists(job)) this.#released.delete(job);
    const { EXECUTING, QUEUED, RECEIVED, RUNNING } = this.#limiter.counts();
    return RECEIVED + QUEUED + RUNNING + EXECUTING - this.#released.size + this.#more;
  }

  get free(): number {
    return Math.max(0, this.#limit - this.taken);
  }

  /** Takes slots whether or not they are free: who may have one is decided by `free`. They are freed together. */
  take(count = 1): TakenSlots {
    const job = this.#notRunning() ?? this.#schedule();
    this.#more += count - 1;
    return {
      release: () => {
        this.#more -= count - 1;
        this.#released.add(job);
        if (job.isRunning) job.end();
      },
    };
  }

  /** A job that is free to stand for another slot. */
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
    // Typed as always there, but `null` once the job has ended.
    const status: unknown = this.#limiter.jobStatus(id);
    return status !== null;
  }
}
