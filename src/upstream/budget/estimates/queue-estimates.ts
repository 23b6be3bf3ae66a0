import type { Lanes, Waiting } from '../lanes.ts';
import { availableMs, type BudgetView } from '../law/availability.ts';
import { Allowances, type Behind, NONE_BEHIND } from '../law/callers/allowances.ts';
import { classOf } from '../law/callers/caller-names.ts';
import { laneWithin } from '../law/callers/lane-turns.ts';
import type { TurnLane } from '../law/document.ts';
import { jobDueMs } from '../law/jobs.ts';
import { roomOf, used } from '../law/slots.ts';

/**
 * Estimates of when the requests of a queue are sent, at one moment. A caller whose turn is over, or whose class has
 * used up a limit, is expected behind all others, because it leaves them the free slots. What is in the lane `bulk` is
 * expected when a slot is left, or at its minimum rate, whichever is sooner.
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

  /** Milliseconds until a waiting request is sent; undefined if it does not wait, or is a refresh. */
  of(request: W): number | undefined {
    const { caller, lane } = request;
    if (lane === 'refresh') return undefined;
    if (lane === 'bulk') return this.#ofBulk(caller, request);
    const behind = this.#behind(caller);
    const before = this.#lanes.position(request, behind);
    if (before === undefined) return undefined;
    return this.#at(before, lane, caller, this.#aheadInClass(lane, caller, request));
  }

  /** Milliseconds until a new request of a caller is sent, which would be in this lane for a class with weight. */
  ofNew(lane: TurnLane, caller: string): number {
    if (laneWithin(this.#view.rules, lane, caller) === 'bulk') return this.#ofBulk(caller) ?? 0;
    const behind = this.#behind(caller);
    const before = this.#lanes.ahead(lane, caller, behind);
    return this.#at(before, lane, caller, this.#aheadInClass(lane, caller));
  }

  /** Milliseconds until a request is sent, after those that were passed. */
  ofNext(request: W): number {
    const { caller } = request;
    const name = classOf(caller);
    const { all, within } = this.#passed.get(name) ?? { all: 0, within: 0 };
    const behind = this.#behind(caller);
    const inClass = this.#allowances.isBehind(caller) ? all : within;
    const before = this.#lanes.before(name, inClass, behind);
    return this.#at(before, request.lane, caller, all);
  }

  /** A request is before all that follow in the order of the queue. */
  pass({ caller }: W): void {
    const passed = this.#passed.get(classOf(caller)) ?? { all: 0, within: 0 };
    this.#passed.set(classOf(caller), passed);
    passed.all += 1;
    if (!this.#allowances.isBehind(caller)) passed.within += 1;
  }

  /** Milliseconds until a request in the lane `bulk` is sent, or a new one of a caller; undefined if it does not wait. */
  #ofBulk(caller: string, waiting?: W): number | undefined {
    const { budget, now, rules } = this.#view;
    const { classes } = this.#behind(caller);
    const place = this.#lanes.bulkPlace({ caller, waiting }, classes);
    if (!place) return undefined;
    const { all, inClass } = place;
    // One is sent at a time.
    const { jobs } = roomOf(budget);
    const turnMs = (all + jobs) * budget.latencyMs;
    const before = all + this.#lanes.size('write') + this.#lanes.size('interactive');
    const leftMs = Math.max(availableMs(this.#view, before), this.#untilLeftMs(all, before));
    const dueMs = Math.max(
      availableMs(this.#view, all + this.#untilLastWrite),
      jobDueMs(budget, rules, now, all),
    );
    const quotaMs = this.#allowances.hasQuotas(caller)
      ? this.#allowances.quotaMs(caller, inClass + this.#lanes.sizeOf(classOf(caller), 'write'))
      : 0;
    return Math.max(turnMs, quotaMs, Math.min(leftMs, dueMs));
  }

  /**
   * Milliseconds until a slot is left after `before` others, of which `all` are in the lane `bulk`: 0 if it is now, and
   * otherwise as at the rate at which slots are expected to be left, because others arrive.
   */
  #untilLeftMs(all: number, before: number): number {
    const { budget, rules } = this.#view;
    const { latencyMs, limit } = budget;
    const free = limit - used(budget) - (before % limit);
    const rounds = Math.floor(before / limit);
    const roundsMs = rounds * (rules.windowMs + latencyMs);
    const lawMs = this.#allowances.untilLeftMs(free) + roundsMs;
    if (lawMs === 0) return 0;
    const perWindow = Math.max(1, this.#allowances.leftPerWindow);
    return Math.max(lawMs, ((all + 1) * rules.windowMs) / perWindow);
  }

  /** Number of requests up to the last write: writes go before the minimum rate, and some reads before writes. */
  get #untilLastWrite(): number {
    if (this.#lanes.size('write') === 0) return 0;
    const lanes = Array.from(this.#lanes.inOrder(), ({ lane }) => lane);
    return lanes.lastIndexOf('write') + 1;
  }

  /** Those that are behind all requests of a caller. */
  #behind(caller: string): Behind {
    if (this.#lanes.waiting === 0) return NONE_BEHIND;
    this.#listed ??= this.#allowances.behind;
    const { callers, classes } = this.#listed;
    if (classes.has(classOf(caller))) return NONE_BEHIND;
    return callers.includes(caller) ? { callers: [], classes } : this.#listed;
  }

  /** Number of requests of a caller's class before one of its requests, if that matters. */
  #aheadInClass(lane: TurnLane, caller: string, request?: W): number {
    return this.#allowances.hasQuotas(caller) ? this.#lanes.aheadInClass(lane, caller, request) : 0;
  }

  /** Milliseconds until a request with this many others before it is sent. */
  #at(before: number, lane: W['lane'], caller: string, aheadInClass: number): number {
    const { budget } = this.#view;
    const free = budget.limit - used(budget) - before;
    const waitMs = this.#allowances.waitMs({ caller, lane }, free, aheadInClass);
    return Math.max(waitMs, availableMs(this.#view, before));
  }
}
