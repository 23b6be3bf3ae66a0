import { classOf } from './law/callers/caller-names.ts';
import { inTurns } from './law/callers/turns.ts';
import type { KeyBudget } from './law/document.ts';
import { jobTurnOf } from './law/jobs.ts';

/** A request whose turn is next in its class. */
export interface BulkHead<W> {
  readonly request: W;
  /** The name of its caller in the turns. */
  readonly caller: string;
  /** Whether its last turn had no result. */
  readonly isDue: boolean;
}

/** The number of requests before one in the lane `bulk`. */
export interface BulkPlace {
  readonly all: number;
  readonly inClass: number;
}

/** The waiting requests of one class, whose callers take turns. */
class ClassQueue<W> {
  /** In the order of their turns. */
  readonly callers = new Map<string, W[]>();
  /** Those whose turn had no result, which go before all others. */
  readonly again: { readonly waiting: W; readonly caller: string }[] = [];

  get size(): number {
    let { length } = this.again;
    for (const waiting of this.callers.values()) length += waiting.length;
    return length;
  }

  get head(): BulkHead<W> | undefined {
    const [again] = this.again;
    if (again) return { request: again.waiting, caller: again.caller, isDue: true };
    for (const [caller, [request]] of this.callers) {
      if (request !== undefined) return { request, caller, isDue: false };
    }
    return undefined;
  }

  copy(): ClassQueue<W> {
    const copy = new ClassQueue<W>();
    for (const [caller, waiting] of this.callers) copy.callers.set(caller, [...waiting]);
    copy.again.push(...this.again);
    return copy;
  }

  /** After its turn, a caller is after all others. */
  remove(waiting: W, caller: string, hasTurn: boolean): boolean {
    const again = this.again.findIndex((each) => each.waiting === waiting);
    if (again >= 0) this.again.splice(again, 1);
    const own = this.callers.get(caller) ?? [];
    const at = own.indexOf(waiting);
    if (at < 0) return again >= 0;
    own.splice(at, 1);
    if (hasTurn || own.length === 0) this.callers.delete(caller);
    if (hasTurn && own.length > 0) this.callers.set(caller, own);
    return true;
  }

  /** Number of requests before a waiting one, or before a new one of a caller; undefined if it does not wait. */
  before(caller: string, waiting?: W): number | undefined {
    const again = this.again.findIndex((each) => each.waiting === waiting);
    if (again >= 0) return again;
    const own = this.callers.get(caller) ?? [];
    const round = waiting === undefined ? own.length : own.indexOf(waiting);
    if (round < 0) return undefined;
    let before = this.again.length + round;
    let isEarlier = true;
    for (const [each, { length }] of this.callers) {
      if (each === caller) isEarlier = false;
      else before += Math.min(length, isEarlier ? round + 1 : round);
    }
    return before;
  }

  *inOrder(): Generator<W> {
    for (const { waiting } of this.again) yield waiting;
    yield* inTurns([...this.callers.values()]);
  }
}

/**
 * The waiting requests of the lane `bulk`: the classes of callers take turns, then the callers of a class. The turns of
 * classes are those of the law, without the limits of classes.
 */
export class BulkQueue<W> {
  readonly #classes = new Map<string, ClassQueue<W>>();

  /** Number of waiting requests. */
  get size(): number {
    let size = 0;
    for (const queue of this.#classes.values()) size += queue.size;
    return size;
  }

  /** Number of waiting requests by class. */
  get sizes(): ReadonlyMap<string, number> {
    return new Map([...this.#classes].map(([name, { size }]) => [name, size]));
  }

  /** The request of each class whose turn is next, in the order of turns. */
  heads(budget: Pick<KeyBudget, 'jobs'>): BulkHead<W>[] {
    return this.#inTurns(budget).flatMap(([, { head }]) => head ?? []);
  }

  /** A copy, for a simulation that does not change this one. */
  copy(): BulkQueue<W> {
    const copy = new BulkQueue<W>();
    for (const [name, queue] of this.#classes) copy.#classes.set(name, queue.copy());
    return copy;
  }

  /** Queues a request after all others of its caller. */
  add(waiting: W, caller: string): void {
    const { callers } = this.#of(caller);
    const own = callers.get(caller);
    if (own) own.push(waiting);
    else callers.set(caller, [waiting]);
  }

  /** Puts a request whose turn had no result back before all others of its class. */
  again(waiting: W, caller: string): void {
    this.#of(caller).again.push({ waiting, caller });
  }

  /** Removes a request, because it has its turn or is not needed any more; false if it does not wait here. */
  remove(waiting: W, caller: string, hasTurn: boolean): boolean {
    const queue = this.#classes.get(classOf(caller));
    if (!queue?.remove(waiting, caller, hasTurn)) return false;
    if (queue.size === 0) this.#classes.delete(classOf(caller));
    return true;
  }

  /** All requests in the order in which they are sent if no others arrive. */
  *inOrder(budget: Pick<KeyBudget, 'jobs'>): Generator<W> {
    const classes = this.#inTurns(budget).map(([, queue]) => [...queue.inOrder()]);
    yield* inTurns(classes);
  }

  /**
   * The place of a waiting request, or of a new one of a caller; undefined if it does not wait. Classes that are `behind`
   * all others are not counted.
   */
  place(
    budget: Pick<KeyBudget, 'jobs'>,
    of: { readonly caller: string; readonly waiting?: W | undefined },
    behind: ReadonlySet<string>,
  ): BulkPlace | undefined {
    const name = classOf(of.caller);
    const own = this.#classes.get(name) ?? new ClassQueue<W>();
    const inClass = own.before(of.caller, of.waiting);
    if (inClass === undefined) return undefined;
    let all = inClass;
    for (const [each, { size }] of this.#classes) {
      if (each === name || behind.has(each)) continue;
      const turn = jobTurnOf(budget, each) - jobTurnOf(budget, name);
      const isEarlier = turn < 0 || (turn === 0 && each < name);
      all += Math.min(size, isEarlier ? inClass + 1 : inClass);
    }
    return { all, inClass };
  }

  #inTurns(budget: Pick<KeyBudget, 'jobs'>): [name: string, queue: ClassQueue<W>][] {
    const turn = ([name, { again }]: [string, ClassQueue<W>]): number =>
      again.length > 0 ? -2 : jobTurnOf(budget, name);
    return [...this.#classes].sort(
      (one, other) => turn(one) - turn(other) || (one[0] < other[0] ? -1 : 1),
    );
  }

  #of(caller: string): ClassQueue<W> {
    const known = this.#classes.get(classOf(caller));
    if (known) return known;
    const queue = new ClassQueue<W>();
    this.#classes.set(classOf(caller), queue);
    return queue;
  }
}
