import type { RowLock, RowLocks } from '../upstream/idempotency/row-locks.ts';

/** How long a job is waited for that was just released, in milliseconds. */
const PATIENCE_MS = 500;

/** Lets one change at a time be made to each job: its run, or what a caller does with it. Costs no upstream request. */
export class JobLeases {
  readonly #rowLocks: RowLocks;
  readonly #held = new Map<string, RowLock>();

  constructor(rowLocks: RowLocks) {
    this.#rowLocks = rowLocks;
  }

  /** Takes a job, and waits up to half a second for the one that has it; returns whether it could. */
  async take(jobId: string): Promise<boolean> {
    const { signal } = new AbortController();
    // Rows of upstreams begin with the name of one.
    const lock = await this.#rowLocks.exclude(`job ${jobId}`, { patienceMs: PATIENCE_MS, signal });
    if (lock) this.#held.set(jobId, lock);
    return lock !== null;
  }

  /** Lets go of a job; no effect if it was not taken. */
  release(jobId: string): void {
    this.#held.get(jobId)?.release();
    this.#held.delete(jobId);
  }
}
