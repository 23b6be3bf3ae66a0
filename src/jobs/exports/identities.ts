/** Integers with the same number of this many bits before the last ones are in one part. */
const PART_BITS = 12;
const PART = 2 ** PART_BITS;
/** Identities of rows are integers of the upstream, mostly. */
const INTEGER = /^[1-9]\d{0,14}$/;

/** A set of identities of rows: of integers that lie close together it takes a bit for each. */
export class Identities {
  readonly #parts = new Map<number, Uint8Array>();
  readonly #texts = new Set<string>();

  has(identity: string): boolean {
    if (!INTEGER.test(identity)) return this.#texts.has(identity);
    const { bit, byte, part } = placeOf(identity);
    return ((this.#parts.get(part)?.[byte] ?? 0) & bit) !== 0;
  }

  add(identity: string): void {
    if (!INTEGER.test(identity)) {
      this.#texts.add(identity);
      return;
    }
    const { bit, byte, part } = placeOf(identity);
    const bits = this.#parts.get(part) ?? new Uint8Array(PART / 8);
    bits[byte] = (bits[byte] ?? 0) | bit;
    this.#parts.set(part, bits);
  }
}

function placeOf(identity: string) {
  const number = Number(identity);
  const within = number % PART;
  return { part: Math.floor(number / PART), byte: within >> 3, bit: 1 << (within & 7) };
}
