import type { AtOnce } from '../at-once.ts';
import type { Credential } from '../auth/credential.ts';
import type { Digest } from '../digest.ts';
import type { UpstreamName } from '../errors.ts';
import type { Observer } from '../observe/observer.ts';
import type { Resource } from '../resources.ts';
import type { Budget, Permit, Upshot } from './budget/budget.ts';
import { Budgets, type KeyState } from './budget/budgets.ts';
import { type Journal, keysAreNew } from './budget/journal.ts';
import { processBudgets } from './budget/process-budget.ts';
import type { Cache, EntryState, Freshness, Hit } from './cache/cache.ts';
import { cacheKey, scopeOf } from './cache/key.ts';
import { Refresher } from './cache/refresher.ts';
import { Copies } from './copies.ts';
import { CopiesElsewhere, type SharedEntries } from './copies-elsewhere.ts';
import { copyServesAfter, waitWithCopyMs } from './copy-at-hand.ts';
import { KeyStanding } from './key-standing.ts';
import type { Access, Caller } from './operation.ts';
import type { Receipt } from './receipt.ts';
import type { Call, Read, Write } from './request.ts';
import { type Attempt, CopyWillDo, SharedRequest } from './shared-request.ts';
import { type ReadInFlight, SharedRequests } from './shared-requests.ts';
import { type Outcome, type Told, UnsharedRequests } from './unshared-requests.ts';
import type { UpstreamClient } from './upstream-client.ts';
import type { ExchangeOptions } from './wire/exchange.ts';
import { isLost, readError, readErrorOf, writeError } from './wire/failure.ts';
import { GuardedExchange } from './wire/guarded-exchange.ts';
import { WireError } from './wire/send.ts';

