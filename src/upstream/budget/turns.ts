/** What waits for its caller's turn. */
export interface Queued {
  /** Whom a slot is charged to in the fair order, e.g. a client's name; not a credential. */
  caller: string;
}

/**
 * One lane in which callers take turns: each has a queue of their own, and the queues are served one
 * request at a time, round after round. What was refused after its turn goes before everything else.
 */
export class Turns<W extends Queued> {
  /** In the order of the round. */
  readonly #queues = new Map<string, W[]>();
  readonly #refused: W[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The same order of the same things, to be played through without changing this one. */
  copy(): Turns<W> {
    const copy = new Turns<W>();
    for (const [caller, queue] of this.#queues) copy.#queues.set(caller, [...queue]);
    copy.#refused.push(...this.#refused);
    copy.#size = this.#size;
    return copy;
  }

  add(waiting: W): void {
    this.#size += 1;
    const queue = this.#queues.get(waiting.caller);
    if (queue) queue.push(waiting);
    else this.#queues.set(waiting.caller, [waiting]);
  }

  /** Puts back, before all others, what had its turn in vain. */
  addFirst(waiting: W): void {
    this.#size += 1;
    this.#refused.push(waiting);
  }

  /** Takes something out; false when it does not wait here. */
  remove(waiting: W): boolean {
    const queue = this.#queues.get(waiting.caller);
    const removed = drop(this.#refused, waiting) || (queue !== undefined && drop(queue, waiting));
    if (!removed) return false;
    if (queue?.length === 0) this.#queues.delete(waiting.caller);
    this.#size -= 1;
    return true;
  }

  /** What is next; it stays where it is. */
  peek(): W | undefined {
    const [refused] = this.#refused;
    if (refused) return refused;
    for (const [first] of this.#queues.values()) return first;
    return undefined;
  }

  /** Takes out what is next. */
  shift(): W | undefined {
    const first = this.#refused.shift() ?? this.#shiftQueued();
    if (first) this.#size -= 1;
    return first;
  }

  /**
   * Takes something out because its turn has come, whoever was next here; false when it does not wait here. Its
   * caller goes to the end of the round.
   */
  take(waiting: W): boolean {
    if (!this.remove(waiting)) return false;
    const queue = this.#queues.get(waiting.caller);
    if (!queue) return true;
    this.#queues.delete(waiting.caller);
    this.#queues.set(waiting.caller, queue);
    return true;
  }

  /** How many wait of each caller. */
  get counts(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const [caller, queue] of this.#queues) counts.set(caller, queue.length);
    for (const { caller } of this.#refused) counts.set(caller, (counts.get(caller) ?? 0) + 1);
    return counts;
  }

  /** How many go before something that waits; undefined when it does not wait here. */
  position(waiting: W): number | undefined {
    const refused = this.#refused.indexOf(waiting);
    if (refused >= 0) return refused;
    const round = this.#queues.get(waiting.caller)?.lastIndexOf(waiting) ?? -1;
    return round < 0 ? undefined : this.#before(waiting.caller, round);
  }

  /** How many would go before something new of this caller. */
  ahead(caller: string): number {
    return this.#before(caller, this.#queues.get(caller)?.length ?? 0);
  }

  /** Everything in the order in which it goes if nothing else comes. */
  *inOrder(): Generator<W> {
    yield* this.#refused;
    const queues = [...this.#queues.values()];
    for (let round = 0, left = this.#size - this.#refused.length; left > 0; round += 1) {
      for (const queue of queues) {
        const waiting = queue[round];
        if (!waiting) continue;
        left -= 1;
        yield waiting;
      }
    }
  }

  /**
   * How many go before the request that a caller has in this round: counted, not played through, since
   * everybody who waits asks for it.
   */
  #before(caller: string, round: number): number {
    let before = this.#refused.length;
    if (!this.#queues.has(caller)) return before + this.#queues.size;
    let earlier = 1;
    for (const [each, queue] of this.#queues) {
      if (each === caller) {
        if (round === 0) break;
        earlier = 0;
      }
      before += Math.min(queue.length, round + earlier);
    }
    return before;
  }

  #shiftQueued(): W | undefined {
    for (const [caller, queue] of this.#queues) {
      const first = queue.shift();
      this.#queues.delete(caller);
      // Back to the end of the round, behind everyone who has not had a turn in it.
      if (queue.length > 0) this.#queues.set(caller, queue);
      return first;
    }
    return undefined;
  }
}

function drop<T>(list: T[], item: T): boolean {
  const index = list.indexOf(item);
  if (index < 0) return false;
  list.splice(index, 1);
  return true;
}
