import { createHmac } from 'node:crypto';
import type { Credential } from '../auth/credential.ts';
import { GatewayError, type UpstreamName } from '../errors.ts';
import type { Observer } from '../observe/observer.ts';
import type { Resource } from '../resources.ts';
import type { Budget, BudgetState } from './budget/budget.ts';
import { Budgets } from './budget/budgets.ts';
import type { Cache, EntryState, Freshness } from './cache/cache.ts';
import { Refresher } from './cache/refresher.ts';
import type { Rehearsal } from './dry-run.ts';
import type { Call, Read, Write } from './request.ts';
import { type Caller, Flight } from './shared-requests.ts';
import { Breaker } from './wire/breaker.ts';
import type { Exchanged, ExchangeOptions } from './wire/exchange.ts';
import { type Failure, outOfOrder, readError, writeError } from './wire/failure.ts';
import { observedExchange } from './wire/observed-exchange.ts';
import { WireError } from './wire/send.ts';

/** On whose behalf a call is made: the operation, and the credential it uses here. */
export interface Access {
  readonly caller: Caller;
  readonly credential: Credential;
}

export interface ClientOptions extends ExchangeOptions {
  readonly cache: Cache;
  readonly freshness: (resource: Resource) => Freshness;
  /** Requests per window and key. */
  readonly rateLimit: number;
  /** Makes the parts of keys that stand for a request's body unreadable. Random for each process. */
  readonly keySalt: string;
  /** Keys whose budgets are kept at a time; unlimited unless callers bring keys of their own. */
  readonly maxKeys?: number;
  /** Told of what happens here. */
  readonly observer?: Observer;
}

/** What those who wait for a request are told. */
type Settled<T> = { readonly value: T } | { readonly error: unknown };

/** Errors after which an older answer is better than none. */
const OUTAGES = new Set([
  'BUDGET_EXHAUSTED',
  'OPERATION_TOO_EXPENSIVE',
  'UPSTREAM_UNAVAILABLE',
  'UPSTREAM_TIMEOUT',
  'UPSTREAM_INVALID_RESPONSE',
]);

/**
 * One upstream API behind its cache and its budget: the only way to it. Reads go cache, then
 * coalescing, then budget, then wire, and turn back at the first that knows the answer.
 */
export class Client {
  readonly #options: ClientOptions;
  readonly #flights = new Map<
    string,
    { flight: Flight<unknown>; read: Read<unknown>; asOf: number | null }
  >();
  readonly #budgets: Budgets;
  readonly #breaker: Breaker;
  readonly #refresher: Refresher;
  /** Counts the requests that are nobody else's, so that each has a line of its own on a receipt. */
  #alones = 0;

