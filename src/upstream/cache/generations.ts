import type { AtOnce } from '../../at-once.ts';

/**
 * What may be done with an answer as far as writes go. `current`: no write has made it wrong. `wrong`: one has.
 * The others come with several replicas only. `unconfirmed`: none that is known here, but one may have happened
 * elsewhere. `suspect`: none that is remembered, but what all replicas remember was lost since. `withheld`: as these
 * two, and it is not shown at all for now.
 */
export type Standing = 'current' | 'unconfirmed' | 'suspect' | 'withheld' | 'wrong';

/**
 * Numbers the writes, and knows for each tag which was the latest to touch it. An answer carries the
 * generation at which its request left, and is worth nothing once one of its tags has seen a later one:
 * so a read in flight across a write is neither cached nor shared with readers who come after the write.
 */
export interface Generations {
  /** The number of the latest write. */
  readonly latest: number;
  /** Another number whenever answers can stand otherwise than before. */
  readonly shifts: number;
  /** Whether no write that is known here has touched one of these tags since a generation. */
  holds(tags: readonly string[], generation: number): boolean;
  standing(tags: readonly string[], generation: number): Standing;
  /**
   * A write has made every answer with one of these tags wrong: here at once, and everywhere when the promise
   * resolves, where there are others. `permit` names the slot that the write left in.
   */
  touch(tags: readonly string[], permit?: string): AtOnce<void>;
  /** Tells a listener of every write from now on. */
  onTouch(listener: TouchListener): void;
}

/**
 * Told of the tags that writes have touched, at the first moment at which answers are wrong for them, and again
 * when new ones can be stored; of `null` where any answer from before may be wrong. Must not throw.
 */
export type TouchListener = (tags: readonly string[] | null) => void;

/** After so many tags the oldest writes are forgotten, along with every answer from before them. */
const TAGS_REMEMBERED = 10_000;

/** The writes of a process that is alone. */
export class ProcessGenerations implements Generations {
  readonly #touched = new Map<string, number>();
  readonly #listeners: TouchListener[] = [];
  #latest = 0;
  /** Answers from before this generation are invalid, whatever their tags. */
  #floor = 0;

  get latest(): number {
    return this.#latest;
  }

  get shifts(): number {
    return this.#latest;
  }

  holds(tags: readonly string[], generation: number): boolean {
    if (generation < this.#floor) return false;
    return tags.every((tag) => (this.#touched.get(tag) ?? 0) <= generation);
  }

  standing(tags: readonly string[], generation: number): Standing {
    return this.holds(tags, generation) ? 'current' : 'wrong';
  }

  touch(tags: readonly string[]): void {
    this.#latest += 1;
    const forgets = this.#touched.size + tags.length > TAGS_REMEMBERED;
    if (forgets) {
      this.#touched.clear();
      this.#floor = this.#latest;
    }
    for (const tag of tags) this.#touched.set(tag, this.#latest);
    for (const listener of this.#listeners) listener(forgets ? null : tags);
  }

  onTouch(listener: TouchListener): void {
    this.#listeners.push(listener);
  }
}
