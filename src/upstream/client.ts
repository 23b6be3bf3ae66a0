import type { AtOnce } from '../at-once.ts';
import type { Credential } from '../auth/credential.ts';
import type { UpstreamName } from '../errors.ts';
import type { Resource } from '../resources.ts';
import type { Budget, BudgetWatch } from './budget/budget.ts';
import { Budgets, type KeyState } from './budget/budgets.ts';
import { keysAreNew } from './budget/journal/journal.ts';
import { processBudgets } from './budget/process-budget.ts';
import type { QueueForecast } from './budget/queue-forecast.ts';
import type { Hit } from './cache/cache.ts';
import type { KeyedRead } from './cache/key.ts';
import { Refresher } from './cache/refresher.ts';
import { CachedReads } from './cached-reads.ts';
import type { ClientOptions } from './client-options.ts';
import { copyServesAfter, waitWithCopyMs } from './fallback.ts';
import { KeyStanding } from './key-standing.ts';
import type { Access, Caller } from './operation.ts';
import type { Call, Read, Write } from './request.ts';
import { ReadRequests, type RequestOptions } from './requests/read-requests.ts';
import { CopyWillDo, type SharedRequest } from './requests/shared-request.ts';
import { SharedRequests } from './requests/shared-requests.ts';
import { type Answered, type Told, UnsharedRequests } from './requests/unshared-requests.ts';
import { SharedCache } from './shared-cache.ts';
import { readError, writeError } from './wire/failure.ts';
import { GuardedExchange } from './wire/guarded-exchange.ts';
import { WireError } from './wire/send.ts';

/**
 * One upstream API behind its budget: the only way to it. A read that no cache entry answers goes shared
 * request > budget > exchange, and turns back at the first that knows the answer. See `Reader`.
 */
export class Client {
  readonly #options: ClientOptions;
  readonly #shared: SharedRequests;
  readonly #budgets: Budgets;
  readonly #exchange: GuardedExchange;
  readonly #refresher: Refresher;
  readonly #reads: ReadRequests;
  readonly #unshared: UnsharedRequests;
  readonly #standing: KeyStanding;
  /** What the cache has for the readers of this upstream. */
  readonly cached: CachedReads;
  /** What other replicas have for them; `null` where there are none. */
  readonly sharedCache: SharedCache | null;

