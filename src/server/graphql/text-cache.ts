/**
 * Remembers something for each of many texts that callers send, bounded by what the texts weigh and not
 * by their number, which would let a few long ones take all memory. The least recently used go first.
 */
export class TextCache<V> {
  readonly #maxCharacters: number;
  readonly #weigh: (text: string, value: V) => number;
  readonly #entries = new Map<string, V>();
  #characters = 0;

  /** `weigh` answers the characters of an entry; by default those of its text. */
  constructor(
    maxCharacters: number,
    weigh: (text: string, value: V) => number = (text) => text.length,
  ) {
    this.#maxCharacters = maxCharacters;
    this.#weigh = weigh;
  }

  get(text: string): V | undefined {
    const value = this.#entries.get(text);
    if (value === undefined) return undefined;
    this.#entries.delete(text);
    this.#entries.set(text, value);
    return value;
  }

  /** Forgets at once what is too heavy to be remembered beside others. */
  set(text: string, value: V): void {
    const old = this.#entries.get(text);
    if (old !== undefined) this.#drop(text, old);
    if (this.#weigh(text, value) > this.#maxCharacters / 8) return;
    this.#entries.set(text, value);
    this.#characters += this.#weigh(text, value);
    for (const [oldest, entry] of this.#entries) {
      if (this.#characters <= this.#maxCharacters) return;
      this.#drop(oldest, entry);
    }
  }

  #drop(text: string, value: V): void {
    this.#entries.delete(text);
    this.#characters -= this.#weigh(text, value);
  }
}
