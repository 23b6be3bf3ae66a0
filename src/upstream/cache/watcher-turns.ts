import { BoundedMap } from '../../bounded-map.ts';
import { inTurns } from '../budget/law/turns.ts';

/** Those who look at what is watched, as they are now. There is at least one. */
export type Watchers = () => Iterable<string>;

/** Something that is watched. */
interface WatchedThing {
  /** One for each watch. */
  readonly watchers: Iterable<Watchers>;
}

/** Something in whose turn it is read again. */
interface Placed<T> {
  readonly caller: string;
  readonly of: T;
}

/** Callers whose last turn is remembered. */
const REMEMBERED = 10_000;

/** Lets those who watch take turns: the one whose last turn is the longest ago goes first. */
export class WatcherTurns {
  readonly #lastTurns = new BoundedMap<number>({ max: REMEMBERED });
  #turns = 0;

  /** A caller has had a turn. */
  had(caller: string): void {
    this.#turns += 1;
    this.#lastTurns.set(caller, this.#turns);
  }

  /**
   * Puts a line into the order in which callers take turns, each with what stands first of theirs. What several
   * watch takes the turn of whichever of them is first.
   */
  order<T extends WatchedThing>(line: readonly T[]): Placed<T>[] {
    const firsts = new Map<Watchers, string>();
    const queues = new Map<string, Placed<T>[]>();
    for (const of of line) {
      const caller = this.#first(Array.from(of.watchers, (each) => this.#firstOf(each, firsts)));
      const queue = queues.get(caller) ?? [];
      queue.push({ caller, of });
      queues.set(caller, queue);
    }
    const callers = [...queues.keys()].sort((a, b) => this.#lastTurn(a) - this.#lastTurn(b));
    return [...inTurns(callers.map((caller) => queues.get(caller) ?? []))];
  }

  /** The first of those who look at the same: found once for all that they watch. */
  #firstOf(watchers: Watchers, known: Map<Watchers, string>): string {
    const first = known.get(watchers) ?? this.#first(watchers());
    known.set(watchers, first);
    return first;
  }

  #first(callers: Iterable<string>): string {
    let first = '';
    let longest = Number.POSITIVE_INFINITY;
    for (const caller of callers) {
      const last = this.#lastTurn(caller);
      if (last < longest) [first, longest] = [caller, last];
    }
    return first;
  }

  #lastTurn(caller: string): number {
    return this.#lastTurns.peek(caller) ?? 0;
  }
}
