import { randomBytes, randomInt } from 'node:crypto';
import type { Config } from './config/config.ts';
import {
  type ConfiguredUpstream,
  configuredUpstreams,
  type Endpoints,
} from './config/endpoints.ts';
import type { RedisConfig } from './config/redis.ts';
import type { Digest } from './digest.ts';
import type { UpstreamName } from './errors.ts';
import type { JobLocks } from './jobs/job-leases.ts';
import type { EventStream } from './observe/event-stream.ts';
import type { ReplicaGauges } from './observe/metrics/replica-metrics.ts';
import { RedisConnection } from './redis/connection/connection.ts';
import { redisNames } from './redis/connection/names.ts';
import { KeptEntries } from './redis/kept-entries.ts';
import type { EndedMessage } from './redis/messages.ts';
import { Replica } from './redis/replica.ts';
import { Settling } from './redis/settling.ts';
import { type ReplicaFault, Standing } from './redis/standing.ts';
import { holdMs, type ProtocolTimes, protocolTimes } from './redis/times.ts';
import { inBackground } from './scheduling/at-once.ts';
import type { Clock } from './scheduling/clock.ts';
import { createSealing, type Sealing } from './storage/sealing.ts';
import type { Budget } from './upstream/budget/budget.ts';
import { type Member, membersOf, SharedBudgets } from './upstream/budget/shared/shared-budgets.ts';
import { SharedGenerations } from './upstream/cache/shared-generations.ts';
import { RedisRecords } from './upstream/idempotency/shared/redis-records.ts';
import { RedisRowLocks } from './upstream/idempotency/shared/redis-row-locks.ts';
import { ProcessRecords } from './upstream/idempotency/store/process-records.ts';
import type { SharedAnswers } from './upstream/reads/shared-cache.ts';
import { RedisUsage } from './usage/redis-usage.ts';

/** The dependencies of one upstream's client for shared budgets and responses. */
interface UpstreamSharing {
  readonly budgetOf: (secret: string) => Budget;
  readonly answers: SharedAnswers;
}

interface ReplicasOptions {
  readonly config: Config;
  readonly redis: RedisConfig;
  readonly endpoints: Endpoints;
  readonly clock: Clock;
  readonly events: EventStream;
  /** By default they follow from the windows of the upstreams. */
  readonly times?: ProtocolTimes | undefined;
}

/**
 * This process as one of several on one Redis: its part of the shared budgets, responses and writes. Composes the
 * parts; each documents itself.
 */
export class Replicas {
  readonly generations: SharedGenerations;
  /** What became of writes with idempotency keys. */
  readonly records: RedisRecords;
  readonly rowLocks: RedisRowLocks;
  /** The requests of all replicas, by caller. */
  readonly usage: RedisUsage;
  /** The same on all replicas. */
  readonly digest: Digest;
  readonly #options: ReplicasOptions;
  readonly #upstreams: readonly ConfiguredUpstream[];
  readonly #nameOf: (kind: string, text: string) => string;
  readonly #times: ProtocolTimes;
  readonly #connection: RedisConnection;
  readonly #replica: Replica;
  readonly #settling: Settling;
  readonly #kept: KeptEntries;
  readonly #budgets: SharedBudgets;
  readonly #standing: Standing;
  /** For how long a request under a key of an upstream can count, in milliseconds. */
  readonly #holdMs: ReadonlyMap<UpstreamName, number>;

