import type { CallerClasses } from '../auth/caller-class.ts';
import type { Credential } from '../auth/credential.ts';
import type { Digest } from '../digest.ts';
import type { UpstreamName } from '../errors.ts';
import type { EventStream } from '../observe/event-stream.ts';
import type { Resource } from '../resources.ts';
import type { AtOnce } from '../scheduling/at-once.ts';
import { newStore } from '../store/open-store.ts';
import { Budgets, type KeyState, processBudgets } from './budget/budgets.ts';
import type { ReservedShares } from './budget/law/document.ts';
import { SavedSlots } from './budget/saved-slots.ts';
import type { Cache, Freshness, Hit } from './cache/cache.ts';
import { cacheKey, EVERYTHING, scopeOf } from './cache/key.ts';
import { Refresher } from './cache/refresher.ts';
import type { SavedCache } from './cache/saved/saved-cache.ts';
import { CachedReads } from './cached-reads.ts';
import type { CountHistory, CountPoint, SeriesOf, StepSpan } from './count-history.ts';
import { PlannedReads } from './dry-run/planned-reads.ts';
import { KeyedWrites } from './idempotency/keyed-writes.ts';
import type { EvidenceLists } from './idempotency/looks/evidence-lists.ts';
import { Records } from './idempotency/records.ts';
import { RowLocks } from './idempotency/row-locks.ts';

import type { Access, Looking } from './operation.ts';
import { Fetcher } from './reads/fetch.ts';
import { InFlight } from './reads/in-flight.ts';
import type { Call, KeyedRead, Read, Write } from './request.ts';
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

/** One upstream API behind its budget: the only access to it, for operations in each of their modes. */
export class Client {
  readonly #options: ClientOptions;
  /** Keeps entries fresh, the watched ones above all. */
  readonly refresher: Refresher;
  readonly #inFlight: InFlight;
  /** The steps of a read that no cache entry serves immediately. */
  readonly #fetcher: Fetcher;
  readonly #writes: Writes;
  readonly #planned: PlannedReads;
  readonly keyedWrites: KeyedWrites;
  readonly wire: Wire;
  readonly upstream: UpstreamName;
  /** The configured number of requests per window and key; the limit of a budget can differ. */
  readonly rateLimit: number;
  /** The budgets of all keys in use. */
  readonly budgets: Budgets;
  /** The cache for the readers of this upstream. */
  readonly cached: CachedReads;

  constructor(options: ClientOptions) {
    this.#options = options;
    const { cache, clock, counts, events, rateWindowMs, settleMs = SETTLE_MS } = options;
    const { upstream } = options.api;
    this.upstream = upstream;
    this.rateLimit = options.rateLimit;
    const slots =
      options.slots ?? new SavedSlots({ store: newStore(clock), clock, keepMs: rateWindowMs });
    const budgets = new Budgets({
      upstream,
      clock,
      maxBudgets: options.maxKeys ?? Infinity,
      maxCallsPerOperation: options.maxCallsPerOperation,
      budgetOf: processBudgets(
        { ...options, upstream, limit: options.rateLimit, windowMs: rateWindowMs },
        slots,
      ),
    });
    const inFlight = new InFlight(cache);
    const wire = new Wire(options, budgets, (credential) => this.forget(credential));
    const refresher = new Refresher({
      upstream,
      clock,
      cache,
      budgets,
      outOfOrder: () => wire.heldBack !== undefined,
      refresh: (of, forWhom) => this.#fetcher.refresh(of, forWhom),
      takeBack: (key) => inFlight.takeBack(key),
    });
    const { authorization } = wire;
    const cached = new CachedReads({ ...options, authorization, refresher, upstream });
    const world = { budgets, cached, clock, counts, events, upstream, wire };
    this.refresher = refresher;
    this.wire = wire;
    this.budgets = budgets;
    this.#inFlight = inFlight;
    this.#planned = new PlannedReads({ ...world, inFlight });
    this.#fetcher = new Fetcher({ ...world, cache, inFlight, refresher });
    const rowLocks = new RowLocks(clock);
    const writes = new Writes({ ...world, rowLocks, settleMs });
    const records =
      options.records ?? new Records({ clock, store: newStore(clock), ...OWN_RECORDS });
    this.#writes = writes;
    const { baseUrl } = options;
    const ofWrites = { rowLocks, settleMs, writes };
    this.keyedWrites = new KeyedWrites({ ...world, ...ofWrites, baseUrl, records });
    this.cached = cached;
  }

