import { type AtOnce, inBackground } from '../../scheduling/at-once.ts';
import type { Clock } from '../../scheduling/clock.ts';
import type { Budget, SharedResult, SlotRequest, Turn } from './budget.ts';
import { BudgetQueue } from './budget-queue.ts';
import type { IsHeld } from './lanes.ts';
import { Allowances } from './law/callers/allowances.ts';
import type { CallerWaits, WaitingCounts } from './law/callers/turns.ts';
import type { Lane } from './law/document.ts';
import { used } from './law/slots.ts';
import type { BudgetStore, Claimed, Queue, QueuedWant, Taken } from './store.ts';

/** Maximum number of requests per claim. */
const MOST_WANTS = 12;
/** Maximum number of refreshes among them. */
const MOST_REFRESHES = 3;
/** How often to check another replica's request that a request here waits for. */
const ASK_AGAIN_MS = 250;
/** Tolerance for rounding errors of times, so that they do not cost a whole millisecond. */
const ROUNDED_MS = 1e-6;
const SHARED: SharedResult = { kind: 'shared' };

/**
 * The budget of a key: on each change, it claims slots of its store for the first waiting requests, until the
 * store says when to claim again. A read that another replica is sending takes no slot: it is parked until that
 * one ends.
 */
export class QueuedBudget extends BudgetQueue implements Budget, Queue {
  /** Called when requests start to wait here, or when none waits any more. */
  readonly #waitsNow: ((budget: QueuedBudget, does: boolean) => void) | undefined;
  /** How waiting requests, parked or not, receive their turns. */
  readonly #turns = new Map<SlotRequest, (turn: Turn) => void>();
  /** Requests that wait for one of another replica, and when that one is checked again, on `clock.now()`. */
  readonly #parked = new Map<SlotRequest, number>();
  readonly #rushing = new Set<SlotRequest>();
  /** Earliest time of the next claim, on `clock.now()`. */
  #claimAt = Number.NEGATIVE_INFINITY;
  /** Earliest time of a claim for new requests. */
  #newcomersAt = Number.NEGATIVE_INFINITY;
  #isClaiming = false;
  /** Whether another claim is needed since the running one has read the queue. */
  #claimAgain = false;
  #cancelWake: (() => void) | null = null;
  #waited = false;
  /** Whether slots were returned in this turn, and whether one was returned after a refusal. */
  #pumpsSoon = false;
  #informsSoon = false;

  constructor(
    clock: Clock,
    store: BudgetStore,
    waitsNow?: (budget: QueuedBudget, does: boolean) => void,
  ) {
    super(clock, store);
    this.#waitsNow = waitsNow;
  }

  turn(request: SlotRequest, again = false): AtOnce<Turn> {
    let granted: Turn | undefined;
    let grant = (turn: Turn): void => {
      granted = turn;
    };
    this.#turns.set(request, (turn) => grant(turn));
    this.lanes.add(request, again);
    this.#pumpForNewcomer();
    return (
      granted ??
      new Promise<Turn>((resolve) => {
        grant = resolve;
      })
    );
  }

  cancel(request: SlotRequest): boolean {
    if (!this.lanes.remove(request)) return false;
    this.#grant(request, { kind: 'cancelled' });
    return true;
  }

  promote(request: SlotRequest, caller: string): void {
    if (request.lane === 'write' || request.lane === 'interactive') {
      if (request.caller === caller) return;
      const position = this.lanes.position(request);
      if (position === undefined) return;
      const laterMs = this.estimateOf(request) - this.estimate('interactive', caller);
      const isLater = position > this.lanes.ahead('interactive', caller);
      if (laterMs < 0 || (laterMs === 0 && !isLater)) return;
    }
    this.#move(request, 'interactive', caller);
  }

  demote(request: SlotRequest, caller: string): void {
    this.#move(request, 'bulk', caller);
  }

