import type { UpstreamName } from '../../errors.ts';
import type { KeyedRead } from '../request.ts';
import { everythingOf, scopeOfKey } from './key.ts';
import { WatchedRound, type WatchedRoundOptions, type Watchers } from './watched-round.ts';

/** What happened to a watched entry: another response was stored, or a write may have outdated it. */
export type WatchedChange = 'renewed' | 'touched';

/** A watch over the cache entry of a read. */
export interface EntryWatch {
  /** Counts as a use, so that the entry is not removed from the cache. */
  use(): void;
  /** The expected time until the entry is refreshed, in ms; null if there is none or the time is unknown. */
  nextRefreshInMs(): number | null;
  /** Ends the watch: its listener is no longer called. A second call has no effect. */
  end(): void;
}

/** A read whose response is to be watched. */
interface WatchedRead extends KeyedRead {
  /** The scoped tags that may affect its response before it has arrived. */
  readonly tags: readonly string[];
}

/** Called synchronously, after the cache has changed. Must not throw. */
export type WatchListener = (change: WatchedChange) => void;

/** A watched key. */
interface Watched extends WatchedRead {
  /** The tag of all entries in its scope. */
  readonly everything: string;
  /** One for each watch. */
  readonly listeners: Set<{ readonly changed: WatchListener; readonly watchers: Watchers }>;
  readonly watchers: Iterable<Watchers>;
  /** The tags of its last entry, which also apply after the entry was removed. */
  lastTags: readonly string[];
  /** Whether its whole scope was touched, and no entry was added since. */
  isForgotten: boolean;
}

interface WatchesOptions extends Omit<WatchedRoundOptions, 'watched'> {
  readonly upstream: UpstreamName;
  /** The last watch of a key has ended. */
  readonly ended: (key: string) => void;
}

/** The watched cache entries of one upstream: notifies watchers of changes, and keeps the entries fresh. */
export class Watches {
  readonly #options: WatchesOptions;
  readonly #watched = new Map<string, Watched>();
  readonly #round: WatchedRound;
  /** Whether the cache notifies this object: only after the first watch, because most gateways have none. */
  #listens = false;

  constructor(options: WatchesOptions) {
    this.#options = options;
    this.#round = new WatchedRound({ ...options, watched: () => this.#watched.values() });
  }

  /** Number of watched keys. */
  get size(): number {
    return this.#watched.size;
  }

  /** Whether a key is watched. */
  has(key: string): boolean {
    return this.#watched.has(key);
  }

  /** How old a watched key counts as, among all that wait to be read again, in milliseconds. */
  ageMs(key: string): number {
    return this.#round.ageMs(key);
  }

  /** A read of a key has failed. */
  failed(key: string): void {
    this.#round.tried(key);
  }

  /** Calls `changed` with every change of the response to a read, until the watch ends. */
  watch(of: WatchedRead, changed: WatchListener, watchers: Watchers): EntryWatch {
    const { key } = of;
    const watched = this.#watched.get(key) ?? this.#begin(of);
    const listener = { changed, watchers };
    watched.listeners.add(listener);
    return {
      use: () => void this.#options.cache.get(key),
      nextRefreshInMs: () =>
        watched.listeners.has(listener) ? this.#round.nextRefreshInMs(watched) : null,
      end: () => {
        if (!watched.listeners.delete(listener) || watched.listeners.size > 0) return;
        this.#watched.delete(key);
        if (this.#watched.size === 0) this.#round.end();
        this.#options.ended(key);
      },
    };
  }

  #begin(of: WatchedRead): Watched {
    const { cache, upstream } = this.#options;
    if (!this.#listens) {
      this.#listens = true;
      cache.listen(`${upstream}:`, (key) => this.#renewed(key));
      cache.onTouch((tags) => this.#touched(tags));
    }
    const hit = cache.peek(of.key);
    const listeners: Watched['listeners'] = new Set();
    const watched: Watched = {
      ...of,
      everything: everythingOf(scopeOfKey(of.key)),
      listeners,
      watchers: {
        *[Symbol.iterator]() {
          for (const { watchers } of listeners) yield watchers;
        },
      },
      lastTags: hit?.entry.tags ?? [],
      isForgotten: false,
    };
    this.#watched.set(of.key, watched);
    if (hit) this.#round.expect(of.key, hit);
    return watched;
  }

  /** The cache has a new entry. */
  #renewed(key: string): void {
    const watched = this.#watched.get(key);
    const hit = watched && this.#options.cache.peek(key);
    // A response that is too large for the cache has no entry: reading it again would have the same result.
    if (!hit) return;
    watched.lastTags = hit.entry.tags;
    watched.isForgotten = false;
    this.#round.tried(key);
    this.#round.expect(key, hit);
    notify(watched, 'renewed');
  }

  /** A write has affected tags; null if any response may be outdated. */
  #touched(tags: readonly string[] | null): void {
    if (this.#watched.size === 0) return;
    const touched = tags && new Set(tags);
    const wrong = [...this.#watched.values()].filter((each) => this.#isWrong(each, touched));
    for (const watched of wrong) notify(watched, 'touched');
  }

  #isWrong(watched: Watched, touched: ReadonlySet<string> | null): boolean {
    const { everything, key, lastTags, tags } = watched;
    const isAll = touched?.has(everything) ?? false;
    const isTouched = (tag: string): boolean => touched?.has(tag) ?? false;
    if (touched && !isAll && !tags.some(isTouched) && !lastTags.some(isTouched)) return false;
    const { cache } = this.#options;
    const entry = cache.peek(key)?.entry;
    // An entry that already shows the write was read after it: this is the second notification.
    if (entry && cache.holds([everything, ...entry.tags], entry.stamp.generation)) return false;
    if (!isAll) return true;
    // Notifies once: a reader with a rejected key would otherwise remove all entries again.
    const isNews = !watched.isForgotten;
    watched.isForgotten = true;
    return isNews;
  }
}

/** Notifies all watchers of a key. Watches can begin and end during this. */
function notify({ listeners }: Watched, change: WatchedChange): void {
  for (const listener of Array.from(listeners)) {
    if (listeners.has(listener)) listener.changed(change);
  }
}
