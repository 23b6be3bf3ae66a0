import type { Resource } from '../resources.ts';
import type { Answer, Cache, Freshness } from './cache/cache.ts';
import type { KeyedRead } from './cache/key.ts';
import type { SharedAnswers } from './cache/shared-answers.ts';
import type { CachedReads } from './cached-reads.ts';

interface SharedCacheOptions {
  readonly cache: Cache;
  readonly cached: CachedReads;
  readonly answers: SharedAnswers;
  readonly freshness: (resource: Resource) => Freshness;
}

/** What is looked for in one round trip. */
interface Round {
  readonly sought: Map<string, KeyedRead>;
  readonly found: Promise<void>;
}

/** The cache entries that replicas keep for each other, and how they come here. Costs no upstream call. */
export class SharedCache {
  readonly #options: SharedCacheOptions;
  /** Those that are being looked for, by key. */
  readonly #looking = new Map<string, Promise<void>>();
  /** What the next round trip looks for. */
  #next: Round | null = null;

  constructor(options: SharedCacheOptions) {
    this.#options = options;
  }

  /** What a read is called on all replicas. */
  nameOf({ key, credential }: KeyedRead): string {
    return this.#options.answers.nameOf(key, credential.secret);
  }

  /**
   * Adds to the cache what other replicas have read since it was read here, if it still holds: one round trip for all
   * that is sought in one turn. Never rejects.
   */
  prefetch(of: KeyedRead): Promise<void> {
    const looking = this.#looking.get(of.key);
    if (looking) return looking;
    this.#next ??= this.#begin();
    this.#next.sought.set(of.key, of);
    const found = this.#next.found.finally(() => this.#looking.delete(of.key));
    this.#looking.set(of.key, found);
    return found;
  }

  /** The same for several. */
  async prefetchAll(all: readonly KeyedRead[]): Promise<void> {
    await Promise.all(all.map((each) => this.prefetch(each)));
  }

  /** Keeps the answer to a read for other replicas; false when it cannot be. */
  keep(of: KeyedRead, answer: Answer): boolean {
    const { answers, freshness } = this.#options;
    const { ttlMs, staleIfErrorMs, staleWhileRevalidateMs } = freshness(of.read.resource);
    return answers.keep(this.nameOf(of), answer, ttlMs + staleWhileRevalidateMs + staleIfErrorMs);
  }

  #begin(): Round {
    const sought = new Map<string, KeyedRead>();
    const found = Promise.resolve().then(() => {
      this.#next = null;
      return this.#find([...sought.values()]);
    });
    return { sought, found };
  }

  async #find(sought: readonly KeyedRead[]): Promise<void> {
    const { answers, cache, cached } = this.#options;
    const found = await answers.find(sought.map((each) => this.nameOf(each)));
    for (const [at, of] of sought.entries()) {
      const answer = found[at];
      const known = cache.peek(of.key)?.entry.stamp.shared?.at ?? Number.NEGATIVE_INFINITY;
      if (answer?.stamp.shared && answer.stamp.shared.at > known) cached.adopt(of, answer);
    }
  }
}
