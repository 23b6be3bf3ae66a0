import { callerInClass, classOf } from './law/callers.ts';
import { type ClaimResult, claimSlots } from './law/claim.ts';
import { copyOf, type KeyBudget, type Lane, type Rules } from './law/document.ts';
import { endSlot } from './law/ended.ts';
import { observed } from './law/jobs.ts';
import { purge } from './law/slots.ts';
import type { Queue, Waiting } from './queue.ts';

/** Maximum number of steps: later times are estimated from those before. */
const MOST_STEPS = 1000;
/** Maximum number of requests of a job that are played. */
const MOST_PLAYED = 100;

/** A budget as last known, for estimates and display only. */
export interface BudgetView {
  readonly budget: KeyBudget;
  readonly rules: Rules;
  /** The current time on the clock of the budget. */
  readonly now: number;
}

/** Further requests of jobs. */
export interface BulkNeed {
  readonly calls: number;
  /** The class of the callers that have started them. */
  readonly callerClass: string;
}

/** A sent request in a forecast. Times are milliseconds from the start of the forecast. */
interface Departure {
  readonly waiting: Waiting;
  readonly leavesInMs: number;
}

/** Requests of others that arrive together, again and again. */
interface Arrivals {
  readonly lane: Lane;
  /** The class of the callers; the default if it is absent. */
  readonly name?: string;
  readonly everyMs: number;
  readonly count: number;
  /** When the next ones arrive. */
  at: number;
}

/** A response without rate-limit headers. */
const silent = { limit: null, remaining: null, resetInMs: null };

/**
 * The law played forward on a copy: when each waiting request is sent if no others arrive. Refreshes are omitted unless
 * they have their turn before: they wait while any caller does. O(n) to begin and to each departure.
 */
export class Forecast {
  readonly #budget: KeyBudget;
  readonly #queue: Queue<Waiting>;
  readonly #rules: Rules;
  readonly #begin: number;
  /** The pending responses, in the order of arrival. */
  readonly #answers: { readonly id: string; readonly at: number }[];
  /** The simulated time, on the clock of the budget. */
  #now: number;
  #steps = 0;
  /** The requests of others that are assumed to arrive. */
  readonly #others: Arrivals[] = [];
  /** Number of slots in a window that others are not expected to use. */
  #leftByOthers = 1;

  /** @param heldMs milliseconds for which no request is sent, even if the budget allows it. */
  constructor(queue: Queue<Waiting>, { budget, now, rules }: BudgetView, heldMs = 0) {
    this.#budget = copyOf(budget);
    this.#queue = queue.copy();
    this.#rules = rules;
    this.#begin = now;
    this.#now = now;
    this.#budget.pause.until = Math.max(now + heldMs, budget.pause.until ?? now);
    this.#answers = budget.held
      .map(({ grantedAt, id }) => ({ id, at: Math.max(now, grantedAt + budget.latencyMs) }))
      .sort((one, other) => one.at - other.at);
  }

  /** Queues a hypothetical request after all that its caller has queued so far. */
  add(lane: Lane, caller: string): Waiting {
    const waiting = { lane, caller, urgency: () => 0 };
    this.#queue.add(waiting);
    return waiting;
  }

