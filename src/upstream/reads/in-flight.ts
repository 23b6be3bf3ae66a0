import type { Cache, CacheEntry } from '../cache/cache.ts';
import { type KeyedRead, scopeOfKey } from '../cache/key.ts';
import type { Stamp } from '../request.ts';
import type { Waiters } from './waiters.ts';

/** A read that has been asked for and not answered. */
export interface ReadInFlight<T = unknown> {
  readonly of: KeyedRead<T>;
  /** By which a write can touch its answer before it is there, scoped. */
  readonly tags: readonly string[];
  readonly waiters: Waiters<T>;
  /** Null until its request leaves: only then is it settled which writes its answer will show. */
  stamp: Stamp | null;
  /** What its answer is or would be in the cache; absent until a request of this process has brought one. */
  entry?: CacheEntry<T>;
  /** Its answer is for those who wait for it already, and is not stored. */
  orphaned?: boolean;
  /** It is sent for those who watch its key, and for no reader. */
  forWatchers?: boolean;
}

/** A read that an operation is about to ask for. */
export interface ExpectedRead {
  /** Whether a request that is in flight, or about to be made, answers it at no cost. */
  readonly isShared: boolean;
  /** A request will be made for it in this turn. */
  decide(): void;
  /** It has been asked for, or will not be. */
  end(): void;
}

/** The reads in flight, by key: equal reads are one request. */
export class InFlight {
  readonly #cache: Cache;
  readonly #reads = new Map<string, ReadInFlight>();
  /** How many operations are about to ask for a key, and whether one of them makes a request. */
  readonly #expected = new Map<string, { readers: number; decided: number }>();

  constructor(cache: Cache) {
    this.#cache = cache;
  }

  /** The read of a key, unless a write has made what it will bring too old for new readers. */
  find(key: string): ReadInFlight | undefined {
    const found = this.#reads.get(key);
    if (!found || found.waiters.done) return undefined;
    const { stamp, tags } = found;
    const isCurrent = stamp === null || this.#cache.isCurrent(tags, stamp.generation);
    return isCurrent ? found : undefined;
  }

  /** Whether there is a request of a key to share, or will be one in this turn. */
  isExpected(key: string): boolean {
    return this.#expected.has(key) || this.find(key) !== undefined;
  }

  /** Notes that a key is about to be asked for, until `end` is called, once. */
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

  /** Keeps the answers to all reads of a scope from later readers: those asked for now, or in flight. */
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

  /** A read is answered, or is not sent. */
  delete(read: ReadInFlight): void {
    const { key } = read.of;
    if (this.#reads.get(key) === read) this.#reads.delete(key);
  }

  /** Takes a refresh back that is for those who watched its key, if it has not been sent and no caller waits for it. */
  takeBack(key: string): void {
    this.#reads.get(key)?.waiters.cancelIfUnwanted();
  }
}
