import type { Clock } from '../clock.ts';
import type { UpstreamName } from '../errors.ts';
import type { Asker } from '../observe/events.ts';
import type { Hit } from './cache/cache.ts';
import { changesAt } from './cache/refresher.ts';
import { OwnAnswers } from './own-answers.ts';
import { Spending } from './spending.ts';
import { Stopwatch } from './stopwatch.ts';

/** What one operation cost, as `extensions.upstream` tells it. */
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

type Source = 'call' | 'cache' | 'coalesced';

/** Cache entries of one kind that served an operation. */
export interface ServedKind {
  /** The next two in one word. */
  readonly kind: string;
  readonly upstream: UpstreamName;
  readonly resource: string;
  readonly count: number;
}

/** A cache entry that served an operation. */
interface Served {
  readonly hit: Hit;
  readonly stale: boolean;
  readonly upstream: UpstreamName;
  readonly resource: string;
}

/**
 * Counts what one operation costs. Each answer is counted once an operation, where it came from when
 * it was first needed; a request is counted when it leaves, for the operation that it leaves for.
 */
export class Receipt {
  readonly #sources = new Map<string, Source>();
  /** The entries that it was made of: each as it was when it last served, with its age. */
  readonly #hits = new Map<string, Served>();
  readonly #calls: Record<UpstreamName, number> = { LINKS: 0, MARKET: 0 };
  readonly #waited: Stopwatch;
  /** What the operation has waited for itself. */
  readonly own = new OwnAnswers();
  /** What the operation may still ask for. */
  readonly spending = new Spending();
  /** Time for which the operation has waited for something newer than the copies it has at hand. */
  readonly withCopy: Stopwatch;
  /** The operation; `null` until it is known, and for what is none. */
  asker: Asker | null = null;
  #passing = false;
  #pending = 0;
  #onIdle: (() => void)[] = [];

  constructor(clock: Clock) {
    this.#waited = new Stopwatch(clock);
    this.withCopy = new Stopwatch(clock);
  }

  /** A cache entry served; a stale one perhaps only because a request for a newer one came to nothing. */
  hit(key: string, served: Served): void {
    if (!this.#sources.has(key)) this.#sources.set(key, 'cache');
    const wasStale = !served.stale && this.#hits.get(key)?.stale === true;
    this.#hits.set(key, wasStale ? { ...served, stale: true } : served);
  }

  /** Something served that is true of this moment only. */
  changesWithTime(): void {
    this.#passing = true;
  }

  /** Whether the same operation can be answered otherwise although the same entries serve. */
  get passing(): boolean {
    return this.#passing;
  }

  /**
   * The entries that served: when the oldest was read and from when on one is to be refreshed, both on
   * `clock.now()`, and how many there are of each kind.
   */
  served(now: number): {
    readonly oldestAt: number;
    readonly until: number;
    readonly reads: readonly ServedKind[];
  } {
    let oldestAt = now;
    let until = Number.POSITIVE_INFINITY;
    const reads = new Map<string, ServedKind>();
    for (const { hit, upstream, resource } of this.#hits.values()) {
      oldestAt = Math.min(oldestAt, hit.entry.storedAt);
      until = Math.min(until, changesAt(hit.entry, now));
      const kind = `${upstream} ${resource}`;
      reads.set(kind, { kind, upstream, resource, count: (reads.get(kind)?.count ?? 0) + 1 });
    }
    return { oldestAt, until, reads: [...reads.values()] };
  }

  /** Somebody else's request served this operation too. */
  joined(key: string): void {
    if (!this.#sources.has(key)) this.#sources.set(key, 'coalesced');
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

  /** Runs one read or write of the operation, so that `idle` can tell when none is left. */
  async track<T>(work: () => Promise<T>): Promise<T> {
    this.#pending += 1;
    try {
      return await work();
    } finally {
      this.#pending -= 1;
      if (this.#pending === 0) for (const wake of this.#onIdle.splice(0)) wake();
    }
  }

  /** Resolves when no read or write of the operation is under way, and none follows from the last. */
  async idle(): Promise<void> {
    for (;;) {
      // Whatever an answer leads to begins within one turn of the event loop.
      await new Promise<void>((resolve) => {
        setImmediate(resolve);
      });
      if (this.#pending === 0) return;
      await new Promise<void>((resolve) => {
        this.#onIdle.push(resolve);
      });
    }
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
    const hits = [...this.#hits.values()];
    const count = (source: Source) =>
      [...this.#sources.values()].filter((each) => each === source).length;
    return {
      calls: this.#calls.LINKS + this.#calls.MARKET,
      saved: { cache: count('cache'), coalesced: count('coalesced') },
      stale: hits.filter(({ stale }) => stale).length,
      maxAgeMs: Math.round(hits.reduce((max, { hit }) => Math.max(max, hit.ageMs), 0)),
      waitedMs: Math.round(this.waitedMs),
    };
  }
}
