import type { IsHeld, Lanes, Waiting } from '../lanes.ts';
import { type BudgetView, pausedMs } from '../law/availability.ts';
import { Allowances } from '../law/callers/allowances.ts';
import { classOf } from '../law/callers/caller-names.ts';
import { claimSlots } from '../law/claim.ts';
import { copyOf, type KeyBudget, type Lane, type TurnLane } from '../law/document.ts';
import { endSlot } from '../law/ended.ts';
import { jobDueMs, jobsDue, othersPerWindow } from '../law/jobs.ts';
import { purge, roomOf } from '../law/slots.ts';
import { stopOf } from '../law/stop.ts';

/** A sent request in a forecast. Times are milliseconds from the start of the forecast. */
interface Departure {
  readonly waiting: Waiting;
  readonly leavesInMs: number;
  readonly answersInMs: number;
}

/** A pending response. */
interface Answer {
  readonly id: string;
  readonly at: number;
}

/** A response without rate-limit headers. */
const silent = { limit: null, remaining: null, resetInMs: null };

/**
 * A simulation of a budget's queue: when each request is sent and its response arrives, if no other arrives. It
 * applies the law itself to a copy. Refreshes are omitted unless jobs wait: they wait while any other request does.
 */
export class QueueForecast {
  readonly limit: number;
  /** The usual response time, in milliseconds. */
  readonly latencyMs: number;
  readonly #budget: KeyBudget;
  readonly #lanes: Lanes<Waiting>;
  readonly #view: BudgetView;
  /** In the order of arrival. */
  readonly #answers: Answer[];
  /** The simulated time, on the clock of the budget. */
  #now: number;
  #played = 0;
  /** Number of slots that are reserved for jobs now. */
  #reserved = 0;
  /** Whether the use of others stays as it is known. */
  #areOthersKnown = false;
  /** Requests that were sent and not returned yet. */
  readonly #departures: Departure[] = [];

  /** `heldMs`: milliseconds for which no request is sent, even if the budget allows it. */
  constructor(lanes: Lanes<Waiting>, view: BudgetView, heldMs: number) {
    const budget = copyOf(view.budget);
    const { limit, latencyMs } = budget;
    const { now } = view;
    this.limit = limit;
    this.latencyMs = latencyMs;
    this.#budget = budget;
    this.#lanes = lanes.copy(budget);
    this.#view = view;
    this.#now = now;
    budget.pause.until = now + Math.max(heldMs, pausedMs(budget, now));
    this.#answers = budget.held
      .map(({ grantedAt, id }) => ({ id, at: Math.max(now, grantedAt + latencyMs) }))
      .sort((one, other) => one.at - other.at);
  }

  /** Queues a hypothetical request after all that its caller has queued so far. */
  add(lane: TurnLane | 'bulk', caller: string): Waiting {
    const waiting = { lane, caller, urgency: () => 0 };
    this.#lanes.add(waiting);
    return waiting;
  }

