import type { AtOnce } from '../../scheduling/at-once.ts';

/**
 * What may be done with an answer as far as writes go:
 *
 * | state           | writes since its request left                          | a reader gets it              |
 * |-----------------|--------------------------------------------------------|-------------------------------|
 * | `valid`         | none has touched it                                    | as its age allows             |
 * | `unconfirmed`   | none known here; other replicas may have answered one  | as its age allows, but stale  |
 * | `fallback-only` | one of unknown outcome, or the shared memory was lost  | when nothing newer can be had |
 * | `hidden`        | as in the two rows above, and settings forbid doubt    | not at present                |
 * | `invalid`       | one that has happened                                  | never: the entry is dropped   |
 */
export type Validity = 'valid' | 'unconfirmed' | 'fallback-only' | 'hidden' | 'invalid';

/**
 * Numbers the writes, and knows for each tag which was the latest to touch it. An answer carries the
 * generation at which its request left, and is worth nothing once one of its tags has seen a later one:
 * so a read in flight across a write is neither cached nor shared with readers who come after the write.
 * A write whose outcome is unknown is a doubt: what was stored before it is kept for the case that
 * nothing newer can be had.
 */
export interface Generations {
  /** The number of the latest write. */
  readonly latest: number;
  /** Another number whenever answers can stand otherwise than before. */
  readonly shifts: number;
  /** Whether no write known here, of whatever outcome, has touched one of these tags since a generation. */
  holds(tags: readonly string[], generation: number): boolean;
  validity(tags: readonly string[], generation: number): Validity;
  /**
   * A write has made every answer with one of these tags invalid: here at once, and everywhere when the promise
   * resolves, where there are others. `permit` names the slot that the write left in.
   */
  touch(tags: readonly string[], permit?: string): AtOnce<void>;
  /** A write whose outcome is unknown makes every answer with one of these tags `fallback-only`. See `touch`. */
  doubt(tags: readonly string[], permit?: string): AtOnce<void>;
  /** Notifies a listener of every write from now on. */
  onTouch(listener: TouchListener): void;
}

/**
 * Called with the tags that writes have touched, at the first moment at which answers are outdated by them, and again
 * when new ones can be stored; with `null` where any answer from before may be wrong. Must not throw.
 */
export type TouchListener = (tags: readonly string[] | null) => void;

/** Beyond this number of tags the oldest writes are forgotten, along with every answer from before them. */
const TAGS_REMEMBERED = 10_000;

/** Whether no write in `latest` has touched one of these tags after a generation. */
export function untouched(
  tags: readonly string[],
  generation: number,
  latest: ReadonlyMap<string, number>,
): boolean {
  return latest.size === 0 || tags.every((tag) => (latest.get(tag) ?? 0) <= generation);
}

/** The writes of a process that is alone. */
export class ProcessGenerations implements Generations {
  readonly #touched = new Map<string, number>();
  readonly #doubted = new Map<string, number>();
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
    return this.validity(tags, generation) === 'valid';
  }

  validity(tags: readonly string[], generation: number): Validity {
    if (generation < this.#floor || !untouched(tags, generation, this.#touched)) return 'invalid';
    return untouched(tags, generation, this.#doubted) ? 'valid' : 'fallback-only';
  }

  touch(tags: readonly string[]): void {
    this.#record(tags, this.#touched);
  }

  doubt(tags: readonly string[]): void {
    this.#record(tags, this.#doubted);
  }

  onTouch(listener: TouchListener): void {
    this.#listeners.push(listener);
  }

  #record(tags: readonly string[], latest: Map<string, number>): void {
    this.#latest += 1;
    const size = this.#touched.size + this.#doubted.size;
    const forgets = size + tags.length > TAGS_REMEMBERED;
    if (forgets) {
      this.#touched.clear();
      this.#doubted.clear();
      this.#floor = this.#latest;
    }
    for (const tag of tags) latest.set(tag, this.#latest);
    for (const listener of this.#listeners) listener(forgets ? null : tags);
  }
}
