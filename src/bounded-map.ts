import { LRUCache } from 'lru-cache';

/** How much a `BoundedMap` holds. */
interface Bound<V> {
  /** Maximum total weight of all entries, in the unit of `weigh`; by default their number. */
  readonly max: number;
  /**
   * The share of `max` that one entry may weigh. A heavier one is not taken, so that it cannot drive
   * out everything else.
   * @default 1
   */
  readonly maxShare?: number;
  /**
   * A whole number that never changes for the same key and value. An entry weighs at least 1.
   * @default 1 each
   */
  readonly weigh?: (key: string, value: V) => number;
  /** Called with every entry that was removed, to free memory or because it was deleted. */
  readonly onForget?: (key: string, value: V) => void;
}

/**
 * A map with bounded memory for any number of keys: the least recently used entry is removed first. `get` and
 * `set` count as use; `peek` and iteration do not. Nothing is removed because of its age.
 */
export class BoundedMap<V extends object | string | number> extends LRUCache<string, V> {
  readonly #heaviest: number;
  readonly #weigh: (key: string, value: V) => number;

  constructor({ max, maxShare = 1, weigh = () => 1, onForget }: Bound<V>) {
    super({
      maxSize: max,
      ...(onForget && {
        dispose: (value: V, key: string, reason: LRUCache.DisposeReason) => {
          if (reason !== 'set') onForget(key, value);
        },
      }),
    });
    this.#heaviest = max * maxShare;
    this.#weigh = weigh;
  }

  /** Total weight of all entries. */
  get weight(): number {
    return this.calculatedSize;
  }

  /** Holds a value as the one used last. One that is too heavy is not taken, and its key forgotten. */
  override set(key: string, value: V): this {
    const size = this.#sizeOf(key, value);
    if (size <= this.#heaviest) return super.set(key, value, { size });
    this.delete(key);
    return this;
  }

  /** Whether a value is light enough to be taken. */
  takes(key: string, value: V): boolean {
    return this.#sizeOf(key, value) <= this.#heaviest;
  }

  #sizeOf(key: string, value: V): number {
    return Math.max(1, this.#weigh(key, value));
  }

  /** Forgets every entry that `which` names. Looks at all of them. */
  forget(which: (key: string, value: V) => boolean): void {
    const named = [...this.entries()].filter(([key, value]) => which(key, value));
    for (const [key] of named) this.delete(key);
  }
}