/** What a client needs beside what an exchange does. */
export interface ClientOptions extends ExchangeOptions {
  readonly cache: Cache;
  readonly freshness: (resource: Resource) => Freshness;
  /** Requests per window and key. */
  readonly rateLimit: number;
  /** Requests that one operation may make; never more than a window has, and so many by default. */
  readonly maxCallsPerOperation?: number;
  /** Makes the parts of cache keys that stand for a request's body unreadable. */
  readonly digest: Digest;
  /** Keys whose budgets are held at a time; unlimited unless callers bring keys of their own. */
  readonly maxKeys?: number;
  /** Told of each partition that is forgotten, because its key was refused. */
  readonly onForgotten?: (partition: string) => void;
  /** Remembers what each key has spent across processes; without one, nobody spent before. */
  readonly journal?: Journal;
  /** Makes the budget of a key, where replicas share it; by default this process has its keys to itself. */
  readonly budgetOf?: ((secret: string) => Budget) | undefined;
  /** Where replicas keep answers for each other, where there are several. */
  readonly entries?: SharedEntries | undefined;
  /** Told of what happens here. */
  readonly observer?: Observer;
}

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
  readonly #unshared: UnsharedRequests;
  readonly #standing: KeyStanding;
  /** What the cache has for the readers of this upstream. */
  readonly copies: Copies;
  readonly #elsewhere: CopiesElsewhere | null;

  constructor(options: ClientOptions) {
    this.#options = options;
    const { baseUrl, cache, clock, journal = keysAreNew, maxKeys, rateLimit } = options;
    const { freshness, observer, onForgotten, rateWindowMs, timeoutMs } = options;
    const limits = { baseUrl, rateLimit, rateWindowMs, timeoutMs };
    this.#budgets = new Budgets({
      upstream: this.upstream,
      clock,
      maxBudgets: maxKeys ?? Infinity,
      budgetOf: options.budgetOf ?? processBudgets(clock, limits, journal),
    });
    this.#exchange = new GuardedExchange(options);
    this.#shared = new SharedRequests(cache);
    this.#refresher = new Refresher({
      clock,
      cache,
      budget: (credential) => this.#budgets.lookAt(credential),
      outOfOrder: () => this.#exchange.heldBack !== undefined,
      refresh: (key, read, credential) => this.#refresh(key, read, credential),
    });
    const parts = { exchange: this.#exchange, shared: this.#shared, refresher: this.#refresher };
    this.#standing = new KeyStanding({ ...parts, cache, budgets: this.#budgets, onForgotten });
    const kept = { upstream: this.upstream, cache, freshness, observer };
    this.copies = new Copies({ ...kept, standing: this.#standing, refresher: this.#refresher });
    const { copies } = this;
    this.#elsewhere = options.entries
      ? new CopiesElsewhere({ cache, copies, freshness, entries: options.entries })
      : null;
    this.#unshared = new UnsharedRequests({
      exchange: this.#exchange,
      standing: this.#standing,
      requestOptions: (credential) => this.#requestOptions(credential),
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
    if (copy) this.copies.asked(copy, credential);
    if (copy && this.copies.serves(copy, credential)) {
      this.copies.count(read.resource, copy.hit.state !== 'fresh');
      return this.copies.tell(copy, caller.receipt);
    }
    return caller.receipt.track(() => this.#readAnew(key, read, access, copy?.hit));
  }

  async #readAnew<T>(key: string, read: Read<T>, access: Access, known?: Hit): Promise<T> {
    let before = known;
    if (this.#elsewhere && !read.anew) {
      const { credential } = access;
      await this.#elsewhere.bring({ key, read, credential });
      const copy = this.copies.find(read, key, credential);
      if (copy && this.copies.serves(copy, credential)) {
        this.copies.asked(copy, credential);
        this.#options.observer?.read?.(this.upstream, read.resource, 'shared');
        return this.copies.tell(copy, access.caller.receipt);
      }
      before = copy?.hit;
    }
    try {
      return await this.#share(key, read, access, before);
    } catch (error) {
      const copy = this.copies.find(read, key, access.credential);
      if (copy && copyServesAfter(error))
        return this.copies.tell(copy, access.caller.receipt, true);
      // A write has made the copy wrong that would have done.
      if (error instanceof CopyWillDo) return this.#share(key, read, access);
      throw error;
    }
  }

  write<T>(write: Write<T>, access: Access): Promise<T> {
    const { credential } = access;
    const settle = (outcome: Outcome<T>, permit: string | undefined): Told<T> => {
      const touch = (result: T | null) => {
        const touched = this.copies.touch(write.touches(result), credential, permit);
        return touched instanceof Promise ? { settled: touched } : {};
      };
      if (outcome.kind === 'value') return { value: outcome.value, ...touch(outcome.value) };
      const error = writeError(this.upstream, outcome.failure, write.check);
      // "There is no such thing" tells that what is cached of it is wrong as well.
      const outdated = !(outcome.failure instanceof WireError) && outcome.failure.kind === 'absent';
      if (error.code === 'OUTCOME_UNKNOWN' || outdated) return { error, ...touch(null) };
      return { error };
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

  get sharesCopies(): boolean {
    return this.#elsewhere !== null;
  }

  bring(reads: readonly Read<unknown>[], credential: Credential): AtOnce<void> {
    const elsewhere = this.#elsewhere;
    if (!elsewhere) return undefined;
    const unknown = reads.filter((read) => {
      const state = this.peek(read, credential)?.state;
      return state === undefined || state === 'fallback';
    });
    if (unknown.length === 0) return undefined;
    const sought = unknown.map((read) => ({ read, key: this.keyOf(read, credential), credential }));
    return Promise.all(sought.map((each) => elsewhere.bring(each))).then(() => {});
  }

  peek<T>(read: Read<T>, credential: Credential): { value: T; state: EntryState } | undefined {
    return this.copies.peek<T>(this.keyOf(read, credential), credential);
  }

  inFlight(read: Read<unknown>, credential: Credential): boolean {
    return this.#shared.isExpected(this.keyOf(read, credential));
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
    this.#options.observer?.read?.(this.upstream, read.resource, shared ? 'coalesced' : 'miss');
    const request = shared ?? this.#open(key, read, credential, { caller });
    const value = (await request.wait(caller, copyMs)) as T;
    // Unless the request has left for this operation.
    caller.receipt.joined(key);
    return value;
  }

  /** Asks for a newer answer behind the readers' backs, unless a request for it is in flight. */
  #refresh(key: string, read: Read<unknown>, credential: Credential): void {
    if (this.#shared.find(key) || this.#refresher.isBackingOff(key)) return;
    if (!this.#budgets.hasRoomFor(credential.partition)) return;
    if (this.#elsewhere) void this.#refreshUnlessElsewhere(key, read, credential);
    else this.#openRefresh(key, read, credential);
  }

  /** The same, unless another replica has a newer answer already. */
  async #refreshUnlessElsewhere(
    key: string,
    read: Read<unknown>,
    credential: Credential,
  ): Promise<void> {
    const before = this.#options.cache.peek(key)?.entry;
    await this.#elsewhere?.bring({ key, read, credential });
    if (this.#options.cache.peek(key)?.entry !== before || this.#shared.find(key)) return;
    this.#openRefresh(key, read, credential);
  }

  #openRefresh(key: string, read: Read<unknown>, credential: Credential): void {
    // The oldest answer is refreshed first, whatever the order in which they were asked for.
    this.#open(key, read, credential, {
      urgency: () => this.#options.cache.peek(key)?.ageMs ?? 0,
    });
  }

  /** Makes a request for a read, which waits for its turn and can be shared until it is answered. */
  #open<T>(
    key: string,
    read: Read<T>,
    credential: Credential,
    purpose: { readonly caller: Caller } | { readonly urgency: () => number },
  ): SharedRequest<T> {
    let attempts = 0;
    const request = new SharedRequest<T>({
      ...this.#requestOptions(credential),
      ...('caller' in purpose
        ? { lane: 'interactive', caller: purpose.caller.name, planned: purpose.caller.receipt }
        : { lane: 'refresh', caller: '', urgency: purpose.urgency }),
      ...(this.#elsewhere ? this.#sharing(this.#elsewhere, { key, read, credential }) : {}),
      attempt: (payer, permit) => {
        attempts += 1;
        const mayRepeat = attempts === 1;
        return this.#attemptRead(key, open, credential, { payer, permit, mayRepeat });
      },
    });
    const open: ReadInFlight<T> = { read, request, stamp: null };
    this.#shared.add(key, open as ReadInFlight);
    request.enqueue();
    return request;
  }

  /** Tries once to get the answer to a read, and stores it. */
  async #attemptRead<T>(
    key: string,
    open: ReadInFlight<T>,
    credential: Credential,
    {
      payer,
      permit,
      mayRepeat,
    }: {
      readonly payer: Receipt | undefined;
      readonly permit: Permit | undefined;
      readonly mayRepeat: boolean;
    },
  ): Promise<Attempt<T>> {
    const { cache } = this.#options;
    const { read } = open;
    // What a write has made wrong is read anew by the next who asks, and not before.
    if (!payer && cache.peek(key) === undefined) return { kind: 'unsent' };
    const heldBack = this.#exchange.heldBackFor(read);
    if (heldBack) return { kind: 'unsent', error: heldBack };
    payer?.sent(this.upstream, key);
    const stamp = permit?.stamp ?? cache.stamp();
    open.stamp = stamp;
    const { feedback, outcome } = await this.#standing.send(read, credential, payer, permit);
    if (outcome.kind === 'late') {
      payer?.notSent(this.upstream, key);
      open.stamp = null;
      return { kind: 'late' };
    }
    const again = outcome.kind === 'failure' && isLost(outcome.failure) && mayRepeat;
    if (again || outcome.kind === 'refused') {
      // What goes again shows the writes up to then.
      open.stamp = null;
      return { kind: again ? 'again' : 'refused', feedback };
    }
    if (outcome.kind === 'failure') {
      this.#refresher.failed(key);
      const error = readError(this.upstream, outcome.failure);
      return { kind: 'error', feedback, error, upshot: { kind: 'failed', code: error.code } };
    }
    const { bytes, value } = outcome;
    const isKept =
      !open.orphaned &&
      this.copies.store({ key, read, value, bytes }, stamp) &&
      this.#elsewhere?.keep({ key, read, credential }, { value, bytes, stamp });
    const upshot: Upshot | undefined = isKept ? { kind: 'shared' } : undefined;
    return { kind: 'value', feedback, value, upshot };
  }

  /** What other replicas have to know of a read in flight, and what theirs come to here. */
  #sharing<T>(
    elsewhere: CopiesElsewhere,
    sought: { readonly key: string; readonly read: Read<T>; readonly credential: Credential },
  ): Pick<ConstructorParameters<typeof SharedRequest<T>>[0], 'sharing' | 'elsewhere'> {
    const { cache, freshness } = this.#options;
    const { credential, key, read } = sought;
    const sharedAt = (): number => cache.peek(key)?.entry.shared?.at ?? 0;
    return {
      sharing: {
        key: elsewhere.nameOf(sought),
        tags: this.copies.tagsOf([...read.tags, ...(read.inFlightTags ?? [])], credential),
        ttlMs: freshness(read.resource).ttlMs,
        newerThan: sharedAt,
      },
      elsewhere: async (upshot) => {
        if (upshot.kind === 'failed') {
          const error = readErrorOf(this.upstream, upshot.code);
          if (error) this.#refresher.failed(key);
          return error && { error };
        }
        const before = sharedAt();
        await elsewhere.bring(sought);
        const copy = this.copies.find(read, key, credential);
        const isNewer = copy !== undefined && sharedAt() > before && copy.hit.state !== 'fallback';
        return isNewer ? { value: copy.hit.entry.value as T } : null;
      },
    };
  }

  #requestOptions(credential: Credential) {
    const { clock, observer } = this.#options;
    return { upstream: this.upstream, budget: this.#budgets.of(credential), clock, observer };
  }
}
