import type { TurnLane, TurnState } from './law/document.ts';
import { type CallerWaits, inTurns, roundOf, turnAt } from './law/turns.ts';

/** What one caller has queued. */
interface CallerQueue<W> {
  readonly caller: string;
  /** The turn (`TurnState.seq`) since which at least one waits. */
  readonly since: number;
  readonly waiting: W[];
}

/** One lane in which callers take turns. What had its turn in vain goes before everything else. */
export class CallerQueues<W> {
  readonly #lane: TurnLane;
  readonly #queues = new Map<string, CallerQueue<W>>();
  readonly #again: W[] = [];
  /** The one that was made last. */
  #latest: CallerQueue<W> | undefined;
  #size = 0;

  constructor(lane: TurnLane) {
    this.#lane = lane;
  }

  get size(): number {
    return this.#size;
  }

  /** Callers who wait. */
  get callers(): number {
    return this.#queues.size;
  }

  /** The same queues of the same things, to be played through without changing these. */
  copy(): CallerQueues<W> {
    const copy = new CallerQueues<W>(this.#lane);
    for (const [caller, queue] of this.#queues) {
      copy.#queues.set(caller, { ...queue, waiting: [...queue.waiting] });
    }
    copy.#again.push(...this.#again);
    copy.#size = this.#size;
    return copy;
  }

  /** Queues something after a turn. */
  add(waiting: W, caller: string, seq: number): void {
    this.#size += 1;
    const queue = this.#queues.get(caller);
    if (queue) queue.waiting.push(waiting);
    else {
      this.#latest = { caller, since: seq, waiting: [waiting] };
      this.#queues.set(caller, this.#latest);
    }
  }

  /** Puts back, before all others, what had its turn in vain. */
  addFirst(waiting: W): void {
    this.#size += 1;
    this.#again.push(waiting);
  }

  /** Takes something out; false when it does not wait here. */
  remove(waiting: W, caller: string): boolean {
    const queue = this.#queues.get(caller);
    if (!drop(this.#again, waiting) && !(queue && drop(queue.waiting, waiting))) return false;
    if (queue?.waiting.length === 0) this.#queues.delete(caller);
    this.#size -= 1;
    return true;
  }

  /** How many wait of each caller; `callerOf` names those of what had its turn in vain. */
  waits(callerOf: (waiting: W) => string): CallerWaits[] {
    const again = this.#again.map((waiting): CallerWaits => [callerOf(waiting), 1, null]);
    const queued = Array.from(this.#queues.values(), ({ caller, since, waiting }): CallerWaits => {
      return [caller, waiting.length, since];
    });
    return [...again, ...queued];
  }

  /** How many go before something that waits; undefined when it does not wait here. */
  position(turns: TurnState, waiting: W, caller: string): number | undefined {
    const again = this.#again.indexOf(waiting);
    if (again >= 0) return again;
    const queue = this.#queues.get(caller);
    const round = queue?.waiting.lastIndexOf(waiting) ?? -1;
    return queue && round >= 0 ? this.#before(turns, queue, round) : undefined;
  }

  /** How many would go before something new of this caller. */
  ahead(turns: TurnState, caller: string): number {
    const queue = this.#queues.get(caller);
    if (!queue) return this.#again.length + this.#queues.size;
    return this.#before(turns, queue, queue.waiting.length);
  }

  /** Everything in the order in which it goes if nothing else comes. */
  *inOrder(turns: TurnState): Generator<W> {
    yield* this.#again;
    const round = roundOf(turns, this.#lane, [...this.#queues.values()]);
    yield* inTurns(round.map(({ waiting }) => waiting));
  }

  /**
   * How many go before the request that a caller has in this round: counted, not played through, since everybody who
   * waits asks for it.
   */
  #before(turns: TurnState, own: CallerQueue<W>, round: number): number {
    const others = this.#queues.size - 1;
    // Who has just come stands behind all others: thousands can come at once.
    if (round === 0 && own === this.#latest && own.since === turns.seq) {
      return this.#again.length + others;
    }
    const at = turnAt(turns, this.#lane, own);
    let before = this.#again.length + round;
    let isEarlier = true;
    for (const queue of this.#queues.values()) {
      if (queue === own) {
        isEarlier = false;
        continue;
      }
      const each = turnAt(turns, this.#lane, queue);
      const goesFirst = each < at || (each === at && isEarlier);
      before += Math.min(queue.waiting.length, goesFirst ? round + 1 : round);
    }
    return before;
  }
}

function drop<T>(list: T[], item: T): boolean {
  const index = list.indexOf(item);
  if (index < 0) return false;
  list.splice(index, 1);
  return true;
}
