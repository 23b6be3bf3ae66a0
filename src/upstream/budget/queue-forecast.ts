import type { IsHeld, Lanes, Waiting } from './lanes.ts';
import { type BudgetView, heldMsOf } from './law/availability.ts';
import { Allowances } from './law/callers/allowances.ts';
import type { CallerWaits } from './law/callers/turns.ts';
import { claimSlots, stopOf } from './law/claim.ts';
import { copyOf, type KeyBudget, type TurnLane } from './law/document.ts';
import { endSlot } from './law/ended.ts';
import { onWire, purge, used } from './law/slots.ts';

/** A sent request in a forecast. Times are milliseconds from the start of the forecast. */
interface Departure {
  readonly waiting: Waiting;
  readonly leavesInMs: number;
  readonly answersInMs: number;
}

/** A pending response. */
interface Answer {
  readonly id: string;
  readonly owner: string;
  readonly at: number;
}

/** Owner of the slots that a forecast takes. */
const PLAYED = 'played';
/** A response without rate-limit headers. */
const silent = { limit: null, remaining: null, resetInMs: null };
/** Maximum number of simulated requests per caller of another process: more do not change the result here. */
const MOST_ELSEWHERE = 100;

/**
 * A simulation of a budget's queue: when each request is sent and its response arrives, if no other arrives. It
 * applies the law itself to a copy. Refreshes are omitted: they wait while any other request does.
 */
export class QueueForecast {
  readonly limit: number;
  /** The usual response time, in milliseconds. */
  readonly latencyMs: number;
  readonly #budget: KeyBudget;
  readonly #lanes: Lanes<Waiting>;
  readonly #view: BudgetView;
  /** Substitutes for promoted requests: the requests themselves must not change. */
  readonly #standIns = new Map<Waiting, Waiting>();
  /** In the order of arrival. */
  readonly #answers: Answer[];
  /** The simulated time, on the clock of the budget. */
  #now: number;
  #played = 0;

  /** `heldMs`: milliseconds for which no request is sent, even if the budget allows it. */
  constructor(lanes: Lanes<Waiting>, view: BudgetView, heldMs: number) {
    const budget = copyOf(view.budget);
    const { limit, latencyMs } = budget;
    const { bids, isAlive, now } = view;
    this.limit = limit;
    this.latencyMs = latencyMs;
    this.#budget = budget;
    this.#lanes = lanes.copy(budget);
    this.#view = view;
    this.#now = now;
    budget.pause.until = now + Math.max(heldMs, heldMsOf(view));
    this.#answers = budget.held
      .filter(({ owner }) => isAlive(owner))
      .map(({ grantedAt, id, owner }) => ({ id, owner, at: Math.max(now, grantedAt + latencyMs) }))
      .sort((one, other) => one.at - other.at);
    for (const bid of bids) {
      this.#addElsewhere('write', bid.write);
      this.#addElsewhere('interactive', bid.interactive);
    }
  }

  /** Queues a hypothetical request after all that its caller has queued so far. */
  add(lane: TurnLane, caller: string): Waiting {
    const waiting = { lane, caller, urgency: () => 0 };
    this.#lanes.add(waiting);
    return waiting;
  }

  /**
   * The substitute for a request once a caller waits for it too, see `Budget.promote`; undefined if it does not
   * wait.
   */
  join(request: Waiting, caller: string): Waiting | undefined {
    const waiting = this.#standIns.get(request) ?? request;
    const position = this.#lanes.position(waiting);
    const { isHeld } = this.#held;
    const isLate =
      waiting.lane !== 'refresh' &&
      isHeld(this.#lanes.callerOf(waiting), waiting.lane) &&
      !isHeld(this.#lanes.nameOf(caller), 'interactive');
    const isSooner =
      !isLate && position !== undefined && position <= this.#lanes.ahead('interactive', caller);
    if (isSooner || (waiting.caller === caller && position !== undefined)) return waiting;
    if (!this.#lanes.remove(waiting)) return undefined;
    const promoted = this.add('interactive', caller);
    this.#standIns.set(request, promoted);
    return promoted;
  }

  /** When the next waiting request is sent, at `nowMs` or later; infinite if no caller waits. */
  nextInMs(nowMs: number): number {
    const { now, rules } = this.#view;
    this.#playTo(now + nowMs);
    for (let lane = this.#lanes.next; lane && lane !== 'refresh'; lane = this.#lanes.next) {
      const stop = stopOf(this.#budget, rules, this.#now, { lane, ...this.#room });
      const held = this.#held;
      if (!stop && this.#lanes.leaver(held.isHeld)) return this.#now - now;
      const waitMs = stop ? stop.waitMs : held.waitMs;
      // Less than that could be lost in rounding.
      const stopAt = this.#now + Math.max(0.001, waitMs ?? Infinity);
      this.#playTo(Math.min(stopAt, this.#answers[0]?.at ?? Infinity));
    }
    return Number.POSITIVE_INFINITY;
  }

  /** Sends the next request, see `nextInMs`; undefined if no caller waits. */
  next(nowMs: number): Departure | undefined {
    const leavesInMs = this.nextInMs(nowMs);
    const waiting = this.#lanes.leaver(this.#held.isHeld);
    if (!waiting || leavesInMs === Number.POSITIVE_INFINITY) return undefined;
    this.#played += 1;
    const id = `${PLAYED} ${this.#played}`;
    const { lane } = waiting;
    claimSlots(
      this.#budget,
      this.#view.rules,
      this.#now,
      [{ id, lane, caller: this.#lanes.callerOf(waiting) }],
      {
        owner: PLAYED,
        ...this.#room,
        waits: this.#lanes.waits,
        bids: [],
      },
    );
    this.#lanes.remove(waiting);
    this.#answers.push({ id, owner: PLAYED, at: this.#now + this.latencyMs });
    return { waiting, leavesInMs, answersInMs: leavesInMs + this.latencyMs };
  }

  /** Which callers leave the free slots to others now, and the shortest time until one of them does not. */
  get #held(): { readonly isHeld: IsHeld; readonly waitMs: number } {
    const allowances = new Allowances(this.#budget, this.#view.rules, this.#now);
    const { free } = this.#room;
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

  get #room() {
    const b = this.#budget;
    const isAlive = (owner: string) => owner === PLAYED || this.#view.isAlive(owner);
    return { free: b.limit - used(b), wire: onWire(b, isAlive) };
  }

  /** Minimum time in milliseconds for this many requests when the window is full. */
  windowsMs(requests: number): number {
    return Math.ceil(requests / this.limit) * (this.#view.rules.windowMs + this.latencyMs);
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

  #addElsewhere(lane: TurnLane, waits: readonly CallerWaits[]): void {
    for (const [caller, count] of waits) {
      for (let n = 0; n < Math.min(count, MOST_ELSEWHERE); n += 1) {
        this.#lanes.add({ lane, caller, urgency: () => 0 }, false, caller);
      }
    }
  }
}
