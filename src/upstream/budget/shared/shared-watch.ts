import type { BudgetWatch } from '../budget.ts';
import type { SharedLedger } from './shared-ledger.ts';

/** Of co-tenants' slots that come back together, as many are told of: any number can be announced. */
const MOST_TOLD = 1000;

/** What others have to do with a budget, as it was heard of at one moment. */
interface Sight {
  /** Slots of others that count, by when they come back at the latest. */
  readonly foreign: readonly number[];
  readonly pausedUntil: number | null;
}

/** Tells what has befallen a budget that other replicas change. */
export class SharedWatch {
  readonly #watch: BudgetWatch;
  #before: Sight = { foreign: [], pausedUntil: null };

  constructor(watch: BudgetWatch) {
    this.#watch = watch;
  }

  /** The budget may be other than before. */
  look(ledger: SharedLedger): void {
    const { budget, now } = ledger.standing;
    const foreign = [
      ...budget.held.filter(({ owner }) => !ledger.isOwn(owner)).map(() => Infinity),
      ...budget.answered.flatMap(({ owner, until }) => (ledger.isOwn(owner) ? [] : until)),
      ...budget.coTenants.flatMap(({ count, until }) =>
        Array.from({ length: Math.min(count, MOST_TOLD) }, () => until),
      ),
    ];
    const pausedUntil = budget.pause.until;
    const before = this.#before;
    this.#before = { foreign, pausedUntil };
    const came = foreign.length - before.foreign.filter((until) => until > now).length;
    if (came > 0) this.#watch.foreign(came);
    const wasPaused = before.pausedUntil !== null && before.pausedUntil > now;
    if (pausedUntil !== null && pausedUntil > now && !wasPaused) {
      this.#watch.paused(pausedUntil - now);
    }
  }
}
