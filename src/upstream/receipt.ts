import type { UpstreamName } from '../errors.ts';
import type { Asker } from '../observe/events.ts';
import type { Clock } from '../scheduling/clock.ts';
import { UnderWay } from '../scheduling/under-way.ts';
import type { CacheEntry } from './cache/cache.ts';
import { Ingredients } from './ingredients.ts';
import { Spending } from './spending.ts';

/** What one operation cost, as `extensions.upstream` shows it. */
export interface ReceiptSummary {
  /** Requests that left the gateway for this operation. */
  readonly calls: number;
  /** Requests that would have been needed, and were not. */
  readonly saved: {
    /** ... because a cache entry served. */
    readonly cache: number;
    /** ... because a request in flight for another reader served. */
    readonly coalesced: number;
  };
  /** Cache entries that were past their ttl when they served. */
  readonly stale: number;
  /** Age of the oldest answer that served, in milliseconds. */
  readonly maxAgeMs: number;
  /** How long the operation waited for its turn under the rate limit, in milliseconds. */
  readonly waitedMs: number;
}

/**
 * Counts what one operation costs. Each answer is counted once an operation, where it came from when
 * it was first needed; a request is counted when it leaves, for the operation that it leaves for.
 */
export class Receipt {
  /** Where answers came from that no cache entry was at first. */
  readonly #sources = new Map<string, 'call' | 'coalesced'>();
  /** The cache entries that the answer is made of. */
  readonly ingredients = new Ingredients();
  /** The answers that the operation has waited for, by key. See `CachedReads.waited`. */
  readonly awaited = new Map<string, CacheEntry>();
  readonly #calls: Record<UpstreamName, number> = { LINKS: 0, MARKET: 0 };
  readonly #waited: Stopwatch;
  /** What the operation may still ask for. */
  readonly spending = new Spending();
  /** Time for which the operation has waited for something newer than its fallbacks. */
  readonly withFallback: Stopwatch;
  /** The operation; `null` until it is known, and for what is none. */
  asker: Asker | null = null;
  #passing = false;
  readonly #underWay = new UnderWay<'any'>();

  constructor(clock: Clock) {
    this.#waited = new Stopwatch(clock);
    this.withFallback = new Stopwatch(clock);
  }

  /** Something served that is true of this moment only. */
  changesWithTime(): void {
    this.#passing = true;
  }

  /** Whether the same operation can be answered otherwise although the same entries serve. */
  get passing(): boolean {
    return this.#passing;
  }

  /** The request of another operation served this one too. */
  joined(key: string): void {
    if (this.#sources.has(key) || this.ingredients.has(key)) return;
    this.#sources.set(key, 'coalesced');
  }

  /** A request leaves for this operation. */
  sent(upstream: UpstreamName, key: string): void {
    this.#calls[upstream] += 1;
    this.#sources.set(key, 'call');
  }

  /** A request that was about to leave did not. */
  notSent(upstream: UpstreamName, key: string): void {
    this.#calls[upstream] -= 1;
    this.#sources.delete(key);
  }

  /** Brackets a wait for a slot; waits side by side count once. */
  waitBegins(): void {
    this.#waited.begin();
  }

  waitEnds(): void {
    this.#waited.end();
  }

  /** Runs one read or write of the operation, so that `idle` knows when none is left. */
  async track<T>(work: () => Promise<T>): Promise<T> {
    return this.#underWay.track('any', work);
  }

  /** Resolves when no read or write of the operation is under way, and none follows from the last. */
  async idle(): Promise<void> {
    await this.#underWay.ended(['any']);
  }

  /** Milliseconds this operation has waited for a turn so far. */
  get waitedMs(): number {
    return this.#waited.ms;
  }

  /** Requests that have left for this operation to one upstream. */
  calls(upstream: UpstreamName): number {
    return this.#calls[upstream];
  }

  get summary(): ReceiptSummary {
    const { waitedMs } = this;
    let cache = 0;
    let stale = 0;
    let maxAgeMs = 0;
    for (const [key, entry] of this.ingredients.latest) {
      if (!this.#sources.has(key)) cache += 1;
      if (entry.stale) stale += 1;
      maxAgeMs = Math.max(maxAgeMs, entry.ageMs);
    }
    let coalesced = 0;
    for (const source of this.#sources.values()) if (source === 'coalesced') coalesced += 1;
    return {
      calls: this.#calls.LINKS + this.#calls.MARKET,
      saved: { cache, coalesced },
      stale,
      maxAgeMs: Math.round(maxAgeMs),
      waitedMs: Math.round(waitedMs),
    };
  }
}

/** Measures how long something went on, in milliseconds; what goes on side by side counts once. */
class Stopwatch {
  readonly #clock: Clock;
  #totalMs = 0;
  #running = 0;
  #since = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** One more begins. */
  begin(): void {
    if (this.#running === 0) this.#since = this.#clock.now();
    this.#running += 1;
  }

  /** One of those that have begun ends. */
  end(): void {
    this.#running -= 1;
    if (this.#running === 0) this.#totalMs += this.#clock.now() - this.#since;
  }

  /** Milliseconds so far. */
  get ms(): number {
    return this.#totalMs + (this.#running > 0 ? this.#clock.now() - this.#since : 0);
  }
}
