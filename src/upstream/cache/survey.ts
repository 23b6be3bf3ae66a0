import type { Cache } from './cache.ts';

/** The entries of one resource of one upstream. */
export interface SurveyedResource {
  fresh: number;
  stale: number;
  /** Age of the oldest, in milliseconds. */
  oldestMs: number;
}

/** Maximum number of scanned entries per call: each takes a fraction of a microsecond. */
const LOOKED_AT = 4000;

/**
 * Counts the entries of each resource. It scans a limited number of entries at each call, so a large cache takes
 * several calls.
 */
export class CacheSurvey {
  readonly #cache: Pick<Cache, 'keys' | 'look'>;
  #keys: Iterator<string>;
  #counted = new Map<string, SurveyedResource>();
  /** The result of the last complete scan; `null` before the first. */
  #found: ReadonlyMap<string, SurveyedResource> | null = null;

  constructor(cache: Pick<Cache, 'keys' | 'look'>) {
    this.#cache = cache;
    this.#keys = cache.keys();
  }

  /** The latest result, by upstream and resource, e.g. `LINKS channels`. Scans a part of the entries. */
  take(): ReadonlyMap<string, SurveyedResource> {
    for (let looked = 0; looked < LOOKED_AT; looked += 1) {
      const { done, value } = this.#keys.next();
      if (done) {
        this.#found = this.#counted;
        this.#counted = new Map();
        this.#keys = this.#cache.keys();
        break;
      }
      this.#count(value);
    }
    return this.#found ?? this.#counted;
  }

  #count(key: string): void {
    const seen = this.#cache.look(key);
    if (!seen) return;
    const name = `${key.slice(0, key.indexOf(':'))} ${seen.resource}`;
    const counted = this.#counted.get(name) ?? { fresh: 0, stale: 0, oldestMs: 0 };
    counted[seen.fresh ? 'fresh' : 'stale'] += 1;
    counted.oldestMs = Math.max(counted.oldestMs, seen.ageMs);
    this.#counted.set(name, counted);
  }
}
