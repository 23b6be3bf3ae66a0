import type { Cache, CacheEntry } from '../cache/cache.ts';
import { scopeOfKey } from '../cache/key.ts';
import type { KeyedRead, Stamp } from '../request.ts';
import type { Waiters } from './waiters.ts';

/** A read that was requested and has no response yet. */
export interface ReadInFlight<T = unknown> {
  readonly of: KeyedRead<T>;
  /** The scoped tags by which a write can affect its response before it arrives. */
  readonly tags: readonly string[];
  readonly waiters: Waiters<T>;
  /** Null until its request is sent: only then is it known which writes its response includes. */
  stamp: Stamp | null;
  /** Its response in the cache; absent until a request of this process has returned one. */
  entry?: CacheEntry<T>;
  /** Its response is only for its present waiters, and is not stored. */
  orphaned?: boolean;
  /** It is sent for watchers of its key, and not for a reader. */
  forWatchers?: boolean;
  /** It is sent for the history of counts alone. */
  forHistory?: boolean;
}

/** A read that an operation is about to request. */
export interface ExpectedRead {
  /** Whether a request that is in flight, or about to be sent, serves it at no cost. */
  readonly isShared: boolean;
  /** A request will be sent for it in this turn. */
  decide(): void;
  /** Ends the expectation: the request was created, or will not be. */
  end(): void;
}

/** The reads in flight, by key: equal reads are one request. */
export class InFlight {
  readonly #cache: Cache;
  readonly #reads = new Map<string, ReadInFlight>();
  /** Number of operations that are about to request a key, and whether one of them sends a request. */
  readonly #expected = new Map<string, { readers: number; decided: number }>();

  constructor(cache: Cache) {
    this.#cache = cache;
  }

  /** The read of a key in flight, unless a write has made its response too old for new readers. */
  find(key: string): ReadInFlight | undefined {
    const found = this.#reads.get(key);
    if (!found || found.waiters.done) return undefined;
    const { stamp, tags } = found;
    const isCurrent = stamp === null || this.#cache.holds(tags, stamp.generation);
    return isCurrent ? found : undefined;
  }

  /** Whether a request of a key can be shared now, or in this turn. */
  isExpected(key: string): boolean {
    return this.#expected.has(key) || this.find(key) !== undefined;
  }

  /** Records that a key is about to be requested, until `end` is called, once. */
  expect(key: string): ExpectedRead {
    const expected = this.#expected.get(key) ?? { readers: 0, decided: 0 };
    this.#expected.set(key, expected);
    expected.readers += 1;
    const isInFlight = (): boolean => this.find(key) !== undefined;
    let decided = 0;
    return {
      get isShared() {
        return expected.decided > 0 || isInFlight();
      },
      decide: () => {
        decided = 1;
        expected.decided += 1;
      },
      end: () => {
        expected.decided -= decided;
        expected.readers -= 1;
        if (expected.readers === 0) this.#expected.delete(key);
      },
    };
  }

  /** Withholds the responses to all reads of a scope that are in flight from later readers. */
  forget(scope: string): void {
    for (const [key, read] of this.#reads) {
      if (scopeOfKey(key) !== scope) continue;
      read.orphaned = true;
      this.#reads.delete(key);
    }
  }

  /** Lets later readers find a read, until it is deleted. */
  add(read: ReadInFlight): void {
    this.#reads.set(read.of.key, read);
  }

  /** Deletes a read that has its response, or is not sent. */
  delete(read: ReadInFlight): void {
    const { key } = read.of;
    if (this.#reads.get(key) === read) this.#reads.delete(key);
  }

  /** Cancels a refresh for watchers of a key, if it has not been sent and no caller waits for it. */
  takeBack(key: string): void {
    this.#reads.get(key)?.waiters.cancelIfUnwanted();
  }
}
