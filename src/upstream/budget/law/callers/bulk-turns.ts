import type { KeyBudget } from '../document.ts';
import { jobTurnOf } from '../jobs.ts';
import { callerInClass, classOf } from './caller-names.ts';
import type { BulkWaits } from './turns.ts';

/** The class whose turn is next in the lane `bulk`. */
interface NextClass {
  readonly name: string;
  /** Any caller of it. */
  readonly caller: string;
}

/** Number of slots that the class of a caller has left of its limits. */
type QuotaLeft = (caller: string) => number;

/**
 * The turns of the classes of callers in the lane `bulk`, in a claim. A class that has used up a limit has no turn while
 * another has slots left.
 */
export class BulkTurns {
  readonly #waiting: Map<string, number>;

  constructor(waits: readonly BulkWaits[]) {
    this.#waiting = new Map(waits);
  }

  /** Number of waiting requests that their classes have slots left for. */
  countOf(quotaLeft: QuotaLeft): number {
    let count = 0;
    for (const [name, waiting] of this.#waiting) {
      count += Math.min(waiting, quotaLeft(anyOf(name)));
    }
    return count;
  }

  /**
   * The class whose turn is next; undefined if nothing waits. `due` is the caller of a request whose last turn had no
   * result.
   */
  next(
    b: KeyBudget,
    { due, quotaLeft }: { readonly due?: string | undefined; readonly quotaLeft: QuotaLeft },
  ): NextClass | undefined {
    const names = [...this.#waiting.keys()];
    const open = names.filter((name) => quotaLeft(anyOf(name)) > 0);
    // The others are considered for the time of the next turn.
    const [name] = (open.length > 0 ? open : names).sort((one, other) => {
      const turn = (each: string): number =>
        due !== undefined && each === classOf(due) ? -2 : jobTurnOf(b, each);
      return turn(one) - turn(other) || (one < other ? -1 : 1);
    });
    return name === undefined ? undefined : { name, caller: anyOf(name) };
  }

  /** A request of a class has its turn. */
  take(name: string): void {
    const left = (this.#waiting.get(name) ?? 0) - 1;
    if (left > 0) this.#waiting.set(name, left);
    else this.#waiting.delete(name);
  }
}

function anyOf(name: string): string {
  return callerInClass('', name);
}
