import type { Credential } from '../../auth/credential.ts';
import { BoundedMap } from '../../bounded-map.ts';
import type { UpstreamName } from '../../errors.ts';
import type { Clock } from '../../scheduling/clock.ts';
import type { Budget } from '../budget/budget.ts';
import type { Stamp } from '../request.ts';
import type { Cache, Freshness, Hit } from './cache.ts';
import { type KeyedRead, readLength } from './key.ts';
import { Watches } from './watches.ts';

interface RefresherOptions {
  readonly upstream: UpstreamName;
  readonly clock: Clock;
  readonly cache: Cache;
  readonly budget: (credential: Credential) => Budget;
  /** Whether the circuit breaker is open. */
  readonly outOfOrder: () => boolean;
  /** Asks for a newer answer, unless a request for it is in flight. */
  readonly refresh: (of: KeyedRead, forWhom: RefreshedFor) => void;
  /** Takes a refresh of a key back that only those who watched it wanted, if it has not been sent. */
  readonly takeBack: (key: string) => void;
}

/** Whom a refresh is for: one for `watchers` does not leave any more when its key is not watched. */
export type RefreshedFor = 'readers' | 'watchers';

/** A read that failed is tried again in the background after so long, doubled for each time in a row. */
const FIRST_BACK_OFF_MS = 2000;
const MAX_BACK_OFF_MS = 120_000;
/** Keys whose failures are remembered; the one whose last is the oldest is forgotten first. */
const FAILURES_REMEMBERED = 10_000;
/** So much older than it is counts what is watched: no other is ever older. */
const WATCHED_AGES = 1_000_000;

/** An answer asked for repeatedly is refreshed before its ttl ends, once this share of it is over. */
const AHEAD_SHARE = 0.8;
/** What decides when an entry changes by itself. */
interface Timed {
  readonly freshness: Freshness;
  readonly stamp: Stamp;
}

/** An entry that was asked for, as it was then. */
interface Asked extends Pick<Hit, 'ageMs' | 'state'>, Pick<Timed, 'freshness'> {
  readonly of: KeyedRead;
}

/** Until when an entry is what it is now, on the clock of the cache: then it is refreshed ahead of time, or stale. */
export function changesAt({ freshness, stamp: { storedAt } }: Timed, now: number): number {
  const ahead = storedAt + AHEAD_SHARE * freshness.ttlMs;
  return now < ahead ? ahead : storedAt + freshness.ttlMs;
}

/** Times that an answer must have been asked for to be refreshed while no reader asks. */
const HOT_ASKS = 2;
/** What is wanted is looked through at most once in this many milliseconds. */
const ROUND_CHECK_MS = 1000;

/**
 * Decides what is good enough to be served, and what is refreshed behind the readers' backs. While
 * the budget has slots to spare, answers are read again soon after their ttl; when more is wanted
 * than can be refreshed in time, everything wanted is served stale and takes its turn,
 * the oldest first, so that with N answers and B refreshes a minute none is older than about N/B.
 * What is watched goes before all that is not, and is refreshed as long as it is watched.
 */
