import type { AtOnce } from '../../scheduling/at-once.ts';
import type { Clock } from '../../scheduling/clock.ts';
import { type Caller, giveUpAfter, patienceOf } from '../operation.ts';

/** With what the name of the lock of equal creations begins; their content follows. */
export const CREATION = 'creation ';

/** How long a writer waits for others. */
export interface LockTerms {
  readonly patienceMs: number;
  readonly signal: AbortSignal;
}

/** A place among the writers of a row. */
export interface RowLock {
  /** Ends it; a second call has no effect. */
  release(): void;
}

/** How long a writer waits for a caller. */
export function termsOf(caller: Caller): LockTerms {
  return { patienceMs: patienceOf(caller), signal: caller.signal };
}

/**
 * The lock that a caller waits for, which is on its receipt as waiting.
 * @throws the caller's abort reason, or the error of `tooLong` if that takes longer than the caller waits.
 */
export function lockFor(
  entering: AtOnce<RowLock | null>,
  { receipt, signal }: Caller,
  tooLong: () => Error,
): AtOnce<RowLock> {
  if (entering && !(entering instanceof Promise)) return entering;
  receipt.waitBegins();
  return Promise.resolve(entering).then((lock) => {
    receipt.waitEnds();
    if (lock) return lock;
    if (signal.aborted) throw signal.reason;
    throw tooLong();
  });
}

/** A writer that waits for others. */
interface Waiting {
  readonly alone: boolean;
  readonly settle: (lock: RowLock | null) => void;
}

/** The writers of one row. */
interface Writers {
  /** Number of writers with a lock. */
  inside: number;
  /** Whether the one with a lock excludes all others. */
  isExcluded: boolean;
  /** In the order in which they came. */
  readonly queue: Set<Waiting>;
}

/**
 * Serialises the writers of each row, in the order in which they come: one that compares the row before it writes
 * excludes all others. A row is a scoped tag, such as `LINKS:<partition> channel:42`, or the content of a creation after
 * `CREATION`. One without writers uses no memory.
 */
export class RowLocks {
  readonly #clock: Clock;
  readonly #rows = new Map<string, Writers>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Number of rows with writers. */
  get size(): number {
    return this.#rows.size;
  }

  /**
   * Excludes all other writers of a row until `release`, after those that came before have ended. `null` if that takes
   * longer than the patience, or the signal aborts.
   */
  exclude(row: string, terms: LockTerms): AtOnce<RowLock | null> {
    return this.#join(row, true, terms);
  }

  /** The same for a writer that only waits for one that excludes it. Synchronous if there is none. */
  enter(row: string, terms: LockTerms): AtOnce<RowLock | null> {
    return this.#join(row, false, terms);
  }

  #join(row: string, alone: boolean, { patienceMs, signal }: LockTerms): AtOnce<RowLock | null> {
    if (signal.aborted) return null;
    const writers = this.#writersOf(row);
    // One that waits alone is not overtaken: otherwise it could wait for ever.
    if (writers.queue.size === 0 && fits(writers, alone)) return this.#lock(row, writers, alone);
    return new Promise((resolve) => {
      const leave = (): void => {
        writers.queue.delete(waiting);
        waiting.settle(null);
        this.#advance(row, writers);
      };
      const cancelPatience = giveUpAfter(this.#clock, patienceMs, leave);
      const waiting: Waiting = {
        alone,
        settle: (lock) => {
          cancelPatience();
          signal.removeEventListener('abort', leave);
          resolve(lock);
        },
      };
      signal.addEventListener('abort', leave, { once: true });
      writers.queue.add(waiting);
    });
  }

  #writersOf(row: string): Writers {
    const writers = this.#rows.get(row) ?? { inside: 0, isExcluded: false, queue: new Set() };
    this.#rows.set(row, writers);
    return writers;
  }

  #lock(row: string, writers: Writers, alone: boolean): RowLock {
    writers.inside += 1;
    writers.isExcluded = alone;
    let isHeld = true;
    return {
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        writers.inside -= 1;
        writers.isExcluded = false;
        this.#advance(row, writers);
      },
    };
  }

  #advance(row: string, writers: Writers): void {
    for (const waiting of writers.queue) {
      if (!fits(writers, waiting.alone)) return;
      writers.queue.delete(waiting);
      waiting.settle(this.#lock(row, writers, waiting.alone));
    }
    if (writers.inside === 0) this.#rows.delete(row);
  }
}

/** Whether a writer can have its lock beside those that have theirs. */
function fits({ inside, isExcluded }: Writers, alone: boolean): boolean {
  return alone ? inside === 0 : !isExcluded;
}
