import type { Clock } from '../scheduling/clock.ts';
import type { Watchers } from '../upstream/cache/watched-round.ts';
import type { WatchedChange, WatchListener } from '../upstream/cache/watches.ts';
import type { ReadWatcher } from '../upstream/operation.ts';
import { Ingredients, type Watch } from '../upstream/receipt.ts';
import type { KeyedRead } from '../upstream/request.ts';

/** Interval between two comparisons of what is no cache entry, in milliseconds: each request changes budgets. */
export const OTHERS_MS = 2000;

/** A read of the latest run, or of the current one. */
interface WatchedEntry {
  readonly watch: Watch;
  /** The last run that has read it. */
  run: number;
  /** The last run whose result contains an entry of it. */
  servedIn: number;
}

/**
 * The cache entries of a query's result, and whether they have changed. Each read is watched from before its
 * response until a run in which it does not occur.
 */
export class WatchedReads implements ReadWatcher {
  readonly #clock: Clock;
  /** What is in the result and no cache entry, such as a budget, by name. */
  readonly #others = new Map<string, { readonly stateOf: () => string; readonly state: string }>();
  /** When all of these were last in their states, on `clock.now()`; `null` without any. */
  #othersAt: number | null = null;
  readonly #watched = new Map<string, WatchedEntry>();
  readonly #changed: (change: WatchedChange | 'grown') => void;
  readonly #watchers: Watchers;
  /** The ingredients of the latest run, and of the current one. */
  #ingredients = new Ingredients();
  #next = new Ingredients();
  #run = 0;
  #hasEnded = false;
  /** Whether a write has invalidated a read since the latest run started. */
  #isTouched = false;

  /**
   * For `watchers`. `changed` is called for every change after which another run may have another result, and with `grown`
   * for each new watch.
   */
  constructor(
    { clock, watchers }: { readonly clock: Clock; readonly watchers: Watchers },
    changed: (change: WatchedChange | 'grown') => void,
  ) {
    this.#watchers = watchers;
    this.#clock = clock;
    this.#changed = changed;
  }

  /** Number of watched reads. */
  get size(): number {
    return this.#watched.size;
  }

  /** A run starts. */
  beginRun(): void {
    this.#run += 1;
    this.#next = new Ingredients();
    this.#others.clear();
    this.#othersAt = null;
    this.#isTouched = false;
  }

  /** A read starts; call the returned function when it has ended. */
  begin({ key }: KeyedRead, watch: Parameters<ReadWatcher['begin']>[1]): () => void {
    if (this.#hasEnded) return () => {};
    let watched = this.#watched.get(key);
    if (!watched) {
      const changed: WatchListener = (change) => {
        if (change === 'touched') this.#isTouched = true;
        this.#changed(change);
      };
      watched = { watch: watch(changed, this.#watchers), run: 0, servedIn: 0 };
      this.#watched.set(key, watched);
      this.#changed('grown');
    }
    const mine = watched;
    mine.run = this.#run;
    return () => {
      // The result contains the first version, even if another one has arrived since.
      const ingredient = mine.servedIn === this.#run ? undefined : mine.watch.look();
      if (!ingredient) return;
      mine.servedIn = this.#run;
      this.#next.add(ingredient);
    };
  }

  look(name: string, stateOf: () => string): void {
    this.#othersAt ??= this.#clock.now();
    this.#others.set(name, { stateOf, state: stateOf() });
  }

  /** Whether something in the result has changed that is no cache entry. */
  haveOthersChanged(): boolean {
    for (const { state, stateOf } of this.#others.values()) if (stateOf() !== state) return true;
    if (this.#othersAt !== null) this.#othersAt = this.#clock.now();
    return false;
  }

  /** A run has ended: ends the watches of reads that it did not use. Returns whether its result is already outdated. */
  endRun(): boolean {
    this.#ingredients = this.#next;
    for (const [key, { run, watch }] of this.#watched) {
      if (run === this.#run) continue;
      watch.end();
      this.#watched.delete(key);
    }
    return this.#isTouched || this.isOutdated;
  }

  /** Counts a use of the entries of the query, so that they are not removed from the cache. */
  use(): void {
    for (const { watch } of this.#watched.values()) watch.use();
  }

  /** Whether there are newer entries than those of the latest run. */
  get isOutdated(): boolean {
    const { latest } = this.#ingredients;
    for (const [key, { watch }] of this.#watched) {
      if (watch.look()?.stamp !== latest.get(key)?.stamp) return true;
    }
    return false;
  }

  /** When the oldest data was requested, on the clock of the cache, and when it is probably refreshed. */
  oldest(now: number): { readonly at: number; readonly nextRefreshInMs: number | null } {
    const { oldest } = this.#ingredients;
    const othersAt = this.#othersAt;
    const at = Math.min(othersAt ?? now, oldest?.stamp.storedAt ?? now);
    if (oldest?.stamp.storedAt === at) {
      const nextRefreshInMs = this.#watched.get(oldest.of.key)?.watch.nextRefreshInMs() ?? null;
      return { at, nextRefreshInMs };
    }
    const nextRefreshInMs = othersAt === null ? null : Math.max(0, at + OTHERS_MS - now);
    return { at, nextRefreshInMs };
  }

  /** Ends all watches, including those of running reads. */
  end(): void {
    this.#hasEnded = true;
    for (const { watch } of this.#watched.values()) watch.end();
    this.#watched.clear();
  }
}
