import type { AtOnce } from '../../scheduling/at-once.ts';
import type { Clock } from '../../scheduling/clock.ts';
import type { Slot } from '../budget/budget.ts';
import type { Access } from '../operation.ts';
import type { Write } from '../request.ts';
import { waitFor } from './patience.ts';
import type { RowLock, RowLocks } from './row-locks.ts';

/** For how long a job keeps a slot for a write that cannot be sent yet, in milliseconds. */
const IN_SLOT_MS = 1000;

/** What becomes of a write that has its slot. */
export type Entered =
  /** It is sent; a write without a row has no lock. */
  | { readonly kind: 'entered'; readonly lock: RowLock | undefined }
  /** It returns the slot, and requests another one when `ready` resolves, which never rejects. */
  | { readonly kind: 'late'; readonly ready: Promise<void> }
  | { readonly kind: 'failed'; readonly error: unknown };

interface LateEntryOptions {
  readonly clock: Clock;
  readonly rowLocks: RowLocks;
}

/**
 * The turns of the writes of jobs among the writers of their rows. A job can wait long for a slot, so its write takes its
 * place when it has the slot: others never wait for that slot, neither here nor on other replicas.
 */
export class LateEntry {
  readonly #options: LateEntryOptions;

  constructor(options: LateEntryOptions) {
    this.#options = options;
  }

  /**
   * Takes the place of a write in its slot when its guard has passed, if that takes at most a second. `row` and `tags` are
   * scoped. Never rejects.
   */
  async enter<T>(
    write: Write<T>,
    access: Access,
    of: { readonly slot: Slot; readonly row: string | undefined; readonly tags: readonly string[] },
  ): Promise<Entered> {
    try {
      return await this.#enter(write, access, of);
    } catch (error) {
      return { kind: 'failed', error };
    }
  }

  async #enter<T>(
    { guard }: Write<T>,
    { caller: { signal } }: Access,
    { row, slot, tags }: Parameters<LateEntry['enter']>[2],
  ): Promise<Entered> {
    if (row === undefined) return { kind: 'entered', lock: undefined };
    const { clock, rowLocks } = this.#options;
    const until = clock.now() + IN_SLOT_MS;
    const place = (patienceMs: number) =>
      rowLocks[guard ? 'exclude' : 'enter'](row, { patienceMs, signal });
    const lock = await place(IN_SLOT_MS);
    if (!lock) {
      signal.throwIfAborted();
      return { kind: 'late', ready: whenFree(place) };
    }
    try {
      const passed = guard?.() ?? Promise.resolve();
      const isInTime = await passes(passed, clock, { patienceMs: until - clock.now(), signal });
      signal.throwIfAborted();
      const isLocked = isInTime && (await isLockedIn(slot, { row, tags, lock: lock.id }));
      if (isLocked) return { kind: 'entered', lock };
      lock.release();
      // Its error is found again in the next slot.
      return { kind: 'late', ready: passed.catch(() => {}) };
    } catch (error) {
      lock.release();
      throw error;
    }
  }
}

/** Whether a guard has passed in time. @throws its error. */
async function passes(
  guard: Promise<void>,
  clock: Clock,
  terms: { readonly patienceMs: number; readonly signal: AbortSignal },
): Promise<boolean> {
  let failure: { readonly error: unknown } | undefined;
  const ended = guard.catch((error: unknown) => {
    failure = { error };
  });
  const isInTime = await waitFor(ended, clock, {
    ...terms,
    patienceMs: Math.max(0, terms.patienceMs),
  });
  if (failure) throw failure.error;
  return isInTime;
}

/** Whether the slot of a write has its lock, if that excludes the writers of other replicas. */
async function isLockedIn(
  slot: Slot,
  {
    lock,
    ...of
  }: { readonly row: string; readonly tags: readonly string[]; lock?: string | undefined },
): Promise<boolean> {
  return lock === undefined || slot.lock === undefined || slot.lock({ ...of, lock });
}

/** Resolves when the other writers of a row have ended, or the job is stopped. */
async function whenFree(place: (patienceMs: number) => AtOnce<RowLock | null>): Promise<void> {
  const lock = await place(Number.POSITIVE_INFINITY);
  lock?.release();
}
