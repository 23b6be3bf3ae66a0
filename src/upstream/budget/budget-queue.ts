import type { ExhaustedReason } from '../../errors.ts';
import type { Clock } from '../../scheduling/clock.ts';
import type {
  BudgetState,
  BudgetWindow,
  BulkNeed,
  QueuedRequest,
  SlotRequest,
  TakenSlot,
  WaitingCaller,
} from './budget.ts';
import { bulkForecastMs } from './estimates/bulk-forecast.ts';
import { QueueEstimates } from './estimates/queue-estimates.ts';
import { QueueForecast } from './estimates/queue-forecast.ts';
import { Lanes } from './lanes.ts';
import { type BudgetView, clearMs, pausedMs } from './law/availability.ts';
import { Allowances } from './law/callers/allowances.ts';
import { classOf, nameWithoutClass } from './law/callers/caller-names.ts';
import { laneWithin } from './law/callers/lane-turns.ts';
import type { QuotaUse } from './law/callers/quotas.ts';
import { type Lane, leftByRefreshes, type TurnLane } from './law/document.ts';
import { refreshesPerWindow } from './law/pace.ts';
import { comesBack, heldBack, slotsOf, used } from './law/slots.ts';
import type { MemoryStore } from './memory-store.ts';

/** The request for which a slot was taken. */
type SlotUse = Pick<SlotRequest, 'lane' | 'resource'>;

/** Maximum number of listed slots of a window: co-tenants can have any number. */
const MOST_LISTED = 1000;

/** The requests that wait for slots of one key, for display and estimates. */
export abstract class BudgetQueue {
  protected readonly clock: Clock;
  protected readonly store: MemoryStore;
  protected readonly lanes: Lanes<SlotRequest>;
  /** The requests for which slots are taken, by the names of the slots. */
  readonly #uses = new Map<string, SlotUse>();
  /** When the process will end, on `clock.now()`; `null` while it is not about to. */
  protected drainedAt: number | null = null;

  constructor(clock: Clock, store: MemoryStore) {
    this.clock = clock;
    this.store = store;
    this.lanes = new Lanes(store, store.rules);
  }

  get state(): BudgetState {
    const writeInMs = (): number => this.estimate('write', '');
    return stateOf(this.store.view, { queued: this.lanes.waiting, writeInMs });
  }

  get window(): BudgetWindow {
    return windowOf(this.store.view, (id) => this.#uses.get(id));
  }

  get pausedMs(): number {
    const { budget, now } = this.store.view;
    return pausedMs(budget, now);
  }

  exhaustedBy(patienceMs: number): ExhaustedReason {
    const { budget, now } = this.store.view;
    const patient = Math.max(0, patienceMs);
    if (pausedMs(budget, now) > patient) return 'paused';
    const isFull = used(budget) - heldBack(budget) >= budget.limit;
    return heldBack(budget) > 0 && !isFull ? 'starting' : 'limit';
  }

  get idle(): boolean {
    const { budget, now } = this.store.view;
    if (this.lanes.waiting > this.lanes.size('bulk') || pausedMs(budget, now) > 0) return false;
    return budget.limit - used(budget) > leftByRefreshes(budget.limit);
  }

  get refreshesPerWindow(): number {
    return refreshesPerWindow(this.limit);
  }

  get limit(): number {
    return this.store.budget.limit;
  }

  get windowMs(): number {
    return this.store.rules.windowMs;
  }

  laneOf<L extends TurnLane>(lane: L, caller: string): L | 'bulk' {
    return laneWithin(this.store.rules, lane, caller);
  }

  estimate(lane: TurnLane, caller: string): number {
    return this.#estimates.ofNew(lane, caller);
  }

  estimateOf(request: SlotRequest): number {
    return this.#estimates.of(request) ?? 0;
  }

  availableTo(lane: TurnLane, caller: string): number {
    const { budget, now, rules } = this.store.view;
    if (pausedMs(budget, now) > 0) return 0;
    const allowances = new Allowances(budget, rules, now);
    const want = { lane: this.laneOf(lane, caller), caller };
    return allowances.available(want, budget.limit - used(budget));
  }

  quotaOf(caller: string): QuotaUse | null {
    const { budget, now, rules } = this.store.view;
    return rules.classes ? new Allowances(budget, rules, now).quotaOf(caller) : null;
  }

  forecast(heldMs: number): QueueForecast {
    return new QueueForecast(this.lanes, this.store.view, heldMs);
  }

  bulkForecastMs(need: BulkNeed, heldMs = 0): number {
    return bulkForecastMs(this.forecast(heldMs), need);
  }

  get waitingCallers(): WaitingCaller[] {
    const callers = new Map<string, { -readonly [K in keyof WaitingCaller]: WaitingCaller[K] }>();
    const all = [...this.lanes.inOrder(), ...this.lanes.bulk()];
    for (const { caller, isForJobs, waitedMs } of all) {
      if (isForJobs) continue;
      const shown = { caller: nameWithoutClass(caller), callerClass: classOf(caller) };
      const known = callers.get(caller) ?? { ...shown, count: 0, longestMs: 0 };
      known.count += 1;
      known.longestMs = Math.max(known.longestMs, waitedMs);
      callers.set(caller, known);
    }
    return [...callers.values()];
  }

  waiting(most: number): QueuedRequest[] {
    const waiting: QueuedRequest[] = [];
    const estimates = this.#estimates;
    for (const each of this.lanes.inOrder()) {
      if (waiting.length >= most) return waiting;
      waiting.push(queued(each, estimates.ofNext(each)));
      estimates.pass(each);
    }
    const refreshes = this.lanes.mostUrgent(most - waiting.length);
    for (const { refresh } of refreshes) waiting.push(queued(refresh, null));
    for (const each of this.lanes.bulk()) {
      if (waiting.length >= most) return waiting;
      waiting.push(queued(each, each.isForJobs ? null : (estimates.of(each) ?? null)));
    }
    return waiting;
  }

  queuedIn(lane: Lane): number {
    return this.lanes.size(lane);
  }

  drain(graceMs: number): void {
    if (this.drainedAt !== null) return;
    this.drainedAt = this.clock.now() + graceMs;
    this.tellDelay();
    // Writes whose turn was expected in time, but was late.
    this.clock.after(graceMs, () => this.tellDelay());
  }

  turnsAway(request: SlotRequest, estimateMs: number): boolean {
    if (this.drainedAt === null) return false;
    return request.lane !== 'write' || this.clock.now() + estimateMs > this.drainedAt;
  }

  get #estimates(): QueueEstimates<SlotRequest> {
    return new QueueEstimates(this.lanes, this.store.view);
  }