  constructor(options: ClientOptions) {
    this.#options = options;
    const { baseUrl, cache, clock, journal = keysAreNew, maxKeys, rateLimit } = options;
    const { events, freshness, onForgotten, rateWindowMs, timeoutMs } = options;
    const limits = { baseUrl, rateLimit, rateWindowMs, timeoutMs };
    const watch: BudgetWatch = {
      foreign: (count) => events?.emit('foreign', { upstream: this.upstream, count }),
      paused: (ms) => events?.emit('paused', { upstream: this.upstream, ms }),
    };
    this.#budgets = new Budgets({
      upstream: this.upstream,
      clock,
      maxBudgets: maxKeys ?? Infinity,
      budgetOf: options.budgetOf ?? processBudgets(clock, limits, journal, watch),
    });
    this.#exchange = new GuardedExchange(options);
    this.#shared = new SharedRequests(cache);
    this.#refresher = new Refresher({
      clock,
      cache,
      budget: (credential) => this.#budgets.lookAt(credential),
      outOfOrder: () => this.#exchange.heldBack !== undefined,
      refresh: (of, forWhom) => this.#reads.refresh(of, forWhom),
      takeBack: (key) => this.#reads.takeBack(key),
    });
    const parts = { exchange: this.#exchange, shared: this.#shared, refresher: this.#refresher };
    this.#standing = new KeyStanding({ ...parts, cache, budgets: this.#budgets, onForgotten });
    const { answers, digest } = options;
    const kept = { upstream: this.upstream, cache, digest, events, freshness };
    const cached = new CachedReads({
      ...kept,
      standing: this.#standing,
      refresher: this.#refresher,
    });
    this.cached = cached;
    this.sharedCache = answers ? new SharedCache({ cache, cached, freshness, answers }) : null;
    const requestOptions = (credential: Credential) => this.#requestOptions(credential);
    this.#reads = new ReadRequests({
      ...parts,
      cache,
      cached,
      sharedCache: this.sharedCache,
      freshness,
      standing: this.#standing,
      hasRoomFor: (partition) => this.#budgets.hasRoomFor(partition),
      requestOptions,
    });
    this.#unshared = new UnsharedRequests({
      exchange: this.#exchange,
      standing: this.#standing,
      requestOptions,
      maxCalls: (credential) => this.maxCalls(credential),
    });
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

  /** Lets what is in flight, and writes, end within so many milliseconds. See `Budget.drain`. */
  drain(graceMs: number): void {
    this.#budgets.drain(graceMs);
  }

  /**
   * Answers a read from a request, or from the cache where nothing newer can be had. `known` is the entry that does not
   * serve at once. 0 or 1 upstream calls.
   * @throws GatewayError with any `UPSTREAM_...` code, `BUDGET_EXHAUSTED` or `OPERATION_TOO_EXPENSIVE`.
   */
  async fetch<T>(of: KeyedRead<T>, access: Access, known?: Hit): Promise<T> {
    let before = known;
    if (this.sharedCache && !of.read.page?.anew) {
      await this.sharedCache.prefetch(of);
      const { hit, ingredient, serves } = this.cached.lookUp(of.read, of.credential);
      if (hit && ingredient && serves) {
        if (!access.mode) this.cached.asked(ingredient);
        this.#emitRead(of.read.resource, 'shared');
        access.caller.receipt.ingredients.add(ingredient);
        return hit.entry.value;
      }
      before = hit;
    }
    // What a write of unknown outcome has touched is no reason to be short of patience: the answer settles it.
    const willDo = before && !this.#refresher.isUnsettled(of.key, before);
    return this.#shareElseCopy(of, access, willDo ? before : undefined);
  }

  /** Answers from a request, or from the cached copy where nothing newer can be had. */
  async #shareElseCopy<T>(of: KeyedRead<T>, access: Access, before?: Hit): Promise<T> {
    try {
      return await this.#share(of, access, before);
    } catch (error) {
      const hit = this.cached.find(of);
      // A write has touched the copy that would have done.
      const isTouched = !hit || this.#refresher.isUnsettled(of.key, hit);
      if (error instanceof CopyWillDo && isTouched) return this.#shareElseCopy(of, access);
      if (!hit || !copyServesAfter(error)) throw error;
      access.caller.receipt.ingredients.add(this.cached.ingredient(of, hit, true));
      return hit.entry.value;
    }
  }

  /** Sends a write. See `Reader.write`. */
  write<T>(write: Write<T>, access: Access): Promise<T> {
    const { credential } = access;
    const settle = (outcome: Answered<T>, permit: string | undefined): Told<T> => {
      const after = (touched: AtOnce<void>) =>
        touched instanceof Promise ? { settled: touched } : {};
      const touch = (result: T | null) =>
        after(this.cached.touch(write.touches(result), credential, permit));
      if (outcome.kind === 'value') return { value: outcome.value, ...touch(outcome.value) };
      const error = writeError(this.upstream, outcome.failure, write.check);
      // "There is no such thing" says that what is cached of it is outdated as well.
      const outdated = !(outcome.failure instanceof WireError) && outcome.failure.kind === 'absent';
      if (outdated) return { error, ...touch(null) };
      if (error.code !== 'OUTCOME_UNKNOWN') return { error };
      return { error, ...after(this.cached.doubt(write.touches(null), credential, permit)) };
    };
    const mayTouch = () => this.cached.tagsOf(write.mayTouch ?? write.touches(null), credential);
    return this.#unshared.send(write, 'write', access, settle, mayTouch);
  }

  /** Sends a read whose answer is a secret. See `Reader.readSecret`. */
  readSecret<T>(call: Call<T>, access: Access): Promise<T> {
    return this.#unshared.send(call, 'interactive', access, (outcome) =>
      outcome.kind === 'value'
        ? { value: outcome.value }
        : { error: readError(this.upstream, outcome.failure) },
    );
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
    return this.#shared.isExpected(key);
  }

  /** The request in flight that a reader would share now; undefined where it is only decided on in this turn. */
  shared({ key }: KeyedRead): SharedRequest<unknown> | undefined {
    return this.#shared.find(key);
  }

  /** The queue in which an operation would wait, to be played through. See `Budget.forecast`. */
  forecast(credential: Credential): QueueForecast {
    return this.#budgets.lookAt(credential).forecast();
  }

  /** Requests that one operation may make with a credential at most. */
  maxCalls(credential: Credential): number {
    const { limit } = this.#budgets.stateOf(credential);
    return Math.min(limit, this.#options.maxCallsPerOperation ?? limit);
  }

  /**
   * Waits for the request in flight, or makes one if the operation may; with a copy at hand not for long.
   * @throws GatewayError `UPSTREAM_UNAVAILABLE` while the breaker is open, `OPERATION_TOO_EXPENSIVE`.
   */
  async #share<T>(of: KeyedRead<T>, access: Access, copy?: Hit): Promise<T> {
    const { caller } = access;
    const { credential, key, read } = of;
    const begin = () => this.#joinOrOpen(of, caller, copy);
    const isShared = () => this.#shared.find(key) !== undefined;
    this.#budgets.of(credential);
    if (isShared()) return begin();
    if (this.#exchange.heldBack) throw this.#exchange.heldBack;
    const cameTrue = this.#shared.expect(key);
    return caller.receipt.spending
      .wish({
        upstream: this.upstream,
        batch: read.page?.further === undefined ? read.resource : `${read.resource} ${read.path}`,
        key,
        rows: read.page?.further,
        hasCopy: copy !== undefined,
        limit: () => this.maxCalls(credential),
        isShared,
        begin: () => {
          cameTrue();
          return begin();
        },
      })
      .finally(cameTrue);
  }

  async #joinOrOpen<T>(of: KeyedRead<T>, caller: Caller, copy: Hit | undefined): Promise<T> {
    const { key, read } = of;
    const shared = this.#shared.find(key);
    const copyMs = copy && waitWithCopyMs(caller, copy, shared?.ageMs ?? 0);
    this.#emitRead(read.resource, shared ? 'coalesced' : 'miss');
    const request = shared ?? this.#reads.open(of, { caller });
    const open = this.#shared.get(key);
    const value = (await request.wait(caller, copyMs)) as T;
    // Unless the request has left for this operation.
    caller.receipt.joined(key);
    this.cached.waited(of, value, open?.stamp ?? null, caller.receipt);
    return value;
  }

  #emitRead(resource: Resource, result: 'coalesced' | 'miss' | 'shared'): void {
    this.#options.events?.emit('read', { upstream: this.upstream, resource, result });
  }

  #requestOptions(credential: Credential): RequestOptions {
    const { clock, events } = this.#options;
    return { upstream: this.upstream, budget: this.#budgets.of(credential), clock, events };
  }
}
