import { DEFAULT_CLASS } from '../../auth/caller-class.ts';
import type { Credential } from '../../auth/credential.ts';
import { BoundedMap } from '../../bounded-map.ts';
import { createDigest } from '../../digest.ts';
import { BudgetExhausted, type UpstreamName } from '../../errors.ts';
import type { Clock } from '../../scheduling/clock.ts';
import { Budget } from './budget.ts';
import type { KeyBudgetOptions } from './key-budget-store.ts';
import { callerInClass, type QuotaUse } from './law/callers.ts';
import type { SavedSlots } from './saved-slots.ts';
import type { BudgetState } from './shown.ts';

/** The owner of the budgets, and their maximum number. */
interface BudgetsOptions {
  readonly upstream: UpstreamName;
  readonly clock: Clock;
  /** Maximum number of budgets. */
  readonly maxBudgets: number;
  /** Requests that one operation may make, by default as many as a window has; never more. */
  readonly maxCallsPerOperation: number | undefined;
  /** Creates the budget of a key. A budget without requests is not stored anywhere. */
  readonly budgetOf: (secret: string) => Budget;
}

/** Maximum number of budgets of keys that the upstream does not accept; the least recently used is removed first. */
const OUTSIDE_REMEMBERED = 2000;

/** The state of one key: of its budget, and whether the upstream has accepted it. */
export interface KeyState extends BudgetState {
  /** False for a caller's key that the upstream is not known to have accepted. */
  readonly accepted: boolean;
  readonly budget: Budget;
}

/** The state of a key for one caller. */
export interface CallerBudget extends KeyState {
  /** Number of slots that reads of the caller can use now. */
  readonly available: number;
  readonly callerClass: string;
  readonly quota: QuotaUse | null;
}

/** The state of a key for a caller of a class. */
export function budgetOfCaller(
  state: KeyState,
  {
    callerClass = DEFAULT_CLASS,
    name,
  }: { readonly name: string; readonly callerClass?: string | undefined },
): CallerBudget {
  const named = callerInClass(name, callerClass);
  const available = state.budget.availableTo('interactive', named);
  return { ...state, available, callerClass, quota: state.budget.quotaOf(named) };
}

/**
 * The budgets of an upstream's keys, bounded in number. If there is no room for another, budgets without leases
 * and without waiting requests are removed: no lease is ever forgotten.
 *
 * A caller's key has a place during its first request, and after it was accepted. Keys that were not accepted are
 * remembered separately: anyone can invent keys, and these must not take places from valid ones.
 */
export class Budgets implements Iterable<Budget> {
  readonly #options: BudgetsOptions;
  readonly #budgets = new Map<string, Budget>();
  /** The callers' keys that have a place and were not accepted yet. */
  readonly #tried = new Set<string>();
  readonly #outside = new BoundedMap<Budget>({ max: OUTSIDE_REMEMBERED });
  /** Of keys under which nothing was sent yet: making one reads the leases of the process before. */
  readonly #lookedAt = new BoundedMap<Budget>({ max: OUTSIDE_REMEMBERED });
  /** Until then, on `clock.now()`, no budget can be idle. */
  #fullUntil = Number.NEGATIVE_INFINITY;
  /** When the process ends, on `clock.now()`; `null` while it is not about to. */
  #drainedAt: number | null = null;
  readonly #onDrain = new Set<() => void>();

  constructor(options: BudgetsOptions) {
    this.#options = options;
  }

  [Symbol.iterator](): Iterator<Budget> {
    return this.#budgets.values();
  }

