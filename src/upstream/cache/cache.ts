import { BoundedMap } from '../../bounded-map.ts';
import type { Clock } from '../../scheduling/clock.ts';
import type { Stamp } from '../request.ts';
import { Generations, type TouchListener } from './generations.ts';
import { everythingOf, scopeOfKey } from './key.ts';

/** How long a response can be used, in milliseconds, each period after the previous one. */
export interface Freshness {
  /** Fresh. */
  readonly ttlMs: number;
  /** Then: served immediately while it is refreshed in the background. */
  readonly staleWhileRevalidateMs: number;
  /** Then: served only if the upstream or the budget provides nothing newer. */
  readonly staleIfErrorMs: number;
}

/** A decoded response, and its approximate size in bytes. */
export interface Answer<T = unknown> {
  readonly value: T;
  readonly bytes: number;
  readonly stamp: Stamp;
}

/** A response in the cache. */
export interface CacheEntry<T = unknown> {
  readonly value: T;
  /** Unique to this response among those to the same read. */
  readonly stamp: Stamp;
  /** The resource of the response, e.g. `channels`. */
  readonly resource: string;
  readonly freshness: Freshness;
  readonly tags: readonly string[];
}

/** How an entry of this age may be used. */
export type EntryState = 'fresh' | 'stale' | 'fallback';

/** A found entry, and how it may be used. */
export interface Hit<T = unknown> {
  readonly entry: CacheEntry<T>;
  readonly state: EntryState;
  readonly ageMs: number;
}

/** Maximum size of the entries that only jobs have read, in bytes. */
const READ_ONCE_BYTES = 1024 * 1024;

/** Called with the key of every entry that is new. Must not throw. */
type CacheListener = (key: string) => void;

/**
 * Responses by key, bounded in bytes. Keys and tags are scoped by the caller of this class to one upstream and
 * partition. A write makes entries invalid by tag, or doubtful: see `Validity`.
 */
export class Cache {
  readonly #clock: Clock;
  readonly #entries: BoundedMap<{ readonly entry: CacheEntry; readonly bytes: number }>;
  /** The sizes of entries that only jobs have read, in the order in which they were stored. */
  readonly #readOnce = new Map<string, number>();
  #readOnceBytes = 0;
  /** The keys of all entries, by the scope that they begin with. */
  readonly #keysByScope = new Map<string, Set<string>>();
  readonly #generations: Generations;
  readonly #listeners: { readonly begins: string; readonly listener: CacheListener }[] = [];
  readonly #touchListeners: TouchListener[] = [];
  #version = 0;

