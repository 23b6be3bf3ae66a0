import { RedisRefused, RedisUnavailable } from '../redis/failures.ts';
import { scripts } from '../redis/lua/scripts.ts';
import type { Replica } from '../redis/replica.ts';
import type { ProtocolTimes } from '../redis/times.ts';
import { inBackground } from '../scheduling/at-once.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { RowLock, RowLocks } from '../upstream/idempotency/row-locks.ts';

/** The right of this process to run a job. */
export interface JobLease {
  /** Aborts when another process may run the job. */
  readonly lost: AbortSignal;
}

/** What leases need. */
export interface JobLocks {
  readonly rowLocks: Pick<RowLocks, 'exclude'>;
  /** This process as one of several; `null` if it is alone with its jobs. */
  readonly shared: SharedLeases | null;
}

interface JobLeasesOptions extends JobLocks {
  readonly clock: Clock;
}

/** This process as one of several. */
interface SharedLeases {
  readonly replica: Pick<Replica, 'call' | 'leased'>;
  readonly times: Pick<ProtocolTimes, 'leaseMs'>;
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
    const { rowLocks, shared } = this.#options;
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

  #confirmLater(jobId: string, held: Held, shared: SharedLeases): void {
    held.cancel = this.#options.clock.after(shared.times.leaseMs, () =>
      inBackground(this.#confirm(jobId, held, shared)),
    );
  }

  async #confirm(jobId: string, held: Held, shared: SharedLeases): Promise<void> {
    const isLocked = await this.#isLocked(jobId, held, shared);
    if (this.#held.get(jobId) !== held) return;
    if (isLocked) return this.#confirmLater(jobId, held, shared);
    this.release(jobId);
    held.lost.abort();
  }

  /** Locks the row again, which has no effect while it is locked. */
  async #isLocked(jobId: string, held: Held, { replica }: SharedLeases): Promise<boolean> {
    const args = [JSON.stringify({ row: rowOf(jobId), id: held.lock.id })];
    try {
      const [kind] = (await replica.call(scripts.lock, args)).rest;
      // The replica has learnt the state of Redis by that. After a release the row must not be locked again.
      if (kind !== 'again' || this.#held.get(jobId) !== held) return kind === 'locked';
      const [again] = (await replica.call(scripts.lock, args)).rest;
      return again === 'locked';
    } catch (error) {
      if (!(error instanceof RedisUnavailable || error instanceof RedisRefused)) throw error;
      return replica.leased;
    }
  }
}

/** Rows of upstreams begin with the name of one. */
function rowOf(jobId: string): string {
  return `job ${jobId}`;
}
