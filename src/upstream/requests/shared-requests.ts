import { inBackground } from '../../at-once.ts';
import type { Cache, Stamp } from '../cache/cache.ts';
import { scopedTags, scopeOfKey, tagsInFlight } from '../cache/key.ts';
import type { Read } from '../request.ts';
import type { SharedRequest } from './shared-request.ts';

/** A read that has been asked for and not answered. */
export interface ReadInFlight<T = unknown> {
  readonly read: Read<T>;
  readonly request: SharedRequest<T>;
  /** Null until its request leaves: only then is it settled which writes its answer will show. */
  stamp: Stamp | null;
  /** Its answer is for those who wait for it already, and is not stored. */
  orphaned?: boolean;
  /** It is sent for those who watch its key, and for nobody else. */
  forWatchers?: boolean;
}

/** The reads in flight, by key: equal reads are one request. */
export class SharedRequests {
  readonly #cache: Cache;
  readonly #inFlight = new Map<string, ReadInFlight>();
  /** How often a key is asked for by operations that have not decided on a request yet. */
  readonly #expected = new Map<string, number>();

  constructor(cache: Cache) {
    this.#cache = cache;
  }

  /** The request of a key, unless a write has made what it will bring too old for new readers. */
  find(key: string): SharedRequest<unknown> | undefined {
    const open = this.#inFlight.get(key);
    if (!open || open.request.done) return undefined;
    const { read, request, stamp } = open;
    const tags = scopedTags(scopeOfKey(key), tagsInFlight(read));
    return stamp === null || this.#cache.isCurrent(tags, stamp.generation) ? request : undefined;
  }

  /** What is in flight under a key, whether it is of any use to new readers or not. */
  get(key: string): ReadInFlight | undefined {
    return this.#inFlight.get(key);
  }

  /** Whether there is a request of a key to share, or will be one in this turn. */
  isExpected(key: string): boolean {
    return this.#expected.has(key) || this.find(key) !== undefined;
  }

  /** Lets it be known that a key is about to be asked for, until the answer is called. */
  expect(key: string): () => void {
    this.#expected.set(key, (this.#expected.get(key) ?? 0) + 1);
    let expects = true;
    return () => {
      if (!expects) return;
      expects = false;
      const others = (this.#expected.get(key) ?? 1) - 1;
      if (others > 0) this.#expected.set(key, others);
      else this.#expected.delete(key);
    };
  }

  /** Keeps the answers to all reads of a scope from later readers: those asked for now, or in flight. */
  forget(scope: string): void {
    for (const [key, open] of this.#inFlight) {
      if (scopeOfKey(key) !== scope) continue;
      open.orphaned = true;
      this.#inFlight.delete(key);
    }
  }

  /** Lets later readers of this key find a request, for as long as it is not answered. */
  add(key: string, open: ReadInFlight): void {
    this.#inFlight.set(key, open);
    inBackground(
      open.request.settled.finally(() => {
        if (this.#inFlight.get(key) === open) this.#inFlight.delete(key);
      }),
    );
  }
}
