/** Approximate number of recognized keys: a power of two. */
const SLOTS = 16_384;

/**
 * Detects repeated keys among keys that occur only once, in 64 KiB of memory: it stores only a number for each
 * key, and the last one of those that share a slot. A false match is rare and harmless.
 */
export class Doorkeeper {
  readonly #seen = new Uint32Array(SLOTS);

  /** Whether a key was seen recently. Records it. */
  admits(key: string): boolean {
    const number = hashOf(key);
    const slot = number % SLOTS;
    if (this.#seen[slot] === number) return true;
    this.#seen[slot] = number;
    return false;
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
