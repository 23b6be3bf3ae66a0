import type { UpstreamName } from '../../errors.ts';
import type { Resource } from '../../resources.ts';
import type { AtOnce } from '../../scheduling/at-once.ts';
import type { SharedResult, Sharing } from '../budget/budget.ts';
import type { Answer, Cache, Freshness } from '../cache/cache.ts';
import type { KeyedRead } from '../cache/key.ts';
import type { Refresher } from '../cache/refresher.ts';
import type { SharedAnswers } from '../cache/shared-answers.ts';
import { doubtsOf } from '../cache/shared-generations.ts';
import type { CachedReads } from '../cached-reads.ts';
import { readErrorOf } from '../wire/failure.ts';
import type { Outcome } from './waiter.ts';

interface SharedCacheOptions {
  readonly upstream: UpstreamName;
  readonly cache: Cache;
  readonly cached: CachedReads;
  readonly answers: SharedAnswers;
  readonly freshness: (resource: Resource) => Freshness;
  readonly refresher: Refresher;
}

/** What is looked for in one round trip. */
interface Round {
  readonly sought: Map<string, KeyedRead>;
  readonly found: Promise<void>;
}

/**
 * What replicas know of each other's reads: the cache entries that they keep for each other, and the requests that they
 * make. Costs no upstream call.
 */
export class SharedCache {
  readonly #options: SharedCacheOptions;
  /** Those that are being looked for, by key. */
  readonly #looking = new Map<string, Promise<void>>();
  /** What the next round trip looks for. */
  #next: Round | null = null;

  constructor(options: SharedCacheOptions) {
    this.#options = options;
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

  /** The same for those of several reads that the cache has no answer to but a fallback; nothing where that is none. */
  prefetchAll(all: readonly KeyedRead[]): AtOnce<void> {
    const { cached } = this.#options;
    const unknown = all.filter((of) => (cached.peek(of)?.state ?? 'fallback') === 'fallback');
    if (unknown.length === 0) return undefined;
    return Promise.all(unknown.map((of) => this.prefetch(of))).then(() => undefined);
  }

  /** Keeps the answer to a read for other replicas; false when it cannot be. */
  keep(of: KeyedRead, answer: Answer): boolean {
    const { answers, freshness } = this.#options;
    const { ttlMs, staleIfErrorMs, staleWhileRevalidateMs } = freshness(of.read.resource);
    return answers.keep(this.#nameOf(of), answer, ttlMs + staleWhileRevalidateMs + staleIfErrorMs);
  }

  /** What other replicas have to know of a request for a read that `tags` touch. */
  sharing(of: KeyedRead, tags: readonly string[]): Sharing {
    return {
      key: this.#nameOf(of),
      tags: [...tags, ...doubtsOf(tags)],
      ttlMs: this.#options.freshness(of.read.resource).ttlMs,
      newerThan: () => this.#sharedAt(of),
    };
  }

  /** What the end of another replica's request for a read comes to; `null` where it is of no use here. */
  async outcomeOf<T>(of: KeyedRead<T>, result: SharedResult): Promise<Outcome<T> | null> {
    const { cached, refresher, upstream } = this.#options;
    if (result.kind === 'failed') {
      const error = readErrorOf(upstream, result.code);
      if (error) refresher.failed(of.key);
      return error && { error };
    }
    const before = this.#sharedAt(of);
    await this.prefetch(of);
    const hit = cached.find(of);
    const isNewer = hit !== undefined && this.#sharedAt(of) > before && hit.state !== 'fallback';
    return isNewer ? { value: hit.entry.value } : null;
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
    const { answers, cached } = this.#options;
    const found = await answers.find(sought.map((each) => this.#nameOf(each)));
    for (const [at, of] of sought.entries()) {
      const answer = found[at];
      if ((answer?.stamp.shared?.at ?? 0) > this.#sharedAt(of)) cached.adopt(of, answer as Answer);
    }
  }

  /** What a read is called on all replicas. */
  #nameOf({ key, credential }: KeyedRead): string {
    return this.#options.answers.nameOf(key, credential.secret);
  }

  /** When the entry of a read was asked for, on the clock that replicas share; 0 where there is none. */
  #sharedAt({ key }: KeyedRead): number {
    return this.#options.cache.peek(key)?.entry.stamp.shared?.at ?? 0;
  }
}
