import type { KeyBudget, Lane, TurnLane, TurnState } from './law/document.ts';
import {
  acrossLanes,
  beforeInLane,
  type CallerWaits,
  inARowAfter,
  inTurns,
  nextLane,
  roundOf,
  type WaitingCounts,
} from './law/turns.ts';

/** What waits for a slot. */
export interface Waiting {
  lane: Lane;
  /** The caller that a slot is charged to in the fair order, e.g. a client's name; not a credential. */
  caller: string;
  /** Among refreshes, the one with the largest value goes first. Evaluated at every choice. */
  readonly urgency: () => number;
}

/** The state of the budget's turns, as last known. */
interface KnownTurns {
  readonly budget: Pick<KeyBudget, 'turns'>;
}

/** What waits in this process, in the order in which the law gives slots. */
export class Lanes<W extends Waiting> {
  readonly #of: KnownTurns;
  readonly #nameOf: (caller: string) => string;
  #queues = {
    write: new CallerQueues<W>('write'),
    interactive: new CallerQueues<W>('interactive'),
  };
  readonly #refreshes = new Set<W>();
  /** How many wait in all lanes. */
  waiting = 0;
  /** The names of callers in the turns. */
  readonly #names = new WeakMap<W, string>();

  /** @param nameOf what a caller is called in the turns. */
  constructor(of: KnownTurns, nameOf = (caller: string): string => caller) {
    this.#of = of;
    this.#nameOf = nameOf;
  }

  /** How many wait in a lane. */
  size(lane: Lane): number {
    return lane === 'refresh' ? this.#refreshes.size : this.#queues[lane].size;
  }

  /** Number of callers with requests in a lane. */
  callers(lane: TurnLane): number {
    return this.#queues[lane].callers;
  }

  /** The lane whose turn is next; undefined when nothing waits. */
  get next(): Lane | undefined {
    return (
      nextLane(this.#of.budget.turns, this.#sizes) ??
      (this.#refreshes.size > 0 ? 'refresh' : undefined)
    );
  }

  /** The same lanes with the same in them, to be played through on a copy of the turns. */
  copy(budget: KeyBudget): Lanes<W> {
    const copy = new Lanes<W>({ budget }, this.#nameOf);
    const { interactive, write } = this.#queues;
    copy.#queues = { write: write.copy(), interactive: interactive.copy() };
    for (const refresh of this.#refreshes) copy.#refreshes.add(refresh);
    copy.waiting = this.waiting;
    for (const waiting of this.inOrder()) copy.#names.set(waiting, this.callerOf(waiting));
    return copy;
  }

  /** Queues something, `again` before all others of its lane; `name` is what its caller is called in the turns. */
  add(waiting: W, again = false, name = this.#nameOf(waiting.caller)): void {
    const { lane } = waiting;
    this.waiting += 1;
    this.#names.set(waiting, name);
    if (lane === 'refresh') this.#refreshes.add(waiting);
    else if (again) this.#queues[lane].again(waiting);
    else this.#queues[lane].add(waiting, name, this.#of.budget.turns.seq);
  }

  /** What the caller of something is called in the turns. */
  callerOf(waiting: W): string {
    return this.#names.get(waiting) ?? this.#nameOf(waiting.caller);
  }

  /** Takes something out; false when it does not wait here. */
  remove(waiting: W): boolean {
    const { lane } = waiting;
    const isOut =
      lane === 'refresh'
        ? this.#refreshes.delete(waiting)
        : this.#queues[lane].remove(waiting, this.callerOf(waiting));
    if (isOut) this.waiting -= 1;
    return isOut;
  }

  /** Number of waiting requests, in the form that the law needs. */
  get waits(): WaitingCounts {
    const callerOf = (waiting: W): string => this.callerOf(waiting);
    const mostUrgent = (): number => this.mostUrgent(1)[0]?.urgency ?? 0;
    return {
      write: this.#queues.write.waits(callerOf),
      interactive: this.#queues.interactive.waits(callerOf),
      refreshes: this.#refreshes.size,
      // Evaluates all of them.
      get oldestMs() {
        return mostUrgent();
      },
    };
  }

  /** The requests whose turn is next, at most this many, with at most this many refreshes. */
  first(most: number, refreshes: number): { readonly request: W; readonly caller: string }[] {
    const first: W[] = [];
    const order = this.inOrder();
    for (let next = order.next(); first.length < most && !next.done; next = order.next()) {
      first.push(next.value);
    }
    const room = Math.min(refreshes, most - first.length, this.#refreshes.size);
    if (room > 0) first.push(...this.mostUrgent(room).map(({ refresh }) => refresh));
    return first.map((request) => ({ request, caller: this.callerOf(request) }));
  }

  /** The refreshes that are the most urgent, this many at most. */
  mostUrgent(count: number): { readonly refresh: W; readonly urgency: number }[] {
    const all = [...this.#refreshes].map((refresh) => ({ refresh, urgency: refresh.urgency() }));
    return all.sort((a, b) => b.urgency - a.urgency).slice(0, count);
  }

  /** The writes and reads that wait, in the order in which they go if nothing else comes. */
  *inOrder(): Generator<W> {
    const turns = this.#of.budget.turns;
    const left = this.#sizes;
    const { interactive, write } = this.#queues;
    const orders = { write: write.inOrder(turns), interactive: interactive.inOrder(turns) };
    // If only one lane has requests, there is nothing to decide.
    if (left.write === 0) yield* orders.interactive;
    if (left.interactive === 0) yield* orders.write;
    if (left.write === 0 || left.interactive === 0) return;
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
    const turns = this.#of.budget.turns;
    const before = this.#queues[lane].position(turns, waiting, this.callerOf(waiting));
    return before === undefined ? undefined : this.#across(lane, before);
  }

  /** How many would go before something new of this caller in this lane. */
  ahead(lane: TurnLane, caller: string): number {
    return this.#across(
      lane,
      this.#queues[lane].ahead(this.#of.budget.turns, this.#nameOf(caller)),
    );
  }

  /** How many requests of both lanes go before one that has this many of its own lane before it. */
  #across(lane: TurnLane, before: number): number {
    return acrossLanes(this.#of.budget.turns, lane, before, this.#sizes);
  }

  get #sizes(): Record<TurnLane, number> {
    return { write: this.#queues.write.size, interactive: this.#queues.interactive.size };
  }
}

/** What one caller has queued. */
interface CallerQueue<W> {
  readonly caller: string;
  /** The turn (`TurnState.seq`) since which at least one waits. */
  readonly since: number;
  readonly waiting: W[];
}

/** One lane in which callers take turns. Requests whose turn brought no result go before all others. */
class CallerQueues<W> {
  readonly #lane: TurnLane;
  readonly #queues = new Map<string, CallerQueue<W>>();
  readonly #again: W[] = [];
  /** The one that was made last. */
  #latest: CallerQueue<W> | undefined;
  /** How many wait. */
  size = 0;

  constructor(lane: TurnLane) {
    this.#lane = lane;
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
    copy.size = this.size;
    return copy;
  }

  /** Queues something after a turn. */
  add(waiting: W, caller: string, seq: number): void {
    this.size += 1;
    const queue = this.#queues.get(caller);
    if (queue) queue.waiting.push(waiting);
    else {
      this.#latest = { caller, since: seq, waiting: [waiting] };
      this.#queues.set(caller, this.#latest);
    }
  }

  /** Puts back, before all others, a request whose turn brought no result. */
  again(waiting: W): void {
    this.size += 1;
    this.#again.push(waiting);
  }

  /** Takes something out; false when it does not wait here. */
  remove(waiting: W, caller: string): boolean {
    const queue = this.#queues.get(caller);
    if (!drop(this.#again, waiting) && !(queue && drop(queue.waiting, waiting))) return false;
    if (queue?.waiting.length === 0) this.#queues.delete(caller);
    this.size -= 1;
    return true;
  }

  /** Number of waiting requests per caller; `callerOf` names the callers of those that were put back. */
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
    const queues = [...this.#queues.values()];
    if (queues.length < 2) {
      for (const { waiting } of queues) yield* waiting;
      return;
    }
    const round = roundOf(turns, this.#lane, queues);
    yield* inTurns(round.map(({ waiting }) => waiting));
  }

  /** How many go before the request that a caller has in this round. */
  #before(turns: TurnState, own: CallerQueue<W>, round: number): number {
    // A newcomer is behind all others: thousands can arrive at the same time.
    const isLast = round === 0 && own === this.#latest && own.since === turns.seq;
    const others = isLast
      ? this.#queues.size - 1
      : beforeInLane(turns, this.#lane, this.#queues.values(), { own, round });
    return this.#again.length + others;
  }
}

function drop<T>(list: T[], item: T): boolean {
  const index = list.indexOf(item);
  if (index < 0) return false;
  list.splice(index, 1);
  return true;
}
