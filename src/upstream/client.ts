import type { AtOnce } from '../at-once.ts';
import type { Credential } from '../auth/credential.ts';
import type { UpstreamName } from '../errors.ts';
import type { Budget, BudgetWatch } from './budget/budget.ts';
import { Budgets, type KeyState } from './budget/budgets.ts';
import { keysAreNew } from './budget/journal/journal.ts';
import { processBudgets } from './budget/process-budget.ts';
import type { QueueForecast } from './budget/queue-forecast.ts';
import type { EntryState, Hit } from './cache/cache.ts';
import { cacheKey, scopeOf } from './cache/key.ts';
import { Refresher } from './cache/refresher.ts';
import type { Watchers } from './cache/watcher-turns.ts';
import type { Watch, WatchListener } from './cache/watches.ts';
import type { ClientOptions } from './client-options.ts';
import { Copies } from './copies.ts';
import { CopiesElsewhere } from './copies-elsewhere.ts';
import { copyServesAfter, waitWithCopyMs } from './copy-at-hand.ts';
import { KeyStanding } from './key-standing.ts';
import type { Access, Looking } from './operation.ts';
import type { Call, Read, Write } from './request.ts';
import { ReadRequests, type RequestOptions } from './requests/read-requests.ts';
import { CopyWillDo, type SharedRequest } from './requests/shared-request.ts';
import { SharedRequests } from './requests/shared-requests.ts';
import { type Answered, type Told, UnsharedRequests } from './requests/unshared-requests.ts';
import type { UpstreamClient } from './upstream-client.ts';
import { readError, writeError } from './wire/failure.ts';
import { GuardedExchange } from './wire/guarded-exchange.ts';
import { WireError } from './wire/send.ts';

/**
 * One upstream API behind its cache and its budget: the only way to it. A read goes cache > shared
 * request > budget > exchange, and turns back at the first that knows the answer.
 */
export class Client implements UpstreamClient {
  readonly #options: ClientOptions;
  readonly #shared: SharedRequests;
  readonly #budgets: Budgets;
  readonly #exchange: GuardedExchange;
  readonly #refresher: Refresher;
  readonly #reads: ReadRequests;
  readonly #unshared: UnsharedRequests;
  readonly #standing: KeyStanding;
  /** What the cache has for the readers of this upstream. */
  readonly copies: Copies;
  readonly #elsewhere: CopiesElsewhere | null;

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
    const kept = { upstream: this.upstream, cache, events, freshness };
    this.copies = new Copies({ ...kept, standing: this.#standing, refresher: this.#refresher });
    const { copies } = this;
    this.#elsewhere = options.answers
      ? new CopiesElsewhere({ cache, copies, freshness, answers: options.answers })
      : null;
    const requestOptions = (credential: Credential) => this.#requestOptions(credential);
    this.#reads = new ReadRequests({
      ...parts,
      cache,
      copies,
      elsewhere: this.#elsewhere,
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

  budgetState(credential: Credential): KeyState {
    return this.#budgets.stateOf(credential);
  }

  /** Lets what is in flight, and writes, end within so many milliseconds. See `Budget.drain`. */
  drain(graceMs: number): void {
    this.#budgets.drain(graceMs);
  }

  read<T>(read: Read<T>, access: Access): AtOnce<T> {
    const { caller, credential } = access;
    const key = this.keyOf(read, credential);
    const copy = this.copies.find(read, key, credential);
    if (copy && !caller.watches) this.copies.asked(copy, credential);
    if (copy && this.copies.serves(copy, credential)) {
      this.copies.count(read.resource, copy.hit.state !== 'fresh');
      return this.copies.tell(copy, caller.receipt);
    }
    const own = this.copies.own(key, access);
    if (own && !read.anew) return own.value as T;
    return caller.receipt.track(() => this.#readAnew(key, read, access, copy?.hit));
  }

  async #readAnew<T>(key: string, read: Read<T>, access: Access, known?: Hit): Promise<T> {
    let before = known;
    if (this.#elsewhere && !read.anew) {
      const { credential } = access;
      await this.#elsewhere.bring({ key, read, credential });
      const copy = this.copies.find(read, key, credential);
      if (copy && this.copies.serves(copy, credential)) {
        if (!access.caller.watches) this.copies.asked(copy, credential);
        const { resource } = read;
        this.#options.events?.emit('read', {
          upstream: this.upstream,
          resource,
          result: 'shared',
        });
        return this.copies.tell(copy, access.caller.receipt);
      }
      before = copy?.hit;
    }
    // What a write of unknown outcome has touched is no reason to be short of patience: the answer settles it.
    const willDo = before && !this.#refresher.isUnsettled(key, before);
    return this.#shareElseCopy(key, read, access, willDo ? before : undefined);
  }

