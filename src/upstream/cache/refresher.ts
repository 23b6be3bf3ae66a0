import type { Credential } from '../../auth/credential.ts';
import { BoundedMap } from '../../bounded-map.ts';
import type { UpstreamName } from '../../errors.ts';
import type { Clock } from '../../scheduling/clock.ts';
import type { Budgets } from '../budget/budgets.ts';
import type { KeyedRead, Stamp } from '../request.ts';
import type { Cache, Freshness, Hit } from './cache.ts';
import { readLength } from './key.ts';
import { Watches } from './watches.ts';

interface RefresherOptions {
  readonly upstream: UpstreamName;
  readonly clock: Clock;
  readonly cache: Cache;
  readonly budgets: Pick<Budgets, 'lookAt'>;
  /** Whether the circuit breaker is open. */
  readonly outOfOrder: () => boolean;
  /** Sends a request for a newer response, and returns true, unless one is in flight or it may not be sent. */
  readonly refresh: (of: KeyedRead, forWhom: RefreshedFor) => boolean;
  /** Cancels a refresh of a key that only watchers needed, if it has not been sent. */
  readonly takeBack: (key: string) => void;
}

/**
 * The purpose of a refresh: one for `readers` is on the receipt of the operation that has started it, one of a `round` is
 * for readers too, but on no receipt. One for `watchers` is no longer sent when its key is not watched, and one for
 * `history` goes after all others, whether or not there is an entry.
 */
export type RefreshedFor = 'history' | 'readers' | 'round' | 'watchers';

/** Delay after which a failed read is repeated in the background, doubled for each failure in a row. */
const FIRST_BACK_OFF_MS = 2000;
const MAX_BACK_OFF_MS = 120_000;
/** Maximum number of keys with remembered failures; the one with the oldest failure is removed first. */
const FAILURES_REMEMBERED = 10_000;
/** Partitions whose latest scan is remembered; the scan of another is only repeated. */
const PARTITIONS_REMEMBERED = 10_000;
/** Watched entries are ranked older by this age: no other entry is ever older. */
const WATCHED_AGES = 1_000_000;

/** An entry that is read repeatedly is refreshed before its ttl ends, after this share of it. */
const AHEAD_SHARE = 0.8;
/** What determines when an entry changes by age. */
interface Timed {
  readonly freshness: Freshness;
  readonly stamp: Stamp;
}

/** An entry that was read, in its state at that time. */
interface Asked extends Pick<Hit, 'ageMs' | 'state'>, Timed {
  readonly of: KeyedRead;
}

/** When the state of an entry changes, on the clock of the cache: then it is due for an early refresh, or stale. */
export function changesAt({ freshness, stamp: { storedAt } }: Timed, now: number): number {
  const ahead = storedAt + AHEAD_SHARE * freshness.ttlMs;
  return now < ahead ? ahead : storedAt + freshness.ttlMs;
}

/** Number of reads after which an entry is refreshed without a reader. */
const HOT_ASKS = 2;
/** Minimum interval between two scans of the entries in use, in milliseconds. */
const ROUND_CHECK_MS = 1000;

/**
 * Decides which entries are served, and which are refreshed in the background. While the budget has free slots,
 * entries are read again soon after their ttl. If more entries are in use than can be refreshed in time, all are
 * served stale and refreshed in turn, the oldest first, so that with N entries and B refreshes a minute none is
 * older than about N/B. Watched entries go first, and are refreshed as long as they are watched.
 */
