import type { Credential } from '../auth/credential.ts';
import { BoundedMap } from '../bounded-map.ts';
import type { UpstreamName } from '../errors.ts';
import type { EventStream } from '../observe/event-stream.ts';
import type { Resource } from '../resources.ts';
import type { Answer, Cache, CacheEntry, Freshness, Hit } from './cache/cache.ts';
import {
  EVERYTHING,
  everythingOf,
  scopedTags,
  scopeOf,
  scopeOfKey,
  tagsInFlight,
  tagsOfAnswer,
} from './cache/key.ts';
import type { Refresher } from './cache/refresher.ts';
import { KeySealing } from './cache/saved/key-sealing.ts';
import type { SavedCache } from './cache/saved/saved-cache.ts';
import type { Watchers } from './cache/watched-round.ts';
import type { WatchListener } from './cache/watches.ts';
import type { CountHistory } from './count-history.ts';
import type { Access, BulkTerms, Caller, Looking } from './operation.ts';
import type { ReadInFlight } from './reads/in-flight.ts';
import type { Ingredient, Receipt, Watch } from './receipt.ts';
import type { KeyedRead, Stamp } from './request.ts';
import type { KeyAuthorization } from './wire/key-authorization.ts';

/** Maximum number of keys whose sealing is remembered. */
const MOST_KEYS = 1000;

interface CachedReadsOptions {
  readonly upstream: UpstreamName;
  readonly cache: Cache;
  readonly freshness: Readonly<Record<Resource, Freshness>>;
  readonly authorization: KeyAuthorization;
  readonly refresher: Refresher;
  readonly events?: EventStream | undefined;
  /** Records counts from the responses that the cache takes. */
  readonly counts?: CountHistory | undefined;
  /** The responses saved by the process before, and for the next one; absent if none are. */
  readonly savedCache?: SavedCache | undefined;
  readonly baseUrl: string;
  /** Of times without a zone in responses. */
  readonly timeZone: string;
}

/** The cache for the readers and writers of one upstream: decides which entries serve, and records their use. */
export class CachedReads {
  readonly #options: CachedReadsOptions;
  /** How saved responses are sealed, by the scope of their cache entries. */
  readonly #sealings = new BoundedMap<KeySealing>({ max: MOST_KEYS });

  constructor(options: CachedReadsOptions) {
    this.#options = options;
  }

  /** Whether the process before has saved responses that this process may not have in its cache. */
  get hasSaved(): boolean {
    return this.#options.savedCache?.isEmpty === false;
  }

  /**
   * The entry of a read, whatever its age, unless the credential was rejected and the entry is too old. To be found by a
   * job, or without a caller, does not count as a use.
   */
  find<T>(of: KeyedRead<T>, caller?: Pick<Caller, 'bulk'>): Hit<T> | undefined {
    const { cache } = this.#options;
    const isUse = caller !== undefined && !caller.bulk;
    const look = () => (isUse ? cache.get(of.key) : cache.peek(of.key));
    const hit = look() ?? (this.#recalls(of) ? look() : undefined);
    return hit && this.#allowed(of, hit as Hit<T>);
  }

  /** Adds the response to a read that the process before has saved to the cache, and returns whether there is one. */
  #recalls(of: KeyedRead): boolean {
    const { savedCache } = this.#options;
    if (!savedCache || savedCache.isEmpty) return false;
    return savedCache.recall(this.#sealingOf(of.credential), of.read, (answer) =>
      this.#adopt(of, answer),
    );
  }

