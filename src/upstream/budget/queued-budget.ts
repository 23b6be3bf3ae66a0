import type { AtOnce } from '../../scheduling/at-once.ts';
import type { Clock } from '../../scheduling/clock.ts';
import type {
  Budget,
  BudgetState,
  BudgetWindow,
  QueuedRequest,
  SlotRequest,
  Turn,
} from './budget.ts';
import { Lanes } from './lanes.ts';
import {
  aheadElsewhere,
  availableMs,
  type BudgetView,
  heldMsOf,
  pausedMs,
} from './law/availability.ts';
import { refreshesPerWindow } from './law/claim.ts';
import { type KeyBudget, type Lane, reserveOf, type TurnLane } from './law/document.ts';
import { used } from './law/slots.ts';
import { countWaiting } from './law/turns.ts';
import { QueueForecast } from './queue-forecast.ts';
import { type SlotUse, stateOf, windowOf } from './window.ts';

/**
 * What all budgets have in common: the requests that wait in this process, in their order, and who of them is
 * turned away when it is about to end. Who goes, and when, is up to the budget.
 */
export abstract class QueuedBudget implements Budget {
  protected readonly clock: Clock;
  protected readonly lanes: Lanes<SlotRequest>;
  /** What slots of this process are taken for, by their names. */
  readonly #uses = new Map<string, SlotUse>();
  /** How those who wait get their turns. */
  readonly #turns = new Map<SlotRequest, (turn: Turn) => void>();
  /** When the process will end; `null` while it is not about to. */
  #drainedAt: number | null = null;
  /** Whether slots have been given back in this turn. */
  #pumpsSoon = false;
  /** Whether a refusal was among them. */
  #tellsSoon = false;

  /** @param nameOf what a caller is called in the budget. */
  constructor(clock: Clock, nameOf?: (caller: string) => string) {
    this.clock = clock;
    this.lanes = new Lanes(() => this.budget.turns, nameOf);
  }

  get state(): BudgetState {
    const writeInMs = (): number => this.estimate('write', '');
    return stateOf(this.view, { queued: this.lanes.waiting, writeInMs });
  }

