import { BoundedMap } from '../bounded-map.ts';
import type { Coding } from '../http/encoding/codings.ts';
import { compress } from '../http/encoding/compress.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { Cache } from '../upstream/cache/cache.ts';
import type { Ingredients } from '../upstream/receipt.ts';

/** The share of the memory for cache entries that is used for responses. */
const ANSWERS_SHARE = 1 / 8;
/** Maximum share of that memory for one response. */
const MAX_SHARE = 1 / 8;
/** Maximum lifetime: after it, the cache entries are read again, which keeps them in use. */
const LIFE_MS = 1000;
/** Memory of a response besides its texts, */
const OVERHEAD_BYTES = 512;
/** ... and of each cache entry that it uses. */
const INGREDIENT_BYTES = 128;

/** Memory for responses, in bytes, of the total for responses and cache entries. */
export function answerBytes(all: number): number {
  return Math.max(1, Math.floor(all * ANSWERS_SHARE));
}

/** Memory left for cache entries. */
export function entryBytes(all: number): number {
  return Math.max(1, all - answerBytes(all));
}

/** A response that can be repeated. */
interface AnswerToRemember {
  /** Its body before and after the age of its oldest part in milliseconds, each byte as one character. */
  readonly head: string;
  readonly tail: string;
  readonly contentType: string;
  /** For the response to a GET. */
  readonly etag: string | null;
  readonly name: string | null;
  readonly ingredients: Ingredients;
}

/** The response to one operation as bytes, stored as latin1. */
export interface RememberedAnswer extends AnswerToRemember {
  /** When its oldest part was read, on `clock.now()`; `null` if nothing was read for it. */
  readonly oldestAt: number | null;
  /** The version of the cache from which it was derived. */
  readonly version: number;
  /** On `clock.now()`. */
  readonly until: number;
  /** Its last compressed form, which is sent until the age in it changes. */
  packed: { readonly age: string; readonly coding: Coding; readonly body: string } | null;
}

/**
 * The responses to repeated operations, by all their inputs, stored as long as they would be derived equally: nothing
 * in the cache has changed since, none of its entries has become stale or due for a refresh, and less than a second
 * has passed.
 */
export class RememberedAnswers {
  readonly #cache: Cache;
  readonly #clock: Clock;
  readonly #answers: BoundedMap<RememberedAnswer>;
  /** Operations that are sent once must not displace those that are repeated. */
  readonly #doorkeeper = new Doorkeeper();

  constructor(options: {
    readonly cache: Cache;
    readonly clock: Clock;
    readonly maxBytes: number;
  }) {
    this.#cache = options.cache;
    this.#clock = options.clock;
    this.#answers = new BoundedMap({
      max: options.maxBytes,
      maxShare: MAX_SHARE,
      // Twice for the compressed form, which is shorter.
      weigh: (key, { head, ingredients, tail }) =>
        OVERHEAD_BYTES +
        INGREDIENT_BYTES * ingredients.served.length +
        key.length +
        2 * (head.length + tail.length),
    });
  }

  /** The response of a key, if normal execution would return the same at `now`, on `clock.now()`. */
  find(key: string, now: number): RememberedAnswer | undefined {
    const answer = this.#answers.get(key);
    return answer?.version === this.#cache.version && now < answer.until ? answer : undefined;
  }

  /**
   * Records the response to an operation, unless the cache had another version when its execution began: then it can be
   * made of several states. `make` is called for a repeated one, and returns `null` if the response cannot be repeated.
   */
  note(key: string, version: number, make: () => AnswerToRemember | null): void {
    const isRepeated = this.#doorkeeper.admits(key);
    const answer = isRepeated && version === this.#cache.version ? make() : null;
    if (!answer) return;
    const now = this.#clock.now();
    const ingredients = answer.ingredients.distinct();
    const { oldest } = ingredients;
    this.#answers.set(key, {
      ...answer,
      ingredients,
      oldestAt: oldest ? Math.min(now, oldest.stamp.storedAt) : null,
      version,
      until: Math.min(ingredients.changesAt(now), now + LIFE_MS),
      packed: null,
    });
  }

  /** The body of a response with its age in milliseconds, compressed, each byte as one character. */
  encoded(answer: RememberedAnswer, coding: Coding, age: string): string {
    let { packed } = answer;
    if (packed?.age !== age || packed.coding !== coding) {
      const plain = Buffer.from(answer.head + age + answer.tail, 'latin1');
      packed = { age, coding, body: compress(plain, coding).toString('latin1') };
      answer.packed = packed;
    }
    return packed.body;
  }
}

/** Approximate number of recognized keys: a power of two. */
const SLOTS = 16_384;

/**
 * Detects repeated keys among keys that occur only once, in 64 KiB of memory: it stores only a number for each
 * key, and the last one of those that share a slot. A false match is rare and harmless.
 */
class Doorkeeper {
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
