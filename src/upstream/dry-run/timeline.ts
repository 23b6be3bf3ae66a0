import { inBackground } from '../../scheduling/at-once.ts';
import { nextTurn } from '../../scheduling/loop-turns.ts';
import type { QueueForecast } from '../budget/estimates/queue-forecast.ts';
import type { Waiting } from '../budget/lanes.ts';
import type { TurnLane } from '../budget/law/document.ts';

/** A number of responses that a dry run waits for. */
interface Awaited {
  left: number;
  readonly arrived: Promise<void>;
  readonly arrive: () => void;
}

/** A response in flight. */
interface Landing {
  readonly atMs: number;
  readonly awaited: Awaited;
}

/** Maximum number of individually simulated requests of one dry run; of further ones, only the number counts. */
const MOST_PLAYED = 1000;
/** Number of separate arrival times; all responses in flight after that arrive together. */
const MOST_MOMENTS = 200;
/** Responses within this time, in milliseconds, arrive together. */
const MOMENT_MS = 1;

/**
 * The simulated time of a dry run, in which requests wait for slots and responses, as they would if the operation
 * were sent now. It stops while the operation requests more, then advances to the next response that it waits for.
 * So reads that depend on a response are requested when that has arrived, whatever else is in flight.
 */
export class Timeline {
  readonly #queues = new Set<QueueForecast>();
  readonly #played = new Map<Waiting, { readonly awaited: Awaited; readonly isOwn: boolean }>();
  /** In the order in which they arrive. */
  readonly #landings: Landing[] = [];
  readonly #looking = new Set<Promise<void>>();
  #nowMs = 0;
  #startsInMs: number | null = null;
  #readyInMs = 0;
  #count = 0;
  /** Number of requests of each queue that are not simulated. */
  readonly #beyond = new Map<QueueForecast, number>();
  #moments = 0;
  #moves = false;
  /** Counts requests, to detect when there are no more. */
  #asked = 0;

  /** Whether a response has arrived: later reads can depend on it. */
  get hasAnswered(): boolean {
    return this.#moments > 0;
  }

  /** Milliseconds until the first of the operation's own requests is sent; 0 if it has none. */
  get startsInMs(): number {
    return Math.round(this.#startsInMs ?? 0);
  }

  /** Milliseconds until the last response that it waits for has arrived. */
  get readyInMs(): number {
    const beyond = [...this.#beyond].map(([queue, requests]) => queue.windowsMs(requests));
    return Math.round(this.#readyInMs + Math.max(0, ...beyond));
  }

  /** Sends this many requests as soon as there are slots. Resolves when all have a response. */
  async sends(
    queue: QueueForecast,
    { lane, caller, requests }: { lane: TurnLane | 'bulk'; caller: string; requests: number },
  ): Promise<void> {
    this.#queues.add(queue);
    // At least one, for its waiters.
    const played = Math.max(1, Math.min(requests, MOST_PLAYED - this.#count));
    this.#count += played;
    this.#beyond.set(queue, (this.#beyond.get(queue) ?? 0) + requests - played);
    const awaited = awaitedOf(played);
    for (let n = 0; n < played; n += 1) {
      this.#played.set(queue.add(lane, caller), { awaited, isOwn: true });
    }
    await this.#arrival(awaited);
  }

  /** Waits for the request of another operation. `job` is its entry in the queue, if it waits. */
  async joins(
    queue: QueueForecast,
    {
      job,
      caller,
      lane,
      restMs,
    }: {
      job: Waiting | undefined;
      caller: string;
      lane: 'interactive' | 'bulk';
      restMs: number;
    },
  ): Promise<void> {
    const awaited = awaitedOf(1);
    const waiting = job && queue.join(job, caller, lane);
    if (waiting) {
      this.#queues.add(queue);
      this.#played.set(waiting, { awaited, isOwn: false });
    } else this.#land(this.#nowMs + restMs, awaited);
    await this.#arrival(awaited);
  }

  /** Waits again for a response. */
  async again(awaited: Promise<unknown>): Promise<void> {
    this.#asked += 1;
    await awaited;
  }

  /** The responses of other replicas are loaded, which can take longer than a turn. */
  async looks(work: Promise<void>): Promise<void> {
    this.#looking.add(work);
    try {
      await work;
    } finally {
      this.#looking.delete(work);
    }
  }

  async #arrival(awaited: Awaited): Promise<void> {
    this.#asked += 1;
    if (!this.#moves) inBackground(this.#move());
    await awaited.arrived;
  }

  /** Advances from response to response as long as any is awaited. */
  async #move(): Promise<void> {
    this.#moves = true;
    do {
      await this.#rest();
      this.#nextMoment();
    } while (this.#landings.length + this.#played.size > 0);
    this.#moves = false;
  }

  /** Resolves when all reads are requested that need no further response. */
  async #rest(): Promise<void> {
    for (let before = -1; before !== this.#asked || this.#looking.size > 0; ) {
      before = this.#asked;
      await Promise.all(this.#looking);
      await nextTurn();
    }
  }

  /** Advances the time to the next response that completes an awaited set. */
  #nextMoment(): void {
    this.#moments += 1;
    let arrived = false;
    while (!arrived || this.#moments > MOST_MOMENTS) {
      const queue = this.#nextQueue();
      const leavesInMs = queue?.nextInMs(this.#nowMs) ?? Number.POSITIVE_INFINITY;
      const [landing] = this.#landings;
      if (queue && (!landing || leavesInMs < landing.atMs)) this.#leave(queue);
      else if (!landing) return;
      else arrived = this.#arriveUntil(landing.atMs + MOMENT_MS) || arrived;
    }
  }

  /** The queue with the next turn, among all in which this operation waits. */
  #nextQueue(): QueueForecast | undefined {
    if (this.#played.size === 0) return undefined;
    let next: QueueForecast | undefined;
    let soonest = Number.POSITIVE_INFINITY;
    for (const queue of this.#queues) {
      const inMs = queue.nextInMs(this.#nowMs);
      if (inMs < soonest) [next, soonest] = [queue, inMs];
    }
    return next;
  }

  #leave(queue: QueueForecast): void {
    const departure = queue.next(this.#nowMs);
    const played = departure && this.#played.get(departure.waiting);
    if (!departure || !played) return;
    this.#played.delete(departure.waiting);
    if (played.isOwn) this.#startsInMs ??= departure.leavesInMs;
    this.#land(departure.answersInMs, played.awaited);
  }

  #land(atMs: number, awaited: Awaited): void {
    let at = this.#landings.length;
    while (at > 0 && (this.#landings[at - 1]?.atMs ?? 0) > atMs) at -= 1;
    this.#landings.splice(at, 0, { atMs, awaited });
  }

  /** Processes all responses up to a time. Returns whether that completes anything. */
  #arriveUntil(moment: number): boolean {
    let completes = false;
    for (let first = this.#landings[0]; first && first.atMs <= moment; [first] = this.#landings) {
      this.#landings.shift();
      this.#nowMs = Math.max(this.#nowMs, first.atMs);
      this.#readyInMs = Math.max(this.#readyInMs, first.atMs);
      first.awaited.left -= 1;
      if (first.awaited.left > 0) continue;
      first.awaited.arrive();
      completes = true;
    }
    return completes;
  }
}

function awaitedOf(left: number): Awaited {
  let arrive = (): void => {};
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  return { left, arrived, arrive: () => arrive() };
}
