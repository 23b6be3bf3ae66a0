import type { UpstreamName } from '../../errors.ts';
import type { KeptEntries } from '../../redis/kept-entries.ts';
import type { Replica } from '../../redis/replica.ts';
import type { Resource } from '../../resources.ts';
import type { AtOnce } from '../../scheduling/at-once.ts';
import type { Clock } from '../../scheduling/clock.ts';
import type { SharedResult, Sharing } from '../budget/budget.ts';
import type { Answer, Cache, Freshness } from '../cache/cache.ts';
import type { KeyedRead } from '../cache/key.ts';
import type { Refresher } from '../cache/refresher.ts';
import { doubtsOf, type SharedGenerations } from '../cache/shared-generations.ts';
import type { CachedReads } from '../cached-reads.ts';
import type { Stamp } from '../request.ts';
import { readErrorOf } from '../wire/failure.ts';
import type { Outcome } from './waiter.ts';

/** Where replicas share the responses of one upstream. */
export interface SharedAnswers {
  readonly clock: Clock;
  readonly replica: Pick<Replica, 'epoch' | 'toLocal'>;
  readonly generations: SharedGenerations;
  readonly kept: KeptEntries;
  readonly nameOf: (kind: string, text: string) => string;
  /** Distinguishes this upstream from others. */
  readonly baseUrl: string;
}

interface SharedCacheOptions {
  readonly upstream: UpstreamName;
  readonly cache: Cache;
  readonly cached: CachedReads;
  readonly answers: SharedAnswers;
  readonly freshness: Readonly<Record<Resource, Freshness>>;
  readonly refresher: Refresher;
}

/** The keys of one round trip. */
interface Round {
  readonly sought: Map<string, KeyedRead>;
  readonly found: Promise<void>;
}

/**
 * The reads of other replicas: their shared cache entries, and their requests in flight. Costs no upstream
 * request.
 */
export class SharedCache {
  readonly #options: SharedCacheOptions;
  /** The running searches, by key. */
  readonly #looking = new Map<string, Promise<void>>();
  /** The names of reads on all replicas, so that each name is digested only once. */
  readonly #names = new WeakMap<KeyedRead, string>();
  /** The keys of the next round trip. */
  #next: Round | null = null;

  constructor(options: SharedCacheOptions) {
    this.#options = options;
  }

  /**
   * Adds newer valid responses of other replicas to the cache: one round trip for all keys that are requested in one
   * turn. Never rejects.
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

  /**
   * The same for those of several reads that are not cached here, or only as a fallback; nothing if there are
   * none.
   */
  prefetchAll(all: readonly KeyedRead[]): AtOnce<void> {
    const { cached } = this.#options;
    const unknown = all.filter((of) => (cached.peek(of)?.state ?? 'fallback') === 'fallback');
    if (unknown.length === 0) return undefined;
    return Promise.all(unknown.map((of) => this.prefetch(of))).then(() => undefined);
  }

  /** Shares the response to a read with other replicas; false if that is impossible. */
  keep(of: KeyedRead, { bytes, stamp: { shared }, value }: Answer): boolean {
    const { answers, freshness } = this.#options;
    if (!shared || shared.epoch !== answers.replica.epoch) return false;
    const { asOf, at, epoch } = shared;
    const { ttlMs, staleIfErrorMs, staleWhileRevalidateMs } = freshness[of.read.resource];
    const lifeMs = ttlMs + staleWhileRevalidateMs + staleIfErrorMs;
    const entry = { storedAt: at, epoch, asOf, value, bytes };
    return answers.kept.keep(this.#nameOf(of), entry, lifeMs);
  }

  /** The data for other replicas about a request for a read that `tags` affect. */
  sharing(of: KeyedRead, tags: readonly string[]): Sharing {
    return {
      key: this.#nameOf(of),
      tags: [...tags, ...doubtsOf(tags)],
      ttlMs: this.#options.freshness[of.read.resource].ttlMs,
      newerThan: () => this.#sharedAt(of),
    };
  }

  /** The result of another replica's request for a read; `null` if it is not usable here. */
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

  /** Loads the shared entries of these reads that are newer than those here, if they are of the current epoch. */
  async #find(sought: readonly KeyedRead[]): Promise<void> {
    const { answers, cached } = this.#options;
    const { clock, generations, kept, replica } = answers;
    const found = await kept.find(sought.map((each) => this.#nameOf(each)));
    for (const [at, of] of sought.entries()) {
      const entry = found[at];
      if (!entry || entry.epoch !== replica.epoch || entry.storedAt <= this.#sharedAt(of)) continue;
      const { asOf, bytes, epoch, storedAt, value } = entry;
      const stamp: Stamp = {
        storedAt: Math.min(clock.now(), replica.toLocal(storedAt)),
        generation: generations.generationOf(asOf),
        shared: { at: storedAt, epoch, asOf },
      };
      cached.adopt(of, { value, bytes, stamp });
    }
  }

  /** The name of a read on all replicas, which reveals neither the read nor the API key. */
  #nameOf(of: KeyedRead): string {
    const known = this.#names.get(of);
    if (known !== undefined) return known;
    const { baseUrl, nameOf } = this.#options.answers;
    const name = nameOf('entry', `${baseUrl} ${of.credential.secret} ${of.key}`);
    this.#names.set(of, name);
    return name;
  }

  /** When the entry of a read was requested, on the clock shared by replicas; 0 if there is none. */
  #sharedAt({ key }: KeyedRead): number {
    return this.#options.cache.peek(key)?.entry.stamp.shared?.at ?? 0;
  }
}
