import type { UpstreamName } from '../errors.ts';
import type { Asker, SavedKind } from '../observe/events.ts';
import type { Resource } from '../resources.ts';
import { UnderWay } from '../scheduling/at-once.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { CacheEntry, EntryState, Freshness } from './cache/cache.ts';
import { changesAt } from './cache/refresher.ts';
import type { EntryWatch } from './cache/watches.ts';
import { WriteMessages } from './messages.ts';
import type { KeyedRead, Stamp } from './request.ts';
import { Spending } from './spending.ts';

/** The cost of one operation, as in `extensions.upstream`. */
export interface ReceiptSummary {
  /** Number of requests sent for this operation. */
  readonly calls: number;
  /** Number of requests that were avoided, */
  readonly saved: {
    /** ... because a cache entry was used. */
    readonly cache: number;
    /** ... because a request in flight for another reader was shared. */
    readonly coalesced: number;
  };
  /** Number of used cache entries that were past their ttl. */
  readonly stale: number;
  /** Number of requests in the background that this operation has started, mostly because of stale entries. */
  readonly refreshes: number;
  /** Age of the oldest response used, in milliseconds. */
  readonly maxAgeMs: number;
  /** Time that the operation waited for slots of the rate limit, in milliseconds. */
  readonly waitedMs: number;
}

/**
 * Counts what one operation costs. Each response is counted once per operation, by its source when it was first
 * used; a request is counted when it is sent, for the operation that it is sent for.
 */
export class Receipt {
  /** The requests of other operations that were shared. */
  readonly #joined = new Map<string, Pick<SavedKind, 'upstream' | 'resource'>>();
  /** The sources of responses that did not first come from cache entries. */
  readonly #sources = new Map<string, 'call' | 'coalesced'>();
  /** The cache entries that the response uses. */
  readonly ingredients = new Ingredients();
  /** The responses that the operation has waited for, by key. See `CachedReads.take`. */
  readonly awaited = new Map<string, CacheEntry>();
  readonly #calls: Record<UpstreamName, number> = { LINKS: 0, MARKET: 0 };
  #refreshes = 0;
  readonly #waited: Stopwatch;
  /** The upstream requests that the operation may still send. */
  readonly spending = new Spending();
  /** What the upstream said about the writes of the operation. */
  readonly messages = new WriteMessages();
  /** Time for which the operation has waited for something newer than its fallbacks. */
  readonly withFallback: Stopwatch;
  /** The operation; `null` until it is known, and if there is none. */
  asker: Asker | null = null;
  #passing = false;
  readonly #underWay = new UnderWay<'any'>();

  constructor(clock: Clock) {
    this.#waited = new Stopwatch(clock);
    this.withFallback = new Stopwatch(clock);
  }

  /** The response contains a value that is only valid now. */
  changesWithTime(): void {
    this.#passing = true;
  }

  /** Whether the response to the same operation can change although its entries do not. */
  get passing(): boolean {
    return this.#passing;
  }