  constructor(options: {
    readonly clock: Clock;
    readonly maxBytes: number;
    /** Knows all writes; by default only those of this process. */
    readonly generations?: Generations | undefined;
  }) {
    this.#clock = options.clock;
    this.#generations = options.generations ?? new Generations();
    this.#generations.onTouch(() => {
      this.#version += 1;
    });
    this.#entries = new BoundedMap({
      max: options.maxBytes,
      // The size of a key and the bookkeeping of an entry, without the response itself.
      weigh: (key, { bytes }) => bytes + key.length + 256,
      onForget: (key) => {
        this.#unlist(key);
        this.#used(key);
      },
    });
  }

  /** Estimated memory of the entries, and their number. */
  get size(): { readonly bytes: number; readonly entries: number } {
    return { bytes: this.#entries.weight, entries: this.#entries.size };
  }

  /** Changes after every added or removed entry and after every write. */
  get version(): number {
    return this.#version;
  }

  /** The stamp for the response to a request that is sent now. */
  stamp(): Stamp {
    return { storedAt: this.#clock.now(), generation: this.#generations.latest };
  }

  /** Whether no write known here, with any outcome, has affected a response since a generation. */
  holds(tags: readonly string[], generation: number): boolean {
    return this.#generations.validity(tags, generation) === 'valid';
  }

  /** Invalidates every response with one of these tags, stored or in flight. */
  touch(tags: readonly string[]): void {
    this.#generations.touch(tags);
  }

  /** Like `touch`, for a write with an unknown outcome: responses are served if nothing newer is available. */
  doubt(tags: readonly string[]): void {
    this.#generations.doubt(tags);
  }

  /** The entry of a key if it is still usable. */
  get(key: string): Hit | undefined {
    this.#used(key);
    return this.#judge(key, this.#entries.get(key)?.entry);
  }

  /** As `get`, without counting as a use. */
  peek(key: string): Hit | undefined {
    return this.#judge(key, this.#entries.peek(key)?.entry);
  }

  /** The keys of all entries. Entries may be added and removed during the iteration. */
  *keys(): Generator<string> {
    for (const keys of this.#keysByScope.values()) yield* keys;
  }

  /** The state of a key's entry, for display: it changes nothing. `undefined` if the entry is no longer usable. */
  look(
    key: string,
  ): { readonly resource: string; readonly fresh: boolean; readonly ageMs: number } | undefined {
    const entry = this.#entries.peek(key)?.entry;
    const assessed = entry && this.#assess(entry);
    if (!entry || assessed === 'useless') return undefined;
    const ageMs = this.#clock.now() - entry.stamp.storedAt;
    return { resource: entry.resource, fresh: assessed?.state === 'fresh', ageMs };
  }

  /**
   * Stores a response of about `bytes` bytes and returns true, unless a write has already invalidated it. One that was
   * requested with tags `inFlight` is not stored either if a write with any outcome has affected it since. Responses that
   * are probably `readOnce`, by a job that reads whole lists, displace only each other until they are used.
   */
  set(
    key: string,
    entry: CacheEntry,
    bytes: number,
    readOnce = false,
    inFlight?: readonly string[],
  ): boolean {
    const tags = inFlight ? [...entry.tags, ...inFlight] : entry.tags;
    const validity = this.#generations.validity(tags, entry.stamp.generation);
    if (validity === 'invalid' || (inFlight && validity !== 'valid')) return false;
    this.#version += 1;
    const isUsed = this.#entries.peek(key) !== undefined && !this.#readOnce.has(key);
    this.#used(key);
    this.#entries.set(key, { entry, bytes });
    if (readOnce && !isUsed) this.#keepOnce(key, bytes);
    // An entry that is too large is not stored.
    if (this.#entries.peek(key)) this.#list(key);
    for (const { begins, listener } of this.#listeners) if (key.startsWith(begins)) listener(key);
    return true;
  }

  /** Forgets every entry of a scope, at a cost in proportion to their number. */
  forget(scope: string): void {
    this.#version += 1;
    const keys = this.#keysByScope.get(scope);
    if (!keys) return;
    for (const key of keys) this.#entries.delete(key);
    for (const listener of this.#touchListeners) listener([everythingOf(scope)]);
  }

  /** Calls a listener for every new entry whose key starts with this prefix, as all keys of an upstream do. */
  listen(begins: string, listener: CacheListener): void {
    this.#listeners.push({ begins, listener });
  }

  /** Notifies a listener of every write from now on, and of every scope whose entries are removed. */
  onTouch(listener: TouchListener): void {
    this.#touchListeners.push(listener);
    this.#generations.onTouch(listener);
  }

  #keepOnce(key: string, bytes: number): void {
    this.#readOnce.set(key, bytes);
    this.#readOnceBytes += bytes;
    for (const oldest of this.#readOnce.keys()) {
      if (this.#readOnceBytes <= READ_ONCE_BYTES) return;
      this.#entries.delete(oldest);
    }
  }

  /** An entry is not one of those that only jobs have read, any more. */
  #used(key: string): void {
    const bytes = this.#readOnce.get(key);
    if (bytes === undefined) return;
    this.#readOnceBytes -= bytes;
    this.#readOnce.delete(key);
  }

  #list(key: string): void {
    const scope = scopeOfKey(key);
    const keys = this.#keysByScope.get(scope) ?? new Set();
    this.#keysByScope.set(scope, keys.add(key));
  }

  #unlist(key: string): void {
    const scope = scopeOfKey(key);
    const keys = this.#keysByScope.get(scope);
    keys?.delete(key);
    if (keys?.size === 0) this.#keysByScope.delete(scope);
  }

  #judge(key: string, entry: CacheEntry | undefined): Hit | undefined {
    const assessed = entry && this.#assess(entry);
    if (assessed !== 'useless') return assessed;
    this.#version += 1;
    this.#entries.delete(key);
    return undefined;
  }

  /** How an entry can be used: not now if there is no response, and never if it is too old. */
  #assess(entry: CacheEntry): Hit | 'useless' | undefined {
    const ageMs = this.#clock.now() - entry.stamp.storedAt;
    const validity = this.#generations.validity(entry.tags, entry.stamp.generation);
    const { ttlMs, staleIfErrorMs, staleWhileRevalidateMs } = entry.freshness;
    const staleUntilMs = ttlMs + staleWhileRevalidateMs;
    if (ageMs >= staleUntilMs + staleIfErrorMs || validity === 'invalid') return 'useless';
    let state: EntryState = ageMs < ttlMs ? 'fresh' : 'stale';
    if (ageMs >= staleUntilMs) state = 'fallback';
    if (validity === 'valid') return { entry, state, ageMs };
    return { entry, state: 'fallback', ageMs };
  }
}
