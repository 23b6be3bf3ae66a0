/** After so many tags the oldest writes are forgotten, along with every answer from before them. */
const TAGS_REMEMBERED = 10_000;

/**
 * Numbers the writes, and knows for each tag which was the latest to touch it. An answer carries the
 * generation at which its request left, and is worth nothing once one of its tags has seen a later one:
 * so a read in flight across a write is neither cached nor shared with readers who come after the write.
 */
export class Generations {
  readonly #touched = new Map<string, number>();
  #latest = 0;
  /** Answers from before this generation are invalid, whatever their tags. */
  #floor = 0;

  /** The number of the latest write. */
  get latest(): number {
    return this.#latest;
  }

  /** Whether no write has touched one of these tags since a generation. */
  holds(tags: readonly string[], generation: number): boolean {
    if (generation < this.#floor) return false;
    return tags.every((tag) => (this.#touched.get(tag) ?? 0) <= generation);
  }

  /** A write has made every answer with one of these tags invalid. */
  touch(tags: readonly string[]): void {
    this.#latest += 1;
    if (this.#touched.size + tags.length > TAGS_REMEMBERED) {
      this.#touched.clear();
      this.#floor = this.#latest;
    }
    for (const tag of tags) this.#touched.set(tag, this.#latest);
  }
}
