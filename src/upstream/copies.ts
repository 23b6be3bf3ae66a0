import type { AtOnce } from '../at-once.ts';
import type { Credential } from '../auth/credential.ts';
import type { UpstreamName } from '../errors.ts';
import type { EventStream } from '../observe/event-stream.ts';
import type { Resource } from '../resources.ts';
import type { Cache, EntryState, Freshness, Hit, Stamp } from './cache/cache.ts';
import { everythingOf, scopedTags, scopeOf, scopeOfKey } from './cache/key.ts';
import type { Refresher } from './cache/refresher.ts';
import type { Watchers } from './cache/watcher-turns.ts';
import type { Watch, WatchListener } from './cache/watches.ts';
import type { KeyStanding } from './key-standing.ts';
import type { Looking } from './operation.ts';
import type { Receipt } from './receipt.ts';
import type { Read } from './request.ts';

/** A read, what it is cached under, and the entry that was found there. */
export interface Copy<T = unknown> {
  readonly read: Read<T>;
  readonly key: string;
  readonly hit: Hit;
}

/** The answer to a read that an operation has waited for, and what it is cached under. */
interface Waited<T> {
  readonly read: Read<T>;
  readonly key: string;
  readonly value: T;
}

/** The answer to a read, and about how many bytes it takes. */
interface Answer<T> extends Waited<T> {
  readonly bytes: number;
}

/** What the cache holds for a read, and what may be done with it. */
interface Peeked<T> {
  readonly value: T;
  readonly state: EntryState;
}

interface CopiesOptions {
  readonly upstream: UpstreamName;
  readonly cache: Cache;
  readonly freshness: (resource: Resource) => Freshness;
  readonly standing: KeyStanding;
  readonly refresher: Refresher;
  readonly events: EventStream | undefined;
}

/** The cache as one upstream's readers and writers see it: what of it is served, and what follows from that. */
export class Copies {
  readonly #options: CopiesOptions;

  constructor(options: CopiesOptions) {
    this.#options = options;
  }

  /** The copy of a read's answer, whatever its age, unless the credential stands too badly for it. */
  find<T>(read: Read<T>, key: string, credential: Credential): Copy<T> | undefined {
    const { cache, standing } = this.#options;
    const hit = standing.served(cache.get(key), credential);
    return hit && { read, key, hit };
  }

  /** As `find`, without counting as a use; and what the operation has waited for itself. */
  peek<T>(key: string, looking: Looking): Peeked<T> | undefined {
    const { cache, standing } = this.#options;
    const hit = standing.served(cache.peek(key), looking.credential);
    const own = hit?.state === 'fresh' ? undefined : this.own(key, looking);
    if (own) return { value: own.value as T, state: 'fresh' };
    return hit && { value: hit.entry.value as T, state: hit.state };
  }

  /** Tells `changed` of all that becomes of what is cached under a key, and keeps it fresh. See `Client.watch`. */
  watch(
    { key, read }: Pick<Copy, 'key' | 'read'>,
    credential: Credential,
    changed: WatchListener,
    watchers: Watchers,
  ): Watch {
    const { cache, refresher, standing } = this.#options;
    const tags = this.tagsOf([...read.tags, ...(read.inFlightTags ?? [])], credential);
    return {
      ...refresher.watches.watch({ key, read, credential, tags }, changed, watchers),
      look: () => standing.served(cache.peek(key), credential)?.entry,
    };
  }

  /** Whether a copy is what a reader gets at once. Changes nothing. */
  serves({ read, key, hit }: Copy, credential: Credential): boolean {
    return !read.anew && this.#options.refresher.serves(key, credential, hit);
  }

  /** A reader asked for what there is a copy of. */
  asked({ read, key, hit }: Copy, credential: Credential): void {
    if (!read.anew) this.#options.refresher.asked(key, read, credential, hit);
  }