  /** Answers from a request, or from the cached copy where nothing newer can be had. */
  async #shareElseCopy<T>(key: string, read: Read<T>, access: Access, before?: Hit): Promise<T> {
    try {
      return await this.#share(key, read, access, before);
    } catch (error) {
      const copy = this.copies.find(read, key, access.credential);
      // A write has touched the copy that would have done.
      const isTouched = !copy || this.#refresher.isUnsettled(key, copy.hit);
      if (error instanceof CopyWillDo && isTouched) return this.#shareElseCopy(key, read, access);
      if (copy && copyServesAfter(error))
        return this.copies.tell(copy, access.caller.receipt, true);
      throw error;
    }
  }

  write<T>(write: Write<T>, access: Access): Promise<T> {
    const { credential } = access;
    const settle = (outcome: Answered<T>, permit: string | undefined): Told<T> => {
      const after = (touched: AtOnce<void>) =>
        touched instanceof Promise ? { settled: touched } : {};
      const touch = (result: T | null) =>
        after(this.copies.touch(write.touches(result), credential, permit));
      if (outcome.kind === 'value') return { value: outcome.value, ...touch(outcome.value) };
      const error = writeError(this.upstream, outcome.failure, write.check);
      // "There is no such thing" says that what is cached of it is outdated as well.
      const outdated = !(outcome.failure instanceof WireError) && outcome.failure.kind === 'absent';
      if (outdated) return { error, ...touch(null) };
      if (error.code !== 'OUTCOME_UNKNOWN') return { error };
      return { error, ...after(this.copies.doubt(write.touches(null), credential, permit)) };
    };
    const mayTouch = () => this.copies.tagsOf(write.mayTouch ?? write.touches(null), credential);
    return this.#unshared.send(write, 'write', access, settle, mayTouch);
  }

  readSecret<T>(call: Call<T>, access: Access): Promise<T> {
    return this.#unshared.send(call, 'interactive', access, (outcome) =>
      outcome.kind === 'value'
        ? { value: outcome.value }
        : { error: readError(this.upstream, outcome.failure) },
    );
  }

  /**
   * Tells `changed` of all that becomes of the answer to a read, and keeps it fresh: past its ttl it is read again
   * before what is not watched, in the turn of one of its `watchers`, for as long as it is watched. 0 upstream calls by
   * itself.
   */
  watch(
    read: Read<unknown>,
    credential: Credential,
    changed: WatchListener,
    watchers: Watchers,
  ): Watch {
    const key = this.keyOf(read, credential);
    return this.copies.watch({ key, read }, credential, changed, watchers);
  }

  /** How many answers are watched; their number is for those who watch to bound. */
  get watched(): number {
    return this.#refresher.watches.size;
  }

  get sharesCopies(): boolean {
    return this.#elsewhere !== null;
  }

  bring(reads: readonly Read<unknown>[], credential: Credential): AtOnce<void> {
    const elsewhere = this.#elsewhere;
    if (!elsewhere) return undefined;
    const unknown = reads.filter((read) => {
      const state = this.peek(read, { credential })?.state;
      return state === undefined || state === 'fallback';
    });
    if (unknown.length === 0) return undefined;
    const sought = unknown.map((read) => ({ read, key: this.keyOf(read, credential), credential }));
    return elsewhere.bringAll(sought);
  }

  peek<T>(read: Read<T>, looking: Looking): { value: T; state: EntryState } | undefined {
    return this.copies.peek<T>(this.keyOf(read, looking.credential), looking);
  }

  inFlight(read: Read<unknown>, credential: Credential): boolean {
    return this.#shared.isExpected(this.keyOf(read, credential));
  }

  /** The request in flight that a reader would share now; undefined where it is only decided on in this turn. */
  shared(read: Read<unknown>, credential: Credential): SharedRequest<unknown> | undefined {
    return this.#shared.find(this.keyOf(read, credential));
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

  /** What a read's answer is cached under. */
  keyOf(read: Read<unknown>, { partition }: Credential): string {
    return cacheKey(scopeOf(this.upstream, partition), read, this.#options.digest);
  }

  /**
   * Waits for the request in flight, or makes one if the operation may; with a copy at hand not for long.
   * @throws GatewayError `UPSTREAM_UNAVAILABLE` while the breaker is open, `OPERATION_TOO_EXPENSIVE`.
   */
  async #share<T>(key: string, read: Read<T>, access: Access, copy?: Hit): Promise<T> {
    const { caller, credential } = access;
    const begin = () => this.#joinOrOpen(key, read, access, copy);
    const isShared = () => this.#shared.find(key) !== undefined;
    this.#budgets.of(credential);
    if (isShared()) return begin();
    if (this.#exchange.heldBack) throw this.#exchange.heldBack;
    const cameTrue = this.#shared.expect(key);
    return caller.receipt.spending
      .wish({
        upstream: this.upstream,
        batch: read.further === undefined ? read.resource : `${read.resource} ${read.path}`,
        key,
        rows: read.further,
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

  async #joinOrOpen<T>(
    key: string,
    read: Read<T>,
    { caller, credential }: Access,
    copy: Hit | undefined,
  ): Promise<T> {
    const shared = this.#shared.find(key);
    const copyMs = copy && waitWithCopyMs(caller, copy, shared?.ageMs ?? 0);
    const result = shared ? 'coalesced' : 'miss';
    const { resource } = read;
    this.#options.events?.emit('read', { upstream: this.upstream, resource, result });
    const request = shared ?? this.#reads.open(key, read, credential, { caller });
    const open = this.#shared.get(key);
    const value = (await request.wait(caller, copyMs)) as T;
    // Unless the request has left for this operation.
    caller.receipt.joined(key);
    this.copies.waited({ key, read, value }, open?.stamp ?? null, caller.receipt);
    return value;
  }

  #requestOptions(credential: Credential): RequestOptions {
    const { clock, events } = this.#options;
    return { upstream: this.upstream, budget: this.#budgets.of(credential), clock, events };
  }
}