  constructor(options: ReplicasOptions) {
    this.#options = options;
    const { clock, events, redis } = options;
    const names = redisNames(redis.prefix);
    const sealing = createSealing(redis.secret);
    this.#nameOf = sealing.name;
    this.digest = (text) => sealing.name('digest', text);
    this.#upstreams = configuredUpstreams(options.config, options.endpoints);
    this.#times =
      options.times ?? protocolTimes(this.#upstreams.map(({ limits }) => limits.rateWindowMs));
    this.#holdMs = new Map(
      this.#upstreams.map(({ limits: { rateWindowMs: windowMs, timeoutMs }, name }) => {
        return [name, holdMs(this.#times, { windowMs, timeoutMs })] as const;
      }),
    );
    this.#connection = new RedisConnection({
      urls: redis.urls,
      sentinelName: redis.sentinelName,
      clock,
      callMs: this.#times.callMs,
      names,
      stream: events,
      events: {
        up: () => {
          this.#replica.beat();
          this.#settling.again();
          this.records.again();
          this.usage.again();
        },
        down: (reason) =>
          events.emit('complaint', { sentence: `No connection to Redis: ${reason}.` }),
        message: (text) => this.#replica.hears(text),
        refused: (reason) => this.#standing.refused(reason),
        denied: (permissions) => this.#standing.denied(permissions),
      },
    });
    this.#replica = new Replica({
      id: randomBytes(9).toString('base64url'),
      fingerprint: sealing.fingerprint,
      channel: names.channel,
      chance: () => randomInt(1000) / 1000,
      clock,
      times: this.#times,
      holdMs: Math.max(...this.#holdMs.values()),
      connection: this.#connection,
      watched: () => this.#budgets.watched.map(({ document }) => document),
      listeners: {
        touched: ({ low, n, tags }) => this.generations.apply(tags, { low, n }),
        newEpoch: (epoch) => {
          this.generations.beginEpoch();
          events.emit('epoch', null);
          inBackground(this.#settling.retell());
          this.records.newEpoch();
          this.#budgets.outageChanged();
          this.#standing.newEpoch(epoch);
        },
        acked: (epoch, by, n) => this.#settling.acked(epoch, by, n),
        ended: (message) => this.#endedElsewhere(message),
        recorded: (message) => this.records.recordedElsewhere(message),
        beaten: (replicas, strangers) => this.#standing.beaten(replicas, strangers),
        tried: () => this.#standing.look(),
        refused: (reason) => this.#standing.refused(reason),
      },
    });
    this.#standing = this.#createStanding();
    this.#settling = this.#createSettling();
    this.generations = new SharedGenerations({
      clock,
      replica: this.#replica,
      suspectAfterMs: 2 * this.#times.leaseMs,
      unconfirmed: redis.outageReads,
      tell: (tags, permit, told) => this.#settling.settle(tags, permit, told),
    });
    this.#kept = new KeptEntries({
      sealing,
      keyOf: names.entry,
      connection: this.#connection,
      events,
    });
    this.#budgets = this.#createBudgets();
    const { digest } = this;
    const times = this.#times;
    this.rowLocks = new RedisRowLocks({ replica: this.#replica, clock, times, digest });
    this.records = this.#createRecords(sealing);
    const connection = this.#connection;
    this.usage = new RedisUsage({ clock, connection, sealing, replica: this.#replica.id });
  }

  /** Begins to beat. Never throws. */
  start(): void {
    this.#connection.start();
    this.#replica.beat();
  }

  /** Lets no other replica wait for this one, and lets go of Redis. */
  async close(): Promise<void> {
    await this.#budgets.leave();
    await this.#replica.close(this.#budgets.watched.map(({ document }) => document.name));
    this.#settling.close();
    this.rowLocks.close();
    await this.#connection.close();
  }

  /** The dependencies of the client of a configured upstream. */
  sharing(name: UpstreamName): UpstreamSharing | undefined {
    const upstream = this.#upstreams.find((each) => each.name === name);
    if (!upstream) return undefined;
    const answers = {
      clock: this.#options.clock,
      replica: this.#replica,
      generations: this.generations,
      kept: this.#kept,
      nameOf: this.#nameOf,
      baseUrl: upstream.baseUrl,
    };
    return { answers, budgetOf: (secret) => this.#budgets.of(keyOf(upstream, secret)) };
  }

  /** The gateway's own key of an upstream is another one from now on. */
  replaced(name: UpstreamName, secret: string, before: string): void {
    const upstream = this.#upstreams.find((each) => each.name === name);
    if (upstream) this.#budgets.watch(keyOf(upstream, secret), keyOf(upstream, before));
  }

  /** The leases of jobs between replicas. */
  get jobLocks(): JobLocks {
    const { rowLocks } = this;
    const shared = { replica: this.#replica, times: this.#times, rowLocks };
    return { rowLocks, shared };
  }

  /** Why this process is not ready; `null` if it is. */
  get unready(): Standing['unready'] {
    return this.#standing.unready;
  }

  /** The current degradations. */
  get faults(): readonly ReplicaFault[] {
    return this.#standing.faults;
  }

  /** All that are alive, this one first: see `SharedState` of the server. */
  members(self: Pick<Member, 'sentMsAgo' | 'queued'>): readonly Member[] {
    return membersOf({ id: this.#replica.id, ...self }, this.#budgets.others, this.#standing.alive);
  }

  /** The values for a scrape. */
  get gauges(): ReplicaGauges {
    return this.#standing.gauges;
  }

  /** Another replica has ended a request, or has unlocked a row. */
  #endedElsewhere(message: EndedMessage): void {
    const { document } = message;
    if (document.startsWith('x:')) {
      this.rowLocks.unlockedElsewhere(document.slice(2));
      this.#budgets.unlockedElsewhere();
    } else {
      this.#budgets.endedElsewhere(message);
    }
  }

  #createRecords(sealing: Sealing): RedisRecords {
    const { clock, config, events } = this.#options;
    const { idempotencyKeepMs: keepMs, idempotencyMaxBytes: maxBytes } = config;
    const own = new ProcessRecords({ clock, keepMs, maxBytes, digest: this.digest, events });
    const of = { replica: this.#replica, clock, times: this.#times };
    return new RedisRecords({ ...of, sealing, rowLocks: this.rowLocks, own, keepMs, maxBytes });
  }

  #createStanding(): Standing {
    const { clock, events } = this.#options;
    const names = this.#upstreams.map(({ name }) => name);
    return new Standing({
      replica: this.#replica,
      outageReads: this.#options.redis.outageReads,
      clock,
      events,
      outageChanged: (isOut) => {
        events.emit('outage', { isOut });
        this.#budgets.outageChanged();
      },
      quarantines: () => names.map((name) => ({ upstream: name, ms: this.#quarantineMs(name) })),
      ghosts: () => names.map((name) => ({ upstream: name, ...this.#budgets.ghosts(name) })),
    });
  }

  #createSettling(): Settling {
    const { clock, events } = this.#options;
    const { beatMs, leaseMs, marginMs, sendByMs } = this.#times;
    const timeoutMs = Math.max(...this.#upstreams.map(({ limits }) => limits.timeoutMs));
    return new Settling({
      replica: this.#replica,
      clock,
      times: this.#times,
      giveUpMs: sendByMs + timeoutMs + marginMs + leaseMs + 2 * beatMs,
      settled: (how, ms) => events.emit('settled', { how, ms }),
    });
  }

  #createBudgets(): SharedBudgets {
    const { clock, events } = this.#options;
    const budgets = new SharedBudgets({
      replica: this.#replica,
      clock,
      times: this.#times,
      nameOf: this.#nameOf,
      events,
      generations: this.generations,
    });
    for (const upstream of this.#upstreams) {
      if (upstream.apiKey !== '') budgets.watch(keyOf(upstream, upstream.apiKey));
    }
    return budgets;
  }

  #quarantineMs(name: UpstreamName): number {
    return this.#replica.quarantineMs(this.#holdMs.get(name) ?? 0);
  }
}

function keyOf({ baseUrl, limits, name }: ConfiguredUpstream, secret: string) {
  const { classes, jobsMinPerMinute, rateLimit, rateWindowMs, reserves, timeoutMs } = limits;
  const own = { classes, jobsMinPerMinute, rateLimit, rateWindowMs, reserves, timeoutMs };
  return { upstream: name, baseUrl, secret, ...own };
}
