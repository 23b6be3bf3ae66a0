import { inBackground } from '../../scheduling/at-once.ts';
import { nextTurn } from '../../scheduling/loop-turns.ts';
import type { Waiting } from '../budget/lanes.ts';
import type { QueueForecast } from '../budget/queue-forecast.ts';

/** Something that is waited for in a dry run: all of this many answers. */
interface Awaited {
  left: number;
  readonly arrived: Promise<void>;
  readonly arrive: () => void;
}

/** An answer on its way. */
interface Landing {
  readonly atMs: number;
  readonly awaited: Awaited;
}

/** Requests of one dry run that are played through one by one; of more, only the number counts. */
const MOST_PLAYED = 1000;
/** Moments at which answers arrive one after the other; whatever is on its way then arrives together. */
const MOST_MOMENTS = 200;
/** Answers so close together, in milliseconds, arrive together. */
const MOMENT_MS = 1;

/**
 * The time of a dry run, in which requests wait for slots and answers for their requests, as they would if the
 * operation were sent now. It stands still while the operation asks for more, then moves on to the next answer
 * that it waits for. So what depends on an answer is asked for when that is there, whatever else is under way.
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
  /** How many are not played, of each queue. */
  readonly #beyond = new Map<QueueForecast, number>();
  #moments = 0;
  #moves = false;
  /** Counts what was asked for, so that it shows when nothing is. */
  #asked = 0;

  /** Whether an answer has arrived: what is asked for from now on can depend on it. */
  get hasAnswered(): boolean {
    return this.#moments > 0;
  }

  /** Milliseconds until the first of the operation's own requests leaves; 0 when there is none. */
  get startsInMs(): number {
    return Math.round(this.#startsInMs ?? 0);
  }

  /** Milliseconds until the last answer that it waits for is there. */
  get readyInMs(): number {
    const beyond = [...this.#beyond].map(([queue, requests]) => queue.windowsMs(requests));
    return Math.round(this.#readyInMs + Math.max(0, ...beyond));
  }

  /** Sends this many requests as soon as there are slots. Resolves when all of them are answered. */
  async sends(
    queue: QueueForecast,
    { lane, caller, requests }: { lane: 'write' | 'interactive'; caller: string; requests: number },
  ): Promise<void> {
    this.#queues.add(queue);
    // One at least, for those who wait for it.
    const played = Math.max(1, Math.min(requests, MOST_PLAYED - this.#count));
    this.#count += played;
    this.#beyond.set(queue, (this.#beyond.get(queue) ?? 0) + requests - played);
    const awaited = awaitedOf(played);
    for (let n = 0; n < played; n += 1) {
      this.#played.set(queue.add(lane, caller), { awaited, isOwn: true });
    }
    await this.#arrival(awaited);
  }

  /** Waits for the request of another operation. `job` is what waits in the queue, if it does. */
  async joins(
    queue: QueueForecast,
    { job, caller, restMs }: { job: Waiting | undefined; caller: string; restMs: number },
  ): Promise<void> {
    const awaited = awaitedOf(1);
    const waiting = job && queue.join(job, caller);
    if (waiting) {
      this.#queues.add(queue);
      this.#played.set(waiting, { awaited, isOwn: false });
    } else this.#land(this.#nowMs + restMs, awaited);
    await this.#arrival(awaited);
  }

  /** Waits for an answer that it waits for already. */
  async again(awaited: Promise<unknown>): Promise<void> {
    this.#asked += 1;
    await awaited;
  }

  /** What other replicas have is looked up, which can take longer than a turn. */
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

  /** Moves on from answer to answer for as long as any is waited for. */
  async #move(): Promise<void> {
    this.#moves = true;
    do {
      await this.#rest();
      this.#nextMoment();
    } while (this.#landings.length + this.#played.size > 0);
    this.#moves = false;
  }

  /** Resolves when all is asked for that needs no further answer. */
  async #rest(): Promise<void> {
    for (let before = -1; before !== this.#asked || this.#looking.size > 0; ) {
      before = this.#asked;
      await Promise.all(this.#looking);
      await nextTurn();
    }
  }

  /** Moves time on to the next answer that completes what is waited for, and lets it arrive. */
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

  /** Whose turn is next over all queues in which something of this operation waits. */
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

  /** Lets all answers up to a moment arrive. Returns whether that completes anything. */
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
