import { classOf } from './law/callers/caller-names.ts';
import { ClassTurns } from './law/callers/class-turns.ts';
import {
  acrossLanes,
  beforeInLane,
  type CallerWaits,
  inARowAfter,
  inTurns,
  nextLane,
  roundOf,
  type WaitingCounts,
} from './law/callers/turns.ts';
import type { KeyBudget, Lane, Rules, TurnLane, TurnState } from './law/document.ts';

/** An entry that waits for a slot. */
export interface Waiting {
  lane: Lane;
  /** The caller that a slot is charged to in the fair order, see `callerInClass`; not a credential. */
  caller: string;
  /** Among refreshes, the one with the largest value is first. Evaluated for every choice. */
  readonly urgency: () => number;
}

/** The state of the budget's turns, as last known. */
interface KnownTurns {
  readonly budget: Pick<KeyBudget, 'turns'>;
}

/** Whether a caller, by its name in the turns, leaves the free slots to others. */
export type IsHeld = (caller: string, lane: TurnLane) => boolean;

/** The waiting entries of this process, in the order in which the law grants slots. */
export class Lanes<W extends Waiting> {
  readonly #of: KnownTurns;
  readonly #rules: Pick<Rules, 'classes'>;
  /** The name of a caller in the turns. */
  readonly nameOf: (caller: string) => string;
  #queues: Record<TurnLane, CallerQueues<W>>;
  readonly #refreshes = new Set<W>();
  /** Number of waiting entries in all lanes. */
  waiting = 0;
  /** The names of callers in the turns. */
  readonly #names = new WeakMap<W, string>();