  get window(): BudgetWindow {
    return windowOf(this.view, (id) => this.#uses.get(id));
  }

  get pausedMs(): number {
    return pausedMs(this.view.budget, this.view.now);
  }

  get idle(): boolean {
    const { view } = this;
    if (
      this.lanes.waiting > 0 ||
      heldMsOf(view) > 0 ||
      view.bids.some((bid) => countWaiting(bid) > 0)
    )
      return false;
    return view.budget.limit - used(view.budget) > reserveOf(view.budget.limit);
  }

  get refreshesPerWindow(): number {
    return refreshesPerWindow(this.limit);
  }

  get limit(): number {
    return this.budget.limit;
  }

  get windowMs(): number {
    return this.view.rules.windowMs;
  }

  abstract readonly answersInMs: number;
  abstract sendNow(request: SlotRequest): void;

  /** The budget as last known, for what does not depend on the time: slots may still be in it that are over. */
  protected abstract readonly budget: KeyBudget;
  /** The budget as last known, as it stands now. */
  protected abstract readonly view: BudgetView;
  /** Grants a turn to all who may have theirs now, and sees to being called again when more may. */
  protected abstract pump(): void;

  turn(request: SlotRequest, again = false): AtOnce<Turn> {
    let granted: Turn | undefined;
    let grant = (turn: Turn): void => {
      granted = turn;
    };
    this.#turns.set(request, (turn) => grant(turn));
    if (again) this.lanes.addFirst(request);
    else this.lanes.add(request);
    this.pump();
    return (
      granted ??
      new Promise<Turn>((resolve) => {
        grant = resolve;
      })
    );
  }

  cancel(request: SlotRequest): boolean {
    if (!this.lanes.remove(request)) return false;
    this.grant(request, { kind: 'cancelled' });
    return true;
  }

  promote(request: SlotRequest, caller: string): void {
    if (request.lane !== 'refresh') {
      if (request.caller === caller) return;
      const position = this.lanes.position(request);
      if (position === undefined || position <= this.lanes.ahead('interactive', caller)) return;
    }
    const waits = this.lanes.remove(request);
    request.lane = 'interactive';
    request.caller = caller;
    if (!waits) return;
    this.lanes.add(request);
    this.pump();
  }

  estimate(lane: TurnLane, caller: string): number {
    return this.#estimateAt(this.lanes.ahead(lane, caller));
  }

  estimateOf(request: SlotRequest): number {
    const position = this.lanes.position(request);
    return position === undefined ? 0 : this.#estimateAt(position);
  }

  forecast(): QueueForecast {
    return new QueueForecast(this.lanes, this.view);
  }

  waiting(most: number): QueuedRequest[] {
    const waiting: QueuedRequest[] = [];
    for (const each of this.lanes.inOrder()) {
      if (waiting.length >= most) return waiting;
      waiting.push(queued(each, this.#estimateAt(waiting.length)));
    }
    const refreshes = this.lanes.mostUrgent(most - waiting.length);
    for (const { refresh } of refreshes) waiting.push(queued(refresh, null));
    return waiting;
  }

  queuedIn(lane: Lane): number {
    return this.lanes.size(lane);
  }

  drain(graceMs: number): void {
    if (this.#drainedAt !== null) return;
    this.#drainedAt = this.clock.now() + graceMs;
    this.tellDelay();
    // Writes whose turn was to come in time, and did not.
    this.clock.after(graceMs, () => this.tellDelay());
  }

  turnsAway(request: SlotRequest, estimateMs: number): boolean {
    if (this.#drainedAt === null) return false;
    return request.lane !== 'write' || this.clock.now() + estimateMs > this.#drainedAt;
  }

  /** Whether the process is about to end. */
  protected get drains(): boolean {
    return this.#drainedAt !== null;
  }

  /** Notes what a slot of this process is taken for. */
  protected noteUse(id: string, { lane, resource }: SlotUse): void {
    const { answered, held } = this.budget;
    this.#uses.set(id, { lane, resource });
    if (this.#uses.size <= 2 * (answered.length + held.length)) return;
    const counting = new Set([...answered, ...held].map((slot) => slot.id));
    for (const each of this.#uses.keys()) if (!counting.has(each)) this.#uses.delete(each);
  }

  /** Tells a request, which waits in no lane any more, what has become of its turn. */
  protected grant(request: SlotRequest, turn: Turn): void {
    const grant = this.#turns.get(request);
    this.#turns.delete(request);
    grant?.(turn);
  }

  /**
   * Pumps once the request that has given a slot back has asked for another turn, which is to be the next. After a refusal those
   * who wait learn of the pause first.
   */
  protected pumpSoon(refused: boolean): void {
    this.#tellsSoon ||= refused;
    if (this.#pumpsSoon) return;
    this.#pumpsSoon = true;
    queueMicrotask(() => {
      const tells = this.#tellsSoon;
      this.#pumpsSoon = false;
      this.#tellsSoon = false;
      if (tells) this.tellDelay();
      this.pump();
    });
  }

  /** Milliseconds until what has this many of this process before it is sent. */
  #estimateAt(position: number): number {
    const { view } = this;
    const elsewhere = aheadElsewhere(view.bids, position, this.lanes.callers('interactive'));
    return availableMs(view, position + elsewhere);
  }

  /** Lets those who wait reckon with a pause, instead of finding out when their patience is over. */
  protected tellDelay(): void {
    let position = 0;
    // Whoever does not want to wait so long leaves the lanes meanwhile.
    for (const each of Array.from(this.lanes.inOrder())) {
      if (each.accepts(this.#estimateAt(position))) position += 1;
    }
  }
}

function queued(request: SlotRequest, leavesInMs: number | null): QueuedRequest {
  const { caller, lane, operation, resource, waitedMs } = request;
  return { lane, caller, resource, operation, waitedMs, leavesInMs };
}
