import type { Cache, Stamp } from './cache/cache.ts';
import { scopedTags, scopeOfKey } from './cache/key.ts';
import type { Read } from './request.ts';
import type { SharedRequest } from './shared-request.ts';

/** A read that has been asked for and not answered. */
export interface ReadInFlight<T = unknown> {
  readonly read: Read<T>;
  readonly request: SharedRequest<T>;
  /** Null until its request leaves: only then is it settled which writes its answer will show. */
  stamp: Stamp | null;
}

/** The reads in flight, by key: equal reads are one request. */
export class SharedRequests {
  readonly #cache: Cache;
  readonly #inFlight = new Map<string, ReadInFlight>();

  constructor(cache: Cache) {
    this.#cache = cache;
  }

  /** The request of a key, unless a write has made what it will bring too old for new readers. */
  find(key: string): SharedRequest<unknown> | undefined {
    const open = this.#inFlight.get(key);
    if (!open || open.request.done) return undefined;
    const { read, request, stamp } = open;
    const tags = scopedTags(scopeOfKey(key), [...read.tags, ...(read.inFlightTags ?? [])]);
    return stamp === null || this.#cache.holds(tags, stamp.generation) ? request : undefined;
  }

  /** Lets later readers of this key find a request, for as long as it is not answered. */
  add(key: string, open: ReadInFlight): void {
    this.#inFlight.set(key, open);
    void open.request.settled.finally(() => {
      if (this.#inFlight.get(key) === open) this.#inFlight.delete(key);
    });
  }
}
