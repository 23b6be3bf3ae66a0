import { BoundedMap } from '../../bounded-map.ts';
import type { AtOnce } from '../../scheduling/at-once.ts';
import type { Clock } from '../../scheduling/clock.ts';
import type { Stamp } from '../request.ts';
import { type Generations, ProcessGenerations, type TouchListener } from './generations.ts';
import { everythingOf, scopeOfKey } from './key.ts';

/** How long an answer is worth something, in milliseconds, each period after the one before. */
export interface Freshness {
  /** As good as new. */
  readonly ttlMs: number;
  /** Then: served at once while it is refreshed behind the reader's back. */
  readonly staleWhileRevalidateMs: number;
  /** Then: served only when the upstream or the budget has nothing newer. */
  readonly staleIfErrorMs: number;
}

/** An answer as it came, and about how many bytes it takes. */
export interface Answer<T = unknown> {
  readonly value: T;
  readonly bytes: number;
  readonly stamp: Stamp;
}

/** An answer in the cache. */
export interface CacheEntry<T = unknown> {
  readonly value: T;
  /** Another answer to the same read has another one. */
  readonly stamp: Stamp;
  /** What it is an answer about, e.g. `channels`. */
  readonly resource: string;
  readonly freshness: Freshness;
  readonly tags: readonly string[];
}

/** What may be done with an entry at its age. */
export type EntryState = 'fresh' | 'stale' | 'fallback';

/** An entry that was found, and what may be done with it. */
export interface Hit<T = unknown> {
  readonly entry: CacheEntry<T>;
  readonly state: EntryState;
  readonly ageMs: number;
}

/** Called with the key of every entry that is new. Must not throw. */
type CacheListener = (key: string) => void;

/**
 * Answers by key, bounded in bytes. Keys and tags are scoped by the caller of this class to one upstream
 * and partition. A write makes entries invalid by tag, or doubtful: see `Validity`.
 */
export class Cache {
  readonly #clock: Clock;
  readonly #entries: BoundedMap<{ readonly entry: CacheEntry; readonly bytes: number }>;
  /** The keys of all entries, by the scope that they begin with. */
  readonly #keysByScope = new Map<string, Set<string>>();
  readonly #generations: Generations;
  readonly #listeners: { readonly begins: string; readonly listener: CacheListener }[] = [];
  readonly #touchListeners: TouchListener[] = [];
  #version = 0;

  constructor(options: {
    readonly clock: Clock;
    readonly maxBytes: number;
    /** Knows of all writes; by default there are none but those of this process. */
    readonly generations?: Generations | undefined;
  }) {
    this.#clock = options.clock;
    this.#generations = options.generations ?? new ProcessGenerations();
    this.#entries = new BoundedMap({
      max: options.maxBytes,
      // What a key and the bookkeeping of an entry take besides the answer itself.
      weigh: (key, { bytes }) => bytes + key.length + 256,
      onForget: (key) => this.#unlist(key),
    });
  }

  /** Memory taken, as far as it is known, and the number of entries. */
  get size(): { readonly bytes: number; readonly entries: number } {
    return { bytes: this.#entries.weight, entries: this.#entries.size };
  }

  /** Another number after every entry that is new or gone and after every write. */
  get version(): number {
    return this.#version + this.#generations.shifts;
  }

  /** What an answer to a request that leaves now is stored with. */
  stamp(): Stamp {
    return { storedAt: this.#clock.now(), generation: this.#generations.latest };
  }

  /** Whether no write known here, of whatever outcome, has touched an answer since a generation. */
  holds(tags: readonly string[], generation: number): boolean {
    return this.#generations.holds(tags, generation);
  }

  /** Whether an answer asked for at a generation shows every write that was answered anywhere. */
  isCurrent(tags: readonly string[], generation: number): boolean {
    return this.#generations.validity(tags, generation) === 'valid';
  }

  /**
   * Makes every answer with one of these tags invalid, stored or in flight: here at once, and on all replicas
   * when the promise resolves. `permit` names the slot that the write left in.
   */
  touch(tags: readonly string[], permit?: string): AtOnce<void> {
    return this.#generations.touch(tags, permit);
  }

  /** As `touch` for a write whose outcome is unknown: answers serve when nothing newer can be had. */
  doubt(tags: readonly string[], permit?: string): AtOnce<void> {
    return this.#generations.doubt(tags, permit);
  }

  /** The entry of a key if it is still of any use. */
  get(key: string): Hit | undefined {
    return this.#judge(key, this.#entries.get(key)?.entry);
  }

  /** As `get`, without counting as a use. */
  peek(key: string): Hit | undefined {
    return this.#judge(key, this.#entries.peek(key)?.entry);
  }

  /** The keys of all entries. Entries may come and go while they are looked through. */
  *keys(): Generator<string> {
    for (const keys of this.#keysByScope.values()) yield* keys;
  }

  /** How the entry of a key stands, for people: nothing changes by it. `undefined` where it is of no use any more. */
  look(
    key: string,
  ): { readonly resource: string; readonly fresh: boolean; readonly ageMs: number } | undefined {
    const entry = this.#entries.peek(key)?.entry;
    const assessed = entry && this.#assess(entry);
    if (!entry || assessed === 'useless') return undefined;
    const ageMs = this.#clock.now() - entry.stamp.storedAt;
    return { resource: entry.resource, fresh: assessed?.state === 'fresh', ageMs };
  }

  /** Stores an answer of about `bytes` bytes and returns true, unless a write has already made it invalid. */
  set(key: string, entry: CacheEntry, bytes: number): boolean {
    if (this.#generations.validity(entry.tags, entry.stamp.generation) === 'invalid') return false;
    this.#version += 1;
    this.#entries.set(key, { entry, bytes });
    // Not every entry is taken: one can be too heavy.
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

  /** Calls a listener for every new entry whose key begins like this, as all keys of an upstream do. */
  listen(begins: string, listener: CacheListener): void {
    this.#listeners.push({ begins, listener });
  }

  /** Notifies a listener of every write from now on, and of every scope whose entries are forgotten. */
  onTouch(listener: TouchListener): void {
    this.#touchListeners.push(listener);
    this.#generations.onTouch(listener);
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

  /** What may be done with an entry: nothing now where there is no answer, and nothing ever for one that is useless. */
  #assess(entry: CacheEntry): Hit | 'useless' | undefined {
    const ageMs = this.#clock.now() - entry.stamp.storedAt;
    const validity = this.#generations.validity(entry.tags, entry.stamp.generation);
    const { ttlMs, staleIfErrorMs, staleWhileRevalidateMs } = entry.freshness;
    const staleUntilMs = ttlMs + staleWhileRevalidateMs;
    if (ageMs >= staleUntilMs + staleIfErrorMs || validity === 'invalid') return 'useless';
    let state: EntryState = ageMs < ttlMs ? 'fresh' : 'stale';
    if (ageMs >= staleUntilMs) state = 'fallback';
    if (validity === 'valid') return { entry, state, ageMs };
    if (validity === 'hidden') return undefined;
    if (validity === 'fallback-only') return { entry, state: 'fallback', ageMs };
    return { entry, state: state === 'fresh' ? 'stale' : state, ageMs };
  }
}
