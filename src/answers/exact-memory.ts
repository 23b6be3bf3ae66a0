import { BoundedMap } from '../bounded-map.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { Cache } from '../upstream/cache/cache.ts';

/** Maximum lifetime: after it, the cache entries are read again, which keeps them in use. */
const LIFE_MS = 1000;
/** Maximum share of the memory for one value. */
const MAX_SHARE = 1 / 8;

/** The dependencies of an `ExactMemory`. */
export interface ExactMemoryOptions {
  readonly cache: Cache;
  readonly clock: Clock;
  readonly maxBytes: number;
}

/** A value derived from the cache, and until when it would be derived equally. */
interface Made<V> {
  readonly value: V;
  /** The version of the cache from which it was derived. */
  readonly version: number;
  /** On `clock.now()`. */
  readonly until: number;
}

/**
 * Values derived from cache entries, stored as long as they would be derived equally: nothing in the cache has
 * changed since, none of the entries has become stale or due for a refresh, and less than a second has passed.
 */
export class ExactMemory<V> {
  readonly #cache: Cache;
  readonly #clock: Clock;
  readonly #made: BoundedMap<Made<V>>;

  /** `weigh` returns bytes, without the key. */
  constructor(options: ExactMemoryOptions, weigh: (value: V) => number) {
    this.#cache = options.cache;
    this.#clock = options.clock;
    this.#made = new BoundedMap({
      max: options.maxBytes,
      maxShare: MAX_SHARE,
      weigh: (key, { value }) => key.length + weigh(value),
    });
  }

  /** The value of a key, if it is still valid at `now`, on `clock.now()`. */
  find(key: string, now: number): V | undefined {
    const made = this.#made.get(key);
    if (!made) return undefined;
    return made.version === this.#cache.version && now < made.until ? made.value : undefined;
  }

  /** The last value of a key, even if it is no longer valid. */
  last(key: string): V | undefined {
    return this.#made.peek(key)?.value;
  }

  /** Recomputes the size of the value of a key. If that is too large, nothing changes; returns whether it fits. */
  weighAgain(key: string): boolean {
    const made = this.#made.peek(key);
    if (!made || !this.#made.takes(key, made)) return false;
    // The map detects a changed value only by another object.
    this.#made.set(key, { ...made });
    return true;
  }

  /** Stores a value derived from the current cache, at most until `until`. */
  set(key: string, value: V, until: number): void {
    const { version } = this.#cache;
    this.#made.set(key, { value, version, until: Math.min(until, this.#clock.now() + LIFE_MS) });
  }
}

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

  /** Whether a key was seen recently. */
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