  /** A request of another operation was shared. */
  joined(key: string, of: Pick<SavedKind, 'upstream' | 'resource'>): void {
    if (this.#sources.has(key) || this.ingredients.has(key)) return;
    this.#sources.set(key, 'coalesced');
    this.#joined.set(key, of);
  }

  /** A request is sent for this operation. */
  sent(upstream: UpstreamName, key: string): void {
    this.#calls[upstream] += 1;
    this.#sources.set(key, 'call');
    this.#joined.delete(key);
  }

  /** A request that was about to be sent was not sent. */
  notSent(upstream: UpstreamName, key: string): void {
    this.#calls[upstream] -= 1;
    this.#sources.delete(key);
  }

  /** This operation has started requests that it does not wait for. */
  refreshing(count: number): void {
    this.#refreshes += count;
  }

  /** Marks the start and end of a wait for a slot; parallel waits count once. */
  waitBegins(): void {
    this.#waited.begin();
  }

  waitEnds(): void {
    this.#waited.end();
  }

  /** Runs one read or write of the operation; `idle` resolves when none is left. */
  async track<T>(work: () => Promise<T>): Promise<T> {
    return this.#underWay.track('any', work);
  }

  /** Resolves when no read or write of the operation is running, and none follows from the last. */
  async idle(): Promise<void> {
    await this.#underWay.ended(['any']);
  }

  /** Milliseconds that this operation has waited for turns so far. */
  get waitedMs(): number {
    return this.#waited.ms;
  }

  /** Number of requests sent to one upstream for this operation. */
  calls(upstream: UpstreamName): number {
    return this.#calls[upstream];
  }

  /** The avoided requests of `summary.saved`, by resource. */
  get savedKinds(): readonly SavedKind[] {
    const kinds: SavedKinds = [];
    for (const [key, { of, upstream }] of this.ingredients.latest) {
      if (!this.#sources.has(key)) addSaved(kinds, upstream, of.read.resource, 1);
    }
    for (const { resource, upstream } of this.#joined.values()) {
      addSaved(kinds, upstream, resource, 1);
    }
    return kinds;
  }

  get summary(): ReceiptSummary {
    const { waitedMs } = this;
    let cache = 0;
    let stale = 0;
    let maxAgeMs = 0;
    for (const [key, entry] of this.ingredients.latest) {
      if (!this.#sources.has(key)) cache += 1;
      if (entry.stale) stale += 1;
      maxAgeMs = Math.max(maxAgeMs, entry.ageMs);
    }
    let coalesced = 0;
    for (const source of this.#sources.values()) if (source === 'coalesced') coalesced += 1;
    return {
      calls: this.#calls.LINKS + this.#calls.MARKET,
      saved: { cache, coalesced },
      stale,
      refreshes: this.#refreshes,
      maxAgeMs: Math.round(maxAgeMs),
      waitedMs: Math.round(waitedMs),
    };
  }
}

/** Numbers of avoided requests, by resource: few, so they are found without a key. */
export type SavedKinds = { -readonly [Member in keyof SavedKind]: SavedKind[Member] }[];

/** Adds avoided requests of one resource. It is called for each read of a response from the cache. */
export function addSaved(
  kinds: SavedKinds,
  upstream: UpstreamName,
  resource: string,
  count: number,
): void {
  for (const known of kinds) {
    if (known.resource === resource && known.upstream === upstream) {
      known.count += count;
      return;
    }
  }
  kinds.push({ upstream, resource, count });
}

/** Measures a duration in milliseconds; parallel runs count once. */
class Stopwatch {
  readonly #clock: Clock;
  #totalMs = 0;
  #running = 0;
  #since = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Another run starts. */
  begin(): void {
    if (this.#running === 0) this.#since = this.#clock.now();
    this.#running += 1;
  }

  /** A run ends. */
  end(): void {
    this.#running -= 1;
    if (this.#running === 0) this.#totalMs += this.#clock.now() - this.#since;
  }

  /** Milliseconds so far. */
  get ms(): number {
    return this.#totalMs + (this.#running > 0 ? this.#clock.now() - this.#since : 0);
  }
}

/** A cache entry that served a read, without its value, so that the value can be freed earlier. */
export interface Ingredient {
  readonly of: KeyedRead;
  readonly upstream: UpstreamName;
  readonly stamp: Stamp;
  readonly freshness: Freshness;
  /** Its state at the time of use, and its age in milliseconds. */
  readonly state: EntryState;
  readonly ageMs: number;
  /** Whether it was past its ttl, or was used because no newer response arrived. */
  readonly stale: boolean;
}

/** A watch over an ingredient. */
export interface Watch extends EntryWatch {
  /** The current entry, without counting as a use. Absent if there is none that may be served. */
  look(): Ingredient | undefined;
}

/** Cache entries of one kind that an operation has used. */
export interface ServedKind {
  /** The sum of the next two members. */
  readonly kind: string;
  readonly upstream: UpstreamName;
  readonly resource: Resource;
  readonly count: number;
}

/** The cache entries that a response uses, in the order of use. */
export class Ingredients {
  readonly #served: Ingredient[] = [];
  /** The last entry of each key, if computed since the last was added. */
  #latest: ReadonlyMap<string, Ingredient> | null = null;
  #kinds: readonly ServedKind[] | null = null;
  /** When what is made of them changes although none of them does, on `clock.now()`. */
  #until = Number.POSITIVE_INFINITY;

  /** Adds a used entry. */
  add(ingredient: Ingredient): void {
    this.#served.push(ingredient);
    this.#latest = null;
    this.#kinds = null;
  }

  /** What is made of them changes at a time, on `clock.now()`, although none of them does. */
  holdUntil(time: number): void {
    this.#until = Math.min(this.#until, time);
  }

  /** Every use of an entry. */
  get served(): readonly Ingredient[] {
    return this.#served;
  }

  /** Each used entry once, to be stored for long. */
  distinct(): Ingredients {
    const distinct = new Ingredients();
    distinct.holdUntil(this.#until);
    for (const each of this.latest.values()) distinct.add(each);
    return distinct;
  }

  /** Whether an entry of a key was used. */
  has(key: string): boolean {
    return this.#served.some(({ of }) => of.key === key);
  }

  /**
   * Each entry as of its last use; stale if it ever was, because a newer one may have been requested without
   * success.
   */
  get latest(): ReadonlyMap<string, Ingredient> {
    if (this.#latest) return this.#latest;
    const latest = new Map<string, Ingredient>();
    for (const each of this.#served) {
      const wasStale = !each.stale && latest.get(each.of.key)?.stale === true;
      latest.set(each.of.key, wasStale ? { ...each, stale: true } : each);
    }
    this.#latest = latest;
    return latest;
  }

  /** Number of entries of each kind. */
  get kinds(): readonly ServedKind[] {
    if (this.#kinds) return this.#kinds;
    const kinds = new Map<string, ServedKind>();
    for (const { of, upstream } of this.latest.values()) {
      const { resource } = of.read;
      const kind = `${upstream} ${resource}`;
      const count = (kinds.get(kind)?.count ?? 0) + 1;
      kinds.set(kind, { kind, upstream, resource, count });
    }
    this.#kinds = [...kinds.values()];
    this.#latest = null;
    return this.#kinds;
  }

  /** The entry that was requested first. */
  get oldest(): Ingredient | undefined {
    let oldest: Ingredient | undefined;
    for (const each of this.#served) {
      if (!oldest || each.stamp.storedAt < oldest.stamp.storedAt) oldest = each;
    }
    return oldest;
  }

  /** When the first of them becomes stale or is refreshed, on `clock.now()`; `Infinity` if there are none. */
  changesAt(now: number): number {
    return Math.min(this.#until, soonestChange(this.#served, now));
  }
}

/** When the first of these becomes stale or is refreshed, on `clock.now()`; `Infinity` if there are none. */
function soonestChange(served: readonly Ingredient[], now: number): number {
  let at = Number.POSITIVE_INFINITY;
  for (const each of served) at = Math.min(at, changesAt(each, now));
  return at;
}
