import type { UpstreamName } from '../errors.ts';
import type { Resource } from '../resources.ts';
import type { EntryState, Freshness } from './cache/cache.ts';
import type { KeyedRead } from './cache/key.ts';
import { changesAt } from './cache/refresher.ts';
import type { EntryWatch } from './cache/watches.ts';
import type { Stamp } from './request.ts';

/** A cache entry that served a read. Without its value, which the cache may forget before this is forgotten. */
export interface Ingredient {
  readonly of: KeyedRead;
  readonly source: IngredientSource;
  readonly stamp: Stamp;
  readonly freshness: Freshness;
  /** Its state when it served, and its age in milliseconds. */
  readonly state: EntryState;
  readonly ageMs: number;
  /** Whether it was past its ttl, or served because nothing newer came. */
  readonly stale: boolean;
}

/** A watch over an ingredient. */
export interface Watch extends EntryWatch {
  /** The entry as it is now, without counting as a use. Absent where there is none that may be shown. */
  look(): Ingredient | undefined;
}

/** The cache that ingredients are from. */
export interface IngredientSource {
  readonly upstream: UpstreamName;
  /** Counts entries that served, and keeps them fresh, as `Ingredients.settle` says. */
  settle(served: readonly Ingredient[]): void;
}

/** Cache entries of one kind that served an operation. */
export interface ServedKind {
  /** The next two in one word. */
  readonly kind: string;
  readonly upstream: UpstreamName;
  readonly resource: Resource;
  readonly count: number;
}

/** The cache entries that an answer was made of, in the order in which they served. */
export class Ingredients {
  readonly #served: Ingredient[] = [];
  /** The last of each key, if they were looked through since the last was added. */
  #latest: ReadonlyMap<string, Ingredient> | null = null;
  #kinds: readonly ServedKind[] | null = null;

  /** An entry served. */
  add(ingredient: Ingredient): void {
    this.#served.push(ingredient);
    this.#latest = null;
    this.#kinds = null;
  }

  /** All entries of another list served here as well. */
  addAll({ served }: Ingredients): void {
    for (const each of served) this.add(each);
  }

  /** Every time that an entry served. */
  get served(): readonly Ingredient[] {
    return this.#served;
  }

  /** The same with each entry once: to be held for long. */
  distinct(): Ingredients {
    const distinct = new Ingredients();
    for (const each of this.latest.values()) distinct.add(each);
    return distinct;
  }

  /** Whether an entry of a key served. */
  has(key: string): boolean {
    return this.#served.some(({ of }) => of.key === key);
  }

  /** Each entry as it was when it last served; stale if it ever was, since a newer one may have been sought in vain. */
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

  /** How many entries there are of each kind. */
  get kinds(): readonly ServedKind[] {
    if (this.#kinds) return this.#kinds;
    const kinds = new Map<string, ServedKind>();
    for (const { of, source } of this.latest.values()) {
      const { resource } = of.read;
      const kind = `${source.upstream} ${resource}`;
      const count = (kinds.get(kind)?.count ?? 0) + 1;
      kinds.set(kind, { kind, upstream: source.upstream, resource, count });
    }
    this.#kinds = [...kinds.values()];
    this.#latest = null;
    return this.#kinds;
  }

  /** The one that was asked for first. */
  get oldest(): Ingredient | undefined {
    let oldest: Ingredient | undefined;
    for (const each of this.#served) {
      if (!oldest || each.stamp.storedAt < oldest.stamp.storedAt) oldest = each;
    }
    return oldest;
  }

  /** From when on one of them is stale or refreshed, on `clock.now()`; `Infinity` where there is none. */
  changesAt(now: number): number {
    return soonestChange(this.#served, now);
  }

  /** Counts entries as asked for and as hits that served without having been counted. */
  settle(): void {
    for (const source of new Set(this.#served.map((each) => each.source))) {
      source.settle(this.#served.filter((each) => each.source === source));
    }
  }
}

/** From when on one of these is stale or refreshed, on `clock.now()`; `Infinity` where there is none. */
export function soonestChange(served: readonly Ingredient[], now: number): number {
  let at = Number.POSITIVE_INFINITY;
  for (const each of served) at = Math.min(at, changesAt(each, now));
  return at;
}
