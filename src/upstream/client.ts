import type { Credential } from '../auth/credential.ts';
import type { UpstreamName } from '../errors.ts';
import type { AtOnce } from '../scheduling/at-once.ts';
import type { Budget, BudgetWatch } from './budget/budget.ts';
import { Budgets, type KeyState } from './budget/budgets.ts';
import { keysAreNew } from './budget/journal/journal.ts';
import { processBudgets } from './budget/process-budget.ts';
import type { QueueForecast } from './budget/queue-forecast.ts';
import type { Hit } from './cache/cache.ts';
import { everythingOf, type KeyedRead, scopeOf } from './cache/key.ts';
import { Refresher } from './cache/refresher.ts';
import { CachedReads } from './cached-reads.ts';
import type { ClientOptions } from './client-options.ts';
import type { Access } from './operation.ts';
import { Elsewhere } from './reads/elsewhere.ts';
import { Fetcher } from './reads/fetch.ts';
import { InFlight } from './reads/in-flight.ts';
import { Refreshes } from './reads/refreshes.ts';
import type { Waiters } from './reads/waiters.ts';
import type { Call, Read, Write } from './request.ts';
import { SharedCache } from './shared-cache.ts';
import { Wire } from './wire/wire.ts';
import { Writes } from './writes.ts';

/**
 * One upstream API behind its budget: the only way to it. What a read takes that no cache entry answers says `Fetcher`,
 * what a write takes `Writes`.
 */
export class Client {
  readonly #options: ClientOptions;
  readonly #budgets: Budgets;
  readonly #inFlight: InFlight;
  readonly #refresher: Refresher;
  readonly #fetcher: Fetcher;
  readonly #writes: Writes;
  /** What the cache has for the readers of this upstream. */
  readonly cached: CachedReads;
  /** What other replicas have for them; `null` where there are none. */
  readonly sharedCache: SharedCache | null;

  constructor(options: ClientOptions) {
    this.#options = options;
    const { answers, cache, clock, digest, events, freshness } = options;
    const { upstream } = this;
    const budgets = this.#newBudgets();
    const inFlight = new InFlight(cache);
    const wire = new Wire(options, {
      accepted: (credential) => budgets.accepted(credential),
      notAccepted: (credential) => budgets.notAccepted(credential),
      refused: (credential) => this.#forget(credential),
    });
    const refresher = new Refresher({
      clock,
      cache,
      budget: (credential) => budgets.lookAt(credential),
      outOfOrder: () => wire.heldBack !== undefined,
      refresh: (of, forWhom) => refreshes.refresh(of, forWhom),
      takeBack: (key) => inFlight.takeBack(key),
    });
    const { authorization } = wire;
    const kept = { cache, digest, events, freshness, refresher, upstream };
    const cached = new CachedReads({ ...kept, authorization });
    const sharedCache = answers ? new SharedCache({ cache, cached, freshness, answers }) : null;
    const elsewhere = sharedCache && new Elsewhere({ ...kept, cached, sharedCache });
    const maxCalls = ({ credential }: Pick<Access, 'credential'>) => this.maxCalls(credential);
    const world = { budgets, cached, clock, events, maxCalls, upstream, wire };
    const fetcher = new Fetcher({ ...world, cache, elsewhere, inFlight, refresher, sharedCache });
    const refreshes = new Refreshes({ budgets, cache, fetcher, inFlight, refresher, sharedCache });
    this.#budgets = budgets;
    this.#fetcher = fetcher;
    this.#inFlight = inFlight;
    this.#refresher = refresher;
    this.#writes = new Writes(world);
    this.cached = cached;
    this.sharedCache = sharedCache;
  }

  #newBudgets(): Budgets {
    const { baseUrl, budgetOf, clock, events, journal = keysAreNew, maxKeys } = this.#options;
    const { rateLimit, rateWindowMs, timeoutMs } = this.#options;
    const { upstream } = this;
    const watch: BudgetWatch = {
      foreign: (count) => events?.emit('foreign', { upstream, count }),
      paused: (ms) => events?.emit('paused', { upstream, ms }),
    };
    const limits = { baseUrl, rateLimit, rateWindowMs, timeoutMs };
    return new Budgets({
      upstream,
      clock,
      maxBudgets: maxKeys ?? Infinity,
      budgetOf: budgetOf ?? processBudgets(clock, limits, journal, watch),
    });
  }

  /** Forgets what was read with a caller's key; where there are other replicas, until they have too. */
  #forget(credential: Credential): AtOnce<void> {
    const { cache, onForgotten } = this.#options;
    const { partition } = credential;
    const scope = scopeOf(this.upstream, partition);
    this.#inFlight.forget(scope);
    this.#refresher.forget(partition);
    this.#budgets.refused(credential);
    onForgotten?.(partition);
    // Those who watch are told by it, and can come back at once.
    cache.forget(scope);
    return cache.touch([everythingOf(scope)]);
  }

  get upstream(): UpstreamName {
    return this.#options.api.upstream;
  }

  /** The budgets of all keys in use. */
  get budgets(): Iterable<Budget> {
    return this.#budgets.all;
  }

  /** How the budget of a credential's key stands. Costs nothing. */
  budgetState(credential: Credential): KeyState {
    return this.#budgets.stateOf(credential);
  }

  /** Lets what is in flight, and writes, end within this many milliseconds. See `Budget.drain`. */
  drain(graceMs: number): void {
    this.#budgets.drain(graceMs);
  }

  /** Answers a read that no entry here serves at once. See `Fetcher.fetch`. */
  fetch<T>(of: KeyedRead<T>, access: Access, known?: Hit): Promise<T> {
    return this.#fetcher.fetch(of, access, known);
  }

  /** Sends a write. See `Reader.write`. */
  write<T>(write: Write<T>, access: Access): Promise<T> {
    return this.#writes.write(write, access);
  }

  /** Sends a read whose answer is a secret. See `Reader.readSecret`. */
  readSecret<T>(call: Call<T>, access: Access): Promise<T> {
    return this.#writes.readSecret(call, access);
  }

  /** How many answers are watched; their number is for those who watch to bound. */
  get watched(): number {
    return this.#refresher.watches.size;
  }

  /** Adds to the cache what other replicas have of these reads: no upstream call. */
  prefetch(reads: readonly Read<unknown>[], credential: Credential): AtOnce<void> {
    if (!this.sharedCache) return undefined;
    const unknown = reads
      .map((read) => this.cached.keyed(read, credential))
      .filter((of) => {
        const state = this.cached.peek(of)?.state;
        return state === undefined || state === 'fallback';
      });
    return unknown.length === 0 ? undefined : this.sharedCache.prefetchAll(unknown);
  }

  /** Whether an equal read is in flight that a reader could share now. */
  inFlight({ key }: KeyedRead): boolean {
    return this.#inFlight.isExpected(key);
  }

  /** The request in flight that a reader would share now; undefined where it is only decided on in this turn. */
  shared({ key }: KeyedRead): Waiters<unknown> | undefined {
    return this.#inFlight.find(key)?.waiters;
  }

  /** The queue in which an operation would wait, to be played through. See `Budget.forecast`. */
  forecast(credential: Credential): QueueForecast {
    return this.#budgets.lookAt(credential).forecast();
  }

  /** Requests that one operation may make with a credential at most. */
  maxCalls(credential: Credential): number {
    const { limit } = this.#budgets.lookAt(credential);
    return Math.min(limit, this.#options.maxCallsPerOperation ?? limit);
  }
}
