import type { UpstreamName } from '../../errors.ts';
import type { Resource } from '../../resources.ts';
import type { SharedResult, Sharing } from '../budget/budget.ts';
import type { Cache, Freshness } from '../cache/cache.ts';
import { type KeyedRead, tagsInFlight } from '../cache/key.ts';
import type { Refresher } from '../cache/refresher.ts';
import { doubtsOf } from '../cache/shared-generations.ts';
import type { CachedReads } from '../cached-reads.ts';
import type { SharedCache } from '../shared-cache.ts';
import { readErrorOf } from '../wire/failure.ts';
import type { Outcome } from './waiters.ts';

interface ElsewhereOptions {
  readonly upstream: UpstreamName;
  readonly cache: Cache;
  readonly cached: CachedReads;
  readonly freshness: (resource: Resource) => Freshness;
  readonly refresher: Refresher;
  readonly sharedCache: SharedCache;
}

/** Reads that other replicas make: what they have to know of those here, and what theirs come to. */
export class Elsewhere {
  readonly #options: ElsewhereOptions;

  constructor(options: ElsewhereOptions) {
    this.#options = options;
  }

  /** What other replicas have to know of a read. */
  sharing(of: KeyedRead): Sharing {
    const { cached, freshness, sharedCache } = this.#options;
    const { credential, read } = of;
    const tags = cached.tagsOf(tagsInFlight(read), credential);
    return {
      key: sharedCache.nameOf(of),
      tags: [...tags, ...doubtsOf(tags)],
      ttlMs: freshness(read.resource).ttlMs,
      newerThan: () => this.#sharedAt(of),
    };
  }

  /** What the end of another replica's request for a read comes to; `null` where it is of no use here. */
  async outcomeOf<T>(of: KeyedRead<T>, result: SharedResult): Promise<Outcome<T> | null> {
    const { cached, refresher, sharedCache, upstream } = this.#options;
    if (result.kind === 'failed') {
      const error = readErrorOf(upstream, result.code);
      if (error) refresher.failed(of.key);
      return error && { error };
    }
    const before = this.#sharedAt(of);
    await sharedCache.prefetch(of);
    const hit = cached.find(of);
    const isNewer = hit !== undefined && this.#sharedAt(of) > before && hit.state !== 'fallback';
    return isNewer ? { value: hit.entry.value } : null;
  }

  /** When the entry of a read was asked for, on the clock that replicas share; 0 where there is none. */
  #sharedAt({ key }: KeyedRead): number {
    return this.#options.cache.peek(key)?.entry.stamp.shared?.at ?? 0;
  }
}