export class Refresher {
  readonly #options: RefresherOptions;
  readonly #interest: Interest;
  /** Reads whose last attempt failed, and when they may be retried although there is an entry. */
  readonly #failures = new BoundedMap<{
    readonly inARow: number;
    readonly retryAt: number;
    /** The latest write at the time. */
    readonly generation: number;
  }>({ max: FAILURES_REMEMBERED });
  /** When the entries in use in a partition were last scanned, on `clock.now()`. */
  readonly #checkedAt = new BoundedMap<number>({ max: PARTITIONS_REMEMBERED });
  /** The watched entries of this upstream. */
  readonly watches: Watches;

  constructor(options: RefresherOptions) {
    this.#options = options;
    this.#interest = new Interest(options.clock);
    options.cache.listen(`${options.upstream}:`, (key) => this.#renewed(key));
    this.watches = new Watches({
      ...options,
      retryAt: (key) => this.#retryAt(key),
      refresh: (of) => options.refresh(of, 'watchers'),
      ended: options.takeBack,
    });
  }

  /** Whether a reader gets the cached entry immediately. Changes nothing. */
  serves({ key, credential }: KeyedRead, hit: Hit): boolean {
    const { entry, state, ageMs } = hit;
    if (state === 'fresh' || this.#options.outOfOrder()) return true;
    if (this.isBackingOff(key) && !this.isUnsettled(key, hit)) return true;
    if (state === 'fallback') return false;
    // With free slots, a short wait returns a new response; just after its ttl, the old one is sufficient.
    return ageMs < 2 * entry.freshness.ttlMs || !this.#options.budgets.lookAt(credential).idle;
  }

  /**
   * A reader asked for an entry. Refreshes it if it is due and was served, because others are read anyway. Returns the
   * number of refreshes that it has started.
   */
  asked({ ageMs, freshness, of, stamp, state }: Asked, served: boolean): number {
    const now = stamp.storedAt + ageMs;
    const asks = this.#interest.asked(of, now);
    const started = this.#keepRound(of.credential, now, 'readers');
    // Most entries are fresh, and need no further check.
    const isEarly = ageMs < AHEAD_SHARE * freshness.ttlMs;
    if (isEarly || state === 'fallback' || !served) return started;
    if (this.isBackingOff(of.key) || this.#options.outOfOrder()) return started;
    const isAhead = () => asks >= HOT_ASKS && this.#options.budgets.lookAt(of.credential).idle;
    if (state !== 'stale' && !isAhead()) return started;
    return started + (this.#options.refresh(of, 'readers') ? 1 : 0);
  }

  /** The rank of a refresh among others: watched entries first, in turns of their watchers, then the oldest. */
  urgencyOf(key: string): number {
    if (this.watches.has(key)) return this.watches.ageMs(key) * WATCHED_AGES;
    return this.#options.cache.peek(key)?.ageMs ?? 0;
  }

  /** Whether the last attempts failed so recently that an entry is served without another attempt. */
  isBackingOff(key: string): boolean {
    return this.#retryAt(key) > this.#options.clock.now();
  }

  /**
   * Whether a write with an unknown outcome has affected the entry, and no read of it has failed since: a newer
   * response may be available.
   */
  isUnsettled(key: string, { entry, state }: Hit): boolean {
    if (state !== 'fallback') return false;
    const failedAt = this.#failures.peek(key)?.generation ?? Number.NEGATIVE_INFINITY;
    return !this.#options.cache.holds(entry.tags, Math.max(entry.stamp.generation, failedAt));
  }

  #retryAt(key: string): number {
    return this.#failures.peek(key)?.retryAt ?? Number.NEGATIVE_INFINITY;
  }

  /** A read has failed. */
  failed(key: string): void {
    const inARow = (this.#failures.peek(key)?.inARow ?? 0) + 1;
    const waitMs = Math.min(MAX_BACK_OFF_MS, FIRST_BACK_OFF_MS * 2 ** (inARow - 1));
    const { cache, clock } = this.#options;
    const { generation } = cache.stamp();
    this.watches.failed(key);
    this.#failures.set(key, { inARow, retryAt: clock.now() + waitMs, generation });
  }

  /** Stops refreshes of a partition until a reader uses it again. */
  forget(partition: string): void {
    this.#interest.forget(partition);
  }

  /** The cache has a new entry. */
  #renewed(key: string): void {
    this.#failures.delete(key);
    const credential = this.#interest.renewed(key);
    if (credential) this.#keepRound(credential, this.#options.clock.now(), 'round');
  }

  /**
   * If more entries are in use than fit into a window, all are refreshed in turn after their ttl, even without a read
   * since: otherwise the next reader would get an entry older than all others. Returns the number of refreshes.
   */
  #keepRound(credential: Credential, now: number, forWhom: RefreshedFor): number {
    const { budgets, cache } = this.#options;
    const { partition } = credential;
    const checkedAt = this.#checkedAt.get(partition) ?? Number.NEGATIVE_INFINITY;
    if (now - checkedAt < ROUND_CHECK_MS) return 0;
    this.#checkedAt.set(partition, now);
    const budget = budgets.lookAt(credential);
    const perRefreshMs = budget.windowMs / budget.refreshesPerWindow;
    const wanted = this.#interest.wanted(perRefreshMs, credential);
    if (wanted.length <= budget.refreshesPerWindow) return 0;
    return wanted.filter((of) => {
      const hit = cache.peek(of.key);
      return hit && hit.state !== 'fresh' && this.#options.refresh(of, forWhom);
    }).length;
  }
}

/** A cache entry that was read recently. */
interface RecentRead extends KeyedRead {
  askedAt: number;
  /** Longest interval between two recent reads, in milliseconds. */
  gapMs: number;
  /** Number of reads since its last upstream request. */
  asks: number;
}

/** Number of entries whose readers are remembered; one with long filters counts for every thousand characters. */
const REMEMBERED = 5000;
/** The maximum weight of one entry. */
const HEAVIEST = 10;
/** Weight of a long gap between two readers after a shorter one. */
const GAP_SHARE = 0.75;
/** Number of refresh rounds for which an entry counts as in use in any case. */
const WANTED_ROUNDS = 1.5;
/** Number of its read intervals for which it counts as in use if it is read less often, */
const WANTED_GAPS = 5;
/** ... up to this many rounds. */
const GAP_ROUNDS = 2;

/**
 * Records which entries are in use, so that refreshes go to entries that will be read. Costs no upstream request.
 */
export class Interest {
  readonly #clock: Clock;
  /** Only reads count as use here. */
  readonly #wanted = new BoundedMap<RecentRead>({
    max: REMEMBERED,
    maxShare: HEAVIEST / REMEMBERED,
    weigh: (_key, { read }) => 1 + Math.floor(readLength(read) / 1000),
  });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Records a read of an entry at a time on `clock.now()`; returns the number of reads since its last request. */
  asked({ key, read, credential }: KeyedRead, askedAt = this.#clock.now()): number {
    const known = this.#wanted.get(key);
    // Keeps the first read object: each later one would be kept in memory after its operation.
    if (!known) {
      this.#wanted.set(key, { key, read, credential, askedAt, gapMs: 0, asks: 1 });
      return 1;
    }
    known.gapMs = Math.max(askedAt - known.askedAt, known.gapMs * GAP_SHARE);
    known.askedAt = askedAt;
    known.asks += 1;
    return known.asks;
  }

  /** Resets the count of a refreshed entry. Returns the credential for which it is in use. */
  renewed(key: string): Credential | undefined {
    const wanted = this.#wanted.peek(key);
    if (wanted) wanted.asks = 0;
    return wanted?.credential;
  }

  /** Forgets all entries of a partition. */
  forget(partition: string): void {
    this.#wanted.forget((_, { credential }) => credential.partition === partition);
  }

  /**
   * The entries in use by readers with one credential. The more there are, the longer a round of refreshing all
   * takes, at one every `perRefreshMs`, and the longer an entry counts as in use without being read.
   */
  wanted(perRefreshMs: number, { partition }: Credential): RecentRead[] {
    const now = this.#clock.now();
    let wanted = [...this.#wanted.values()].filter(
      ({ credential }) => credential.partition === partition,
    );
    for (;;) {
      const roundMs = wanted.length * perRefreshMs;
      const still = wanted.filter(({ askedAt, gapMs }) => {
        const gaps = gapMs <= GAP_ROUNDS * roundMs ? WANTED_GAPS * gapMs : 0;
        return now - askedAt <= Math.max(WANTED_ROUNDS * roundMs, gaps);
      });
      if (still.length === wanted.length) return still;
      wanted = still;
    }
  }
}