  /** When the next waiting request is sent, at `nowMs` or later; infinite if no caller waits. */
  nextInMs(nowMs: number): number {
    const { now } = this.#view;
    this.#playTo(now + nowMs);
    for (;;) {
      const { next: lane } = this.#lanes;
      const [departure] = this.#departures;
      if (departure) return departure.leavesInMs;
      if (!lane || lane === 'refresh') return Number.POSITIVE_INFINITY;
      const jobMs = this.#sendJob(lane);
      if (this.#departures.length > 0) continue;
      const callerMs = lane === 'bulk' ? Infinity : this.#callerMs(lane);
      if (callerMs === 0) return this.#now - now;
      const answerAt = this.#answers[0]?.at ?? Infinity;
      const waitMs = Math.min(jobMs, callerMs);
      if (waitMs === Infinity && answerAt === Infinity) return Number.POSITIVE_INFINITY;
      // Less than that could be lost in rounding.
      this.#playTo(Math.min(this.#now + Math.max(0.001, waitMs), answerAt));
    }
  }

  /** Sends the next request, see `nextInMs`; undefined if no caller waits. */
  next(nowMs: number): Departure | undefined {
    if (this.nextInMs(nowMs) === Number.POSITIVE_INFINITY) return undefined;
    const departure = this.#departures.shift();
    if (departure) return departure;
    const waiting = this.#lanes.leaver(this.#held.isHeld);
    if (waiting) this.#claim([{ request: waiting, caller: this.#lanes.callerOf(waiting) }], true);
    return this.#departures.shift();
  }

  /** Milliseconds until a write or a read can be sent; 0 if one can be now. */
  #callerMs(lane: Lane): number {
    const at = { lane, ...roomOf(this.#budget), reserved: this.#reserved };
    const stop = stopOf(this.#budget, this.#view.rules, this.#now, at);
    if (stop) return stop.waitMs ?? Infinity;
    const held = this.#held;
    return this.#lanes.leaver(held.isHeld) ? 0 : held.waitMs;
  }

  /** Sends the request of a job, with a refresh before it, if it is their turn; returns the milliseconds until it is. */
  #sendJob(lane: Lane): number {
    const heads = this.#lanes.bulkHeads;
    this.#reserved = 0;
    if (heads.length === 0 || lane === 'write') return Number.POSITIVE_INFINITY;
    const { rules } = this.#view;
    const allowances = new Allowances(this.#budget, rules, this.#now);
    const quotaMs = Math.min(...heads.map(({ caller }) => allowances.quotaMs(caller)));
    const isDue = heads.some((head) => head.isDue);
    const dueMs = Math.max(quotaMs, isDue ? 0 : jobDueMs(this.#budget, rules, this.#now));
    if (lane !== 'bulk' && dueMs > 0) return dueMs;
    // Their slots are reserved until the one under way has ended.
    const due = jobsDue(this.#budget, rules, this.#now);
    if (roomOf(this.#budget).jobs > 0) this.#reserved = Math.min(due, this.#lanes.size('bulk'));
    const { refresh } = this.#lanes;
    const isRefreshed = lane === 'bulk' && refresh;
    return this.#claim(isRefreshed ? [{ request: refresh, caller: '' }, ...heads] : heads);
  }

  /**
   * Sends those of some waiting requests that have their turns, or all if that `isCertain`; returns the milliseconds until
   * the others have.
   */
  #claim(
    all: readonly {
      readonly request: Waiting;
      readonly caller: string;
      readonly isDue?: boolean;
    }[],
    isCertain = false,
  ): number {
    const { rules } = this.#view;
    const wants = all.map(({ request, ...want }) => {
      this.#played += 1;
      return { ...want, id: `played ${this.#played}`, lane: request.lane };
    });
    const at = { ...roomOf(this.#budget), waits: this.#lanes.waits };
    const others = this.#budget.jobs?.others;
    const { granted, waitMs } = claimSlots(this.#budget, rules, this.#now, wants, at);
    const { jobs } = this.#budget;
    if (this.#areOthersKnown && jobs && others) {
      this.#budget.jobs = { ...jobs, others: { ...others, at: this.#now } };
    }
    for (const [index, { request }] of all.entries()) {
      if (!granted[index] && !isCertain) continue;
      this.#lanes.remove(request, true);
      const leavesInMs = this.#now - this.#view.now;
      this.#answers.push({ id: wants[index]?.id ?? '', at: this.#now + this.latencyMs });
      this.#departures.push({
        waiting: request,
        leavesInMs,
        answersInMs: leavesInMs + this.latencyMs,
      });
    }
    return waitMs ?? Number.POSITIVE_INFINITY;
  }

  /** Which callers leave the free slots to others now, and the shortest time until one of them does not. */
  get #held(): { readonly isHeld: IsHeld; readonly waitMs: number } {
    const allowances = new Allowances(this.#budget, this.#view.rules, this.#now);
    const free = roomOf(this.#budget).free - this.#reserved;
    const held = {
      waitMs: Number.POSITIVE_INFINITY,
      isHeld: (caller: string, lane: TurnLane): boolean => {
        const ms = allowances.waitMs({ caller, lane }, free);
        if (ms > 0) held.waitMs = Math.min(held.waitMs, ms);
        return ms > 0;
      },
    };
    return held;
  }

  /** Number of requests of a class that wait in the lane `bulk`. */
  queuedOf(callerClass: string): number {
    return this.#lanes.waits.bulk.find(([name]) => name === callerClass)?.[1] ?? 0;
  }

  /** Number of slots in the window that were granted in the lane `bulk`, by class. */
  get bulkSlots(): ReadonlyMap<string, number> {
    const slots = new Map<string, number>();
    for (const { bulk, caller } of [...this.#budget.answered, ...this.#budget.held]) {
      if (!bulk || caller === undefined) continue;
      slots.set(classOf(caller), (slots.get(classOf(caller)) ?? 0) + 1);
    }
    return slots;
  }

  /**
   * Number of slots in a window that callers and refreshes use on average. From now on, they are assumed to be used as
   * before, whatever requests of others are added.
   */
  knowOthers(): number {
    this.#areOthersKnown = true;
    return othersPerWindow(this.#budget, this.#view.rules, this.#now);
  }

  get windowMs(): number {
    return this.#view.rules.windowMs;
  }

  /** Advances the time, and processes the responses that arrive until then. */
  #playTo(moment: number): void {
    const { rules } = this.#view;
    for (let [first] = this.#answers; first && first.at <= moment; [first] = this.#answers) {
      this.#answers.shift();
      this.#now = Math.max(this.#now, first.at);
      purge(this.#budget, rules, this.#now);
      endSlot(this.#budget, rules, this.#now, { ...first, feedback: silent });
    }
    this.#now = Math.max(this.#now, moment);
    purge(this.#budget, rules, this.#now);
  }
}