  #move(request: SlotRequest, lane: Lane, caller: string): void {
    const waits = this.lanes.remove(request);
    request.lane = lane;
    request.caller = caller;
    if (!waits) return;
    this.lanes.add(request);
    this.#pumpForNewcomer();
  }

  sendNow(request: SlotRequest): void {
    if (this.lanes.position(request) === undefined) return;
    this.#rushing.add(request);
    this.#claimNow();
  }

  /** A request of another replica for a read has ended. */
  endedElsewhere(key: string | null, result: SharedResult | null): void {
    const waiting = [...this.lanes.inOrder(), ...this.lanes.bulk()];
    for (const request of [...this.#parked.keys(), ...waiting]) {
      const { sharing } = request;
      if (key === null || sharing?.key !== key || sharing.newerThan?.() === Infinity) continue;
      if (result || this.#parked.has(request)) this.#land(request, result);
    }
    this.#claimNow();
  }

  /** A pause has begun, or the store became unreachable or reachable: waiting requests are informed. */
  storeChanged(): void {
    this.tellDelay();
    this.#claimNow();
  }

  wanted(): { readonly wants: QueuedWant[]; readonly waits: WaitingCounts } {
    this.#claimAgain = false;
    const wants = this.#parked.size > 0 ? this.#overdue() : [];
    const refreshes = this.drainedAt === null ? MOST_REFRESHES : 0;
    wants.push(...this.lanes.first(MOST_WANTS - wants.length, refreshes, this.#isHeld()));
    if (this.drainedAt === null) wants.push(...this.lanes.bulkHeads);
    for (const request of this.#rushing) {
      const position = this.#parked.has(request) ? 0 : this.lanes.position(request);
      if (position === undefined) {
        this.#rushing.delete(request);
        continue;
      }
      let at = wants.findIndex((want) => want.request === request);
      if (at < 0) at = wants.length;
      const rushPast = Math.max(at, position);
      wants[at] = { request, caller: this.lanes.callerOf(request), rushPast };
    }
    const isAll = this.#parked.size === 0 && this.drainedAt === null;
    return { wants, waits: isAll ? this.lanes.waits : this.#waitsOf(this.lanes.waits) };
  }

  freed(refused: boolean, noted?: Promise<void>): void {
    // A request that needs another turn in this run is part of the same claim as the others.
    this.#claimAt = Number.NEGATIVE_INFINITY;
    this.#pumpSoon(refused && noted === undefined);
    if (noted) inBackground(noted.then(() => (refused ? this.storeChanged() : this.#claimNow())));
  }

  /** Which callers leave the free slots to others; undefined if all requests are claimed for together. */
  #isHeld(): IsHeld | undefined {
    if (this.lanes.waiting <= MOST_WANTS) return undefined;
    const { budget, now, rules } = this.store.view;
    const allowances = new Allowances(budget, rules, now);
    const free = budget.limit - used(budget);
    return (caller, lane) => allowances.waitMs({ caller, lane }, free) > 0;
  }

  /** The requests that wait here, including parked ones; without refreshes and the lane `bulk` during a drain. */
  #waitsOf(waits: WaitingCounts): WaitingCounts {
    const drains = this.drainedAt !== null;
    const { seq } = this.store.holder.budget.turns;
    const parkedIn = (lane: Lane): CallerWaits[] =>
      [...this.#parked.keys()].flatMap((each) =>
        each.lane === lane ? [[this.lanes.callerOf(each), 1, seq]] : [],
      );
    return {
      write: [...waits.write, ...parkedIn('write')],
      interactive: [...waits.interactive, ...parkedIn('interactive')],
      refreshes: (drains ? 0 : waits.refreshes) + parkedIn('refresh').length,
      oldestMs: drains ? 0 : waits.oldestMs,
      bulk: drains ? [] : waits.bulk,
    };
  }

  /** Requests that have waited long for one of another replica. */
  #overdue(): QueuedWant[] {
    const now = this.clock.now() + ROUNDED_MS;
    const overdue = [...this.#parked].filter(([, askAt]) => askAt <= now).slice(0, MOST_WANTS);
    return overdue.map(([request]) => ({ request, caller: this.lanes.callerOf(request) }));
  }

  #claimNow(): void {
    this.#claimAt = Number.NEGATIVE_INFINITY;
    this.#pump();
  }

  #pumpForNewcomer(): void {
    // While slots are awaited, new requests are announced together.
    this.#claimAt = Math.min(this.#claimAt, this.#newcomersAt);
    this.#pump();
  }

  /**
   * Pumps after the request that has returned a slot has requested another turn, so that this turn is the next. After
   * a refusal, waiting requests are informed of the pause first.
   */
  #pumpSoon(informs: boolean): void {
    this.#informsSoon ||= informs;
    if (this.#pumpsSoon) return;
    this.#pumpsSoon = true;
    queueMicrotask(() => {
      const informsNow = this.#informsSoon;
      this.#pumpsSoon = false;
      this.#informsSoon = false;
      if (informsNow) this.tellDelay();
      this.#pump();
    });
  }

  /** Claims while this has immediate results, and schedules the next call. */
  #pump(): void {
    for (;;) {
      this.#tellWhetherWaiting();
      if (this.#isClaiming) {
        this.#claimAgain = true;
        return;
      }
      if (this.#sleeps()) return;
      const claimed = this.store.claim(this, this.#rushing.size > 0 ? undefined : this.lanes.next);
      if (claimed instanceof Promise) {
        this.#isClaiming = true;
        inBackground(this.#takeLater(claimed));
        return;
      }
      this.#take(claimed);
    }
  }

  async #takeLater(claimed: Promise<Claimed>): Promise<void> {
    try {
      this.#take(await claimed);
    } finally {
      this.#isClaiming = false;
    }
    this.#pump();
  }

  /** Whether no claim is possible now; sets the alarm for the next one. */
  #sleeps(): boolean {
    this.#cancelWake?.();
    this.#cancelWake = null;
    const { waiting } = this.lanes;
    const mayLeave =
      waiting > 0 && this.drainedAt !== null
        ? waiting - this.lanes.size('refresh') - this.lanes.size('bulk')
        : waiting;
    let at = mayLeave > 0 ? this.#claimAt : Number.POSITIVE_INFINITY;
    for (const askAt of this.#parked.values()) at = Math.min(at, askAt);
    if (at === Number.NEGATIVE_INFINITY) return false;
    if (at === Number.POSITIVE_INFINITY) return true;
    const ms = at - this.clock.now();
    if (ms <= 0) return false;
    this.#cancelWake = this.clock.after(Math.max(1, Math.ceil(ms - ROUNDED_MS)), () => {
      if (this.#claimAt <= at) this.#claimAt = Number.NEGATIVE_INFINITY;
      this.#pump();
    });
    return true;
  }

  #take({ againAt, newcomersAt, taken }: Claimed): void {
    this.#newcomersAt = newcomersAt;
    this.#claimAt = this.#claimAgain ? Math.min(againAt, newcomersAt) : againAt;
    for (const each of taken) this.#takeOne(each);
    // If all got a slot, the next requests are claimed immediately.
    if (taken.every(({ got }) => got !== null) && this.lanes.waiting === 0) {
      this.#claimAt = Number.NEGATIVE_INFINITY;
    }
  }

  #takeOne({ got, request }: Taken): void {
    const isParked = this.#parked.has(request);
    if (got === null && isParked) {
      this.#land(request, null);
    } else if (got === null) {
      if (request.lane !== 'refresh' && this.lanes.has(request))
        request.accepts(this.estimateOf(request));
    } else if (!isParked && !this.lanes.remove(request, typeof got === 'object')) {
      // No caller needs it any more.
      if (typeof got === 'object') got.release();
    } else if (got === 'join') {
      this.#park(request, isParked);
    } else if (got === 'landed') {
      this.#land(request, SHARED);
    } else if (got === 'lost') {
      this.#grant(request, { kind: 'lost' });
    } else {
      this.noteUse(got.id, request);
      this.#grant(request, got);
    }
  }

  /** Lets a request wait for one of another replica. */
  #park(request: SlotRequest, isParked: boolean): void {
    if (!isParked) {
      let goOn: (turn: Turn) => void = () => {};
      const next = new Promise<Turn>((resolve) => {
        goOn = resolve;
      });
      this.#grant(request, { kind: 'elsewhere', next });
      this.#turns.set(request, goOn);
    }
    this.#parked.set(request, this.clock.now() + ASK_AGAIN_MS);
  }

  /** A request of another replica has ended; a request that cannot use its result requests another turn. */
  #land(request: SlotRequest, result: SharedResult | null): void {
    this.lanes.remove(request);
    this.#grant(request, { kind: 'landed', result });
  }

  /** Resolves the turn of a request that no longer waits in a lane. */
  #grant(request: SlotRequest, turn: Turn): void {
    const grant = this.#turns.get(request);
    this.#turns.delete(request);
    this.#parked.delete(request);
    grant?.(turn);
  }

  #tellWhetherWaiting(): void {
    if (!this.#waitsNow) return;
    const does = this.lanes.waiting + this.#parked.size > 0;
    if (does === this.#waited) return;
    this.#waited = does;
    this.#waitsNow(this, does);
  }
}
