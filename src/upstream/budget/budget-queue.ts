import { classRules } from '../../auth/caller-class.ts';
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
import { type BudgetView, Forecast } from './forecast.ts';
import { callerInClass, classOf, nameWithoutClass } from './law/callers.ts';
import { type Lane, leftByRefreshes, type TurnLane } from './law/document.ts';
import { refreshesPerWindow } from './law/pace.ts';
import { type QuotaUse, quotaUse } from './law/quotas.ts';
import { Reserves } from './law/reserves.ts';
import { clearMs, comesBack, heldBack, pausedMs, slotsOf, used } from './law/slots.ts';
import type { MemoryStore } from './memory-store.ts';
import { Queue } from './queue.ts';

/** The request for which a slot was taken. */
type SlotUse = Pick<SlotRequest, 'lane' | 'resource'>;

/** Maximum number of requests of a job that a forecast plays. */
const MOST_PLAYED = 100;
/** Maximum number of listed slots of a window: co-tenants can have any number. */
const MOST_LISTED = 1000;

/** The requests that wait for slots of one key, for display and estimates. */
export abstract class BudgetQueue {
  protected readonly clock: Clock;
  protected readonly store: MemoryStore;
  protected readonly lanes: Queue<SlotRequest>;
  /** The requests for which slots are taken, by the names of the slots. */
  readonly #uses = new Map<string, SlotUse>();
  /** When the process will end, on `clock.now()`; `null` while it is not about to. */
  protected drainedAt: number | null = null;

  constructor(clock: Clock, store: MemoryStore) {
    this.clock = clock;
    this.store = store;
    this.lanes = new Queue(store.rules);
  }

  get state(): BudgetState {
    return stateOf(this.store.view, this.lanes.waiting);
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
    if (lane === 'write') return lane;
    const { weight } = classRules(this.store.rules.classes, classOf(caller));
    return weight === 0 ? 'bulk' : lane;
  }

  estimate(lane: TurnLane, caller: string): number {
    const own = this.laneOf(lane, caller);
    const forecast = this.#forecast(own);
    return forecast.leavesInMs(forecast.add(own, caller));
  }

  estimateOf(request: SlotRequest): number {
    if (request.lane === 'refresh') return 0;
    return this.#forecast(request.lane).leavesInMs(request);
  }

  availableTo(lane: TurnLane, caller: string): number {
    const { budget, now, rules } = this.store.view;
    if (pausedMs(budget, now) > 0) return 0;
    const own = this.laneOf(lane, caller);
    const free = budget.limit - used(budget);
    return new Reserves(budget, rules, now).available({ caller, lane: own }, free);
  }

  quotaOf(caller: string): QuotaUse | null {
    const { budget, now, rules } = this.store.view;
    return rules.classes ? quotaUse(budget, rules, now, classOf(caller)) : null;
  }

  bulkForecastMs({ callerClass, calls }: BulkNeed, heldMs = 0): number {
    const { budget, rules } = this.store;
    const forecast = this.#forecast('bulk', heldMs, callerClass);
    const caller = callerInClass('', callerClass);
    const times: number[] = [];
    while (times.length < Math.min(calls, MOST_PLAYED)) {
      if (!forecast.hasBulk(callerClass)) forecast.add('bulk', caller);
      const departure = forecast.next();
      if (!departure) break;
      const { leavesInMs, waiting } = departure;
      if (waiting.lane === 'bulk' && classOf(waiting.caller) === callerClass)
        times.push(leavesInMs);
    }
    const last = times.at(-1);
    if (last === undefined) return Infinity;
    // A slot is used again after a round, so that what follows repeats the last one.
    const roundMs = rules.windowMs + budget.latencyMs;
    const ofRound = times.filter((each) => each > last - roundMs).length;
    const perRound = last < roundMs ? Math.max(ofRound, forecast.leftByOthers) : ofRound;
    const rounds = Math.ceil((calls - times.length) / perRound);
    return (times[calls - 1 - rounds * perRound] ?? last) + rounds * roundMs + budget.latencyMs;
  }

  /** What takes only slots that are left waits for others, which are expected to use as many as before. */
  #forecast(lane: Lane, heldMs = 0, jobsOf?: string): Forecast {
    const forecast = new Forecast(this.lanes, this.store.view, heldMs);
    if (lane === 'bulk') forecast.expectOthers(jobsOf);
    return forecast;
  }

  get waitingCallers(): WaitingCaller[] {
    const callers = new Map<string, { -readonly [K in keyof WaitingCaller]: WaitingCaller[K] }>();
    const all = this.lanes.in('write', 'interactive', 'bulk');
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
    const played = [...this.#played()].map(([request, leavesInMs]) =>
      queued(request, request.isForJobs ? null : leavesInMs),
    );
    const refreshes = this.lanes.mostUrgent().map((each) => queued(each, null));
    const callers = played.filter(({ lane }) => lane !== 'bulk');
    const bulk = played.filter(({ lane }) => lane === 'bulk');
    return [...callers, ...refreshes, ...bulk].slice(0, most);
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

  /** Milliseconds until each waiting request is sent, in this order, without refreshes. */
  #played(): ReadonlyMap<SlotRequest, number> {
    const waiting = new Set(this.lanes.in('write', 'interactive', 'bulk'));
    const played = new Map<SlotRequest, number>();
    const forecast = this.#forecast(this.lanes.size('bulk') > 0 ? 'bulk' : 'interactive');
    let lastMs = 0;
    for (let each = forecast.next(); each && waiting.size > 0; each = forecast.next()) {
      const request = each.waiting as SlotRequest;
      lastMs = each.leavesInMs;
      if (waiting.delete(request)) played.set(request, lastMs);
    }
    for (const each of waiting) played.set(each, forecast.isOver ? lastMs : Infinity);
    return played;
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
    /** The turns of requests that have left the queue, which the next ones get. */
    const given: number[] = [];
    for (const [request, leavesInMs] of this.#played()) {
      given.push(leavesInMs);
      if (request.accepts(given[0] ?? leavesInMs)) given.shift();
    }
  }
}

function queued(request: SlotRequest, leavesInMs: number | null): QueuedRequest {
  const { caller, lane, operation, resource, waitedMs } = request;
  const shown = { caller: nameWithoutClass(caller), callerClass: classOf(caller) };
  return { lane, ...shown, resource, operation, waitedMs, leavesInMs };
}

/** The state of a budget with this number of waiting requests. */
function stateOf({ budget, now, rules }: BudgetView, queued: number): BudgetState {
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
