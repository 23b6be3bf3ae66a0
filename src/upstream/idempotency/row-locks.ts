import type { AtOnce } from '../../scheduling/at-once.ts';
import type { Clock } from '../../scheduling/clock.ts';
import { type Caller, giveUpAfter, patienceOf } from '../operation.ts';

/** Ends a lock; a second call has no effect. */
export type Unlock = () => void;

/** How a writer waits for others. */
interface LockTerms {
  /** Whether it excludes all others, or only waits for one that excludes it. */
  readonly alone: boolean;
  /** Milliseconds, asked only if it waits. */
  readonly patienceMs: () => number;
  readonly signal: AbortSignal;
}

/** A writer that waits for others. */
interface WaitingWriter {
  readonly alone: boolean;
  readonly settle: (unlock: Unlock | null) => void;
}

/** The writers of one row. */
interface Writers {
  /** Number of writers with a lock. */
  inside: number;
  /** Whether the one with a lock excludes all others. */
  isExcluded: boolean;
  /** In the order in which they came. */
  readonly queue: Set<WaitingWriter>;
}

/**
 * Serialises the writers of each row, in the order in which they come: one that compares the row before it writes
 * excludes all others. A row is any text, such as the scoped tag `LINKS:<partition> channel:42`. One without writers uses
 * no memory.
 */
export class RowLocks {
  readonly #clock: Clock;
  readonly #rows = new Map<string, Writers>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * The lock of a row for a caller, who is on the receipt as waiting meanwhile. Synchronous if no other writer is in the way.
   * @throws the caller's abort reason, or the error of `tooLong` if that takes longer than the caller waits.
   */
  lockFor(
    caller: Caller,
    row: string,
    { alone, tooLong }: { readonly alone: boolean; readonly tooLong: () => Error },
  ): AtOnce<Unlock> {
    const { receipt, signal } = caller;
    const entering = this.lock(row, { alone, patienceMs: () => patienceOf(caller), signal });
    if (entering && !(entering instanceof Promise)) return entering;
    receipt.waitBegins();
    return Promise.resolve(entering).then((unlock) => {
      receipt.waitEnds();
      if (unlock) return unlock;
      if (signal.aborted) throw signal.reason;
      throw tooLong();
    });
  }

  /**
   * The lock of a row, after the writers in the way that came before have ended. `null` if that takes longer than the
   * patience, or the signal aborts.
   */
  lock(row: string, { alone, patienceMs, signal }: LockTerms): AtOnce<Unlock | null> {
    if (signal.aborted) return null;
    const writers = this.#rows.get(row) ?? { inside: 0, isExcluded: false, queue: new Set() };
    this.#rows.set(row, writers);
    // One that waits alone is not overtaken: otherwise it could wait for ever.
    if (writers.queue.size === 0 && fits(writers, alone)) return this.#enter(row, writers, alone);
    return new Promise((resolve) => {
      const leave = (): void => {
        writers.queue.delete(waiting);
        waiting.settle(null);
        this.#advance(row, writers);
      };
      const cancelPatience = giveUpAfter(this.#clock, patienceMs(), leave);
      const waiting: WaitingWriter = {
        alone,
        settle: (unlock) => {
          cancelPatience();
          signal.removeEventListener('abort', leave);
          resolve(unlock);
        },
      };
      signal.addEventListener('abort', leave, { once: true });
      writers.queue.add(waiting);
    });
  }

  #enter(row: string, writers: Writers, alone: boolean): Unlock {
    writers.inside += 1;
    writers.isExcluded = alone;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      writers.inside -= 1;
      writers.isExcluded = false;
      this.#advance(row, writers);
    };
  }

  #advance(row: string, writers: Writers): void {
    for (const waiting of writers.queue) {
      if (!fits(writers, waiting.alone)) return;
      writers.queue.delete(waiting);
      waiting.settle(this.#enter(row, writers, waiting.alone));
    }
    if (writers.inside === 0) this.#rows.delete(row);
  }
}

/** Whether a writer can have its lock beside those that have theirs. */
function fits({ inside, isExcluded }: Writers, alone: boolean): boolean {
  return alone ? inside === 0 : !isExcluded;
}
