/** How a write has affected responses: it certainly or perhaps has changed them. */
export type WriteKind = 'touched' | 'doubted';

/**
 * How a response can be used, as far as writes are concerned:
 *
 * | state           | writes since its request was sent                      | use                           |
 * |-----------------|--------------------------------------------------------|-------------------------------|
 * | `valid`         | none has affected it                                   | as its age allows             |
 * | `fallback-only` | one of unknown outcome                                 | if nothing newer is available |
 * | `invalid`       | a confirmed one                                        | never: the entry is removed   |
 */
export type Validity = 'valid' | 'fallback-only' | 'invalid';

/**
 * Called with the tags that writes have affected: when responses become outdated, and again when new ones can be
 * stored; with `null` if any earlier response may be outdated. Must not throw.
 */
export type TouchListener = (tags: readonly string[] | null) => void;

/** Maximum number of tags: beyond it, the oldest writes and every earlier response are removed. */
const TAGS_REMEMBERED = 10_000;

/** Whether no write in `latest` has touched one of these tags after a generation. */
function untouched(
  tags: readonly string[],
  generation: number,
  latest: ReadonlyMap<string, number>,
): boolean {
  return latest.size === 0 || tags.every((tag) => (latest.get(tag) ?? 0) <= generation);
}

/**
 * Numbers the writes, and records for each tag the latest one that affected it. A response has the generation at which
 * its request was sent, and is unusable when one of its tags has a later one. So a read that was in flight during a
 * write is neither cached nor shared with later readers. A write with an unknown outcome is a doubt: earlier entries
 * are kept in case nothing newer is available.
 */
export class Generations {
  readonly #touched = new Map<string, number>();
  readonly #doubted = new Map<string, number>();
  readonly #listeners: TouchListener[] = [];
  #latest = 0;
  /** Responses from before this generation are invalid, regardless of their tags. */
  #floor = 0;

  /** The number of the latest write: changes whenever the state of a response can have changed. */
  get latest(): number {
    return this.#latest;
  }

  /** Responses from before this generation are invalid. */
  get floor(): number {
    return this.#floor;
  }

  /** Continues the numbers of the process before. */
  resume(latest: number): void {
    this.#latest = latest;
  }

  /** Adds a write of the process before. */
  restore(kind: WriteKind, tags: readonly string[], generation: number): void {
    if (this.#makeRoom(tags.length)) return;
    const latest = kind === 'touched' ? this.#touched : this.#doubted;
    for (const tag of tags) latest.set(tag, Math.max(latest.get(tag) ?? 0, generation));
  }

  validity(tags: readonly string[], generation: number): Validity {
    if (generation < this.#floor || !untouched(tags, generation, this.#touched)) return 'invalid';
    return untouched(tags, generation, this.#doubted) ? 'valid' : 'fallback-only';
  }

  /** A write has invalidated every response with one of these tags. */
  touch(tags: readonly string[]): void {
    this.#record(tags, this.#touched);
  }

  /** A write with an unknown outcome makes every response with one of these tags `fallback-only`. */
  doubt(tags: readonly string[]): void {
    this.#record(tags, this.#doubted);
  }

  /** Notifies a listener of every write from now on. */
  onTouch(listener: TouchListener): void {
    this.#listeners.push(listener);
  }

  #record(tags: readonly string[], latest: Map<string, number>): void {
    this.#latest += 1;
    const forgets = this.#makeRoom(tags.length);
    for (const tag of tags) latest.set(tag, this.#latest);
    for (const listener of this.#listeners) listener(forgets ? null : tags);
  }

  /** Forgets all tags, and with them every earlier response, if there is no room for some more. */
  #makeRoom(tags: number): boolean {
    if (this.#touched.size + this.#doubted.size + tags <= TAGS_REMEMBERED) return false;
    this.#touched.clear();
    this.#doubted.clear();
    this.#floor = this.#latest;
    return true;
  }
}
