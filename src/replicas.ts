import { randomBytes } from 'node:crypto';
import { BoundedMap } from './bounded-map.ts';
import type { Clock } from './clock.ts';
import type { Config } from './config/config.ts';
import type { Endpoints } from './config/endpoints.ts';
import type { RedisConfig } from './config/redis.ts';
import type { Digest } from './digest.ts';
import type { UpstreamName } from './errors.ts';
import type { Log } from './observe/logger.ts';
import type { Observer } from './observe/observer.ts';
import { RedisConnection } from './redis/connection.ts';
import { KeptEntries } from './redis/kept-entries.ts';
import type { Message } from './redis/messages.ts';
import { Replica } from './redis/replica.ts';
import { createSealing, type Sealing } from './redis/seal.ts';
import { Settling } from './redis/settling.ts';
import { type SharedClaim, SharedLedger } from './redis/shared-ledger.ts';
import { holdMs, MARGIN_MS, type ProtocolTimes, protocolTimes } from './redis/times.ts';
import type { Budget } from './upstream/budget/budget.ts';
import { SharedBudget } from './upstream/budget/shared-budget.ts';
import type { Stamp } from './upstream/cache/cache.ts';
import { scopedTags, scopeOf, scopeOfKey } from './upstream/cache/key.ts';
import { SharedGenerations } from './upstream/cache/shared-generations.ts';
import type { SharedEntries } from './upstream/copies-elsewhere.ts';

/** Budgets of callers' keys whose ledgers are remembered. */
const LEDGERS_REMEMBERED = 2000;
/** Budgets whose state is told with each beat. */
const MOST_WATCHED = 20;

/** What is wrong between this process and the others. */
export interface ReplicaFault {
  readonly reason: 'redis-unreachable' | 'quarantine' | 'lease-lost';
  readonly upstream?: UpstreamName;
  readonly retryAfterMs?: number;
}

/** What one upstream's client needs to share its budgets and its answers. */
export interface Sharing {
  readonly budgetOf: (secret: string) => Budget;
  readonly entries: SharedEntries;
}

/** How an upstream's lists learn of what was written elsewhere. See `Lists.touchedElsewhere`. */
type TouchedElsewhere = (partition: string, tags: readonly string[]) => readonly string[];

interface ReplicasOptions {
  readonly config: Config;
  readonly redis: RedisConfig;
  readonly endpoints: Endpoints;
  readonly clock: Clock;
  readonly observer: Observer;
  readonly log: Log;
}

/**
 * This process as one of several on one Redis: its part of the budgets, answers and writes that all share.
 */
export class Replicas {
  readonly generations: SharedGenerations;
  /** The same on all replicas. */
  readonly digest: Digest;
  readonly #options: ReplicasOptions;
  readonly #prefix: string;
  readonly #sealing: Sealing;
  readonly #times: ProtocolTimes;
  readonly #connection: RedisConnection;
  readonly #replica: Replica;
  readonly #settling: Settling;
  readonly #kept: KeptEntries;
  /** Of the operator's keys, which are watched always. */
  readonly #own = new Map<string, SharedLedger>();
  readonly #others = new BoundedMap<SharedLedger>({ max: LEDGERS_REMEMBERED });
  /** The budgets under which something waits, by name. */
  readonly #waiting = new Map<string, Set<SharedBudget>>();
  readonly #listeners = new Map<UpstreamName, TouchedElsewhere>();
  #permits = 0;
  #replicas = 0;
  #wasOut = false;
  #differs = false;
  #began = false;

