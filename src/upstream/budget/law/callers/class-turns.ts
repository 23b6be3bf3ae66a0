import { type CallerClasses, classRules } from '../../../../auth/caller-class.ts';
import type { Rules, TurnLane, TurnState } from '../document.ts';
import { acrossLanes, inARowAfter, nextLane } from './lane-turns.ts';

/*
 * Start-time fair queueing between the classes of callers: each slot moves the pass of its class on by the inverse of
 * the weight, and the class with the lowest pass is next. A class that begins to wait starts at the pass of the latest
 * slot, so that it neither catches up on slots it did not need nor waits for those of others. The lanes take turns
 * within each class, so that a class cannot get more than its share by writes.
 */

/** Passes of classes without weight begin here, after all others. */
const WITHOUT_WEIGHT = 1e15;

type ClassState = Pick<TurnState, 'passes' | 'writesInARow'>;

/** The turns of classes, and of the lanes of each, played from a document on a copy. */
export class ClassTurns {
  readonly #classes: CallerClasses | undefined;
  readonly #passes: Map<string, number>;
  /** See `TurnState`. */
  readonly #writesInARow: Map<string, number>;
  /** The passes of the latest slots of classes with weight, and of classes without. */
  readonly #latest = { weighted: 0, without: 0 };

  constructor({ passes, writesInARow }: ClassState, { classes }: Pick<Rules, 'classes'>) {
    this.#classes = classes;
    this.#passes = new Map(Object.entries(passes));
    this.#writesInARow = new Map(Object.entries(writesInARow));
  }

  /** The pass of a request of a class, with this many others of the class before it; the lowest is next. */
  passOf(name: string, before = 0): number {
    const { weight } = classRules(this.#classes, name);
    const pass = this.#nextOf(name);
    return weight > 0 ? pass + before / weight : WITHOUT_WEIGHT + pass + before;
  }

  /** Number of `waiting` requests of a class that are before a request of another class with a given pass. */
  before(
    name: string,
    waiting: number,
    of: { readonly name: string; readonly pass: number },
  ): number {
    const weight = classRules(this.#classes, name).weight || 1;
    const ahead = (of.pass - this.passOf(name)) * weight;
    // Of equal passes, the first name is next. Less than the tolerance is lost in rounding.
    const count = name < of.name ? Math.floor(ahead + ROUNDED) + 1 : Math.ceil(ahead - ROUNDED);
    return Math.min(waiting, Math.max(0, count));
  }

  /** The class whose turn is next, of some that wait. */
  next(names: Iterable<string>): string | undefined {
    let next: string | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const name of names) {
      const pass = this.passOf(name);
      const isEqual = next !== undefined && Math.abs(pass - least) <= ROUNDED;
      if (isEqual ? name < (next ?? '') : pass < least) [next, least] = [name, pass];
    }
    return next;
  }

  /** The lane whose turn is next in a class; `undefined` if neither has requests. */
  laneOf(name: string, waits: Readonly<Record<TurnLane, number>>): TurnLane | undefined {
    return nextLane(this.#writesOf(name), waits);
  }

  /** Number of requests of both lanes of a class before one with this many of its own lane before it. */
  acrossLanes(
    name: string,
    lane: TurnLane,
    before: number,
    waits: Readonly<Record<TurnLane, number>>,
  ): number {
    return acrossLanes(this.#writesOf(name), lane, before, waits);
  }

  /** A request of a class has its turn; `readsWait` if reads of the class wait. */
  serve(name: string, lane: TurnLane, readsWait: boolean): void {
    const { weight } = classRules(this.#classes, name);
    const pass = this.#nextOf(name);
    this.#latest[weight > 0 ? 'weighted' : 'without'] = pass;
    this.#passes.set(name, pass + 1 / (weight || 1));
    this.#writesInARow.set(name, inARowAfter(this.#writesOf(name), lane, readsWait));
  }

  /** Writes the state after these turns into a document. */
  record(turns: ClassState): void {
    turns.writesInARow = positive(this.#writesInARow);
    if (!this.#classes) return;
    const after = [...this.#passes].map(([name, pass]) => {
      return [name, pass - this.#latestFor(name)] as const;
    });
    turns.passes = positive(after);
  }

  #writesOf(name: string): number {
    return this.#writesInARow.get(name) ?? 0;
  }

  /** The pass of the next slot of a class, of those with or without weight. */
  #nextOf(name: string): number {
    return Math.max(this.#latestFor(name), this.#passes.get(name) ?? 0);
  }

  #latestFor(name: string): number {
    const { weight } = classRules(this.#classes, name);
    return this.#latest[weight > 0 ? 'weighted' : 'without'];
  }
}

/** The numbers above 0, by name: a class that has had no turn for long starts at the latest pass again. */
function positive(numbers: Iterable<readonly [string, number]>): Record<string, number> {
  return Object.fromEntries([...numbers].filter(([, each]) => each > 0));
}

/** Tolerance for sums of inverse weights. */
const ROUNDED = 1e-9;