  #sealingOf({ partition, secret }: Credential): KeySealing {
    const { baseUrl, savedCache, timeZone, upstream } = this.#options;
    const scope = scopeOf(upstream, partition);
    const known = this.#sealings.get(scope);
    if (known) return known;
    const sealing = new KeySealing(scope, `${baseUrl} ${timeZone} ${secret}`);
    this.#sealings.set(scope, sealing);
    savedCache?.use(sealing);
    return sealing;
  }

  /** An entry, unless the key of its reader was rejected and the entry is too old. */
  #allowed<T>({ credential, key }: KeyedRead<T>, hit: Hit<T>): Hit<T> | undefined {
    const { authorization, cache } = this.#options;
    if (hit.state !== 'fresh' && authorization.refusedAt(credential) !== undefined)
      return undefined;
    if (!credential.ofCaller) return hit;
    // A caller's key may have been rejected since.
    const everything = everythingOf(scopeOfKey(key));
    return cache.holds([everything], hit.entry.stamp.generation) ? hit : undefined;
  }

  /**
   * As `find`, without counting as a use; or the response for which the operation has waited. For a job, an entry that it
   * does not accept is a fallback, and one that it accepts is not. For a dry run, there is none that its writes would have
   * made invalid.
   */
  peek<T>(of: KeyedRead<T>, { caller, mode }: Omit<Looking, 'credential'>): Hit<T> | undefined {
    const hit = this.#peek(of, caller);
    if (mode?.kind !== 'planned' || !hit) return hit;
    const isWritten = mode.dryRun.hasWritten(() => tagsOfAnswer(of, hit.entry.value));
    return isWritten ? undefined : hit;
  }

  #peek<T>(of: KeyedRead<T>, caller: Caller | undefined): Hit<T> | undefined {
    const hit = this.find(of);
    if (hit?.state === 'fresh' || !caller) return hit;
    const entry = this.#waitedFor(of, caller.receipt);
    if (entry) return { entry, state: 'fresh', ageMs: 0 };
    const { bulk } = caller;
    return bulk && hit
      ? { ...hit, state: this.#isAccepted(hit, bulk) ? 'stale' : 'fallback' }
      : hit;
  }

  /**
   * Calls `changed` with every change of the response to a read, and keeps it fresh: past its ttl it is read again
   * before unwatched entries, in the turn of one of its `watchers`, for as long as it is watched. Costs no
   * upstream request itself.
   */
  watch(of: KeyedRead, changed: WatchListener, watchers: Watchers): Watch {
    return {
      ...this.#options.refresher.watches.watch(
        { ...of, tags: tagsInFlight(of) },
        changed,
        watchers,
      ),
      look: () => {
        const hit = this.find(of);
        return hit && this.ingredient(of, hit);
      },
    };
  }

  /** Whether a reader gets an entry immediately; otherwise it waits for a new response. Changes nothing. */
  serves(of: KeyedRead, hit: Hit, { bulk }: Pick<Caller, 'bulk'> = {}): boolean {
    const { page, strict } = of.read;
    if (page?.reload) return false;
    if (hit.state === 'fresh') return true;
    if (strict) return false;
    return bulk ? this.#isAccepted(hit, bulk) : this.#options.refresher.serves(of, hit);
  }

  /** Whether a job accepts an entry past its ttl: it was requested in time, and no write can have changed it since. */
  #isAccepted({ entry: { stamp, tags } }: Hit, { acceptsFrom }: BulkTerms): boolean {
    return stamp.storedAt >= acceptsFrom && this.#options.cache.holds(tags, stamp.generation);
  }

  /**
   * The response that a reader gets immediately, as a part of its operation's response; otherwise the entry that is a
   * fallback. An operation reads a response for which it has waited only once, regardless of its ttl.
   */
  take<T>(
    of: KeyedRead<T>,
    { caller, mode }: Access,
  ): { served?: Pick<CacheEntry<T>, 'value'>; hit?: Hit<T> } {
    const hit = this.find(of, caller);
    const { awaited } = caller.receipt;
    if (hit?.state !== 'fresh' && awaited.has(of.key) && !of.read.page?.reload) {
      const waited = this.#waitedFor(of, caller.receipt);
      if (waited) return { served: waited };
    }
    if (!hit) return {};
    const serves = this.serves(of, hit, caller);
    const ingredient = this.ingredient(of, hit);
    if (serves) this.#uses(ingredient, caller.receipt);
    if (!mode) this.#asked(ingredient, caller, serves);
    return serves ? { served: hit.entry } : { hit };
  }

  /** A reader asked for an entry: it is kept fresh, unless it is known to be outdated. A job does not use it again. */
  #asked(
    ingredient: Ingredient,
    { bulk, receipt }: Pick<Caller, 'bulk' | 'receipt'>,
    served: boolean,
  ): void {
    if (bulk || ingredient.of.read.page?.reload) return;
    const started = this.#options.refresher.asked(ingredient, served);
    if (started > 0) receipt.refreshing(started);
  }

  /** An entry is a part of the response of an operation. */
  used(of: KeyedRead, hit: Hit, receipt: Receipt): void {
    this.#uses(this.ingredient(of, hit), receipt);
  }

  #uses(ingredient: Ingredient, { ingredients }: Receipt): void {
    const { of, stale, upstream } = ingredient;
    const result = stale ? 'stale' : 'hit';
    this.#options.events?.emit('read', { upstream, resource: of.read.resource, result });
    ingredients.add(ingredient);
  }

  /** An entry as an ingredient of a response; `stale` if it is past its ttl, or nothing newer was received. */
  ingredient(of: KeyedRead, { ageMs, entry, state }: Hit, stale = state !== 'fresh'): Ingredient {
    const { freshness, stamp } = entry;
    return { of, upstream: this.#options.upstream, stamp, freshness, state, ageMs, stale };
  }

  /** The response to a read in the cache. */
  entryOf<T>(of: KeyedRead<T>, value: T, stamp: Stamp): CacheEntry<T> {
    const { resource } = of.read;
    const freshness = this.#options.freshness[resource];
    return { value, stamp, resource, freshness, tags: tagsOfAnswer(of, value) };
  }

  /**
   * Stores the entry of a read and returns true, unless a write with any outcome has affected it in flight. `tags`
   * are those by which one could. An entry of a job is probably `readOnce`.
   */
  store(
    of: KeyedRead,
    {
      bytes,
      entry,
      readOnce,
      tags,
    }: { entry: CacheEntry; bytes: number; tags: readonly string[]; readOnce: boolean },
  ): boolean {
    const { cache, counts, savedCache } = this.#options;
    if (!cache.set(of.key, entry, bytes, readOnce, tags)) return false;
    counts?.stored(of, entry.value, entry.stamp);
    savedCache?.save({ ...of, entry, bytes, sealing: this.#sealingOf(of.credential) });
    return true;
  }

  /** Stores a response that the process before has read, unless a write has invalidated it since. */
  #adopt(of: KeyedRead, { bytes, stamp, value }: Answer): boolean {
    const { page } = of.read;
    const { cache, counts } = this.#options;
    const tags = this.tagsOf([...(page?.elsewhereTags ?? []), EVERYTHING], of.credential);
    if (!cache.holds(tags, stamp.generation)) return false;
    const adopted = page ? page.adopt(value, stamp.storedAt) : value;
    if (!cache.set(of.key, this.entryOf(of, adopted, stamp), bytes)) return false;
    counts?.stored(of, adopted, stamp);
    return true;
  }

  /**
   * An operation has waited for the response to a read in flight. It is used for the rest of the operation
   * whatever its ttl, and whether the cache has stored it or not, so that nothing is read twice; a write ends
   * that.
   */
  waited<T>({ entry, of, tags }: ReadInFlight<T>, value: T, { awaited }: Receipt): void {
    // A response of the process before is in the cache.
    const known = entry ?? this.#options.cache.peek(of.key)?.entry;
    if (known?.value !== value) return;
    // All tags by which a write can have affected it since its request was sent.
    awaited.set(of.key, { ...known, tags: [...known.tags, ...tags] });
  }

  /** The response for which an operation has waited, unless a write has touched it since. */
  #waitedFor<T>({ key }: KeyedRead<T>, { awaited }: Receipt): CacheEntry<T> | undefined {
    const entry = awaited.get(key);
    const holds = entry && this.#options.cache.holds(entry.tags, entry.stamp.generation);
    return holds ? (entry as CacheEntry<T>) : undefined;
  }

  /** Tags in the scope of the cache. */
  tagsOf(tags: readonly string[], { partition }: Credential): string[] {
    return scopedTags(scopeOf(this.#options.upstream, partition), tags);
  }

  /** Makes every entry with one of these tags invalid. See `Cache.touch`. */
  touch(tags: readonly string[], credential: Credential): void {
    this.#options.cache.touch(this.tagsOf(tags, credential));
    this.#options.savedCache?.wrote('touched', tags, this.#sealingOf(credential));
  }

  /** Marks every entry with one of these tags as a fallback. See `Cache.doubt`. */
  doubt(tags: readonly string[], credential: Credential): void {
    this.#options.cache.doubt(this.tagsOf(tags, credential));
    this.#options.savedCache?.wrote('doubted', tags, this.#sealingOf(credential));
  }

  /** A write that can affect responses with these tags is about to be sent in a slot: the next process must know it. */
  sends(tags: readonly string[], credential: Credential, slot: string): void {
    this.#options.savedCache?.sends(tags, this.#sealingOf(credential), slot);
  }

  /** The write of a slot is over, or was not sent. */
  sent(credential: Credential, slot: string): void {
    this.#options.savedCache?.sent(this.#sealingOf(credential), slot);
  }
}