  constructor(options: ClientOptions) {
    this.#options = options;
    const { maxKeys = Number.POSITIVE_INFINITY } = options;
    this.#budgets = new Budgets({ ...options, upstream: this.upstream, maxBudgets: maxKeys });
    this.#breaker = new Breaker(options.clock);
    this.#refresher = new Refresher({
      clock: options.clock,
      cache: options.cache,
      budget: ({ partition }) => this.#budgets.lookAt(partition),
      outOfOrder: () => this.#breaker.closedInMs > 0,
      refresh: (key, read, credential) => this.#refresh(key, read, credential),
    });
  }

  get upstream(): UpstreamName {
    return this.#options.api.upstream;
  }

  /**
   * The budget of a credential's key.
   * @throws BudgetExhausted `BUDGET_EXHAUSTED` when too many other keys are in use.
   */
  budget(credential: Credential): Budget {
    return this.#budgets.of(credential.partition);
  }

  /** How the budget of a credential's key stands. Costs nothing. */
  budgetState(credential: Credential): BudgetState {
    return this.#budgets.lookAt(credential.partition).state;
  }

  /** The budgets of all keys in use. */
  get budgets(): Iterable<Budget> {
    return this.#budgets.all;
  }

  /** Lets what is under way, and writes, end within so many milliseconds. See `Budget.drain`. */
  drain(graceMs: number): void {
    this.#budgets.drain(graceMs);
  }

  /**
   * Answers a read: 0 upstream calls from the cache or with somebody else's request in flight, else 1.
   * @throws GatewayError with any `UPSTREAM_...` code, `BUDGET_EXHAUSTED` or `OPERATION_TOO_EXPENSIVE`.
   */
  read<T>(read: Read<T>, access: Access): Promise<T> {
    const { receipt, rehearsal } = access.caller;
    return receipt.track(async () => {
      const key = this.#keyOf(read, access.credential);
      if (rehearsal) return this.#rehearse(key, read, rehearsal);
      const kept = this.#options.cache.get(key);
      if (kept && this.#refresher.serves(key, read, access.credential, kept)) {
        const stale = kept.state !== 'fresh';
        receipt.kept(key, kept.ageMs, stale);
        this.#options.observer?.read?.(this.upstream, read.resource, stale ? 'stale' : 'hit');
        return kept.entry.value as T;
      }
      try {
        return await this.#join(key, read, access);
      } catch (error) {
        const older = this.#options.cache.get(key);
        if (!older || !(error instanceof GatewayError && OUTAGES.has(error.code))) throw error;
        receipt.kept(key, older.ageMs, true);
        return older.entry.value as T;
      }
    });
  }

  /**
   * Sends a write: exactly 1 upstream call, which is never repeated once it can have had an effect.
   * When this returns or throws, no reader will be shown the state before it any more.
   * @throws UpstreamRejected `UPSTREAM_REJECTED` when the upstream said no.
   * @throws GatewayError `OUTCOME_UNKNOWN` when it may or may not have happened; `BUDGET_EXHAUSTED` and
   * the other `UPSTREAM_...` codes when it has not.
   */
  write<T>(write: Write<T>, access: Access): Promise<T> {
    const touch = (result: T | null): void => {
      const scope = this.#scope(access.credential);
      this.#options.cache.touch(scoped(scope, write.touches(result)));
    };
    return this.#alone(write, 'write', access, (outcome) => {
      if (outcome.kind === 'value') {
        touch(outcome.value);
        return { value: outcome.value };
      }
      const error = writeError(this.upstream, outcome.failure, write.check);
      // "There is no such thing" tells that what we have kept of it is wrong as well.
      const outdated = !(outcome.failure instanceof WireError) && outcome.failure.kind === 'absent';
      if (error.code === 'OUTCOME_UNKNOWN' || outdated) touch(null);
      return { error };
    });
  }

  /**
   * Sends a read whose answer is a secret: exactly 1 upstream call, never shared, kept or repeated.
   * @throws GatewayError as `read` does.
   */
  readSecret<T>(call: Call<T>, access: Access): Promise<T> {
    return this.#alone(call, 'interactive', access, (outcome) =>
      outcome.kind === 'value'
        ? { value: outcome.value }
        : { error: readError(this.upstream, outcome.failure) },
    );
  }

  /** Sends a request that nobody else has any part in. */
  #alone<T>(
    call: Call<T>,
    lane: 'write' | 'interactive',
    { caller, credential }: Access,
    settle: (outcome: Exclude<Exchanged<T>['outcome'], { kind: 'refused' }>) => Settled<T>,
  ): Promise<T> {
    return caller.receipt.track(async () => {
      if (caller.rehearsal) {
        caller.rehearsal.callsAlone(this.upstream);
        return null as T;
      }
      this.#throwIfHindered();
      const budget = this.budget(credential);
      caller.receipt.plan(this.upstream, budget.state.limit);
      this.#alones += 1;
      const flight = new Flight<T>({
        upstream: this.upstream,
        key: `alone ${this.#alones}`,
        lane,
        lengthy: call.stream !== undefined,
        caller: caller.name,
        planned: caller.receipt,
        budget,
        clock: this.#options.clock,
        observer: this.#options.observer,
        hindrance: () => this.#hindrance(),
        send: async (payer) => {
          const { feedback, outcome } = await this.#exchange(call, credential, payer);
          return outcome.kind === 'refused' ? { feedback } : { feedback, result: settle(outcome) };
        },
      });
      flight.depart();
      return flight.wait(caller);
    });
  }

  /** What is kept for a read, whatever its age, without a call, a refresh or a line on a receipt. */
  peek<T>(read: Read<T>, credential: Credential): { value: T; state: EntryState } | undefined {
    const kept = this.#options.cache.peek(this.#keyOf(read, credential));
    return kept && { value: kept.entry.value as T, state: kept.state };
  }

  /** Whether an equal read is under way that a reader could share now. */
  underWay(read: Read<unknown>, credential: Credential): boolean {
    return this.#sharable(this.#keyOf(read, credential)) !== undefined;
  }

  /** Notes what a read would cost now, and answers it from what is kept or with a placeholder. */
  #rehearse<T>(key: string, read: Read<T>, rehearsal: Rehearsal): T {
    const kept = this.#options.cache.peek(key);
    if (kept && kept.state !== 'fallback') {
      rehearsal.keeps(key);
      return kept.entry.value as T;
    }
    if (this.#sharable(key)) rehearsal.joins(key);
    else rehearsal.calls(this.upstream, key);
    // The id of a placeholder stands in the path: how many of those there are is not known.
    if (/\/-\d/.test(read.path)) rehearsal.guesses();
    return read.placeholder?.() ?? (null as T);
  }

  /** Waits for the answer on its way, or asks for one. */
  async #join<T>(key: string, read: Read<T>, { caller, credential }: Access): Promise<T> {
    const budget = this.budget(credential);
    const shared = this.#sharable(key);
    this.#options.observer?.read?.(this.upstream, read.resource, shared ? 'coalesced' : 'miss');
    if (shared) {
      const value = (await shared.wait(caller)) as T;
      caller.receipt.joined(key);
      return value;
    }
    this.#throwIfHindered();
    caller.receipt.plan(this.upstream, budget.state.limit);
    const flight = this.#open(key, read, credential, { caller });
    flight.depart();
    return flight.wait(caller);
  }

  /** Asks for a newer answer that nobody waits for, unless one is under way. */
  #refresh(key: string, read: Read<unknown>, credential: Credential): void {
    if (this.#sharable(key) || this.#refresher.isBackingOff(key)) return;
    if (!this.#budgets.hasRoomFor(credential.partition)) return;
    // The oldest answer is refreshed first, whatever the order in which they were asked for.
    const urgency = () => this.#options.cache.peek(key)?.ageMs ?? 0;
    this.#open(key, read, credential, { urgency }).depart();
  }

  /** The flight of a key, unless a write has made what it will bring too old for new readers. */
  #sharable(key: string): Flight<unknown> | undefined {
    const open = this.#flights.get(key);
    if (!open) return undefined;
    const { flight, read, asOf } = open;
    const tags = scoped(scopeOf(key), [...read.tags, ...(read.flightTags ?? [])]);
    return asOf === null || this.#options.cache.holds(tags, asOf) ? flight : undefined;
  }

  #open<T>(
    key: string,
    read: Read<T>,
    credential: Credential,
    purpose: { readonly caller: Caller } | { readonly urgency: () => number },
  ): Flight<T> {
    const { cache, clock } = this.#options;
    const scope = scopeOf(key);
    let sentAt = 0;
    let attempts = 0;
    const flight: Flight<T> = new Flight<T>({
      upstream: this.upstream,
      key,
      ...('caller' in purpose
        ? { lane: 'interactive', caller: purpose.caller.name, planned: purpose.caller.receipt }
        : {
            lane: 'refresh',
            caller: '',
            urgency: purpose.urgency,
            // What a write has made wrong is read anew by the next who asks, and by nobody before.
            due: () => cache.peek(key) !== undefined,
          }),
      budget: this.budget(credential),
      clock,
      observer: this.#options.observer,
      hindrance: () => this.#hindrance(),
      onSent: () => {
        open.asOf = cache.now;
        sentAt = clock.now();
      },
      onDone: () => {
        if (this.#flights.get(key)?.flight === flight) this.#flights.delete(key);
      },
      send: async (payer) => {
        const { feedback, outcome } = await this.#exchange(read, credential, payer);
        const { asOf } = open;
        const again = outcome.kind === 'failure' && isLost(outcome.failure) && attempts++ === 0;
        if (again || outcome.kind === 'refused') {
          // What goes again shows the writes up to then.
          open.asOf = null;
          return again ? { feedback, again } : { feedback };
        }
        if (outcome.kind === 'failure') {
          this.#refresher.failed(key);
          return { feedback, result: { error: readError(this.upstream, outcome.failure) } };
        }
        const { value, bytes } = outcome;
        if (asOf !== null && cache.holds(scoped(scope, read.flightTags ?? []), asOf)) {
          const freshness = this.#options.freshness(read.resource);
          const tags = scoped(scope, [...read.tags, ...(read.lateTags?.(value) ?? [])]);
          cache.set(key, { value, storedAt: sentAt, freshness, tags, asOf }, bytes);
        }
        this.#refresher.renewed(key, credential);
        return { feedback, result: { value } };
      },
    });
    const open = {
      flight: flight as Flight<unknown>,
      read: read as Read<unknown>,
      /** Null until it leaves: only then is it settled which writes its answer will show. */
      asOf: null as number | null,
    };
    this.#flights.set(key, open);
    return flight;
  }

  /** Why a request should stay here: the upstream is out of order. */
  #hindrance(): GatewayError | undefined {
    const { closedInMs } = this.#breaker;
    return closedInMs === 0 ? undefined : outOfOrder(this.upstream, closedInMs);
  }

  #throwIfHindered(): void {
    const hindrance = this.#hindrance();
    if (hindrance) throw hindrance;
  }

  /** Sends a request, and learns from the answer whether the upstream is in order. */
  async #exchange<T>(
    call: Call<T> & { readonly absentIsNull?: boolean },
    credential: Credential,
    operation: object | undefined,
  ): Promise<Exchanged<T>> {
    this.#breaker.leaving();
    const sent = observedExchange(this.#options, call, credential.secret, operation);
    // A mistake of ours says nothing about the upstream, and must not keep it closed.
    sent.catch(() => this.#breaker.succeeded());
    const exchanged = await sent;
    const { outcome } = exchanged;
    if (outcome.kind === 'failure' && isOutage(outcome.failure)) {
      this.#breaker.failed(call.path, outcome.failure);
    } else {
      this.#breaker.succeeded();
    }
    return exchanged;
  }

  #scope(credential: Credential): string {
    return `${this.upstream}:${credential.partition}`;
  }

  /** Under what an answer is kept. Bodies can hold what must not be stored, so they are hashed. */
  #keyOf(read: Read<unknown>, credential: Credential): string {
    const query = new URLSearchParams(read.query);
    query.sort();
    const body = read.body
      ? createHmac('sha256', this.#options.keySalt)
          .update(JSON.stringify(read.body))
          .digest('base64')
      : '';
    return `${this.#scope(credential)} ${read.method} ${read.path}?${query} ${body}`;
  }
}

/** The scope that a key begins with. */
function scopeOf(key: string): string {
  return key.slice(0, key.indexOf(' '));
}

/** Tags inside one upstream and credential. */
function scoped(scope: string, tags: readonly string[]): string[] {
  return tags.map((tag) => `${scope} ${tag}`);
}

/** Whether a failure says that the upstream is out of order, and not what it thinks of the request. */
function isOutage(failure: Failure): boolean {
  return (
    failure instanceof WireError || failure.kind === 'unavailable' || failure.kind === 'invalid'
  );
}

/** Whether the connection broke under a request, as one does that the upstream closed for idling. */
function isLost(failure: Failure): boolean {
  return failure instanceof WireError && failure.kind === 'lost';
}