  /** Records the request for which a slot is taken. */
  protected noteUse(id: string, { lane, resource }: SlotUse): void {
    const { answered, held } = this.store.budget;
    this.#uses.set(id, { lane, resource });
    if (this.#uses.size <= 2 * (answered.length + held.length)) return;
    const counting = new Set([...answered, ...held].map((slot) => slot.id));
    for (const each of this.#uses.keys()) if (!counting.has(each)) this.#uses.delete(each);
  }

  /** Informs waiting requests of a pause, so that they can leave the queue before their deadline. */
  protected tellDelay(): void {
    const estimates = this.#estimates;
    // Requests that do not accept the wait leave the lanes in this loop.
    for (const each of Array.from(this.lanes.inOrder())) {
      if (each.accepts(estimates.ofNext(each))) estimates.pass(each);
    }
    for (const each of Array.from(this.lanes.bulk())) each.accepts(this.estimateOf(each));
  }
}

function queued(request: SlotRequest, leavesInMs: number | null): QueuedRequest {
  const { caller, lane, operation, resource, waitedMs } = request;
  const shown = { caller: nameWithoutClass(caller), callerClass: classOf(caller) };
  return { lane, ...shown, resource, operation, waitedMs, leavesInMs };
}

/** The state of a budget with this number of waiting requests. */
function stateOf(
  { budget, now, rules }: BudgetView,
  { queued, writeInMs }: { readonly queued: number; readonly writeInMs: () => number },
): BudgetState {
  const { limit } = budget;
  const count = used(budget);
  const pauseMs = pausedMs(budget, now);
  const clear = clearMs(budget, rules, now);
  const upstreamResetInMs = (budget.upstreamResetAt ?? now) - now;
  return {
    limit,
    used: Math.min(limit, count),
    remaining: pauseMs > 0 ? 0 : Math.max(0, limit - count),
    queued,
    resetInMs: clear === null && pauseMs === 0 ? null : Math.max(clear ?? 0, pauseMs),
    upstreamResetInMs: upstreamResetInMs > 0 ? upstreamResetInMs : null,
    // Computed on demand, because few readers use it.
    get writeInMs() {
      return writeInMs();
    },
  };
}

/** The owners of the slots in the window, those in flight last; `useOf` finds the requests of this process by ID. */
function windowOf(
  { budget, now, rules }: BudgetView,
  useOf: (id: string) => SlotUse | undefined,
): BudgetWindow {
  const { limit } = budget;
  const slots = slotsOf(budget, rules, now);
  const taken = slots.flatMap(({ count, id, isCoTenant, isOut, until }): TakenSlot[] => {
    const freeInMs = isOut ? null : until - now;
    const use = id === null ? undefined : useOf(id);
    const other = isCoTenant ? 'co-tenant' : 'before';
    const slot = { owner: use?.lane ?? other, resource: use?.resource ?? null, freeInMs } as const;
    return Array.from({ length: Math.min(count, MOST_LISTED) }, () => slot);
  });
  const over = Math.max(0, used(budget) - limit);
  const allInMs = clearMs(budget, rules, now);
  return {
    limit,
    taken: [
      ...taken.filter(({ freeInMs }) => freeInMs !== null),
      ...taken.filter(({ freeInMs }) => freeInMs === null),
    ],
    nextInMs: allInMs === null ? null : comesBack(budget, rules, now, over) - now,
    allInMs,
  };
}
