/** Who goes first: writes, then reads that somebody waits for, then refreshes that nobody waits for. */
export type Lane = 'write' | 'interactive' | 'refresh';

/** What waits for a slot. */
export interface Waiting {
  lane: Lane;
  /** Whom a slot is charged to in the fair order, e.g. a client's name; not a credential. */
  caller: string;
  /** Among refreshes: the one with the largest goes first. Asked again at every choice. */
  readonly urgency: () => number;
}

type Served = 'write' | 'interactive';

/** With both waiting, one slot in this many goes to a read although a write waits. */
const READ_SHARE = 4;

/**
 * The order in which waiting requests get slots. Inside a lane callers take turns, whatever the
 * number of their requests, so that a noisy caller delays itself and not the others.
 */
export class Lanes<W extends Waiting> {
  readonly #queues: Record<Served, Map<string, W[]>> = { write: new Map(), interactive: new Map() };
  /** Requests that were refused after their turn: each goes before the others of its lane. */
  readonly #heads: Record<Served, W[]> = { write: [], interactive: [] };
  readonly #refreshes = new Set<W>();
  readonly #sizes: Record<Lane, number> = { write: 0, interactive: 0, refresh: 0 };
  #writesInARow = 0;

  /** How many wait in a lane. */
  size(lane: Lane): number {
    return this.#sizes[lane];
  }

  add(waiting: W): void {
    this.#sizes[waiting.lane] += 1;
    if (waiting.lane === 'refresh') {
      this.#refreshes.add(waiting);
      return;
    }
    const queues = this.#queues[waiting.lane];
    const queue = queues.get(waiting.caller);
    if (queue) queue.push(waiting);
    else queues.set(waiting.caller, [waiting]);
  }

  /** Puts back, before all others of its lane, what had its turn in vain. */
  addFirst(waiting: W): void {
    if (waiting.lane === 'refresh') {
      this.add(waiting);
      return;
    }
    this.#sizes[waiting.lane] += 1;
    this.#heads[waiting.lane].push(waiting);
  }

  /** Takes something out before its turn; false when it does not wait here. */
  remove(waiting: W): boolean {
    const removed =
      waiting.lane === 'refresh'
        ? this.#refreshes.delete(waiting)
        : drop(this.#heads[waiting.lane], waiting) || this.#removeQueued(waiting.lane, waiting);
    if (removed) this.#sizes[waiting.lane] -= 1;
    return removed;
  }

  /** Takes out what is next; `allowRefresh` false leaves the refreshes where they are. */
  next(allowRefresh: boolean): W | undefined {
    const readsWait = this.#sizes.interactive > 0;
    if (this.#sizes.write > 0 && !(readsWait && this.#writesInARow >= READ_SHARE - 1)) {
      this.#writesInARow = readsWait ? this.#writesInARow + 1 : 0;
      return this.#shift('write');
    }
    this.#writesInARow = 0;
    if (readsWait) return this.#shift('interactive');
    if (!allowRefresh) return undefined;
    let best: W | undefined;
    let most = Number.NEGATIVE_INFINITY;
    for (const refresh of this.#refreshes) {
      const urgency = refresh.urgency();
      if (urgency > most) [best, most] = [refresh, urgency];
    }
    if (best) this.remove(best);
    return best;
  }

  /** The writes and reads that wait, in the order in which they go if nothing else comes. */
  inOrder(): W[] {
    const order: W[] = [];
    const rehearsal = this.#rehearsal<W>();
    for (let next = rehearsal.next(false); next; next = rehearsal.next(false)) order.push(next);
    return order;
  }

  /** How many go before something that waits; undefined when it does not, or waits for a refresh. */
  position(waiting: W): number | undefined {
    const position = this.inOrder().indexOf(waiting);
    return position < 0 ? undefined : position;
  }

  /** How many would go before something new of this caller in this lane. */
  ahead(lane: Served, caller: string): number {
    const probe: Waiting = { lane, caller, urgency: () => 0 };
    const rehearsal = this.#rehearsal<Waiting>();
    rehearsal.add(probe);
    let ahead = 0;
    while (rehearsal.next(false) !== probe) ahead += 1;
    return ahead;
  }

  /** The same writes and reads in the same order, to be taken out without consequences. */
  #rehearsal<V extends Waiting>(this: Lanes<W & V>): Lanes<V> {
    const copy = new Lanes<V>();
    for (const lane of ['write', 'interactive'] as const) {
      for (const [caller, queue] of this.#queues[lane]) copy.#queues[lane].set(caller, [...queue]);
      copy.#heads[lane].push(...this.#heads[lane]);
      copy.#sizes[lane] = this.#sizes[lane];
    }
    copy.#writesInARow = this.#writesInARow;
    return copy;
  }

  #shift(lane: Served): W | undefined {
    this.#sizes[lane] -= 1;
    const head = this.#heads[lane].shift();
    if (head) return head;
    const queues = this.#queues[lane];
    for (const [caller, queue] of queues) {
      const first = queue.shift();
      queues.delete(caller);
      // Back to the end of the round, behind everyone who has not had a turn in it.
      if (queue.length > 0) queues.set(caller, queue);
      return first;
    }
    return undefined;
  }

  #removeQueued(lane: Served, waiting: W): boolean {
    const queue = this.#queues[lane].get(waiting.caller);
    if (!queue || !drop(queue, waiting)) return false;
    if (queue.length === 0) this.#queues[lane].delete(waiting.caller);
    return true;
  }
}

function drop<T>(list: T[], item: T): boolean {
  const index = list.indexOf(item);
  if (index < 0) return false;
  list.splice(index, 1);
  return true;
}
