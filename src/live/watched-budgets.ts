import type { Credential } from '../auth/credential.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { KeyState } from '../upstream/budget/budgets.ts';
import type { BudgetSource } from '../upstream/operation.ts';

/** A budget in the result of the latest run. */
interface SeenBudget {
  readonly source: BudgetSource;
  readonly credential: Credential;
  readonly state: KeyState;
  /** When its state was read, on `clock.now()`. */
  readonly readAt: number;
  /** When it was last in this state. */
  at: number;
}

/** Interval between two comparisons of budgets, in milliseconds: each request changes them. */
export const BUDGETS_MS = 2000;
/** The end of a window is displayed in whole seconds. */
const SAME_RESET_MS = 1000;
/** Time for which queries share one state of a budget, in milliseconds: computing it visits every slot. */
const SAME_MOMENT_MS = 100;

/** Recent states, by the keys of an upstream. */
const recent = new WeakMap<
  BudgetSource,
  { readonly at: number; readonly states: Map<string, KeyState> }
>();

/** The budgets that a query reads with `rateLimit`, and whether they have changed. Costs no upstream request. */
export class WatchedBudgets {
  readonly #clock: Clock;
  readonly #seen = new Map<string, SeenBudget>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A run starts, which may read others. */
  beginRun(): void {
    this.#seen.clear();
  }

  /** The state of a budget, which is compared from then on. */
  look(source: BudgetSource, credential: Credential): KeyState {
    const at = this.#clock.now();
    const state = source.budgetState({ credential });
    const name = `${source.upstream} ${credential.partition}`;
    this.#seen.set(name, { source, credential, state, readAt: at, at });
    return state;
  }

  /** Whether one of them has changed. */
  haveChanged(): boolean {
    const now = this.#clock.now();
    for (const seen of this.#seen.values()) {
      if (!isLike(seen, stateOf(seen, now), now)) return true;
      seen.at = now;
    }
    return false;
  }

  /** When the shown state was read, on `clock.now()`; `null` if there is none. */
  get at(): number | null {
    return this.#seen.size === 0 ? null : Math.min(...[...this.#seen.values()].map(({ at }) => at));
  }
}

function isLike({ readAt, state }: SeenBudget, other: KeyState, now: number): boolean {
  const same = (['limit', 'used', 'remaining', 'queued'] as const).every(
    (name) => state[name] === other[name],
  );
  return (
    same &&
    (['resetInMs', 'upstreamResetInMs'] as const).every((name) => {
      const [before, after] = [state[name], other[name]];
      if (before === null || after === null) return before === after;
      return Math.abs(now + after - (readAt + before)) < SAME_RESET_MS;
    })
  );
}

function stateOf({ credential, source }: SeenBudget, now: number): KeyState {
  let known = recent.get(source);
  if (!known || now - known.at >= SAME_MOMENT_MS) {
    known = { at: now, states: new Map() };
    recent.set(source, known);
  }
  const state = known.states.get(credential.partition) ?? source.budgetState({ credential });
  known.states.set(credential.partition, state);
  return state;
}
