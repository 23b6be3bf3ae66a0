import { CallerQueues } from './caller-queues.ts';
import type { Lane, TurnLane, TurnState } from './law/document.ts';
import { acrossLanes, inARowAfter, nextLane, type WaitingCounts } from './law/turns.ts';

/** What waits for a slot. */
export interface Waiting {
  lane: Lane;
  /** Whom a slot is charged to in the fair order, e.g. a client's name; not a credential. */
  caller: string;
  /** Among refreshes: the one with the largest goes first. Asked again at every choice. */
  readonly urgency: () => number;
}

/** What waits in this process, in the order in which the law gives slots. */
export class Lanes<W extends Waiting> {
  readonly #turns: () => TurnState;
  readonly #nameOf: (caller: string) => string;
  #queues = {
    write: new CallerQueues<W>('write'),
    interactive: new CallerQueues<W>('interactive'),
  };
  readonly #refreshes = new Set<W>();
  /** What the callers of those who wait are called there. */
  readonly #names = new WeakMap<W, string>();

  /**
   * @param turns the turns of the budget as last known.
   * @param nameOf what a caller is called there.
   */
  constructor(turns: () => TurnState, nameOf = (caller: string): string => caller) {
    this.#turns = turns;
    this.#nameOf = nameOf;
  }

  /** How many wait in a lane. */
  size(lane: Lane): number {
    return lane === 'refresh' ? this.#refreshes.size : this.#queues[lane].size;
  }

  /** How many wait in all lanes. */
  get waiting(): number {
    return this.size('write') + this.size('interactive') + this.size('refresh');
  }

  /** Callers who wait in a lane. */
  callers(lane: TurnLane): number {
    return this.#queues[lane].callers;
  }

  /** The lane whose turn is next; undefined when nothing waits. */
  get next(): Lane | undefined {
    const sizes = { write: this.size('write'), interactive: this.size('interactive') };
    return nextLane(this.#turns(), sizes) ?? (this.#refreshes.size > 0 ? 'refresh' : undefined);
  }

  /** The same lanes with the same in them, to be played through on a copy of the turns. */
  copy(turns: () => TurnState): Lanes<W> {
    const copy = new Lanes<W>(turns, this.#nameOf);
    const { interactive, write } = this.#queues;
    copy.#queues = { write: write.copy(), interactive: interactive.copy() };
    for (const refresh of this.#refreshes) copy.#refreshes.add(refresh);
    for (const waiting of this.inOrder()) copy.#names.set(waiting, this.callerOf(waiting));
    return copy;
  }

  /** Queues something; `name` is what its caller is called in the turns. */
  add(waiting: W, name = this.#nameOf(waiting.caller)): void {
    const { lane } = waiting;
    this.#names.set(waiting, name);
    if (lane === 'refresh') this.#refreshes.add(waiting);
    else this.#queues[lane].add(waiting, name, this.#turns().seq);
  }

  /** What the caller of something is called in the turns. */
  callerOf(waiting: W): string {
    return this.#names.get(waiting) ?? this.#nameOf(waiting.caller);
  }

  /** Puts back, before all others of its lane, what had its turn in vain. */
  addFirst(waiting: W): void {
    this.#names.set(waiting, this.#nameOf(waiting.caller));
    if (waiting.lane === 'refresh') this.#refreshes.add(waiting);
    else this.#queues[waiting.lane].addFirst(waiting);
  }

  /** Takes something out; false when it does not wait here. */
  remove(waiting: W): boolean {
    if (waiting.lane === 'refresh') return this.#refreshes.delete(waiting);
    return this.#queues[waiting.lane].remove(waiting, this.callerOf(waiting));
  }

  /** How many wait, as the law asks. */
  get waits(): WaitingCounts {
    const callerOf = (waiting: W): string => this.callerOf(waiting);
    const mostUrgent = (): number => this.mostUrgent(1)[0]?.urgency ?? 0;
    return {
      write: this.#queues.write.waits(callerOf),
      interactive: this.#queues.interactive.waits(callerOf),
      refreshes: this.#refreshes.size,
      // Asks all of them.
      get oldestMs() {
        return mostUrgent();
      },
    };
  }

  /** The refreshes that are the most urgent, this many at most. */
  mostUrgent(count: number): { readonly refresh: W; readonly urgency: number }[] {
    const all = [...this.#refreshes].map((refresh) => ({ refresh, urgency: refresh.urgency() }));
    return all.sort((a, b) => b.urgency - a.urgency).slice(0, count);
  }

  /** The writes and reads that wait, in the order in which they go if nothing else comes. */
  *inOrder(): Generator<W> {
    const turns = this.#turns();
    const left = { write: this.size('write'), interactive: this.size('interactive') };
    const { interactive, write } = this.#queues;
    const orders = { write: write.inOrder(turns), interactive: interactive.inOrder(turns) };
    let { writesInARow } = turns;
    for (let lane = nextLane(turns, left); lane; lane = nextLane({ writesInARow }, left)) {
      const next = orders[lane].next();
      if (next.done) return;
      writesInARow = inARowAfter(writesInARow, lane, left.interactive > 0);
      left[lane] -= 1;
      yield next.value;
    }
  }

  /** How many go before something that waits; undefined when it does not, or waits for a refresh. */
  position(waiting: W): number | undefined {
    const { lane } = waiting;
    if (lane === 'refresh') return undefined;
    const turns = this.#turns();
    const before = this.#queues[lane].position(turns, waiting, this.callerOf(waiting));
    return before === undefined ? undefined : this.#across(lane, before);
  }

  /** How many would go before something new of this caller in this lane. */
  ahead(lane: TurnLane, caller: string): number {
    return this.#across(lane, this.#queues[lane].ahead(this.#turns(), this.#nameOf(caller)));
  }

  /** How many of both lanes go before what has this many of its own before it. */
  #across(lane: TurnLane, before: number): number {
    const waits = { write: this.size('write'), interactive: this.size('interactive') };
    return acrossLanes(this.#turns(), lane, before, waits);
  }
}
