/** Pages of one list that are remembered: looking for a row goes through all of them. */
const MOST_PAGES = 500;

/**
 * The numbers of a list's pages that may be cached or in flight. Callers can ask for any number by a
 * cursor, so there are at most so many, and those furthest back go first.
 */
export class AskedPages {
  readonly #numbers = new Set<number>();
  #furthest = 0;

  get size(): number {
    return this.#numbers.size;
  }

  /** Takes a page in. */
  add(number: number): void {
    this.#numbers.add(number);
    this.#furthest = Math.max(this.#furthest, number);
    if (this.#numbers.size > MOST_PAGES) this.delete(this.#furthest);
  }

  /** Takes a page out, which is not in the list or could not be read. */
  delete(number: number): void {
    this.#numbers.delete(number);
    if (number !== this.#furthest) return;
    this.#furthest = 0;
    for (const each of this.#numbers) this.#furthest = Math.max(this.#furthest, each);
  }

  /** As of now. */
  get all(): readonly number[] {
    return [...this.#numbers];
  }

  /** One that goes its own way from there. */
  copy(): AskedPages {
    const copy = new AskedPages();
    for (const number of this.#numbers) copy.add(number);
    return copy;
  }
}