  /**
   * The budget of a key, to send requests under; a new one if the key has none.
   * @throws BudgetExhausted `BUDGET_EXHAUSTED` if there is no room for another.
   */
  of({ ofCaller, partition, secret }: Credential): Budget {
    const known = this.#budgets.get(partition) ?? this.#outside.get(partition);
    if (known) return known;
    if (!this.hasRoomFor(partition)) {
      const { clock, upstream } = this.#options;
      const waitMs = this.#fullUntil - clock.now();
      throw new BudgetExhausted(upstream, waitMs, new Date(clock.wall() + waitMs), 'keys');
    }
    const budget = this.#lookedAt.get(partition) ?? this.#options.budgetOf(secret);
    this.#lookedAt.delete(partition);
    if (this.#drainedAt !== null) budget.drain(this.#drainedAt - this.#options.clock.now());
    this.#budgets.set(partition, budget);
    if (ofCaller) this.#tried.add(partition);
    return budget;
  }

  /** The state of a key and of its budget. Reading it creates no budget. */
  stateOf(credential: Credential): KeyState {
    const { ofCaller, partition } = credential;
    const known = this.#budgets.has(partition) && !this.#tried.has(partition);
    const budget = this.lookAt(credential);
    return { ...budget.state, accepted: known || !ofCaller, budget };
  }

  /** The upstream has accepted a key. */
  accepted({ partition }: Credential): void {
    this.#tried.delete(partition);
    const outside = this.#outside.peek(partition);
    if (!outside) return;
    this.#outside.delete(partition);
    this.#budgets.set(partition, outside);
  }

  /** The upstream has responded without a decision on the key. An accepted key keeps its place. */
  notAccepted(credential: Credential): void {
    if (this.#tried.has(credential.partition)) this.refused(credential);
  }

  /** The upstream has rejected a caller's key, which loses its place. Its sent requests still count. */
  refused({ partition }: Credential): void {
    const budget = this.#budgets.get(partition);
    if (!budget) return;
    this.#outside.set(partition, budget);
    this.#forget(partition);
    this.#fullUntil = Number.NEGATIVE_INFINITY;
  }

  /** The budget of a key, for display only. It needs no room. */
  lookAt({ partition, secret }: Credential): Budget {
    const known =
      this.#budgets.get(partition) ??
      this.#outside.peek(partition) ??
      this.#lookedAt.get(partition);
    if (known) return known;
    const budget = this.#options.budgetOf(secret);
    this.#lookedAt.set(partition, budget);
    return budget;
  }

  /** Maximum number of requests that one operation may send with a key. */
  maxCalls(credential: Credential): number {
    const { limit } = this.lookAt(credential);
    return Math.min(limit, this.#options.maxCallsPerOperation ?? Math.ceil((2 * limit) / 3));
  }

  /** Whether `of` has a budget for a partition. Makes room if it can. */
  hasRoomFor(partition: string): boolean {
    const { clock, maxBudgets } = this.#options;
    const known = this.#budgets.has(partition) || this.#outside.peek(partition) !== undefined;
    if (known || this.#budgets.size < maxBudgets) return true;
    // Checks all budgets only once until one can be idle, so that refusals stay cheap.
    if (this.#fullUntil > clock.now()) return false;
    let soonestMs = Number.POSITIVE_INFINITY;
    for (const [each, { state }] of this.#budgets) {
      if (state.resetInMs === null && state.queued === 0) this.#forget(each);
      else soonestMs = Math.min(soonestMs, Math.max(1, state.resetInMs ?? 1));
    }
    if (this.#budgets.size < maxBudgets) return true;
    this.#fullUntil = clock.now() + soonestMs;
    return false;
  }

  /** See `Budget.drain`; applies to later budgets too. */
  drain(graceMs: number): void {
    this.#drainedAt ??= this.#options.clock.now() + graceMs;
    for (const budget of this.#budgets.values()) budget.drain(graceMs);
    for (const budget of this.#outside.values()) budget.drain(graceMs);
    for (const task of this.#onDrain) task();
    this.#onDrain.clear();
  }

  /** Runs a task when the process is about to end; returns a function that removes it. */
  onDrain(task: () => void): () => void {
    if (this.#drainedAt === null) this.#onDrain.add(task);
    else task();
    return () => this.#onDrain.delete(task);
  }

  #forget(partition: string): void {
    this.#budgets.delete(partition);
    this.#tried.delete(partition);
  }
}

/** One upstream's limit for each of its keys. */
interface KeyLimits extends Omit<KeyBudgetOptions, 'saved'> {
  /** Maximum duration of a request. */
  readonly timeoutMs: number;
  /** Distinguishes a key of this installation from the same key of another. */
  readonly baseUrl: string;
}

/** Names keys in the store, equally in every process. A key cannot be derived from its name. */
const nameOf = createDigest('the slots of keys');

/** Creates the budgets of keys, whose slots are saved across restarts. */
export function processBudgets(of: KeyLimits, slots: SavedSlots): (secret: string) => Budget {
  return (secret) => new Budget({ ...of, saved: slots.of(nameOf(`${of.baseUrl} ${secret}`), of) });
}