  /**
   * Removes all data read with a key that was rejected or is no longer used. Requests in flight complete with that key for the callers that wait for them.
   */
  forget(credential: Credential): void {
    const { cache, onForgotten } = this.#options;
    const { partition } = credential;
    const scope = scopeOf(this.upstream, partition);
    this.#inFlight.forget(scope);
    this.refresher.forget(partition);
    this.budgets.refused(credential);
    onForgotten?.(partition);
    // Notifies watchers, which can read again immediately.
    cache.forget(scope);
    this.cached.touch([EVERYTHING], credential);
  }

  /** A read with its cache key. */
  keyed<T>(read: Read<T>, credential: Credential): KeyedRead<T> {
    const { page } = read;
    const known = page?.keyed;
    if (known?.credential === credential) return known;
    const { partition } = credential;
    const scope = scopeOf(this.upstream, partition);
    // Callers with keys of their own have another credential in each request.
    const isSame = known?.credential.partition === partition;
    const key = isSame ? known.key : cacheKey(scope, read, this.#options.digest);
    const of = { read, key, credential };
    if (page) page.keyed = of;
    return of;
  }

  /**
   * Returns the response to a read: without an upstream request from the cache, synchronously if possible, or from
   * a request in flight; otherwise 1 upstream request. None in any mode but `watched`.
   * @throws GatewayError with any `UPSTREAM_...` code, `BUDGET_EXHAUSTED` or `OPERATION_TOO_EXPENSIVE`.
   */
  read<T>(read: Read<T>, access: Access): AtOnce<T> {
    if (access.admittance) return access.admittance.admit().then(() => this.#read(read, access));
    return this.#read(read, access);
  }

  #read<T>(read: Read<T>, access: Access): AtOnce<T> {
    const { mode } = access;
    const of = this.keyed(read, access.credential);
    if (mode?.kind === 'planned') return this.#planned.read(of, access, mode);
    if (mode?.kind === 'watched') return this.#watched(of, access, mode);
    return this.#cached(of, access);
  }

  /** Returns the cached response, or one that the operation has waited for, or sends a request. */
  #cached<T>(of: KeyedRead<T>, access: Access): AtOnce<T> {
    const { hit, served } = this.cached.take(of, access);
    if (served) return served.value;
    return access.caller.receipt.track(() => this.#fetcher.fetch(of, access, hit));
  }

  #watched<T>(
    of: KeyedRead<T>,
    access: Access,
    { watcher }: Extract<Access['mode'], { kind: 'watched' }>,
  ): AtOnce<T> {
    const { cached } = this;
    const ended = watcher.begin(of, (changed, watchers) => cached.watch(of, changed, watchers));
    try {
      const value = this.#cached(of, access);
      // A failed read is watched too, because another reader may succeed.
      if (value instanceof Promise) return value.finally(ended);
      ended();
      return value;
    } catch (error) {
      ended();
      throw error;
    }
  }

  /**
   * Sends a write: exactly 1 upstream request, which is never repeated if it can have had an effect. After this returns
   * or throws, no reader gets the state before it. See also `KeyedWrites.write`.
   * @throws UpstreamRejected `UPSTREAM_REJECTED` if the upstream rejected it.
   * @throws GatewayError `OUTCOME_UNKNOWN` if it may or may not have happened; `BUDGET_EXHAUSTED` and the other
   * `UPSTREAM_...` codes if it has not.
   */
  async write<T>(write: Write<T>, access: Access, lists: EvidenceLists): Promise<T> {
    await access.admittance?.admit();
    const { mode } = access;
    if (!mode) return this.keyedWrites.write(write, access, lists);
    if (mode.kind === 'planned') return this.#planned.write(write, access, mode);
    throw new TypeError('a live query wrote');
  }

  /**
   * Sends a read whose response is a secret: exactly 1 upstream request, never shared, cached or repeated.
   * @throws GatewayError as `read` does.
   */
  async readSecret<T>(call: Call<T>, access: Access): Promise<T> {
    await access.admittance?.admit();
    const { mode } = access;
    if (!mode) return this.#writes.readSecret(call, access);
    if (mode.kind === 'planned') return this.#planned.readSecret(call, access, mode);
    throw new TypeError('a live query asked for a secret');
  }

