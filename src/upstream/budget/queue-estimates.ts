import type { Lanes, Waiting } from './lanes.ts';
import { aheadElsewhere, availableMs, type BudgetView } from './law/availability.ts';
import { Allowances } from './law/callers/allowances.ts';
import type { CallerWaits } from './law/callers/turns.ts';
import type { TurnLane } from './law/document.ts';
import { used } from './law/slots.ts';

/**
 * Estimates of when the requests of a queue are sent, at one moment. A caller whose turn is over is expected behind
 * all others, because it leaves them the free slots.
 */
export class QueueEstimates<W extends Waiting> {
  readonly #lanes: Lanes<W>;
  readonly #view: BudgetView;
  readonly #allowances: Allowances;
  /** The callers whose turn is over; listed when they are first needed. */
  #over: readonly string[] | undefined;
  /** Number of requests before the next one, of all callers, and of those whose turn is not over. */
  readonly #passed = { all: 0, within: 0 };

  constructor(lanes: Lanes<W>, view: BudgetView) {
    this.#lanes = lanes;
    this.#view = view;
    this.#allowances = new Allowances(view.budget, view.rules, view.now);
  }

  /** Milliseconds until a waiting request is sent; undefined if it does not wait, or is a refresh. */
  of(request: W): number | undefined {
    const caller = this.#lanes.callerOf(request);
    const position = this.#lanes.position(request, this.#behind(caller));
    if (position === undefined) return undefined;
    return this.#at(
      position,
      request.lane,
      caller,
      this.#aheadInClass(request.lane, caller, request),
    );
  }

  /** Milliseconds until a new request of a caller is sent. */
  ofNew(lane: TurnLane, caller: string): number {
    const name = this.#lanes.nameOf(caller);
    const position = this.#lanes.ahead(lane, caller, this.#behind(name));
    return this.#at(position, lane, name, this.#aheadInClass(lane, name));
  }

  /** Milliseconds until a request is sent, after those that were passed. */
  ofNext(request: W): number {
    const caller = this.#lanes.callerOf(request);
    const { all, within } = this.#passed;
    const ahead = this.#allowances.isOver(caller) ? all : within;
    return this.#at(ahead, request.lane, caller, this.#aheadInClass(request.lane, caller, request));
  }

  /** A request is before all that follow in the order of the queue. */
  pass(request: W): void {
    this.#passed.all += 1;
    if (!this.#allowances.isOver(this.#lanes.callerOf(request))) this.#passed.within += 1;
  }

  /** The callers behind all requests of a caller. */
  #behind(caller: string): readonly string[] {
    if (this.#lanes.waiting === 0 && this.#view.bids.length === 0) return [];
    this.#over ??= this.#allowances.over();
    return this.#over.includes(caller) ? [] : this.#over;
  }

  /** Number of requests of a caller's class before one of its requests, if that matters. */
  #aheadInClass(lane: W['lane'], caller: string, request?: W): number {
    if (lane === 'refresh' || !this.#allowances.hasQuotas) return 0;
    return this.#lanes.aheadInClass(lane, caller, request);
  }

  /** Milliseconds until a request with this many requests of this process before it is sent. */
  #at(position: number, lane: W['lane'], caller: string, aheadInClass: number): number {
    const { bids, budget } = this.#view;
    const behind = this.#behind(caller);
    const ahead = ([each]: CallerWaits): boolean => !behind.includes(each);
    const others = bids.map((bid) => {
      return { ...bid, write: bid.write.filter(ahead), interactive: bid.interactive.filter(ahead) };
    });
    const before = position + aheadElsewhere(others, position, this.#lanes.callers('interactive'));
    const free = budget.limit - used(budget) - before;
    const waitMs = this.#allowances.waitMs({ caller, lane }, free, aheadInClass);
    return Math.max(waitMs, availableMs(this.#view, before));
  }
}
