import type { ExhaustedReason } from '../../errors.ts';
import type { AtOnce } from '../../scheduling/at-once.ts';
import type { Clock } from '../../scheduling/clock.ts';
import { type BulkNeed, departuresOf, Forecast } from './forecast.ts';
import { type KeyBudgetOptions, KeyBudgetStore, type Slot } from './key-budget-store.ts';
import { classOf, type QuotaUse, quotaUse, weightOf } from './law/callers.ts';
import type { Lane, TurnLane } from './law/document.ts';
import { leftByRefreshes, refreshesPerWindow } from './law/pace.ts';
import { Reserves } from './law/reserves.ts';
import { heldBack, pausedMs, used } from './law/slots.ts';
import { Queue, type SlotRequest } from './queue.ts';
import { BudgetShown, type BudgetState, stateOf } from './shown.ts';

/** Tolerance for rounding errors of times, so that they do not cost a whole millisecond. */
const ROUNDED_MS = 1e-6;

/**
 * Admission of requests to one upstream key: it decides the order in which requests are sent, so that the key's
 * limit holds in every sliding window, writes go first, callers take turns, and refreshes use what is left. On each
 * change, it claims slots for the first waiting requests, until the store says when to claim again.
 */
export class Budget {
  /** Number of requests that wait in each lane. */
  readonly queued: Readonly<Record<Lane, number>>;
  /** What an operator sees of it. */
  readonly shown: BudgetShown;
  readonly #clock: Clock;
  readonly #store: KeyBudgetStore;
  readonly #queue: Queue<SlotRequest>;
  /** How waiting requests receive their slots, or `null`. */
  readonly #turns = new Map<SlotRequest, (slot: Slot | null) => void>();
  #cancelWake: (() => void) | null = null;
  /** Whether slots were returned in this turn, and whether one was returned after a refusal. */
  #pumpsSoon = false;
  #informsSoon = false;
  /** When the process will end, on `clock.now()`; `null` while it is not about to. */
  #drainedAt: number | null = null;

