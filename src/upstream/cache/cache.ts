import { BoundedMap } from '../../bounded-map.ts';
import type { Clock } from '../../clock.ts';

/** How long an answer is worth something, in milliseconds, each period after the one before. */
export interface Freshness {
  /** As good as new. */
  readonly ttlMs: number;
  /** Then: served at once while it is refreshed behind the reader's back. */
  readonly staleWhileRevalidateMs: number;
  /** Then: served only when the upstream or the budget has nothing newer. */
  readonly staleIfErrorMs: number;
}

/** A kept answer. */
export interface Entry<T = unknown> {
  readonly value: T;
  /** When it left the upstream, on `clock.now()`. */
  readonly storedAt: number;
  readonly freshness: Freshness;
  readonly tags: readonly string[];
  /** The point in the order of writes up to which the answer is known to hold. */
  readonly asOf: number;
}

/** What may be done with a kept answer by its age. */
export type EntryState = 'fresh' | 'stale' | 'fallback';

/** A kept answer, and what may be done with it at its age. */
export interface Kept {
  readonly entry: Entry;
  readonly state: EntryState;
  readonly ageMs: number;
}

/** After so many tags the oldest writes are forgotten, along with every answer from before them. */
const TAGS_REMEMBERED = 10_000;

/**
 * Answers that are kept, by key, bounded in bytes. Keys and tags are scoped by the caller of this
 * class to one upstream and credential.
 *
 * A write makes answers invalid by tag: each write gets the next number, an answer carries the number
 * at which its request left, and is worth nothing once one of its tags has seen a later write. So a
 * read in flight across a write can neither be kept nor shared with readers who come after the write.
 */
export class Cache {
  readonly #clock: Clock;
  readonly #entries: BoundedMap<{ readonly entry: Entry; readonly bytes: number }>;
  readonly #touched = new Map<string, number>();
  #writes = 0;
  /** Answers from before this write are invalid, whatever their tags. */
  #floor = 0;

  constructor(options: { readonly clock: Clock; readonly maxBytes: number }) {
    this.#clock = options.clock;
    this.#entries = new BoundedMap({
      max: options.maxBytes,
      // What a key and the bookkeeping of an entry take besides the answer itself.
      weigh: (key, { bytes }) => bytes + key.length + 256,
    });
  }

  /** Memory taken, as far as it is known, and how many answers are kept. */
  get size(): { readonly bytes: number; readonly entries: number } {
    return { bytes: this.#entries.weight, entries: this.#entries.size };
  }

  /** The number of the latest write: what an answer requested now will hold for. */
  get now(): number {
    return this.#writes;
  }

  /** Whether an answer requested at `asOf` still holds, as far as our own writes go. */
  holds(tags: readonly string[], asOf: number): boolean {
    if (asOf < this.#floor) return false;
    return tags.every((tag) => (this.#touched.get(tag) ?? 0) <= asOf);
  }

  /** Makes every answer with one of these tags invalid, kept or on its way. */
  touch(tags: readonly string[]): void {
    this.#writes += 1;
    if (this.#touched.size + tags.length > TAGS_REMEMBERED) {
      this.#touched.clear();
      this.#floor = this.#writes;
    }
    for (const tag of tags) this.#touched.set(tag, this.#writes);
  }

  /** The kept answer under a key if it is still of any use. */
  get(key: string): Kept | undefined {
    return this.#judge(key, this.#entries.get(key)?.entry);
  }

  /** As `get`, without counting as a use. */
  peek(key: string): Kept | undefined {
    return this.#judge(key, this.#entries.peek(key)?.entry);
  }

  /** Keeps an answer of about `bytes` bytes, unless a write has already made it invalid. */
  set(key: string, entry: Entry, bytes: number): void {
    if (!this.holds(entry.tags, entry.asOf)) return;
    this.#entries.set(key, { entry, bytes });
  }

  #judge(key: string, entry: Entry | undefined): Kept | undefined {
    if (!entry) return undefined;
    const ageMs = this.#clock.now() - entry.storedAt;
    const state = stateOf(entry.freshness, ageMs);
    if (!state || !this.holds(entry.tags, entry.asOf)) {
      this.#entries.delete(key);
      return undefined;
    }
    return { entry, state, ageMs };
  }
}

function stateOf(freshness: Freshness, ageMs: number): EntryState | undefined {
  const { ttlMs, staleWhileRevalidateMs, staleIfErrorMs } = freshness;
  if (ageMs < ttlMs) return 'fresh';
  if (ageMs < ttlMs + staleWhileRevalidateMs) return 'stale';
  if (ageMs < ttlMs + staleWhileRevalidateMs + staleIfErrorMs) return 'fallback';
  return undefined;
}
