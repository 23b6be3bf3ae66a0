import type { Lanes, Waiting } from '../lanes.ts';
import { type BudgetView, pausedMs } from '../law/availability.ts';
import { classOf } from '../law/callers/caller-names.ts';
import { type ClaimResult, claimSlots } from '../law/claim.ts';
import { copyOf, type KeyBudget, type TurnLane } from '../law/document.ts';
import { endSlot } from '../law/ended.ts';
import { othersPerWindow } from '../law/jobs.ts';
import { purge } from '../law/slots.ts';

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
  /** Whether the use of others stays as it is known. */
  #areOthersKnown = false;

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

  /** Sends the next waiting request, at `nowMs` or later; undefined if no caller waits, or none is ever sent. */
  next(nowMs: number): Departure | undefined {
    this.#playTo(this.#view.now + nowMs);
    for (;;) {
      const { next: lane } = this.#lanes;
      if (!lane || lane === 'refresh') return undefined;
      const { granted, waitMs } = this.#claim();
      const [first] = granted;
      if (first) {
        this.#answers.push({ id: first.id, at: this.#now + this.latencyMs });
        if (first.request.lane === 'refresh') continue;
        const leavesInMs = this.#now - this.#view.now;
        const answersInMs = leavesInMs + this.latencyMs;
        return { waiting: first.request, leavesInMs, answersInMs };
      }
      const answerAt = this.#answers[0]?.at ?? Infinity;
      // Less than that could be lost in rounding.
      const at = Math.min(this.#now + Math.max(0.001, waitMs ?? Infinity), answerAt);
      if (at === Infinity) return undefined;
      this.#playTo(at);
    }
  }

  /** Claims one slot. */
  #claim(): ClaimResult<Waiting> {
    const others = this.#budget.jobs?.others;
    const claimed = claimSlots(this.#budget, this.#view.rules, this.#now, this.#lanes, { most: 1 });
    const { jobs } = this.#budget;
    if (this.#areOthersKnown && jobs && others) {
      this.#budget.jobs = { ...jobs, others: { ...others, at: this.#now } };
    }
    return claimed;
  }

  /** Number of requests of a class that wait in the lane `bulk`. */
  queuedOf(callerClass: string): number {
    return this.#lanes.bulkSizes.get(callerClass) ?? 0;
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
      purge(this.#budget, this.#now);
      endSlot(this.#budget, rules, this.#now, { ...first, feedback: silent });
    }
    this.#now = Math.max(this.#now, moment);
    purge(this.#budget, this.#now);
  }
}
