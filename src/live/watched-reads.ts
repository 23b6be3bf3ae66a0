import type { Credential } from '../auth/credential.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { KeyState } from '../upstream/budget/budgets.ts';
import type { KeyedRead } from '../upstream/cache/key.ts';
import type { Watchers } from '../upstream/cache/watcher-turns.ts';
import type { Watch, WatchedChange, WatchListener } from '../upstream/cache/watches.ts';
import type { BudgetSource, ReadWatcher } from '../upstream/operation.ts';
import type { Stamp } from '../upstream/request.ts';
import { BUDGETS_MS, WatchedBudgets } from './watched-budgets.ts';

/** A read of the latest run, and the stamp of the entry that it was answered from. */
interface Watched {
  readonly watch: Watch;
  seen: Stamp | undefined;
  /** The run that it was read in last. */
  run: number;
}

/**
 * What a query was answered from, and whether that is still so. Each read is watched from before it is answered
 * until a run in which it does not occur any more.
 */
export class WatchedReads implements ReadWatcher {
  /** What it shows of budgets, which are no entries. */
  readonly budgets: WatchedBudgets;
  readonly #watched = new Map<string, Watched>();
  readonly #changed: (change: WatchedChange | 'grown') => void;
  readonly #watchers: Watchers;
  #run = 0;
  #hasEnded = false;
  /** Whether a write has made something wrong since the latest run began. */
  #isTouched = false;

  /**
   * For `watchers`. `changed` is called for every change after which another run may come out otherwise, with `grown`
   * for each new watch.
   */
  constructor(
    { clock, watchers }: { readonly clock: Clock; readonly watchers: Watchers },
    changed: (change: WatchedChange | 'grown') => void,
  ) {
    this.#watchers = watchers;
    this.budgets = new WatchedBudgets(clock);
    this.#changed = changed;
  }

  /** How many there are. */
  get size(): number {
    return this.#watched.size;
  }

  /** A run begins. */
  beginRun(): void {
    this.#run += 1;
    this.budgets.beginRun();
    this.#isTouched = false;
  }

  /** A read begins; call what comes back once it has ended. */
  begin({ key }: KeyedRead, watch: Parameters<ReadWatcher['begin']>[1]): () => void {
    if (this.#hasEnded) return () => {};
    let watched = this.#watched.get(key);
    if (!watched) {
      const changed: WatchListener = (change) => {
        if (change === 'touched') this.#isTouched = true;
        this.#changed(change);
      };
      watched = { watch: watch(changed, this.#watchers), seen: undefined, run: 0 };
      this.#watched.set(key, watched);
      this.#changed('grown');
    }
    const mine = watched;
    const isFirst = mine.run !== this.#run || mine.seen === undefined;
    mine.run = this.#run;
    return () => {
      // What was read first is in the result, whatever has come since.
      if (isFirst) mine.seen = mine.watch.look();
    };
  }

  budgetState(source: BudgetSource, credential: Credential): KeyState {
    return this.budgets.look(source, credential);
  }

  /** A run has ended: what it did not read is not watched any more. Returns whether it is out of date already. */
  endRun(): boolean {
    for (const [key, { run, watch }] of this.#watched) {
      if (run === this.#run) continue;
      watch.end();
      this.#watched.delete(key);
    }
    return this.#isTouched || this.isOutdated;
  }

  /** The viewers of a query use its entries: they are not to make room for others. */
  use(): void {
    for (const { watch } of this.#watched.values()) watch.use();
  }

  /** Whether there are other entries now than those that the latest run was answered from. */
  get isOutdated(): boolean {
    for (const { seen, watch } of this.#watched.values()) if (watch.look() !== seen) return true;
    return false;
  }

  /** When the oldest answer was asked for, on the clock of the cache, and until when that is probably shown. */
  oldest(now: number): { readonly at: number; readonly nextRefreshInMs: number | null } {
    let at = this.budgets.at ?? now;
    let nextRefreshInMs = this.budgets.at === null ? null : Math.max(0, at + BUDGETS_MS - now);
    let oldest: Watch | null = null;
    for (const { seen, watch } of this.#watched.values()) {
      const { storedAt } = seen ?? { storedAt: now };
      if (storedAt > at || (storedAt === at && oldest)) continue;
      at = storedAt;
      oldest = watch;
    }
    if (oldest) nextRefreshInMs = oldest.nextRefreshInMs();
    return { at, nextRefreshInMs };
  }

  /** Nothing is watched any more, nor what is still read. */
  end(): void {
    this.#hasEnded = true;
    for (const { watch } of this.#watched.values()) watch.end();
    this.#watched.clear();
  }
}