  /**
   * Requests a response in the background for the history of counts, after all other requests and if slots are left.
   * Returns false if it may not be sent now. Costs 0 or 1 upstream request.
   */
  refresh(read: Read<unknown>, credential: Credential): boolean {
    return this.#fetcher.refresh(this.keyed(read, credential), 'history');
  }

  /** Whether the process before may have entries that this process lacks. */
  hasSaved(looking: Looking): boolean {
    return looking.admittance?.isAdmitted !== false && this.cached.hasSaved;
  }

  /**
   * The cached response to a read, whatever its age, or one that the operation has waited for: no request, no
   * refresh, nothing on the receipt.
   */
  peek<T>(read: Read<T>, looking: Looking): Hit<T> | undefined {
    if (looking.admittance?.isAdmitted === false) return undefined;
    return this.cached.peek(this.keyed(read, looking.credential), looking);
  }

  /**
   * The cached response to a read, unless it is outdated: no request, and none in the background. Unlike `peek`, it
   * is a part of the operation's response. Undefined if there is none.
   */
  cachedValue<T>(read: Read<T>, access: Access): T | undefined {
    const { caller, credential, mode } = access;
    const { cached } = this;
    const of = this.keyed(read, credential);
    const hit = this.peek(read, access);
    const usable = hit && hit.state !== 'fallback' ? hit : undefined;
    if (mode?.kind === 'planned') {
      // What is cached by then depends on the responses before.
      if (!usable && mode.dryRun.rounds.hasAnswered) mode.dryRun.guesses();
      if (usable) mode.dryRun.hit(of.key);
    } else if (mode?.kind === 'watched') {
      mode.watcher.begin(of, (changed, watchers) => cached.watch(of, changed, watchers))();
    } else if (usable) {
      cached.used(of, usable, caller.receipt);
    }
    return usable?.entry.value;
  }

  /** Whether an equal read is in flight that a reader could share now; in a dry run also one of its own. */
  inFlight(read: Read<unknown>, { admittance, credential, mode }: Looking): boolean {
    if (admittance?.isAdmitted === false) return false;
    const { key } = this.keyed(read, credential);
    const isPlanned = mode?.kind === 'planned' && mode.dryRun.counts({ key, about: read.about });
    return isPlanned || this.#inFlight.isExpected(key);
  }

  /**
   * The values of a count in its last steps. Costs nothing, in every mode.
   * @throws TypeError for a caller that was not admitted, which is a bug.
   */
  points(
    of: SeriesOf,
    span: StepSpan,
    { admittance, caller, credential, mode }: Access,
  ): CountPoint[] {
    if (admittance?.isAdmitted === false) throw new TypeError('a caller was not admitted');
    const { counts } = this.#options;
    const { upstream } = this;
    if (!counts) return [];
    const owner = { upstream, credential };
    const { step } = span;
    caller.receipt.ingredients.holdUntil(counts.changesAt(step));
    if (mode?.kind === 'watched') {
      const name = `${upstream} ${of.count} ${of.id} ${step}`;
      mode.watcher.look(name, () => counts.state(owner, of, step));
    }
    return counts.points(owner, of, span);
  }

  /** An update is not sent, because its row is not as its caller expects: for the metrics. */
  conflicted(): void {
    this.#options.events?.emit('conflict', { upstream: this.upstream });
  }

  /**
   * The state of the budget of a credential's key. Costs nothing.
   * @throws TypeError for a caller that was not admitted, which is a bug.
   */
  budgetState({ admittance, credential, mode }: Looking): KeyState {
    if (admittance?.isAdmitted === false) throw new TypeError('a caller was not admitted');
    if (mode?.kind === 'watched') {
      const { clock } = this.#options;
      const name = `${this.upstream} budget ${credential.partition}`;
      mode.watcher.look(name, () => textOfBudget(this.budgets.stateOf(credential), clock.now()));
    }
    return this.budgets.stateOf(credential);
  }
}

/** A text that changes with what is shown of a budget: times to the second. */
function textOfBudget(state: KeyState, now: number): string {
  const { limit, queued, remaining, resetInMs, upstreamResetInMs, used } = state;
  const times = [resetInMs, upstreamResetInMs].map((ms) => ms && Math.ceil((now + ms) / 1000));
  return [limit, used, remaining, queued, ...times].join();
}
