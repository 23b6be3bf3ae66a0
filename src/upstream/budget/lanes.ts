import { type Queued, Turns } from './turns.ts';

/** Who goes first: writes, then reads that somebody waits for, then refreshes behind their backs. */
export type Lane = 'write' | 'interactive' | 'refresh';

/** What waits for a slot. */
export interface Waiting extends Queued {
  lane: Lane;
  /** Among refreshes: the one with the largest goes first. Asked again at every choice. */
  readonly urgency: () => number;
}

/** With reads waiting too, so many writes in a row go before the next read does. */
const WRITES_IN_A_ROW = 3;

/**
 * The order in which waiting requests get slots. Inside a lane callers take turns, whatever the
 * number of their requests, so that a noisy caller delays itself and not the others.
 */
export class Lanes<W extends Waiting> {
  #writes = new Turns<W>();
  #reads = new Turns<W>();
  readonly #refreshes = new Set<W>();
  #writesInARow = 0;

  /** How many wait in a lane. */
  size(lane: Lane): number {
    if (lane === 'refresh') return this.#refreshes.size;
    return this.#turns(lane).size;
  }

  /** How many wait in all lanes. */
  get waiting(): number {
    return this.#writes.size + this.#reads.size + this.#refreshes.size;
  }

  /** The same lanes with the same in them, to be played through without changing these. */
  copy(): Lanes<W> {
    const copy = new Lanes<W>();
    copy.#writes = this.#writes.copy();
    copy.#reads = this.#reads.copy();
    for (const refresh of this.#refreshes) copy.#refreshes.add(refresh);
    copy.#writesInARow = this.#writesInARow;
    return copy;
  }

  add(waiting: W): void {
    if (waiting.lane === 'refresh') this.#refreshes.add(waiting);
    else this.#turns(waiting.lane).add(waiting);
  }

  /** Puts back, before all others of its lane, what had its turn in vain. */
  addFirst(waiting: W): void {
    if (waiting.lane === 'refresh') this.#refreshes.add(waiting);
    else this.#turns(waiting.lane).addFirst(waiting);
  }

  /** Takes something out before its turn; false when it does not wait here. */
  remove(waiting: W): boolean {
    if (waiting.lane === 'refresh') return this.#refreshes.delete(waiting);
    return this.#turns(waiting.lane).remove(waiting);
  }

  /** Takes something out because its turn has come, whoever was next here; false when it does not wait here. */
  take(waiting: W): boolean {
    if (waiting.lane === 'refresh') return this.#refreshes.delete(waiting);
    return this.#turns(waiting.lane).take(waiting);
  }

  /** How many wait of each caller in a lane. */
  counts(lane: 'write' | 'interactive'): ReadonlyMap<string, number> {
    return this.#turns(lane).counts;
  }

  /** The refreshes that are the most urgent, so many at most. */
  mostUrgent(count: number): { readonly refresh: W; readonly urgency: number }[] {
    const all = [...this.#refreshes].map((refresh) => ({ refresh, urgency: refresh.urgency() }));
    return all.sort((a, b) => b.urgency - a.urgency).slice(0, count);
  }

  /** What is next, and stays where it is; `allowRefresh` false passes over the refreshes. */
  peek(allowRefresh: boolean): W | undefined {
    return this.#turnOfWrite ? this.#writes.peek() : this.#readOrRefresh(allowRefresh);
  }

  /** Takes out what is next. */
  next(allowRefresh: boolean): W | undefined {
    if (this.#turnOfWrite) {
      this.#writesInARow = this.#reads.size > 0 ? this.#writesInARow + 1 : 0;
      return this.#writes.shift();
    }
    this.#writesInARow = 0;
    const next = this.#readOrRefresh(allowRefresh);
    if (next?.lane === 'refresh') this.#refreshes.delete(next);
    else this.#reads.shift();
    return next;
  }

  /** The writes and reads that wait, in the order in which they go if nothing else comes. */
  *inOrder(): Generator<W> {
    const [writes, reads] = [this.#writes.inOrder(), this.#reads.inOrder()];
    let [write, read] = [writes.next(), reads.next()];
    for (let inARow = this.#writesInARow; !(write.done && read.done); ) {
      if (!write.done && (read.done || inARow < WRITES_IN_A_ROW)) {
        yield write.value;
        write = writes.next();
        inARow += 1;
      } else if (!read.done) {
        yield read.value;
        read = reads.next();
        inARow = 0;
      }
    }
  }

  /** How many go before something that waits; undefined when it does not, or waits for a refresh. */
  position(waiting: W): number | undefined {
    if (waiting.lane === 'refresh') return undefined;
    const position = this.#turns(waiting.lane).position(waiting);
    return position === undefined ? undefined : this.#across(waiting.lane, position);
  }

  /** How many would go before something new of this caller in this lane. */
  ahead(lane: 'write' | 'interactive', caller: string): number {
    return this.#across(lane, this.#turns(lane).ahead(caller));
  }

  /** How many of both lanes go before what has so many of its own before it. */
  #across(lane: 'write' | 'interactive', ahead: number): number {
    if (lane === 'write') {
      const readsBetween = Math.floor((this.#writesInARow + ahead) / WRITES_IN_A_ROW);
      return ahead + Math.min(this.#reads.size, readsBetween);
    }
    const writesBefore = WRITES_IN_A_ROW * (ahead + 1) - this.#writesInARow;
    return ahead + Math.min(this.#writes.size, writesBefore);
  }

  get #turnOfWrite(): boolean {
    if (this.#writes.size === 0) return false;
    return this.#reads.size === 0 || this.#writesInARow < WRITES_IN_A_ROW;
  }

  #readOrRefresh(allowRefresh: boolean): W | undefined {
    if (this.#reads.size > 0 || !allowRefresh) return this.#reads.peek();
    let best: W | undefined;
    let most = Number.NEGATIVE_INFINITY;
    for (const refresh of this.#refreshes) {
      const urgency = refresh.urgency();
      if (urgency > most) [best, most] = [refresh, urgency];
    }
    return best;
  }

  #turns(lane: 'write' | 'interactive'): Turns<W> {
    return lane === 'write' ? this.#writes : this.#reads;
  }
}