  constructor(options: ReplicasOptions) {
    this.#options = options;
    const { clock, config, endpoints, observer, redis } = options;
    this.#prefix = `{${redis.prefix}:1}`;
    this.#sealing = createSealing(redis.secret);
    this.digest = (text) => this.#sealing.name('digest', text);
    const upstreams = [config.links, config.market].filter(
      (_, at) => [endpoints.links, endpoints.market][at] !== null,
    );
    this.#times = protocolTimes(upstreams.map(({ rateWindowMs }) => rateWindowMs));
    const channel = `${this.#prefix}:ch`;
    this.#connection = new RedisConnection({
      urls: redis.urls,
      sentinelName: redis.sentinelName,
      clock,
      callMs: this.#times.callMs,
      keys: [`${this.#prefix}:state`, `${this.#prefix}:tags`],
      channel,
      replyObserver: (...args) => observer.roundTrip?.(...args),
      events: {
        up: () => {
          this.#replica.beat();
          this.#settling.again();
        },
        down: (reason) => this.#reason(reason),
        message: (text) => this.#replica.hears(text),
      },
    });
    this.#replica = new Replica({
      id: randomBytes(9).toString('base64url'),
      fingerprint: this.#sealing.fingerprint,
      channel,
      clock,
      times: this.#times,
      run: (script, args) => this.#connection.run(script, args),
      watched: () => this.#watched().map(({ cfg, name }) => ({ name, cfg })),
      listeners: {
        touched: ({ low, n, tags }) => this.generations.apply(tags, { low, n }),
        newEpoch: (epoch) => this.#newEpoch(epoch),
        view: (name, json) => this.#ledger(name)?.look(json, clock.now()),
        message: (message) => this.#hear(message),
        beaten: (replicas) => {
          this.#began = true;
          this.#differs = false;
          this.#replicas = replicas;
        },
        tried: () => this.#noticeOutage(),
        differs: () => this.#noticeDifference(),
      },
    });
    const { leaseMs, beatMs, sendByMs } = this.#times;
    const timeoutMs = Math.max(...upstreams.map((each) => each.timeoutMs));
    this.#settling = new Settling({
      replica: this.#replica,
      clock,
      times: this.#times,
      giveUpMs: sendByMs + timeoutMs + MARGIN_MS + leaseMs + 2 * beatMs,
      settled: (...args) => observer.settled?.(...args),
    });
    this.generations = new SharedGenerations({
      surroundings: () => this.#replica,
      suspectAfterMs: 2 * leaseMs,
      unconfirmed: redis.outageReads,
      tell: (...args) => this.#settling.settle(...args),
      alsoTouched: (tags) => this.#alsoTouched(tags),
    });
    this.#kept = new KeptEntries({
      sealing: this.#sealing,
      prefix: this.#prefix,
      read: (names) => this.#connection.read(names),
      write: (...args) => this.#connection.write(...args),
      unreadable: () => observer.unreadable?.(),
    });
    for (const upstream of ['links', 'market'] as const) {
      const endpoint = endpoints[upstream];
      if (!endpoint || endpoint.apiKey === '') continue;
      const ledger = this.#newLedger(upstream === 'links' ? 'LINKS' : 'MARKET', endpoint.apiKey);
      this.#own.set(ledger.name, ledger);
    }
  }

  /** Begins to beat. Never throws. */
  start(): void {
    this.#connection.start();
    this.#replica.beat();
  }

  /** Lets no other replica wait for this one, and lets go of Redis. */
  async close(): Promise<void> {
    await this.#replica.close([...this.#waiting.keys()]);
    this.#settling.close();
    await this.#connection.close();
  }

  /** What the client of an upstream needs. */
  sharing(upstream: UpstreamName): Sharing {
    return {
      budgetOf: (secret) => this.#budget(upstream, secret),
      entries: {
        nameOf: (key, secret) =>
          this.#sealing.name('entry', `${this.#baseUrl(upstream)} ${secret} ${key}`),
        find: async (names) => {
          if (!this.#connection.isUp) return names.map(() => null);
          const { clock } = this.#options;
          const found = await this.#kept.find(names);
          return found.map((entry) => {
            if (!entry || entry.epoch !== this.#replica.epoch) return null;
            const { asOf, bytes, epoch, storedAt, value } = entry;
            const stamp: Stamp = {
              storedAt: Math.min(clock.now(), this.#replica.toLocal(storedAt)),
              generation: this.generations.generationOf(asOf),
              shared: { at: storedAt, epoch, asOf },
            };
            return { value, bytes, stamp };
          });
        },
        keep: (name, { bytes, stamp: { shared }, value }, ttlMs) => {
          if (!shared || shared.epoch !== this.#replica.epoch) return false;
          if (!this.#connection.isUp) return false;
          const { asOf, at, epoch } = shared;
          return this.#kept.keep(name, { storedAt: at, epoch, asOf, value, bytes }, ttlMs);
        },
      },
    };
  }

  /** Lets the lists of an upstream learn of what is written elsewhere. */
  listen(upstream: UpstreamName, touchedElsewhere: TouchedElsewhere): void {
    this.#listeners.set(upstream, touchedElsewhere);
  }

  /** Whether this process may answer at all. */
  get ready(): boolean {
    if (!this.#began) return false;
    return this.#options.redis.outageReads === 'stale' || this.#replica.leased;
  }

  /** What it makes do without now. */
  get faults(): readonly ReplicaFault[] {
    const { endpoints } = this.#options;
    if (this.#isOut) return [{ reason: 'redis-unreachable' }];
    const faults: ReplicaFault[] = [];
    if (!this.#replica.leased) faults.push({ reason: 'lease-lost' });
    for (const upstream of ['LINKS', 'MARKET'] as const) {
      const endpoint = upstream === 'LINKS' ? endpoints.links : endpoints.market;
      const retryAfterMs = endpoint ? Math.ceil(this.#quarantineMs(upstream)) : 0;
      if (retryAfterMs > 0) faults.push({ reason: 'quarantine', upstream, retryAfterMs });
    }
    return faults;
  }

  /** For metrics: whether Redis answers and this replica is up to date, and how many there are. */
  get gauges() {
    const isUp = !this.#isOut;
    return {
      isUp,
      leased: this.#replica.leased,
      replicas: isUp ? this.#replicas : 0,
      quarantineMs: (upstream: UpstreamName) => this.#quarantineMs(upstream),
    };
  }

  /** Nothing is known to get through, for longer than a moment. */
  get #isOut(): boolean {
    return this.#differs || this.#replica.silentMs > this.#times.leaseMs;
  }

  #limits(upstream: UpstreamName) {
    const { config } = this.#options;
    return upstream === 'LINKS' ? config.links : config.market;
  }

  #baseUrl(upstream: UpstreamName): string {
    const { links, market } = this.#options.endpoints;
    return (upstream === 'LINKS' ? links : market)?.baseUrl ?? '';
  }

  #quarantineMs(upstream: UpstreamName): number {
    const { rateWindowMs: windowMs, timeoutMs } = this.#limits(upstream);
    return Math.max(0, holdMs(this.#times, { windowMs, timeoutMs }) - this.#replica.epochAgeMs);
  }

  #budget(upstream: UpstreamName, secret: string): SharedBudget {
    const { clock, observer } = this.#options;
    const name = this.#budgetName(upstream, secret);
    const known = this.#ledger(name);
    const ledger = known ?? this.#newLedger(upstream, secret);
    if (!known) this.#others.set(name, ledger);
    return new SharedBudget({
      clock,
      ledger,
      times: this.#times,
      nextId: () => {
        this.#permits += 1;
        return `${this.#replica.id}.${this.#permits.toString(36)}`;
      },
      isOut: () => this.#isOut,
      quarantineMs: () => this.#quarantineMs(upstream),
      nameOf: (caller) => this.#sealing.name('caller', caller),
      stampOf: (claim) => this.#stampOf(claim),
      waits: (budget, does) => this.#noteWaiting(budget, does),
      observer: (outcome) => observer.permit?.(upstream, outcome),
    });
  }

  #budgetName(upstream: UpstreamName, secret: string): string {
    return `b:${upstream}:${this.#sealing.name('budget', `${this.#baseUrl(upstream)} ${secret}`)}`;
  }

  #newLedger(upstream: UpstreamName, secret: string): SharedLedger {
    const { rateLimit: limit, rateWindowMs: windowMs, timeoutMs } = this.#limits(upstream);
    const { clock } = this.#options;
    return new SharedLedger({
      replica: this.#replica,
      clock,
      times: this.#times,
      name: this.#budgetName(upstream, secret),
      limit,
      windowMs,
      timeoutMs,
    });
  }

  #ledger(name: string): SharedLedger | undefined {
    return this.#own.get(name) ?? this.#others.get(name);
  }

  #watched(): SharedLedger[] {
    const waiting = [...this.#waiting.keys()].filter((name) => !this.#own.has(name));
    const others = waiting.slice(0, MOST_WATCHED).flatMap((name) => this.#others.peek(name) ?? []);
    return [...this.#own.values()].concat(others);
  }

  #noteWaiting(budget: SharedBudget, does: boolean): void {
    const budgets = this.#waiting.get(budget.name) ?? new Set();
    if (does) {
      this.#waiting.set(budget.name, budgets.add(budget));
    } else {
      budgets.delete(budget);
      if (budgets.size === 0) this.#waiting.delete(budget.name);
    }
  }

  #stampOf({ asOf, epoch, sharedAt }: SharedClaim): Stamp {
    const { clock } = this.#options;
    const isOfNow = epoch === this.#replica.epoch;
    return {
      storedAt: Math.min(clock.now(), this.#replica.toLocal(sharedAt)),
      // What was asked for in an epoch that is over is suspect from the start.
      generation: isOfNow ? this.generations.generationOf(asOf) : this.generations.before,
      shared: { at: sharedAt, epoch, asOf },
    };
  }

  #hear(message: Exclude<Message, { kind: 'touch' }>): void {
    if (message.kind === 'ack') {
      this.#settling.acked(message.epoch, message.by, message.n);
      return;
    }
    const { budget, by, code, kept, key } = message;
    if (by === this.#replica.id) return;
    const upshot = kept
      ? ({ kind: 'shared' } as const)
      : code === null
        ? null
        : ({ kind: 'failed', code } as const);
    for (const waiting of this.#waiting.get(budget) ?? []) waiting.endedElsewhere(key, upshot);
  }

  /** Tags that writes elsewhere touch besides, by the lists that are cached here. */
  #alsoTouched(tags: readonly string[]): string[] {
    const byScope = new Map<string, string[]>();
    for (const tag of tags) {
      const scope = scopeOfKey(tag);
      byScope.set(scope, [...(byScope.get(scope) ?? []), tag.slice(scope.length + 1)]);
    }
    return [...byScope].flatMap(([scope, plain]) => {
      for (const [upstream, touchedElsewhere] of this.#listeners) {
        const start = scopeOf(upstream, '');
        if (!scope.startsWith(start)) continue;
        return scopedTags(scope, touchedElsewhere(scope.slice(start.length), plain));
      }
      return [];
    });
  }

  #newEpoch(epoch: string): void {
    const { log, observer } = this.#options;
    this.generations.beginEpoch();
    observer.epoch?.();
    void this.#settling.retell();
    for (const budgets of this.#waiting.values()) {
      for (const budget of budgets) budget.outageChanged();
    }
    log.event('redis has another memory', { epoch });
  }

  #noticeOutage(): void {
    const { log } = this.#options;
    const isOut = this.#isOut;
    if (isOut === this.#wasOut) return;
    this.#wasOut = isOut;
    if (isOut) {
      log.complaint(
        'Redis cannot be asked: nothing is sent to the upstreams, and cached answers are served as stale ones.',
      );
    } else log.event('redis is back');
    for (const budgets of this.#waiting.values()) {
      for (const budget of budgets) budget.outageChanged();
    }
  }

  #noticeDifference(): void {
    if (this.#differs) return;
    this.#differs = true;
    this.#options.log.complaint(
      'Other replicas on this Redis have another REDIS_SECRET or an older version: nothing is sent until they are gone. Give all the same, or this one another REDIS_PREFIX.',
    );
  }

  #reason(reason: string): void {
    this.#options.log.complaint(`The connection to Redis is lost: ${reason}.`);
  }
}
