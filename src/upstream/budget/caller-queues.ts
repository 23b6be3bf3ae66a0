import { beforeInLane, firstOf, inTurns, roundOf } from './law/callers/turns.ts';
import type { TurnLane, TurnState } from './law/document.ts';

/** The queue of one caller. */
interface CallerQueue<W> {
  readonly caller: string;
  /** The turn (`TurnState.seq`) since which at least one waits. */
  readonly since: number;
  readonly waiting: W[];
}

/** One lane of a class, in which callers take turns. Requests whose turn had no result go before all others. */
export class CallerQueues<W extends { readonly caller: string }> {
  readonly #lane: TurnLane;
  readonly #queues = new Map<string, CallerQueue<W>>();
  readonly #again: W[] = [];
  /** The latest request. */
  #latest: CallerQueue<W> | undefined;
  /** Number of waiting requests. */
  size = 0;

  constructor(lane: TurnLane) {
    this.#lane = lane;
  }

  /** A copy of the queues, for a simulation that does not change these. */
  copy(): CallerQueues<W> {
    const copy = new CallerQueues<W>(this.#lane);
    for (const [caller, queue] of this.#queues) {
      copy.#queues.set(caller, { ...queue, waiting: [...queue.waiting] });
    }
    copy.#again.push(...this.#again);
    copy.size = this.size;
    return copy;
  }

  /** The request whose turn is next, of the callers that are not held. */
  head(turns: TurnState, isHeld: (caller: string) => boolean): W | undefined {
    const again = this.#again.find(({ caller }) => !isHeld(caller));
    if (again) return again;
    const queues = [...this.#queues.values()].filter(({ caller }) => !isHeld(caller));
    return firstOf(turns, this.#lane, queues)?.waiting[0];
  }

  /** Whether a caller waits. */
  hasCaller(caller: string): boolean {
    return this.#queues.has(caller) || this.#again.some((each) => each.caller === caller);
  }

  /** Whether the last turn of a waiting request had no result. */
  isAgain(waiting: W): boolean {
    return this.#again.includes(waiting);
  }

  /** Number of waiting requests, without those of some callers. */
  sizeWithout(callers: readonly string[]): number {
    return this.#those(callers).reduce((size, { waiting }) => size - waiting.length, this.size);
  }

  /** Queues an entry after a turn. */
  add(waiting: W, caller: string, seq: number): void {
    this.size += 1;
    const queue = this.#queues.get(caller);
    if (queue) queue.waiting.push(waiting);
    else {
      this.#latest = { caller, since: seq, waiting: [waiting] };
      this.#queues.set(caller, this.#latest);
    }
  }

  /** Puts a request whose turn had no result back before all others. */
  again(waiting: W): void {
    this.size += 1;
    this.#again.push(waiting);
  }

  /** Removes an entry; false if it does not wait here. */
  remove(waiting: W, caller: string): boolean {
    const queue = this.#queues.get(caller);
    if (!drop(this.#again, waiting) && !(queue && drop(queue.waiting, waiting))) return false;
    if (queue?.waiting.length === 0) this.#queues.delete(caller);
    this.size -= 1;
    return true;
  }

  /** Number of entries before a waiting one; undefined if it does not wait here. */
  position(
    turns: TurnState,
    waiting: W,
    caller: string,
    behind: readonly string[],
  ): number | undefined {
    const again = this.#again.indexOf(waiting);
    if (again >= 0) return again;
    const queue = this.#queues.get(caller);
    const round = queue?.waiting.lastIndexOf(waiting) ?? -1;
    return queue && round >= 0 ? this.#before(turns, queue, round, behind) : undefined;
  }

  /** Number of entries before a new one of this caller. */
  ahead(turns: TurnState, caller: string, behind: readonly string[]): number {
    const queue = this.#queues.get(caller);
    if (!queue) return this.#again.length + this.#queues.size - this.#those(behind).length;
    return this.#before(turns, queue, queue.waiting.length, behind);
  }

  /** All entries in the order in which they are sent if no others arrive. */
  *inOrder(turns: TurnState): Generator<W> {
    yield* this.#again;
    const queues = [...this.#queues.values()];
    if (queues.length < 2) {
      for (const { waiting } of queues) yield* waiting;
      return;
    }
    const round = roundOf(turns, this.#lane, queues);
    yield* inTurns(round.map(({ waiting }) => waiting));
  }

  /** Number of entries before the request of a caller in this round. */
  #before(turns: TurnState, own: CallerQueue<W>, round: number, behind: readonly string[]): number {
    const those = this.#those(behind);
    // A new caller is after all others. Thousands can arrive at the same time.
    const isLast = round === 0 && own === this.#latest && own.since === turns.seq;
    if (isLast) return this.#again.length + this.#queues.size - 1 - those.length;
    const queues = [...this.#queues.values()].filter((each) => !those.includes(each));
    return this.#again.length + beforeInLane(turns, this.#lane, queues, { own, round });
  }

  /** The queues of these callers, of those that wait. */
  #those(callers: readonly string[]): CallerQueue<W>[] {
    return callers.flatMap((each) => this.#queues.get(each) ?? []);
  }
}

function drop<T>(list: T[], item: T): boolean {
  const index = list.indexOf(item);
  if (index < 0) return false;
  list.splice(index, 1);
  return true;
}
