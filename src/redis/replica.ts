import { inBackground } from '../scheduling/at-once.ts';
import { type Clock, type Moment, momentOf } from '../scheduling/clock.ts';
import type { RedisConnection } from './connection/connection.ts';
import { EpochPace } from './epoch-pace.ts';
import { RedisRefused, RedisUnavailable } from './failures.ts';
import type { ReplicaListeners, Reply, WatchedDocument } from './heard.ts';
import { type Script, scripts } from './lua/scripts.ts';
import { listOf, pairsIn, readMessage } from './messages.ts';
import { type Bounds, SharedClock } from './shared-clock.ts';
import type { ProtocolTimes } from './times.ts';

/** The dependencies of a replica. */
interface ReplicaOptions {
  /** Distinguishes it from all others, also from its own successor. */
  readonly id: string;
  /** Of the secret: replicas with another one use other names, and must not run in parallel. */
  readonly fingerprint: string;
  readonly channel: string;
  readonly clock: Clock;
  readonly times: ProtocolTimes;
  /** From 0 up to 1, at random. */
  readonly chance: () => number;
  /** How long a request can count that was granted before, in milliseconds. */
  readonly holdMs: number;
  readonly connection: Pick<RedisConnection, 'run'>;
  /** The documents that each beat requests. */
  readonly watched: () => readonly WatchedDocument[];
  readonly listeners: ReplicaListeners;
}

/** Names are made with the secret: with another one, the same budget would be counted twice. */
const OTHERS_DIFFER =
  'other replicas use another REDIS_SECRET; this replica sends no upstream requests while they are active. Set the same REDIS_SECRET on all replicas, or another REDIS_PREFIX on this one';

/** Minimum time for which Redis must not be older than a replica has seen it, in milliseconds. */
const SHORTEST_MEMORY_MS = 300_000;

const NEVER: Moment = { now: Number.NEGATIVE_INFINITY, wall: Number.NEGATIVE_INFINITY };
/** An unused part of a lease, in addition to the undetectable jump of Redis' clock. */
const UNUSED_MS = 50;

/**
 * This process among all that share one Redis: it sends beats, and while its lease is valid it has received every
 * confirmed write. It also has the time of the shared clock.
 */
export class Replica {
  readonly id: string;
  /** Names the memory that Redis has now, as far as known; empty before it was heard of. */
  epoch = '';
  /** The last write that is known here; -1 before all are that Redis remembers. */
  applied = -1;
  readonly #options: ReplicaOptions;
  /** The number of the latest script in this epoch with a reply; 0 before the first. */
  #number = 0;
  readonly #time: SharedClock;
  readonly #pace: EpochPace;
  #leasedUntil: Moment = NEVER;
  /** Until then the epoch is too young for leases of the one before to have run out, on `clock.now()`. */
  #epochBegan = Number.NEGATIVE_INFINITY;
  /** On `clock.now()`. */
  #repliedAt: Moment;
  #keptOut = false;
  #beating = false;
  #beatAgain = false;
  #cancelBeat = (): void => {};
  #closed = false;

  constructor(options: ReplicaOptions) {
    this.#options = options;
    this.id = options.id;
    this.#time = new SharedClock(options.times.slackMs);
    const { chance, clock, times } = options;
    // Shorter than a lease: a pause is not an outage of Redis.
    const pauses = { shortestMs: times.beatMs, longestMs: 0.8 * times.leaseMs };
    this.#pace = new EpochPace({ chance, clock, ...pauses });
    this.#repliedAt = momentOf(options.clock);
  }

  /** Whether Redis responds, but serves replicas with another secret and excludes this one. */
  get isKeptOut(): boolean {
    return this.#keptOut && !this.#isSilent(this.#options.clock.now());
  }

  /** Whether no script is known to be carried out, for longer than a moment: beats come several times in a lease. */
  get isOut(): boolean {
    return this.#keptOut || this.#isSilent(this.#options.clock.now());
  }

