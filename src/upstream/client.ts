import type { CallerClasses } from '../auth/caller-class.ts';
import type { Credential } from '../auth/credential.ts';
import type { Digest } from '../digest.ts';
import type { UpstreamName } from '../errors.ts';
import type { EventStream } from '../observe/event-stream.ts';
import type { Resource } from '../resources.ts';
import { newStore } from '../store/open-store.ts';
import { Budgets, type KeyState, processBudgets } from './budget/budgets.ts';
import type { ReservedShares } from './budget/law/document.ts';
import { SavedSlots } from './budget/saved-slots.ts';
import type { Cache, Freshness } from './cache/cache.ts';
import { EVERYTHING, scopeOf } from './cache/key.ts';
import { Refresher } from './cache/refresher.ts';
import type { SavedCache } from './cache/saved/saved-cache.ts';
import { SavedReads } from './cache/saved/saved-reads.ts';
import { CachedReads } from './cached-reads.ts';
import type { CountHistory } from './count-history.ts';
import { KeyedWrites } from './idempotency/keyed-writes.ts';
import { Records } from './idempotency/records.ts';
import { RowLocks } from './idempotency/row-locks.ts';

import { Fetcher } from './reads/fetch.ts';
import { InFlight } from './reads/in-flight.ts';
import type { ExchangeOptions } from './wire/exchange.ts';
import { Wire } from './wire/wire.ts';
import { Writes } from './writes.ts';

/** The options of a client, in addition to those of an exchange. */
export interface ClientOptions extends ExchangeOptions {
  readonly cache: Cache;
  readonly freshness: Readonly<Record<Resource, Freshness>>;
  /** Requests per window and key. */
  readonly rateLimit: number;
  /** The reserved shares of the limit; none by default. */
  readonly reserves?: ReservedShares | undefined;
  /** The classes of callers; none by default. */
  readonly classes?: CallerClasses | undefined;
  /** Number of requests per minute and key that jobs get although others wait; 2 by default, 0 for none. */
  readonly jobsMinPerMinute?: number | undefined;
  /** Maximum number of requests per operation, at most the limit of a window; two thirds of it by default. */
  readonly maxCallsPerOperation?: number | undefined;
  /** Replaces the parts of cache keys that represent a request's body. */
  readonly digest: Digest;
  /** Maximum number of keys with a budget; unlimited unless callers send their own keys. */
  readonly maxKeys?: number;
  /** Called with each partition that is removed because its key was rejected. */
  readonly onForgotten?: (partition: string) => void;
  /** Saves the slots of each key across restarts; without it, none are assumed before the start. */
  readonly slots?: SavedSlots;
  /** Receives the events of this client. */
  readonly events?: EventStream;
  /** Records counts over time. */
  readonly counts?: CountHistory | undefined;
  /** Saves the cache across restarts. */
  readonly savedCache?: SavedCache | undefined;
  /** Stores what became of writes with idempotency keys; by default for a short time in memory. */
  readonly records?: Records | undefined;
  /** After the end of a request, the upstream can still execute it for this time; by default 5 s. */
  readonly settleMs?: number | undefined;
}

/** How long keys are kept without a store of their own, in milliseconds, and their memory. */
const OWN_RECORDS = { keepMs: 600_000, maxBytes: 1024 * 1024 };
const SETTLE_MS = 5000;

/** One upstream API behind its budget: the only access to it. Composes the parts that a `Reader` uses. */
export class Client {
  readonly #options: ClientOptions;
  readonly #refresher: Refresher;
  readonly #wire: Wire;
  /** The budgets of all keys in use. */
  readonly budgets: Budgets;
  /** The cache for the readers of this upstream. */
  readonly cached: CachedReads;
  readonly inFlight: InFlight;
  /** The steps of a read that no cache entry serves immediately. */
  readonly fetcher: Fetcher;
  readonly writes: Writes;
  readonly keyedWrites: KeyedWrites;

