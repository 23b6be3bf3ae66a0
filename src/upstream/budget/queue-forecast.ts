import type { Lanes, Waiting } from './lanes.ts';

/** What a forecast has to know of a budget, as it stood when the forecast was made. */
interface Slots {
  /** Requests per window. */
  readonly limit: number;
  readonly windowMs: number;
  /** How long an answer usually takes, in milliseconds. */
  readonly latencyMs: number;
  /** Milliseconds until what has so many before it would be sent, if all before it are sent as soon as they can. */
  readonly opensInMs: (position: number) => number;
}

/** A request that leaves, in a forecast. Times are milliseconds from when the forecast was made. */
interface Departure {
  readonly waiting: Waiting;
  readonly leavesInMs: number;
  readonly answersInMs: number;
}

/** Slots whose times are noted at the beginning: what leaves meanwhile is not to be counted twice. */
const MOST_NOTED = 100;
/**
 * A budget's queue, played through: who leaves when, and when the answer is there, if nothing else is asked for.
 * The order is that of the lanes themselves. Refreshes are left out: they wait while anybody else does.
 */
export class QueueForecast {
  readonly limit: number;
  /** How long an answer usually takes, in milliseconds. */
  readonly latencyMs: number;
  readonly #lanes: Lanes<Waiting>;
  readonly #slots: Slots;
  readonly #noted: readonly number[];
  /** What stands here for jobs that are hastened: the jobs themselves must not change. */
  readonly #standIns = new Map<Waiting, Waiting>();
  /** When each has left, ascending. */
  readonly #left: number[] = [];

  /** `lanes` are used up: they are to be a copy. */
  constructor(lanes: Lanes<Waiting>, slots: Slots) {
    this.limit = slots.limit;
    this.latencyMs = slots.latencyMs;
    this.#lanes = lanes;
    this.#slots = slots;
    const noted = Math.min(slots.limit, MOST_NOTED);
    this.#noted = Array.from({ length: noted }, (_, position) => slots.opensInMs(position));
  }

  /** Queues a request that does not exist, behind all that its caller has queued so far. */
  add(lane: 'write' | 'interactive', caller: string): Waiting {
    const waiting = { lane, caller, urgency: () => 0 };
    this.#lanes.add(waiting);
    return waiting;
  }

  /** What stands for a job once a caller waits for it too, see `Budget.hasten`; undefined when it does not wait. */
  join(job: Waiting, caller: string): Waiting | undefined {
    const waiting = this.#standIns.get(job) ?? job;
    const position = this.#lanes.position(waiting);
    const isSooner = position !== undefined && position <= this.#lanes.ahead('interactive', caller);
    if (isSooner || (waiting.caller === caller && position !== undefined)) return waiting;
    if (!this.#lanes.remove(waiting)) return undefined;
    const hastened = this.add('interactive', caller);
    this.#standIns.set(job, hastened);
    return hastened;
  }

  /** When the next of those who wait leaves, at `nowMs` or later; infinite when nobody waits. */
  nextInMs(nowMs: number): number {
    if (!this.#lanes.peek(false)) return Number.POSITIVE_INFINITY;
    const position = this.#left.length;
    const opensInMs = this.#noted[position] ?? this.#slots.opensInMs(position);
    // A slot that was used here is back a window after the answer.
    const used = this.#left[position - this.limit] ?? Number.NEGATIVE_INFINITY;
    const again = used + this.latencyMs + this.#slots.windowMs;
    return Math.max(nowMs, this.#left.at(-1) ?? 0, opensInMs, again);
  }

  /** Lets the next leave, see `nextInMs`; undefined when nobody waits. */
  next(nowMs: number): Departure | undefined {
    const leavesInMs = this.nextInMs(nowMs);
    const waiting = this.#lanes.next(false);
    if (!waiting) return undefined;
    this.#left.push(leavesInMs);
    return { waiting, leavesInMs, answersInMs: leavesInMs + this.latencyMs };
  }

  /** How long so many requests take at least, in milliseconds, when the window is as full as it can be. */
  windowsMs(requests: number): number {
    return Math.ceil(requests / this.limit) * (this.#slots.windowMs + this.latencyMs);
  }
}