  /**
   * From now on, others use as many slots in a window as before: callers at an even pace, and, for a job of a class, the
   * other classes in the lane `bulk` as soon as they can.
   */
  expectOthers(jobsOf?: string): void {
    const b = this.#budget;
    const { windowMs } = this.#rules;
    const { expected } = observed(b, this.#rules, this.#now);
    this.#leftByOthers = Math.max(1, b.limit - expected);
    const everyMs = windowMs / expected;
    this.#others.push({ lane: 'interactive', everyMs, count: 1, at: this.#now + everyMs });
    const bulk = new Map<string, number>();
    for (const { bulk: isBulk, caller } of [...b.answered, ...b.held]) {
      if (jobsOf === undefined || !isBulk || caller === undefined) continue;
      if (classOf(caller) !== jobsOf)
        bulk.set(classOf(caller), (bulk.get(classOf(caller)) ?? 0) + 1);
    }
    for (const [name, count] of bulk) {
      this.#others.push({ lane: 'bulk', name, everyMs: windowMs, count, at: this.#now });
    }
    this.#playTo(this.#now);
  }

  /** Whether the simulated steps are used up. */
  get isOver(): boolean {
    return this.#steps >= MOST_STEPS;
  }

  /** Sends the next waiting request; undefined if no caller waits, none is ever sent, or `isOver`. */
  next(): Departure | undefined {
    const { latencyMs } = this.#budget;
    while (!this.isOver) {
      this.#steps += 1;
      const { granted, waitMs } = this.#claim();
      const [first] = granted;
      if (first) {
        this.#answers.push({ id: first.id, at: this.#now + latencyMs });
        const leavesInMs = this.#now - this.#begin;
        return { waiting: first.request, leavesInMs };
      }
      const answerAt = this.#answers[0]?.at ?? Infinity;
      // Less than that could be lost in rounding.
      const at = Math.min(
        this.#now + Math.max(0.001, waitMs),
        answerAt,
        ...this.#others.map((each) => each.at),
      );
      if (at === Infinity) return undefined;
      this.#playTo(at);
    }
    return undefined;
  }

  /** Claims one slot. What is known of the use of others stays as it is while others are expected. */
  #claim(): ClaimResult<Waiting> {
    const b = this.#budget;
    const others = b.jobs?.others;
    const claimed = claimSlots(b, this.#rules, this.#now, this.#queue, { most: 1 });
    if (this.#others.length > 0 && b.jobs && others) {
      b.jobs = { ...b.jobs, others: { ...others, at: this.#now } };
    }
    return claimed;
  }

  /** Milliseconds until a request is sent; if it is not sent in the simulated time, those until its end, at least a
   * window. */
  leavesInMs(waiting: Waiting): number {
    for (let each = this.next(); each; each = this.next()) {
      if (each.waiting === waiting) return each.leavesInMs;
    }
    return Math.max(this.#now - this.#begin, this.#rules.windowMs);
  }

  /** Milliseconds until further requests of jobs have had their responses: plays the first ones, which others then repeat. */
  bulkMs({ callerClass, calls }: BulkNeed): number {
    this.expectOthers(callerClass);
    const { latencyMs } = this.#budget;
    const caller = callerInClass('', callerClass);
    const isOfClass = (each: Waiting): boolean => classOf(each.caller) === callerClass;
    const times: number[] = [];
    while (times.length < Math.min(calls, MOST_PLAYED)) {
      if (![...this.#queue.in('bulk')].some(isOfClass)) this.add('bulk', caller);
      const departure = this.next();
      if (!departure) break;
      const { leavesInMs, waiting } = departure;
      if (waiting.lane === 'bulk' && isOfClass(waiting)) times.push(leavesInMs);
    }
    const last = times.at(-1);
    if (last === undefined) return Infinity;
    // A slot is used again after a round, so that what follows repeats the last one.
    const roundMs = this.#rules.windowMs + latencyMs;
    const ofRound = times.filter((each) => each > last - roundMs).length;
    const perRound = last < roundMs ? Math.max(ofRound, this.#leftByOthers) : ofRound;
    const rounds = Math.ceil((calls - times.length) / perRound);
    return (times[calls - 1 - rounds * perRound] ?? last) + rounds * roundMs + latencyMs;
  }

  /** Advances the time to the next response at most, and processes what arrives then: others can go between two responses. */
  #playTo(moment: number): void {
    const [first] = this.#answers;
    if (first && first.at <= moment) {
      this.#answers.shift();
      this.#now = Math.max(this.#now, first.at);
      purge(this.#budget, this.#now);
      endSlot(this.#budget, this.#rules, this.#now, { ...first, feedback: silent });
    }
    this.#now = Math.max(this.#now, moment);
    purge(this.#budget, this.#now);
    for (const each of this.#others) {
      for (; each.at <= this.#now; each.at += each.everyMs) {
        const caller = callerInClass(`other ${each.at}`, each.name);
        for (let n = 0; n < each.count; n += 1) this.add(each.lane, caller);
      }
    }
  }
}

/** Milliseconds until each waiting request is sent, in this order, without refreshes. */
export function departuresOf<W extends Waiting>(
  queue: Queue<W>,
  view: BudgetView,
): ReadonlyMap<W, number> {
  const waiting = new Set(queue.in('write', 'interactive', 'bulk'));
  const order = new Map<W, number>();
  const forecast = new Forecast(queue, view);
  if (queue.sizes.bulk > 0) forecast.expectOthers();
  let lastMs = 0;
  for (let each = forecast.next(); each && waiting.size > 0; each = forecast.next()) {
    const request = each.waiting as W;
    lastMs = each.leavesInMs;
    if (waiting.delete(request)) order.set(request, lastMs);
  }
  for (const each of waiting) order.set(each, forecast.isOver ? lastMs : Infinity);
  return order;
}