export class Refresher {
  readonly #options: RefresherOptions;
  readonly #interest: Interest;
  /** Reads that failed last time, and when they may be tried again although there is an entry. */
  readonly #failures = new BoundedMap<{
    readonly inARow: number;
    readonly retryAt: number;
    /** The latest write at the time. */
    readonly generation: number;
  }>({ max: FAILURES_REMEMBERED });
  /** When what is wanted under a budget was last looked through, on `clock.now()`. */
  readonly #checkedAt = new WeakMap<Budget, number>();
  /** What is watched of this upstream. */
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

  /** Whether a reader gets the entry that was hit, at once. Changes nothing. */
  serves({ key, credential }: KeyedRead, hit: Hit): boolean {
    const { entry, state, ageMs } = hit;
    if (state === 'fresh' || this.#options.outOfOrder()) return true;
    if (this.isBackingOff(key) && !this.isUnsettled(key, hit)) return true;
    if (state === 'fallback') return false;
    // With slots to spare a short wait buys a new answer; just after its ttl an old one will do.
    return ageMs < 2 * entry.freshness.ttlMs || !this.#options.budget(credential).idle;
  }

  /** A reader asked for these entries. Refreshes those that are due. */
  asked(entries: readonly Asked[]): void {
    const now = this.#options.clock.now();
    const asks = this.#interest.askedAll(entries, now);
    let credential: Credential | null = null;
    for (const [at, { ageMs, freshness, of, state }] of entries.entries()) {
      if (of.credential !== credential) this.#keepRound(of.credential, now);
      credential = of.credential;
      // Most are: nothing else is looked at for them.
      const isEarly = ageMs < AHEAD_SHARE * freshness.ttlMs;
      if (isEarly || state === 'fallback') continue;
      if (this.isBackingOff(of.key) || this.#options.outOfOrder()) continue;
      const { idle } = this.#options.budget(credential);
      const ahead = idle && (asks[at] ?? 0) >= HOT_ASKS;
      const isWaitedFor = state === 'stale' && idle && ageMs >= 2 * freshness.ttlMs;
      if ((state === 'stale' || ahead) && !isWaitedFor) this.#options.refresh(of, 'readers');
    }
  }

  /** How urgent a refresh is among others: what is watched first, by turns of those who watch, and then the oldest. */
  urgencyOf(key: string): number {
    if (this.watches.has(key)) return this.watches.ageMs(key) * WATCHED_AGES;
    return this.#options.cache.peek(key)?.ageMs ?? 0;
  }

  /** Whether the last tries failed so recently that an entry is served without another. */
  isBackingOff(key: string): boolean {
    return this.#retryAt(key) > this.#options.clock.now();
  }

  /**
   * Whether a write of unknown outcome has touched the entry that was hit, and no read of it has failed since: it
   * is not known yet whether a newer answer can be had.
   */
  isUnsettled(key: string, { entry, state }: Hit): boolean {
    if (state !== 'fallback') return false;
    const failedAt = this.#failures.peek(key)?.generation ?? Number.NEGATIVE_INFINITY;
    return !this.#options.cache.holds(entry.tags, Math.max(entry.stamp.generation, failedAt));
  }

  #retryAt(key: string): number {
    return this.#failures.peek(key)?.retryAt ?? Number.NEGATIVE_INFINITY;
  }

  /** A read brought nothing. */
  failed(key: string): void {
    const inARow = (this.#failures.peek(key)?.inARow ?? 0) + 1;
    const waitMs = Math.min(MAX_BACK_OFF_MS, FIRST_BACK_OFF_MS * 2 ** (inARow - 1));
    const { cache, clock } = this.#options;
    const { generation } = cache.stamp();
    this.watches.failed(key);
    this.#failures.set(key, { inARow, retryAt: clock.now() + waitMs, generation });
  }

  /** Refreshes nothing of a partition any more, until a reader is served there again. */
  forget(partition: string): void {
    this.#interest.forget(partition);
  }

  /** The cache has a new entry. */
  #renewed(key: string): void {
    this.#failures.delete(key);
    const credential = this.#interest.renewed(key);
    if (credential) this.#keepRound(credential, this.#options.clock.now());
  }

  /**
   * When more is wanted than a window has room to refresh, all of it takes its turn once its ttl is over,
   * whether asked for since or not: else the next to ask would find it older than all the others.
   */
  #keepRound(credential: Credential, now: number): void {
    const { cache } = this.#options;
    const budget = this.#options.budget(credential);
    if (now - (this.#checkedAt.get(budget) ?? Number.NEGATIVE_INFINITY) < ROUND_CHECK_MS) return;
    this.#checkedAt.set(budget, now);
    const perRefreshMs = budget.windowMs / budget.refreshesPerWindow;
    const wanted = this.#interest.wanted(perRefreshMs, credential);
    if (wanted.length <= budget.refreshesPerWindow) return;
    for (const of of wanted) {
      const hit = cache.peek(of.key);
      if (hit && hit.state !== 'fresh') this.#options.refresh(of, 'readers');
    }
  }
}

/** A cache entry that was asked for of late. */
interface Wanted extends KeyedRead {
  askedAt: number;
  /** Milliseconds between two times that it was asked for: the longest of late. */
  gapMs: number;
  /** How often it was asked for since it was last read upstream. */
  asks: number;
}

/** Answers whose readers are remembered; one with long filters counts for every thousand characters. */
const REMEMBERED = 5000;
/** For this many an answer can count. */
const HEAVIEST = 10;
/** What a long gap between two readers still counts for when the next has come sooner. */
const GAP_SHARE = 0.75;
/** For how many rounds of refreshing everything wanted an entry stays wanted in any case. */
const WANTED_ROUNDS = 1.5;
/** ... and for how many of its gaps where its readers come more seldom than that, */
const WANTED_GAPS = 5;
/** ... if they do not leave it out for more than this many rounds. */
const GAP_ROUNDS = 2;

/** Remembers who wants what, so that refreshes go where a reader will look. Costs no upstream call. */
export class Interest {
  readonly #clock: Clock;
  /** To ask for an answer is to use it here, and nothing else is. */
  readonly #wanted = new BoundedMap<Wanted>({
    max: REMEMBERED,
    maxShare: HEAVIEST / REMEMBERED,
    weigh: (_key, { read }) => 1 + Math.floor(readLength(read) / 1000),
  });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** As `asked`, for each of several. */
  askedAll(all: readonly { readonly of: KeyedRead }[], askedAt: number): number[] {
    return all.map(({ of }) => this.asked(of, askedAt));
  }

  /** A reader was served an entry at a time on `clock.now()`; how often that has happened since it was read upstream. */
  asked({ key, read, credential }: KeyedRead, askedAt = this.#clock.now()): number {
    const known = this.#wanted.get(key);
    // The read that came first is kept: each later one would outlive its operation here.
    if (!known) {
      this.#wanted.set(key, { key, read, credential, askedAt, gapMs: 0, asks: 1 });
      return 1;
    }
    known.gapMs = Math.max(askedAt - known.askedAt, known.gapMs * GAP_SHARE);
    known.askedAt = askedAt;
    known.asks += 1;
    return known.asks;
  }

  /** An entry is new: from here its readers count afresh. Answers with whose credential it is wanted. */
  renewed(key: string): Credential | undefined {
    const wanted = this.#wanted.peek(key);
    if (wanted) wanted.asks = 0;
    return wanted?.credential;
  }

  /** Nothing of a partition is wanted any more. */
  forget(partition: string): void {
    this.#wanted.forget((_, { credential }) => credential.partition === partition);
  }

  /**
   * What readers with one credential come back for. The more is wanted, the longer a round of refreshing it
   * all takes, at one every `perRefreshMs`, and the longer an entry stays wanted without being asked for.
   */
  wanted(perRefreshMs: number, { partition }: Credential): Wanted[] {
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
