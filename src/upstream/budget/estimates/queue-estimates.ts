import type { Lanes, Waiting } from '../lanes.ts';
import { availableMs, type BudgetView } from '../law/availability.ts';
import { Allowances, type Behind, NONE_BEHIND } from '../law/callers/allowances.ts';
import { classOf } from '../law/callers/caller-names.ts';
import type { CallerWaits, WaitingCounts } from '../law/callers/turns.ts';
import type { TurnLane } from '../law/document.ts';
import { used } from '../law/slots.ts';

/**
 * Estimates of when the requests of a queue are sent, at one moment. A caller whose turn is over, or whose class has
 * used up a limit, is expected behind all others, because it leaves them the free slots.
 */
export class QueueEstimates<W extends Waiting> {
  readonly #lanes: Lanes<W>;
  readonly #view: BudgetView;
  readonly #allowances: Allowances;
  /** Those that are behind all others; listed when they are first needed. */
  #listed: Behind | undefined;
  /** Numbers of requests before the next one, by class: of all callers, and of those that are not behind. */
  readonly #passed = new Map<string, { all: number; within: number }>();

  constructor(lanes: Lanes<W>, view: BudgetView) {
    this.#lanes = lanes;
    this.#view = view;
    this.#allowances = new Allowances(view.budget, view.rules, view.now);
  }

  /** Milliseconds until a waiting request is sent; undefined if it does not wait, or is a refresh or of a job. */
  of(request: W): number | undefined {
    const { lane } = request;
    if (lane === 'refresh' || lane === 'bulk') return undefined;
    const caller = this.#lanes.callerOf(request);
    const behind = this.#behind(caller);
    const before = this.#lanes.position(request, behind, this.#bids(behind));
    if (before === undefined) return undefined;
    return this.#at(before, lane, caller, this.#aheadInClass(lane, caller, request));
  }

  /** Milliseconds until a new request of a caller is sent. */
  ofNew(lane: TurnLane, caller: string): number {
    const name = this.#lanes.nameOf(caller);
    const behind = this.#behind(name);
    const before = this.#lanes.ahead(lane, caller, behind, this.#bids(behind));
    return this.#at(before, lane, name, this.#aheadInClass(lane, name));
  }

  /** Milliseconds until a request is sent, after those that were passed. */
  ofNext(request: W): number {
    const caller = this.#lanes.callerOf(request);
    const name = classOf(caller);
    const { all, within } = this.#passed.get(name) ?? { all: 0, within: 0 };
    const behind = this.#behind(caller);
    const inClass = this.#allowances.isBehind(caller) ? all : within;
    const before = this.#lanes.before(name, inClass, behind, this.#bids(behind));
    return this.#at(before, request.lane, caller, all);
  }

  /** A request is before all that follow in the order of the queue. */
  pass(request: W): void {
    const caller = this.#lanes.callerOf(request);
    const passed = this.#passed.get(classOf(caller)) ?? { all: 0, within: 0 };
    this.#passed.set(classOf(caller), passed);
    passed.all += 1;
    if (!this.#allowances.isBehind(caller)) passed.within += 1;
  }

  /** Those that are behind all requests of a caller. */
  #behind(caller: string): Behind {
    if (this.#lanes.waiting === 0 && this.#view.bids.length === 0) return NONE_BEHIND;
    this.#listed ??= this.#allowances.behind;
    const { callers, classes } = this.#listed;
    if (classes.has(classOf(caller))) return NONE_BEHIND;
    return callers.includes(caller) ? { callers: [], classes } : this.#listed;
  }

  /** Number of requests of a caller's class before one of its requests, if that matters. */
  #aheadInClass(lane: TurnLane, caller: string, request?: W): number {
    return this.#allowances.hasQuotas ? this.#lanes.aheadInClass(lane, caller, request) : 0;
  }

  /** The waiting requests of other processes, without those that are behind all requests of a caller. */
  #bids({ callers, classes }: Behind): readonly WaitingCounts[] {
    const isBefore = ([each]: CallerWaits): boolean =>
      !callers.includes(each) && !classes.has(classOf(each));
    return this.#view.bids.map((bid) => {
      const [write, interactive] = [bid.write.filter(isBefore), bid.interactive.filter(isBefore)];
      return { ...bid, write, interactive };
    });
  }

  /** Milliseconds until a request with this many others before it is sent. */
  #at(before: number, lane: W['lane'], caller: string, aheadInClass: number): number {
    const { budget } = this.#view;
    const free = budget.limit - used(budget) - before;
    const waitMs = this.#allowances.waitMs({ caller, lane }, free, aheadInClass);
    return Math.max(waitMs, availableMs(this.#view, before));
  }
}
