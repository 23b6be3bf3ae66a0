import { BudgetExhausted, type UpstreamName } from '../../errors.ts';
import type { AtOnce } from '../../scheduling/at-once.ts';
import type { Clock } from '../../scheduling/clock.ts';
import type { Budgets } from '../budget/budgets.ts';
import type { CachedReads } from '../cached-reads.ts';
import { type Access, namedInBudget } from '../operation.ts';
import type { Write } from '../request.ts';
import { lockFor, type RowLock, type RowLocks, termsOf } from './row-locks.ts';

/** The shortest time after which a caller is told to retry, in milliseconds. */
const LEAST_RETRY_MS = 1000;

interface RowTurnsOptions {
  readonly upstream: UpstreamName;
  readonly clock: Clock;
  readonly budgets: Budgets;
  readonly cached: CachedReads;
  readonly rowLocks: RowLocks;
}

/** The turns of writes that change the same row, if one of them excludes the others. */
export class RowTurns {
  readonly #options: RowTurnsOptions;

  constructor(options: RowTurnsOptions) {
    this.#options = options;
  }

  /**
   * Returns the place of a write among the writers of its row when its guard has passed: synchronously if it has no
   * guard, and no other write excludes it. `undefined` for a write without a row.
   * @throws BudgetExhausted `BUDGET_EXHAUSTED` if the other writers take longer than the caller waits.
   * @throws the caller's abort reason, when they disconnect.
   * @throws the error of the guard.
   */
  enter<T>({ guard, row }: Write<T>, access: Access): AtOnce<RowLock | undefined> {
    if (row === undefined) {
      if (guard) throw new TypeError('a write with a guard has no row');
      return undefined;
    }
    const { caller, credential } = access;
    const { cached, rowLocks } = this.#options;
    const [name = ''] = cached.tagsOf([row], credential);
    const tooLong = (): Error => this.#tooLong(access);
    if (!guard) return lockFor(rowLocks.enter(name, termsOf(caller)), caller, tooLong);
    return this.#guarded(guard, lockFor(rowLocks.exclude(name, termsOf(caller)), caller, tooLong));
  }

  async #guarded(guard: () => Promise<void>, entering: AtOnce<RowLock>): Promise<RowLock> {
    const lock = await entering;
    try {
      await guard();
      return lock;
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  #tooLong({ caller, credential }: Access): BudgetExhausted {
    const { budgets, clock, upstream } = this.#options;
    const estimateMs = budgets.lookAt(credential).estimate('write', namedInBudget(caller));
    const retryAfterMs = Math.max(LEAST_RETRY_MS, Math.ceil(estimateMs));
    const availableAt = new Date(clock.wall() + retryAfterMs);
    return new BudgetExhausted(upstream, retryAfterMs, availableAt, 'changes');
  }
}
