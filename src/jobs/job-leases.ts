import { inBackground } from '../scheduling/at-once.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { RowLock, RowLocks } from '../upstream/idempotency/row-locks.ts';

/** The right of this process to run a job. */
export interface JobLease {
  /** Aborts when another process may run the job. */
  readonly lost: AbortSignal;
}

/** What leases are made of. */
export interface JobLocks {
  readonly rowLocks: Pick<RowLocks, 'exclude'>;
  /** This process as one of several; `null` if it is alone with its jobs. */
  readonly shared: SharedLocks | null;
}

/** Locks that are valid only as long as the lease of this process among others. */
interface SharedLocks {
  readonly replica: { readonly leased: boolean };
  /** The duration of that lease. */
  readonly times: { readonly leaseMs: number };
  readonly rowLocks: {
    /** Whether a row is still locked. It is locked again if no other has locked it and `isWanted` says so. */
    isStillLocked(row: string, lock: RowLock, isWanted: () => boolean): Promise<boolean>;
  };
}

interface JobLeasesOptions {
  readonly clock: Clock;
  readonly locks: JobLocks;
}

/** A lease of this process. */
interface Held {
  readonly lock: RowLock;
  readonly lost: AbortController;
  cancel: () => void;
}

/** How long a process waits for a lease that was just released, in milliseconds. */
const PATIENCE_MS = 500;

/**
 * Lets one process at a time run each job. A lease saves requests, but does not protect files, since a process can be
 * suspended between looking at its lease and writing: `JobFolder.claim` does that.
 *
 * Leases between replicas are locks of rows in Redis, which last while the lease of their replica is valid. So another
 * process can take a job about a second after its process has ended. Each lease is confirmed once per lease of a
 * replica, with one command. Costs no upstream request.
 */
export class JobLeases {
  readonly #options: JobLeasesOptions;
  readonly #held = new Map<string, Held>();

  constructor(options: JobLeasesOptions) {
    this.#options = options;
  }

  /**
   * Takes the lease of a job, and waits up to half a second for the one that has it. `null` if it is taken, here or
   * elsewhere, or that cannot be known now.
   */
  async take(jobId: string): Promise<JobLease | null> {
    const { rowLocks, shared } = this.#options.locks;
    // Without a lease of the replica a lock would end at once.
    if (shared && !shared.replica.leased) return null;
    const lost = new AbortController();
    const terms = { patienceMs: PATIENCE_MS, signal: lost.signal };
    const lock = await rowLocks.exclude(rowOf(jobId), terms);
    if (!lock) return null;
    const held: Held = { lock, lost, cancel: () => {} };
    this.#held.set(jobId, held);
    if (shared) this.#confirmLater(jobId, held, shared);
    return { lost: lost.signal };
  }

  /** Lets another process take it; no effect without a lease. */
  release(jobId: string): void {
    const held = this.#held.get(jobId);
    if (!held) return;
    this.#held.delete(jobId);
    held.cancel();
    held.lock.release();
  }

  #confirmLater(jobId: string, held: Held, shared: SharedLocks): void {
    held.cancel = this.#options.clock.after(shared.times.leaseMs, () =>
      inBackground(this.#confirm(jobId, held, shared)),
    );
  }

  async #confirm(jobId: string, held: Held, shared: SharedLocks): Promise<void> {
    const isWanted = (): boolean => this.#held.get(jobId) === held;
    const isLocked = await shared.rowLocks.isStillLocked(rowOf(jobId), held.lock, isWanted);
    if (!isWanted()) return;
    if (isLocked) return this.#confirmLater(jobId, held, shared);
    this.release(jobId);
    held.lost.abort();
  }
}

/** Rows of upstreams begin with the name of one. */
function rowOf(jobId: string): string {
  return `job ${jobId}`;
}
