import type { KeyBudget } from '../document.ts';
import { jobTurnOf, latestJobOwner } from '../jobs.ts';
import { callerInClass, classOf } from './caller-names.ts';
import type { BulkWaits } from './turns.ts';

/** The class whose turn is next in the lane `bulk`. */
interface NextClass {
  readonly name: string;
  /** Any caller of it. */
  readonly caller: string;
  /** Whether the turn is that of this process. */
  readonly isHere: boolean;
}

/** Number of slots that the class of a caller has left of its limits. */
type QuotaLeft = (caller: string) => number;

/**
 * The turns of the lane `bulk` over all processes, in a claim: the classes of callers take turns, then the processes. A
 * class that has used up a limit has no turn while another has slots left.
 */
export class BulkTurns {
  readonly #here: Map<string, number>;
  readonly #elsewhere: Map<string, number>;

  constructor(here: readonly BulkWaits[], elsewhere: readonly BulkWaits[]) {
    this.#here = countsOf(here);
    this.#elsewhere = countsOf(elsewhere);
  }

  /** Whether nothing waits in any process. */
  get isEmpty(): boolean {
    return this.#here.size + this.#elsewhere.size === 0;
  }

  /** Number of waiting requests that their classes have slots left for. */
  countOf(quotaLeft: QuotaLeft): number {
    let count = 0;
    for (const name of this.#names) {
      const waiting = (this.#here.get(name) ?? 0) + (this.#elsewhere.get(name) ?? 0);
      count += Math.min(waiting, quotaLeft(anyOf(name)));
    }
    return count;
  }

  /**
   * The class whose turn is next, for a process; undefined if nothing waits. `due` is the caller of a request here whose
   * last turn had no result.
   */
  next(
    b: KeyBudget,
    owner: string,
    { due, quotaLeft }: { readonly due?: string | undefined; readonly quotaLeft: QuotaLeft },
  ): NextClass | undefined {
    const names = [...this.#names];
    const open = names.filter((name) => quotaLeft(anyOf(name)) > 0);
    // The others are considered for the time of the next turn, as far as that is known here.
    const [name] = (open.length > 0 ? open : [...this.#here.keys()]).sort((one, other) => {
      const turn = (each: string): number =>
        due !== undefined && each === classOf(due) ? -2 : jobTurnOf(b, each);
      return turn(one) - turn(other) || (one < other ? -1 : 1);
    });
    if (name === undefined) return undefined;
    const isOthersTurn = this.#elsewhere.has(name) && latestJobOwner(b, name) === owner;
    return { name, caller: anyOf(name), isHere: this.#here.has(name) && !isOthersTurn };
  }

  /** A request of a class here has its turn. */
  take(name: string): void {
    const left = (this.#here.get(name) ?? 0) - 1;
    if (left > 0) this.#here.set(name, left);
    else this.#here.delete(name);
  }

  get #names(): Set<string> {
    return new Set([...this.#here.keys(), ...this.#elsewhere.keys()]);
  }
}

function anyOf(name: string): string {
  return callerInClass('', name);
}

function countsOf(waits: readonly BulkWaits[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const [name, count] of waits) {
    if (count > 0) counts.set(name, (counts.get(name) ?? 0) + count);
  }
  return counts;
}
