/** Keys that are recognized at a time, about: a power of two. */
const SLOTS = 16_384;

/**
 * Tells what was asked for before from what comes once and never again, in 64 KiB whatever comes: it knows no
 * keys, only a number for each, and the last one of those that share a slot. To take one key for another, which
 * is rare, costs nothing but a place.
 */
export class Doorkeeper {
  readonly #seen = new Uint32Array(SLOTS);

  /** Whether a key was seen lately. From now on it was. */
  admits(key: string): boolean {
    const number = hashOf(key);
    const slot = number % SLOTS;
    if (this.#seen[slot] === number) return true;
    this.#seen[slot] = number;
    return false;
  }

  /** Whether a key was seen lately. */
  knows(key: string): boolean {
    const number = hashOf(key);
    return this.#seen[number % SLOTS] === number;
  }
}

/** FNV-1a over UTF-16 code units, of 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return hash >>> 0;
}
