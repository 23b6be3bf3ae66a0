import { BoundedMap } from '../../bounded-map.ts';
import type { Clock } from '../../clock.ts';
import type { Cache } from '../../upstream/cache/cache.ts';
import type { ServedKind } from '../../upstream/receipt.ts';
import { Doorkeeper } from './doorkeeper.ts';

/** So long an answer is given again without the whole way being asked, which keeps its entries wanted. */
export const LIFE_MS = 1000;
/** The share of the memory for cache entries that is given to answers. */
const ANSWERS_SHARE = 1 / 8;
/** An answer that takes a larger share of the memory than this is not worth it. */
const MAX_SHARE = 1 / 8;
/** What an answer takes besides its texts. */
const OVERHEAD_BYTES = 512;

/** What answers may take, in bytes, of all that is given to answers and cache entries. */
export function answerBytes(all: number): number {
  return Math.max(1, Math.floor(all * ANSWERS_SHARE));
}

/** What is left to cache entries. */
export function entryBytes(all: number): number {
  return Math.max(1, all - answerBytes(all));
}

/** The answer to one operation as bytes, which are held as latin1. */
export interface RememberedAnswer {
  /** Its body up to the age of its oldest part, in milliseconds, and from there on. */
  readonly head: string;
  readonly tail: string;
  readonly contentType: string;
  /** Of an answer to a GET. */
  readonly etag: string | null;
  /** When its oldest part was read, on `clock.now()`. */
  readonly oldestAt: number;
  /** The version of the cache that it was made from. */
  readonly version: number;
  /** From this moment on one of its entries is not what it was, on `clock.now()`. */
  readonly until: number;
  readonly name: string | null;
  readonly reads: readonly ServedKind[];
}

/**
 * The answers to operations that were asked more than once, by all that they depend on. One is given
 * again only while it is what the whole way would answer: nothing in the cache has changed since, by an answer
 * or by a write, and none of its entries has come to the moment at which it is refreshed or stale.
 */
export class RememberedAnswers {
  readonly #cache: Cache;
  readonly #clock: Clock;
  readonly #answers: BoundedMap<RememberedAnswer>;
  /** What is asked for once must not drive out what is asked for again. */
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
      weigh: (key, { head, tail }) => OVERHEAD_BYTES + key.length + head.length + tail.length,
    });
  }

  /** What the cache is now; an answer made between two equal versions was made of one state. */
  get version(): number {
    return this.#cache.version;
  }

  /** The answer of a key, if it is still what the whole way would answer at `now`, on `clock.now()`. */
  find(key: string, now: number): RememberedAnswer | undefined {
    const answer = this.#answers.get(key);
    if (!answer) return undefined;
    if (answer.version === this.#cache.version && now < answer.until) return answer;
    this.#answers.delete(key);
    return undefined;
  }

  /**
   * Notes that an operation was answered. `make` is called for one that was asked before, and answers
   * `null` for what cannot be given again.
   */
  note(key: string, make: () => Omit<RememberedAnswer, 'version'> | null): void {
    const made = this.#doorkeeper.admits(key) ? make() : null;
    if (!made) return;
    const until = Math.min(made.until, this.#clock.now() + LIFE_MS);
    this.#answers.set(key, { ...made, until, version: this.#cache.version });
  }
}