  /** @param nameOf the name of a caller in the turns. */
  constructor(
    of: KnownTurns,
    rules: Pick<Rules, 'classes'> = {},
    nameOf = (caller: string): string => caller,
  ) {
    this.#of = of;
    this.#rules = rules;
    this.nameOf = nameOf;
    this.#queues = {
      write: new CallerQueues<W>('write', rules),
      interactive: new CallerQueues<W>('interactive', rules),
    };
  }

  /** Number of waiting entries in a lane. */
  size(lane: Lane): number {
    return lane === 'refresh' ? this.#refreshes.size : this.#queues[lane].size;
  }

  /** Number of callers with requests in a lane. */
  callers(lane: TurnLane): number {
    return this.#queues[lane].callers;
  }

  /** The first waiting request of a caller that is not held; undefined if there is none. */
  leaver(isHeld: IsHeld): W | undefined {
    const next = this.inOrder(isHeld).next();
    return next.done ? undefined : next.value;
  }

  /** The lane whose turn is next; undefined when nothing waits. */
  get next(): Lane | undefined {
    return (
      nextLane(this.#of.budget.turns, this.#sizes) ??
      (this.#refreshes.size > 0 ? 'refresh' : undefined)
    );
  }

  /** A copy of the lanes with the same entries, for a simulation on a copy of the turns. */
  copy(budget: KeyBudget): Lanes<W> {
    const copy = new Lanes<W>({ budget }, this.#rules, this.nameOf);
    const { interactive, write } = this.#queues;
    copy.#queues = { write: write.copy(), interactive: interactive.copy() };
    for (const refresh of this.#refreshes) copy.#refreshes.add(refresh);
    copy.waiting = this.waiting;
    for (const waiting of this.inOrder()) copy.#names.set(waiting, this.callerOf(waiting));
    return copy;
  }

  /** Queues an entry, with `again` before all others of its lane; `name` is the name of its caller in the turns. */
  add(waiting: W, again = false, name = this.nameOf(waiting.caller)): void {
    const { lane } = waiting;
    this.waiting += 1;
    this.#names.set(waiting, name);
    if (lane === 'refresh') this.#refreshes.add(waiting);
    else if (again) this.#queues[lane].again(waiting);
    else this.#queues[lane].add(waiting, name, this.#of.budget.turns.seq);
  }

  /** The name of the entry's caller in the turns. */
  callerOf(waiting: W): string {
    return this.#names.get(waiting) ?? this.nameOf(waiting.caller);
  }

  /** Removes an entry; false if it does not wait here. */
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
  first(
    most: number,
    refreshes: number,
    isHeld?: IsHeld,
  ): { readonly request: W; readonly caller: string }[] {
    const first: W[] = [];
    const order = this.inOrder(isHeld);
    for (let next = order.next(); first.length < most && !next.done; next = order.next()) {
      first.push(next.value);
    }
    const room = Math.min(refreshes, most - first.length, this.#refreshes.size);
    if (room > 0) first.push(...this.mostUrgent(room).map(({ refresh }) => refresh));
    return first.map((request) => ({ request, caller: this.callerOf(request) }));
  }

  /** The most urgent refreshes, at most this many. */
  mostUrgent(count: number): { readonly refresh: W; readonly urgency: number }[] {
    const all = [...this.#refreshes].map((refresh) => ({ refresh, urgency: refresh.urgency() }));
    return all.sort((a, b) => b.urgency - a.urgency).slice(0, count);
  }

  /** The waiting writes and reads, in the order in which they are sent if no others arrive. */
  *inOrder(isHeld?: IsHeld): Generator<W> {
    const turns = this.#of.budget.turns;
    const queues = isHeld ? this.#without(isHeld) : this.#queues;
    const { interactive, write } = queues;
    const left = { write: write.size, interactive: interactive.size };
    // The turns of classes go on over both lanes.
    const classes = new ClassTurns(turns, this.#rules);
    const orders = {
      write: write.inOrder(turns, classes),
      interactive: interactive.inOrder(turns, classes),
    };
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

  /**
   * Number of entries before a waiting one, without those of callers `behind` all others; undefined if it does not
   * wait, or is a refresh.
   */
  position(waiting: W, behind: readonly string[] = []): number | undefined {
    const { lane } = waiting;
    if (lane === 'refresh') return undefined;
    const turns = this.#of.budget.turns;
    const before = this.#queues[lane].position(turns, waiting, this.callerOf(waiting), behind);
    return before === undefined ? undefined : this.#across(lane, before, behind);
  }

  /** Number of entries before a new one of this caller in this lane, without those of callers `behind` all others. */
  ahead(lane: TurnLane, caller: string, behind: readonly string[] = []): number {
    const turns = this.#of.budget.turns;
    const before = this.#queues[lane].ahead(turns, this.nameOf(caller), behind);
    return this.#across(lane, before, behind);
  }

  /** Number of entries of a caller's class before a waiting one, or before a new one of the caller. */
  aheadInClass(lane: TurnLane, caller: string, waiting?: W): number {
    const turns = this.#of.budget.turns;
    const { write } = this.#queues;
    const own = this.#queues[lane].aheadInClass(turns, caller, waiting);
    return own + (lane === 'interactive' ? write.sizeOfClass(caller) : 0);
  }

  /** Number of requests of both lanes before one with this many of its own lane before it. */
  #across(lane: TurnLane, before: number, behind: readonly string[]): number {
    const { interactive, write } = this.#queues;
    return acrossLanes(this.#of.budget.turns, lane, before, {
      write: write.size - write.sizeOf(behind),
      interactive: interactive.size - interactive.sizeOf(behind),
    });
  }

  get #sizes(): Record<TurnLane, number> {
    return { write: this.#queues.write.size, interactive: this.#queues.interactive.size };
  }

  #without(isHeld: IsHeld): Record<TurnLane, CallerQueues<W>> {
    const callerOf = (waiting: W): string => this.callerOf(waiting);
    const { interactive, write } = this.#queues;
    return {
      write: write.without((caller) => isHeld(caller, 'write'), callerOf),
      interactive: interactive.without((caller) => isHeld(caller, 'interactive'), callerOf),
    };
  }
}

/** The queue of one caller. */
interface CallerQueue<W> {
  readonly caller: string;
  /** The turn (`TurnState.seq`) since which at least one waits. */
  readonly since: number;
  readonly waiting: W[];
}

/** Numbers of callers that wait, and of their requests. */
interface QueueCounts {
  callers: number;
  waiting: number;
}

/**
 * One lane in which classes of callers take turns, and the callers of each class. Requests whose turn had no result go
 * before all others.
 */
class CallerQueues<W> {
  readonly #lane: TurnLane;
  readonly #rules: Pick<Rules, 'classes'>;
  readonly #queues = new Map<string, CallerQueue<W>>();
  /** What waits of each class. */
  readonly #classes = new Map<string, QueueCounts>();
  readonly #again: W[] = [];
  /** The latest request. */
  #latest: CallerQueue<W> | undefined;
  /** Number of waiting requests. */
  size = 0;

  constructor(lane: TurnLane, rules: Pick<Rules, 'classes'>) {
    this.#lane = lane;
    this.#rules = rules;
  }

  /** Callers that wait. */
  get callers(): number {
    return this.#queues.size;
  }

  /** A copy of the queues, for a simulation that does not change these. */
  copy(): CallerQueues<W> {
    const copy = new CallerQueues<W>(this.#lane, this.#rules);
    for (const queue of this.#queues.values()) {
      copy.#enter({ ...queue, waiting: [...queue.waiting] });
    }
    for (const waiting of this.#again) copy.again(waiting);
    return copy;
  }

  /** The queues of the callers that are not held; they share their requests with these. */
  without(isHeld: (caller: string) => boolean, callerOf: (waiting: W) => string): CallerQueues<W> {
    const others = new CallerQueues<W>(this.#lane, this.#rules);
    for (const waiting of this.#again) {
      if (!isHeld(callerOf(waiting))) others.again(waiting);
    }
    for (const queue of this.#queues.values()) {
      if (!isHeld(queue.caller)) others.#enter(queue);
    }
    return others;
  }

  /** Number of waiting requests of some callers. */
  sizeOf(callers: readonly string[]): number {
    return callers.reduce((sum, each) => sum + (this.#queues.get(each)?.waiting.length ?? 0), 0);
  }

  /** Number of waiting requests of a caller's class. */
  sizeOfClass(caller: string): number {
    return this.#classes.get(classOf(caller))?.waiting ?? 0;
  }

  /** See `Lanes.aheadInClass`. */
  aheadInClass(turns: TurnState, caller: string, waiting: W | undefined): number {
    const queue = this.#queues.get(caller);
    if (!queue) return this.#classes.get(classOf(caller))?.callers ?? 0;
    const found = waiting === undefined ? -1 : queue.waiting.lastIndexOf(waiting);
    return this.#inClass(turns, queue, found < 0 ? queue.waiting.length : found, []);
  }

  /** Queues an entry after a turn. */
  add(waiting: W, caller: string, seq: number): void {
    const queue = this.#queues.get(caller);
    if (queue) {
      queue.waiting.push(waiting);
      this.#count(caller, 0, 1);
    } else {
      this.#latest = { caller, since: seq, waiting: [waiting] };
      this.#enter(this.#latest);
    }
  }

  /** Puts a request whose turn had no result back before all others. */
  again(waiting: W): void {
    this.size += 1;
    this.#again.push(waiting);
  }

  /** Removes an entry; false if it does not wait here. */
  remove(waiting: W, caller: string): boolean {
    if (drop(this.#again, waiting)) {
      this.size -= 1;
      return true;
    }
    const queue = this.#queues.get(caller);
    if (!queue || !drop(queue.waiting, waiting)) return false;
    const isOut = queue.waiting.length === 0;
    if (isOut) this.#queues.delete(caller);
    this.#count(caller, isOut ? -1 : 0, -1);
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
    if (queue) return this.#before(turns, queue, queue.waiting.length, behind);
    const name = classOf(caller);
    return this.#acrossClasses(turns, name, this.#countsOf(name, behind).callers, behind);
  }

  /** All entries in the order in which they are sent if no others arrive; plays the turns of the classes. */
  *inOrder(turns: TurnState, classes: ClassTurns): Generator<W> {
    yield* this.#again;
    const queues = [...this.#queues.values()];
    if (queues.length < 2) {
      for (const { caller, waiting } of queues) {
        for (const each of waiting) {
          classes.serve(classOf(caller));
          yield each;
        }
      }
      return;
    }
    const rounds = new Map<string, W[][]>();
    for (const { caller, waiting } of roundOf(turns, this.#lane, queues)) {
      const round = rounds.get(classOf(caller));
      if (round) round.push(waiting);
      else rounds.set(classOf(caller), [waiting]);
    }
    const orders = new Map([...rounds].map(([name, round]) => [name, inTurns(round)]));
    for (
      let name = classes.next(orders.keys());
      name !== undefined;
      name = classes.next(orders.keys())
    ) {
      const next = orders.get(name)?.next();
      if (!next || next.done) {
        orders.delete(name);
        continue;
      }
      classes.serve(name);
      yield next.value;
    }
  }

  #enter(queue: CallerQueue<W>): void {
    this.#queues.set(queue.caller, queue);
    this.#count(queue.caller, 1, queue.waiting.length);
  }

  #count(caller: string, callers: number, waiting: number): void {
    const name = classOf(caller);
    const counts = this.#classes.get(name) ?? { callers: 0, waiting: 0 };
    counts.callers += callers;
    counts.waiting += waiting;
    if (counts.callers > 0) this.#classes.set(name, counts);
    else this.#classes.delete(name);
    this.size += waiting;
  }

  /** Number of entries before the request of a caller in this round. */
  #before(turns: TurnState, own: CallerQueue<W>, round: number, behind: readonly string[]): number {
    const before = this.#inClass(turns, own, round, behind);
    return this.#acrossClasses(turns, classOf(own.caller), before, behind);
  }

  /** Number of entries of its class before the request of a caller in this round. */
  #inClass(
    turns: TurnState,
    own: CallerQueue<W>,
    round: number,
    behind: readonly string[],
  ): number {
    const name = classOf(own.caller);
    // A new caller is after all others of its class. Thousands can arrive at the same time.
    const isLast = round === 0 && own === this.#latest && own.since === turns.seq;
    if (isLast) return this.#countsOf(name, behind).callers - 1;
    const isOfClass =
      this.#classes.size === 1
        ? () => true
        : ({ caller }: CallerQueue<W>) => classOf(caller) === name;
    const those = this.#those(behind);
    const queues = [...this.#queues.values()].filter(
      (each) => isOfClass(each) && !those.includes(each),
    );
    return beforeInLane(turns, this.#lane, queues, { own, round });
  }

  /** Number of entries before one with this many others of its class before it. */
  #acrossClasses(
    turns: TurnState,
    name: string,
    before: number,
    behind: readonly string[],
  ): number {
    let sum = this.#again.length + before;
    if (this.#classes.size === 0 || (this.#classes.size === 1 && this.#classes.has(name)))
      return sum;
    const classes = new ClassTurns(turns, this.#rules);
    const pass = classes.passOf(name, before);
    for (const each of this.#classes.keys()) {
      if (each === name) continue;
      sum += classes.before(each, this.#countsOf(each, behind).waiting, { name, pass });
    }
    return sum;
  }

  /** What waits of a class, without the callers `behind` all others. */
  #countsOf(name: string, behind: readonly string[]): QueueCounts {
    const counts = { ...(this.#classes.get(name) ?? { callers: 0, waiting: 0 }) };
    for (const { caller, waiting } of this.#those(behind)) {
      if (classOf(caller) !== name) continue;
      counts.callers -= 1;
      counts.waiting -= waiting.length;
    }
    return counts;
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
