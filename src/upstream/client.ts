import { createHmac } from 'node:crypto';
import { GatewayError, type UpstreamName } from '../errors.ts';
import { Budget, type BudgetState } from './budget.ts';
import type { Cache, EntryState, Freshness } from './cache.ts';
import type { Read } from './call.ts';
import { type ExchangeOptions, exchange } from './exchange.ts';
import { type Failure, readError } from './failure.ts';
import { type Caller, Flight } from './flight.ts';
import { WireError } from './wire.ts';

/** A key of an upstream, and the name under which its answers and its budget are kept apart. */
export interface Credential {
  /** Says nothing about the key itself. */
  readonly partition: string;
  /** The key as the upstream wants it. */
  readonly secret: string;
}

/** On whose behalf a call is made: the operation, and the credential it uses here. */
export interface Access {
  readonly caller: Caller;
  readonly credential: Credential;
}

export interface ClientOptions extends ExchangeOptions {
  readonly cache: Cache;
  readonly freshness: (resource: string) => Freshness;
  /** Requests per window and key. */
  readonly rateLimit: number;
  /** Makes the parts of keys that stand for a request's body unreadable. Random for each process. */
  readonly keySalt: string;
}

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
    { flight: Flight<unknown>; read: Read<unknown>; asOf: number }
  >();
  readonly #budgets = new Map<string, Budget>();

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  get upstream(): UpstreamName {
    return this.#options.api.upstream;
  }

  /** The budget of a credential's key. */
  budget(credential: Credential): Budget {
    let budget = this.#budgets.get(credential.partition);
    if (!budget) {
      const { clock, rateLimit, rateWindowMs } = this.#options;
      budget = new Budget({ clock, limit: rateLimit, windowMs: rateWindowMs });
      this.#budgets.set(credential.partition, budget);
    }
    return budget;
  }

  /** How the budget of a credential's key stands. Costs nothing. */
  budgetState(credential: Credential): BudgetState {
    return this.budget(credential).state;
  }

  /**
   * Answers a read: 0 upstream calls from the cache or with somebody else's request in flight, else 1.
   * @throws GatewayError with any `UPSTREAM_...` code, `BUDGET_EXHAUSTED` or `OPERATION_TOO_EXPENSIVE`.
   */
  read<T>(read: Read<T>, access: Access): Promise<T> {
    const { receipt } = access.caller;
    return receipt.track(async () => {
      const key = this.#keyOf(read, access.credential);
      const kept = this.#options.cache.get(key);
      if (kept && kept.state !== 'fallback') {
        const stale = kept.state === 'stale';
        receipt.kept(key, kept.ageMs, stale);
        if (stale) this.#refresh(key, read, access.credential);
        return kept.entry.value as T;
      }
      try {
        return await this.#join(key, read, access);
      } catch (error) {
        const older = this.#options.cache.get(key);
        if (!older || !(error instanceof GatewayError && OUTAGES.has(error.code))) throw error;
        receipt.fellBack(older.ageMs);
        return older.entry.value as T;
      }
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

  /** Waits for the answer on its way, or asks for one. */
  #join<T>(key: string, read: Read<T>, { caller, credential }: Access): Promise<T> {
    const budget = this.budget(credential);
    const shared = this.#sharable(key);
    if (shared) {
      caller.receipt.joined(key);
      const estimateMs = shared.queued ? budget.estimate('interactive', shared.caller) : 0;
      return shared.wait(caller, estimateMs) as Promise<T>;
    }
    caller.receipt.plan(this.upstream, budget.state.limit);
    const estimateMs = budget.estimate('interactive', caller.name);
    const flight = this.#open(key, read, credential, caller.name);
    flight.depart();
    return flight.wait(caller, estimateMs);
  }

  /** Asks for a newer answer that nobody waits for, unless one is under way. */
  #refresh(key: string, read: Read<unknown>, credential: Credential): void {
    if (this.#sharable(key)) return;
    this.#open(key, read, credential, '', 'refresh').depart();
  }

  /** The flight of a key, unless a write has made what it will bring too old for new readers. */
  #sharable(key: string): Flight<unknown> | undefined {
    const open = this.#flights.get(key);
    if (!open) return undefined;
    if (open.flight.queued || this.#options.cache.holds(this.#tags(open.read, key), open.asOf)) {
      return open.flight;
    }
    return undefined;
  }

  #open<T>(
    key: string,
    read: Read<T>,
    credential: Credential,
    callerName: string,
    lane: 'interactive' | 'refresh' = 'interactive',
  ): Flight<T> {
    const { cache, clock } = this.#options;
    const tags = this.#tags(read, key);
    let sentAt = 0;
    let attempts = 0;
    const flight: Flight<T> = new Flight<T>({
      upstream: this.upstream,
      key,
      lane,
      caller: callerName,
      budget: this.budget(credential),
      clock,
      onSent: () => {
        open.asOf = cache.now;
        sentAt = clock.now();
      },
      onDone: () => {
        if (this.#flights.get(key)?.flight === flight) this.#flights.delete(key);
      },
      send: async () => {
        const { feedback, outcome } = await exchange(this.#options, read, credential.secret);
        if (outcome.kind === 'refused') return { feedback };
        if (outcome.kind === 'failure') {
          if (attempts++ === 0 && isLost(outcome.failure)) return { feedback, again: true };
          return { feedback, result: { error: readError(this.upstream, outcome.failure) } };
        }
        const { value, bytes } = outcome;
        const freshness = this.#options.freshness(read.resource);
        cache.set(key, { value, storedAt: sentAt, freshness, tags, asOf: open.asOf }, bytes);
        return { feedback, result: { value } };
      },
    });
    const open = { flight: flight as Flight<unknown>, read: read as Read<unknown>, asOf: 0 };
    this.#flights.set(key, open);
    return flight;
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

  /** The tags of a read inside its own upstream and credential. */
  #tags(read: Read<unknown>, key: string): string[] {
    const scope = key.slice(0, key.indexOf(' '));
    return read.tags.map((tag) => `${scope} ${tag}`);
  }
}

/** Whether the connection broke under a request, as one does that the upstream closed for idling. */
function isLost(failure: Failure): boolean {
  return failure instanceof WireError && failure.kind === 'lost';
}
