import { type CallerClasses, classRules } from '../../../../auth/caller-class.ts';
import type { Rules, TurnState } from '../document.ts';

/*
 * Start-time fair queueing between the classes of callers: each slot moves the pass of its class on by the inverse of
 * the weight, and the class with the lowest pass is next. A class that begins to wait starts at the pass of the latest
 * slot, so that it neither catches up on slots it did not need nor waits for those of others.
 */

/** Passes of classes without weight begin here, after all others. */
const WITHOUT_WEIGHT = 1e12;

/** The turns of classes, played from a document on a copy. */
export class ClassTurns {
  readonly #classes: CallerClasses | undefined;
  readonly #passes: Map<string, number>;
  #latest: number;

  constructor({ classes: state }: Pick<TurnState, 'classes'>, { classes }: Pick<Rules, 'classes'>) {
    this.#classes = classes;
    this.#passes = new Map(Object.entries(state?.passes ?? {}));
    this.#latest = state?.latest ?? 0;
  }

  /** The pass of a request of a class, with this many others of the class before it; the lowest is next. */
  passOf(name: string, before = 0): number {
    const { weight } = classRules(this.#classes, name);
    const pass = Math.max(this.#latest, this.#passes.get(name) ?? 0);
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

  /** A request of a class has its turn. */
  serve(name: string): void {
    const { weight } = classRules(this.#classes, name);
    const pass = Math.max(this.#latest, this.#passes.get(name) ?? 0);
    if (weight > 0) this.#latest = pass;
    this.#passes.set(name, pass + (weight > 0 ? 1 / weight : 1));
  }

  /** The state after these turns, for the document; undefined if there are no classes. */
  get state(): TurnState['classes'] {
    if (!this.#classes) return undefined;
    // A class that has had no turn for long starts at the latest pass again.
    const kept = [...this.#passes].filter(([, pass]) => pass > this.#latest);
    return { latest: this.#latest, passes: Object.fromEntries(kept) };
  }
}

/** Tolerance for sums of inverse weights. */
const ROUNDED = 1e-9;