  /** Copies of a resource served at once, which counts as hits or as stale. */
  count(resource: Resource, stale: boolean, times = 1): void {
    const { events, upstream } = this.#options;
    events?.emit('read', { upstream, resource, result: stale ? 'stale' : 'hit', times });
  }

  /** What a copy says, noted on a receipt; `stale` for one past its ttl, or where nothing newer came. */
  tell<T>({ read, key, hit }: Copy<T>, receipt: Receipt, stale = hit.state !== 'fresh'): T {
    receipt.hit(key, { hit, stale, upstream: this.#options.upstream, resource: read.resource });
    return hit.entry.value as T;
  }

  /**
   * Stores the answer to a read and returns true, unless a write has touched it while it was in flight, of
   * whatever outcome.
   */
  store<T>(answer: Answer<T>, stamp: Stamp): boolean {
    const { key, read, value } = answer;
    const tags = scopedTags(scopeOfKey(key), tagsOfAnswer(read, value));
    return this.#options.cache.holds(tags, stamp.generation) && this.#set(answer, stamp);
  }

  /** Stores an answer that another replica has read, unless a write has made it invalid since. */
  adopt<T>(answer: Answer<T>, stamp: Stamp): boolean {
    const { key, read, value } = answer;
    const scope = scopeOfKey(key);
    const tags = [...scopedTags(scope, read.elsewhereTags ?? []), everythingOf(scope)];
    if (!this.#options.cache.isCurrent(tags, stamp.generation)) return false;
    const adopted = read.adopt ? read.adopt(value, stamp.storedAt) : value;
    return this.#set({ ...answer, value: adopted }, stamp);
  }

  #set<T>({ bytes, key, read, value }: Answer<T>, stamp: Stamp): boolean {
    const { cache, freshness } = this.#options;
    const tags = scopedTags(scopeOfKey(key), tagsWith(read, value));
    return cache.set(
      key,
      { ...stamp, value, resource: read.resource, freshness: freshness(read.resource), tags },
      bytes,
    );
  }

  /**
   * An operation has waited for an answer, which then serves the rest of it. `stamp` is null where the answer came
   * from another replica.
   */
  waited<T>({ key, read, value }: Waited<T>, stamp: Stamp | null, { own }: Receipt): void {
    const entry = this.#options.cache.peek(key)?.entry;
    const asOf = stamp ?? (entry?.value === value ? entry : undefined);
    if (!asOf) return;
    const scope = scopeOfKey(key);
    const tags = [...scopedTags(scope, tagsOfAnswer(read, value)), everythingOf(scope)];
    own.note(key, { value, tags, generation: asOf.generation });
  }

  /** What an operation has waited for under a key, unless a write has touched it since. */
  own(key: string, { caller }: Looking): { readonly value: unknown } | undefined {
    const { cache } = this.#options;
    return caller?.receipt.own.find(key, (tags, generation) => cache.holds(tags, generation));
  }

  /** Tags as the cache knows them. */
  tagsOf(tags: readonly string[], { partition }: Credential): string[] {
    return scopedTags(scopeOf(this.#options.upstream, partition), tags);
  }

  /** Makes every copy with one of these tags invalid. See `Cache.touch`. */
  touch(tags: readonly string[], credential: Credential, permit?: string): AtOnce<void> {
    return this.#options.cache.touch(this.tagsOf(tags, credential), permit);
  }

  /** Leaves every copy with one of these tags for when nothing newer can be had. See `Cache.doubt`. */
  doubt(tags: readonly string[], credential: Credential, permit?: string): AtOnce<void> {
    return this.#options.cache.doubt(this.tagsOf(tags, credential), permit);
  }
}

/** The tags by which a write can touch an answer from the time on at which it was asked for. */
function tagsOfAnswer<T>(read: Read<T>, value: T): readonly string[] {
  return [...(read.inFlightTags ?? []), ...tagsWith(read, value)];
}

/** The tags of a read once its answer is known. */
function tagsWith<T>(read: Read<T>, value: T): readonly string[] {
  return [...read.tags, ...(read.lateTags?.(value) ?? [])];
}