  /** Whether Redis loses its data repeatedly, so that only few commands are sent to it. */
  get isRestless(): boolean {
    return this.#pace.isRestless;
  }

  /** How long Redis has remembered, in milliseconds. */
  get epochAgeMs(): number {
    return this.#options.clock.now() - this.#epochBegan;
  }

  /** For how long requests sent before this epoch can still count, at most `holdMs`, in milliseconds. */
  quarantineMs(holdMs: number, now = this.#options.clock.now()): number {
    return Math.max(0, holdMs - (now - this.#epochBegan));
  }

  /** The same, if Redis may come back with an epoch that begins now. */
  heldMs(holdMs: number, now: number): number {
    return this.#keptOut || this.#isSilent(now) ? holdMs : this.quarantineMs(holdMs, now);
  }

  #isSilent(now: number): boolean {
    return now - this.#repliedAt.now > this.#options.times.leaseMs;
  }

  /** Whether every confirmed write has been received here. */
  get leased(): boolean {
    const { now, wall } = momentOf(this.#options.clock);
    return now < this.#leasedUntil.now && wall < this.#leasedUntil.wall;
  }

  /** A moment on the shared clock as one on `clock.now()`; a little early, so that nothing seems newer than it is. */
  toLocal(shared: number): number {
    return this.#time.toLocal(shared);
  }

  /**
   * Runs a script as this replica, with its own arguments after the common ones, which can depend on the bounds of
   * the shared clock. Returns what follows the epoch and the time in its reply. Rejects with `RedisUnavailable` or
   * `RedisRefused`.
   */
  async call(
    script: Script,
    args: readonly string[] | ((bounds: Bounds | null) => readonly string[]),
  ): Promise<Reply> {
    const { channel, clock, connection, fingerprint, id } = this.#options;
    if (script !== scripts.beat && !this.#pace.isOpen) {
      throw new RedisUnavailable('Redis loses its data repeatedly', false);
    }
    const sent = momentOf(clock);
    const bounds = this.#time.boundsAt(sent.now);
    const limits = `${bounds?.upper ?? 0}/${bounds?.lower ?? 0}`;
    const mine = [channel, limits, this.#seenAt(sent), id, fingerprint];
    const own = typeof args === 'function' ? args(bounds) : args;
    const reply = await connection.run(script, [...mine, ...own]);
    if (!Array.isArray(reply)) throw new RedisRefused('a reply that is not a list');
    this.#repliedAt = momentOf(clock);
    this.#keptOut = reply[0] === 'differs';
    if (this.#keptOut) throw new RedisRefused(OTHERS_DIFFER);
    const [mark, now, ...rest] = reply;
    const [epoch = '', number, until, ms] = String(mark).split('/');
    const lost = ms === undefined ? null : { until: Number(until), ms: Number(ms) };
    const reads = { epoch, number: Number(number), now: Number(now), lost, sent, rest };
    if (sent.now >= this.#time.heardAt) this.#hear(reads);
    return reads;
  }

  /** Sends the first heartbeat now, and further ones at intervals. */
  beat(): void {
    if (this.#closed) return;
    if (this.#beating) this.#beatAgain = true;
    else if (this.#pace.pauseMs > 0) this.#beatLater();
    else inBackground(this.#beat());
  }

  /** A message of the channel. */
  hears(text: string): void {
    const message = readMessage(text);
    if (!message) return;
    const { id, listeners } = this.#options;
    if (message.kind === 'ended') {
      if (message.by !== id) listeners.ended(message);
      return;
    }
    if (message.kind === 'record') {
      if (message.by !== id) listeners.recorded(message);
      return;
    }
    const { epoch, n } = message;
    if (message.kind === 'ack') {
      listeners.acked(epoch, message.by, n);
      return;
    }
    if (epoch !== this.epoch || this.applied < 0 || n <= this.applied) return;
    // Missing writes in between arrive with the next beat.
    if (n === this.applied + 1) {
      const touches = message.tags.map((tag) => [tag, n] as const);
      listeners.touched({ tags: touches, n, low: 0 });
      this.applied = n;
    }
    this.beat();
  }

  /** Beats no more, and lets no writer wait for this replica. */
  async close(documents: readonly string[]): Promise<void> {
    this.#closed = true;
    this.#cancelBeat();
    this.#leasedUntil = NEVER;
    await this.call(scripts.goodbye, [JSON.stringify(documents)]).catch(() => {});
  }

  /** The latest state of Redis that this replica has seen: its current data must not be older. */
  #seenAt({ now, wall }: Moment): string {
    const silent = Math.max(now - this.#repliedAt.now, wall - this.#repliedAt.wall);
    // By then Redis may have forgotten what this replica has seen; what it saw does not count any more.
    return silent < this.#rememberMs ? `${this.epoch}/${this.#number}` : this.epoch;
  }

  get #rememberMs(): number {
    return Math.max(SHORTEST_MEMORY_MS, 2 * this.#options.holdMs);
  }

  #hear({ epoch, lost, now, number, sent }: Reply): void {
    if (epoch !== this.epoch) this.#time.begin(lost);
    this.#time.heard(now, sent.now, this.#repliedAt.now);
    if (epoch === this.epoch) {
      this.#number = Math.max(this.#number, number);
      this.#pace.isOpen = true;
      return;
    }
    this.epoch = epoch;
    this.#pace.began();
    this.#number = number;
    this.applied = -1;
    this.#epochBegan = sent.now;
    this.#leasedUntil = NEVER;
    this.#options.listeners.newEpoch(epoch);
    this.beat();
  }

  async #beat(): Promise<void> {
    this.#cancelBeat();
    this.#beating = true;
    try {
      do {
        this.#beatAgain = false;
        await this.#beatOnce();
      } while (this.#beatAgain && !this.#closed && this.#pace.pauseMs === 0);
    } catch (error) {
      // The lease expires by itself.
      if (error instanceof RedisRefused) this.#options.listeners.refused(error.message);
    } finally {
      this.#beating = false;
      this.#options.listeners.tried();
      this.#beatLater();
    }
  }

  #beatLater(): void {
    const { clock, times } = this.#options;
    this.#cancelBeat();
    if (this.#closed) return;
    const ms = this.#pace.pauseMs > 0 ? this.#pace.pauseMs : times.beatMs;
    this.#cancelBeat = clock.after(ms, () => this.beat());
  }

  async #beatOnce(): Promise<void> {
    const { listeners, times, watched } = this.#options;
    const { leaseMs: lease } = times;
    const before = this.applied;
    const asked = watched();
    const documents = asked.map(({ name, token }) => ({ name, token }));
    const told = { lease, applied: before, remember: 2 * this.#rememberMs, documents };
    const reply = await this.call(scripts.beat, [JSON.stringify(told)]);
    const { epoch, rest, sent } = reply;
    if (epoch !== this.epoch || this.#closed) return;
    const [n, low, age, known, others, tags, documentsNow, strangers] = rest;
    // All that Redis remembers must be there before anything is used in a new epoch.
    if (known !== 1 && before >= 0) return;
    this.#epochBegan = Math.min(this.#epochBegan, sent.now - Number(age));
    listeners.touched({
      tags: pairsIn(tags).map(([tag, at]) => [tag, Number(at)] as const),
      n: Number(n),
      low: Number(low),
    });
    const news = Number(n) > Math.max(0, this.applied);
    this.applied = Math.max(this.applied, Number(n));
    const leaseMs = lease - times.slackMs - UNUSED_MS;
    this.#leasedUntil = { now: sent.now + leaseMs, wall: sent.wall + leaseMs };
    const heard = {
      epoch,
      now: reply.now,
      sentAt: sent.now,
      n: Number(n),
      ageMs: Number(age),
      others,
    };
    for (const [at, document] of asked.entries())
      document.look(listOf(listOf(documentsNow)[at]), heard);
    // Writers wait to hear that their writes are known here.
    if (news) this.#beatAgain = true;
    listeners.beaten(1 + listOf(others).length, Number(strangers) || 0);
  }
}