  constructor(options: KeyBudgetOptions) {
    this.#clock = options.clock;
    this.#store = new KeyBudgetStore(options);
    this.#queue = new Queue(this.#store.rules);
    this.queued = this.#queue.sizes;
    this.shown = new BudgetShown(this.#store, this.#queue);
  }

  /**
   * Waits for a turn. If a slot is free, the request is sent in the same turn of the event loop. With `again`, it goes
   * before all others of its lane, because its last turn had no result. `null` after `cancel`.
   */
  turn(request: SlotRequest, again = false): AtOnce<Slot | null> {
    let granted: Slot | null = null;
    let grant = (slot: Slot | null): void => {
      granted = slot;
    };
    this.#turns.set(request, (slot) => grant(slot));
    this.#queue.add(request, again);
    this.#pump();
    return (
      granted ??
      new Promise<Slot | null>((resolve) => {
        grant = resolve;
      })
    );
  }

  /** Removes a request from the queue; false if it has had its turn. It uses no slot. */
  cancel(request: SlotRequest): boolean {
    if (!this.#queue.remove(request)) return false;
    this.#grant(request, null);
    return true;
  }

  /**
   * Sends a read when a new read of this caller would be sent, if that is sooner, because this caller waits for it too; a
   * refresh, or a read in the lane `bulk`, in any case. From then on, it is charged to this caller, whose own reads are not
   * in the lane `bulk`.
   */
  promote(request: SlotRequest, caller: string): void {
    if (request.lane === 'write' || request.lane === 'interactive') {
      if (request.caller === caller || !this.#turns.has(request)) return;
      if (this.estimate('interactive', caller) >= this.estimateOf(request)) return;
    }
    this.#move(request, 'interactive', caller);
  }

  /** Returns a waiting read to the lane `bulk`, because only callers whose reads are in it wait for it now, such as this. */
  demote(request: SlotRequest, caller: string): void {
    this.#move(request, 'bulk', caller);
  }

  /**
   * The lane of a request of this caller that would be in a given lane for a class with weight: `bulk` for reads of a
   * class without. Not for jobs.
   */
  laneOf<L extends TurnLane>(lane: L, caller: string): L | 'bulk' {
    if (lane === 'write') return lane;
    return weightOf(this.#store.rules, classOf(caller)) === 0 ? 'bulk' : lane;
  }

  /**
   * Estimated milliseconds until a new request of this caller would be sent, which would be in this lane for a class with
   * weight.
   */
  estimate(lane: TurnLane, caller: string): number {
    const own = this.laneOf(lane, caller);
    const forecast = this.#forecast(own);
    return forecast.leavesInMs(forecast.add(own, caller));
  }

  /** Estimated milliseconds until a waiting request is sent; 0 if it does not wait, or is a refresh. */
  estimateOf(request: SlotRequest): number {
    if (request.lane === 'refresh' || !this.#turns.has(request)) return 0;
    return this.#forecast(request.lane).leavesInMs(request);
  }

  /**
   * Milliseconds until further requests of jobs have had their responses, if others use as many slots
   * as before, and none is sent for `heldMs` milliseconds, as while the circuit breaker is open; 0 by default. Costs no
   * upstream request.
   */
  bulkForecastMs(need: BulkNeed, heldMs = 0): number {
    return new Forecast(this.#queue, this.#store.view, heldMs).bulkMs(need);
  }

  /**
   * Number of slots that a caller can use now: without those that are reserved for others, see `Reserves`. `lane` as for
   * `estimate`.
   */
  availableTo(lane: TurnLane, caller: string): number {
    const { budget, now, rules } = this.#store.view;
    return new Reserves(budget, rules, now).available({ caller, lane: this.laneOf(lane, caller) });
  }

  /** The limit of the class of a caller, and what of it is used; `null` without one. */
  quotaOf(caller: string): QuotaUse | null {
    const { budget, now, rules } = this.#store.view;
    return quotaUse(budget, rules, now, classOf(caller));
  }

  /** Requests per window that the upstream grants the key. */
  get limit(): number {
    return this.#store.budget.limit;
  }

  /** The window of the limit, in milliseconds. */
  get windowMs(): number {
    return this.#store.rules.windowMs;
  }

  /** How many refreshes fit into a window without reads and writes. */
  get refreshesPerWindow(): number {
    return refreshesPerWindow(this.limit);
  }

  /** Whether slots can be spared: none waits except in the lane `bulk`, and more slots than refreshes leave are free. */
  get idle(): boolean {
    const { interactive, refresh, write } = this.queued;
    if (write + interactive + refresh > 0 || this.pausedMs > 0) return false;
    return this.limit - used(this.#store.budget) > leftByRefreshes(this.limit);
  }

  /** Milliseconds until a refusal's pause ends; 0 if there is none. */
  get pausedMs(): number {
    const { budget, now } = this.#store.view;
    return pausedMs(budget, now);
  }

  /** Why a request is not sent within `patienceMs` milliseconds, apart from limits of classes. */
  exhaustedBy(patienceMs: number): ExhaustedReason {
    if (this.pausedMs > Math.max(0, patienceMs)) return 'paused';
    const { budget } = this.#store;
    const isFull = used(budget) - heldBack(budget) >= budget.limit;
    return heldBack(budget) > 0 && !isFull ? 'starting' : 'limit';
  }

  /** The current state of the budget. */
  get state(): BudgetState {
    const { bulk, interactive, refresh, write } = this.queued;
    return stateOf(this.#store.view, write + interactive + refresh + bulk);
  }

  /**
   * Completes only requests that can finish within `graceMs`: those with a slot, and writes whose turn comes in time.
   * Waiting and new reads and requests of jobs are rejected; refreshes are no longer sent.
   */
  drain(graceMs: number): void {
    if (this.#drainedAt !== null) return;
    this.#drainedAt = this.#clock.now() + graceMs;
    this.#tellDelay();
    // Writes whose turn was expected in time, but was late.
    this.#clock.after(graceMs, () => this.#tellDelay());
  }

  /** Whether a request with this waiting time can no longer be served, because of `drain`. */
  turnsAway(request: SlotRequest, estimateMs: number): boolean {
    if (this.#drainedAt === null) return false;
    return request.lane !== 'write' || this.#clock.now() + estimateMs > this.#drainedAt;
  }

  /** What takes only slots that are left waits for others, which are expected to use as many as before. */
  #forecast(lane: Lane): Forecast {
    const forecast = new Forecast(this.#queue, this.#store.view);
    if (lane === 'bulk') forecast.expectOthers();
    return forecast;
  }

  /** Informs waiting requests of a pause, so that they can leave the queue before their deadline. */
  #tellDelay(): void {
    /** The turns of requests that have left the queue, which the next ones get. */
    const given: number[] = [];
    for (const [request, leavesInMs] of departuresOf(this.#queue, this.#store.view)) {
      given.push(leavesInMs);
      if (request.accepts(given[0] ?? leavesInMs)) given.shift();
    }
  }

  #move(request: SlotRequest, lane: Lane, caller: string): void {
    const waits = this.#queue.remove(request);
    request.lane = lane;
    request.caller = caller;
    if (!waits) return;
    this.#queue.add(request);
    this.#pump();
  }

  /**
   * Slots were returned: pumps after the request that has returned a slot has requested another turn, so that this turn is
   * the next. After a refusal, waiting requests are informed of the pause first.
   */
  readonly #freed = (refused: boolean): void => {
    this.#informsSoon ||= refused;
    if (this.#pumpsSoon) return;
    this.#pumpsSoon = true;
    queueMicrotask(() => {
      const informsNow = this.#informsSoon;
      this.#pumpsSoon = false;
      this.#informsSoon = false;
      if (informsNow) this.#tellDelay();
      this.#pump();
    });
  };

  /** Grants slots to the requests whose turn it is, and sets the alarm for the next ones. */
  #pump(): void {
    this.#cancelWake?.();
    this.#cancelWake = null;
    const { bulk, interactive, refresh, write } = this.queued;
    const drains = this.#drainedAt !== null;
    if (write + interactive + (drains ? 0 : refresh + bulk) === 0) return;
    const { taken, waitMs } = this.#store.claim(this.#queue, drains, this.#freed);
    if (waitMs < Infinity) {
      // A fraction of a millisecond would be rounded to 0 and repeated immediately.
      const ms = Math.max(1, Math.ceil(waitMs - ROUNDED_MS));
      this.#cancelWake = this.#clock.after(ms, () => this.#pump());
    }
    for (const { request, slot } of taken) this.#grant(request, slot);
  }

  /** Resolves the turn of a request that no longer waits in a lane. */
  #grant(request: SlotRequest, slot: Slot | null): void {
    const grant = this.#turns.get(request);
    this.#turns.delete(request);
    grant?.(slot);
  }
}