  constructor(options: ClientOptions) {
    this.#options = options;
    const { cache, clock, counts, digest, events, freshness } = options;
    const { settleMs = SETTLE_MS } = options;
    const { upstream } = this;
    const budgets = this.#newBudgets();
    const inFlight = new InFlight(cache);
    const wire = new Wire(options, budgets, (credential) => this.forget(credential));
    const refresher = new Refresher({
      upstream,
      clock,
      cache,
      budget: (credential) => budgets.lookAt(credential),
      outOfOrder: () => wire.heldBack !== undefined,
      refresh: (of, forWhom) => this.fetcher.refresh(of, forWhom),
      takeBack: (key) => inFlight.takeBack(key),
    });
    const { authorization } = wire;
    const kept = { cache, digest, events, freshness, refresher, upstream };
    const saved = this.#savedReads();
    const cached = new CachedReads({ ...kept, authorization, counts, saved });
    const world = { budgets, cached, clock, counts, events, upstream, wire };
    this.#refresher = refresher;
    this.#wire = wire;
    this.budgets = budgets;
    this.inFlight = inFlight;
    this.fetcher = new Fetcher({ ...world, cache, inFlight, refresher });
    const rowLocks = new RowLocks(clock);
    this.writes = new Writes({ ...world, rowLocks, settleMs });
    const records =
      options.records ?? new Records({ clock, store: newStore(clock), ...OWN_RECORDS });
    const { writes } = this;
    this.keyedWrites = new KeyedWrites({
      upstream,
      baseUrl: options.baseUrl,
      clock,
      events,
      records,
      rowLocks,
      writes,
      settleMs,
    });
    this.cached = cached;
  }

  #savedReads(): SavedReads | undefined {
    const { baseUrl, savedCache: saved, timeZone } = this.#options;
    return saved && new SavedReads({ upstream: this.upstream, baseUrl, timeZone, saved });
  }

  #newBudgets(): Budgets {
    const { baseUrl, clock, events } = this.#options;
    const { maxKeys } = this.#options;
    const { classes, jobsMinPerMinute, maxCallsPerOperation, rateLimit, rateWindowMs } =
      this.#options;
    const { reserves, timeoutMs } = this.#options;
    const { upstream } = this;
    const { slots = new SavedSlots({ store: newStore(clock), clock, keepMs: rateWindowMs }) } =
      this.#options;
    const own = { classes, jobsMinPerMinute, rateLimit, rateWindowMs, reserves, timeoutMs };
    const limits = { baseUrl, clock, events, ...own, upstream };
    return new Budgets({
      upstream,
      clock,
      maxBudgets: maxKeys ?? Infinity,
      maxCallsPerOperation,
      budgetOf: processBudgets(limits, slots),
    });
  }

  /**
   * Removes all data read with a key that was rejected or is no longer used. Requests in flight complete with that key for the callers that wait for them.
   */
  forget(credential: Credential): void {
    const { cache, onForgotten } = this.#options;
    const { partition } = credential;
    const scope = scopeOf(this.upstream, partition);
    this.inFlight.forget(scope);
    this.#refresher.forget(partition);
    this.budgets.refused(credential);
    onForgotten?.(partition);
    // Notifies watchers, which can read again immediately.
    cache.forget(scope);
    this.cached.touch([EVERYTHING], credential);
  }

  get upstream(): UpstreamName {
    return this.#options.api.upstream;
  }

  /** The configured number of requests per window and key; the limit of a budget can differ. */
  get rateLimit(): number {
    return this.#options.rateLimit;
  }

  /** Where its events go; absent if nothing is observed. */
  get events(): EventStream | undefined {
    return this.#options.events;
  }

  /** The state of the budget of a credential's key. Costs nothing. */
  budgetState(credential: Credential): KeyState {
    return this.budgets.stateOf(credential);
  }

  /** What is recorded of counts over time; absent if nothing is. */
  get counts(): CountHistory | undefined {
    return this.#options.counts;
  }

  /** See `Wire.heldMs`. */
  get heldMs(): number {
    return this.#wire.heldMs;
  }

  /** Since when the upstream rejects one of the gateway's own keys, on `clock.now()`; undefined if it does not. */
  keyRefusedAt(credential: Credential): number | undefined {
    return this.#wire.authorization.refusedAt(credential);
  }

  /** Number of watched responses. The watchers must limit it. */
  get watched(): number {
    return this.#refresher.watches.size;
  }
}
