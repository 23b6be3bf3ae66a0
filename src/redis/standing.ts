import { BoundedMap } from '../bounded-map.ts';
import type { UpstreamName } from '../errors.ts';
import type { EventStream } from '../observe/event-stream.ts';
import type { ReplicaGauges } from '../observe/metrics/replica-metrics.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { Replica } from './replica.ts';

/** Something that is wrong between this process and the others. */
export interface ReplicaFault {
  readonly reason:
    | 'redis-unreachable'
    | 'redis-permissions'
    | 'redis-forgets'
    | 'secret-differs'
    | 'foreign-secret'
    | 'quarantine'
    | 'lease-lost'
    | 'ghost-slots';
  readonly upstream?: UpstreamName;
  /** Number of affected slots. */
  readonly slots?: number;
  /** Milliseconds until it ends automatically. */
  readonly retryAfterMs?: number;
  /** The missing permissions of the Redis user, as commands with their keys. */
  readonly permissions?: readonly string[];
}

interface StandingOptions {
  readonly replica: Pick<Replica, 'isKeptOut' | 'isOut' | 'isRestless' | 'leased'>;
  readonly outageReads: 'stale' | 'refuse';
  readonly events: EventStream;
  readonly clock: Clock;
  /** Called when Redis does not respond for longer than a moment, and when it responds again. */
  readonly outageChanged: (isOut: boolean) => void;
  readonly quarantines: () => ReplicaGauges['quarantines'];
  readonly ghosts: () => ReplicaGauges['ghosts'];
}

/** Pause before the same refusal is logged again, in milliseconds. */
const REPEAT_MS = 600_000;
/** Refusals that are counted apart. */
const REASONS_REMEMBERED = 50;

/**
 * The state of Redis and of the other replicas for this process, for probes, metrics and log. Each problem is
 * logged once when it begins and once when it ends.
 */
export class Standing {
  readonly #options: StandingOptions;
  #alive = 0;
  #strangers = 0;
  #hadMemory = false;
  #wasRestless = false;
  #wasOut = false;
  /** When each refusal was logged last, on `clock.now()`. */
  readonly #refusals = new BoundedMap<number>({ max: REASONS_REMEMBERED });
  #permissions: readonly string[] = [];

  constructor(options: StandingOptions) {
    this.#options = options;
  }

  /** Number of replicas that are alive, including this one; 0 before the first reply to a beat. */
  get alive(): number {
    return this.#alive;
  }

  /** Why this process is not ready; `null` if it is. */
  get unready(): 'redis-unreachable' | 'secret-differs' | null {
    const { outageReads, replica } = this.#options;
    // Replicas with the secret that is in use do better.
    if (replica.isKeptOut) return 'secret-differs';
    if (this.#alive === 0) return 'redis-unreachable';
    return outageReads === 'stale' || replica.leased ? null : 'redis-unreachable';
  }

  /** The current degradations. */
  get faults(): readonly ReplicaFault[] {
    const { ghosts, isKeptOut, isUp, leased, quarantines, strangers } = this.gauges;
    const permissions = this.#permissions;
    const denied: ReplicaFault[] =
      permissions.length > 0 ? [{ reason: 'redis-permissions', permissions }] : [];
    if (isKeptOut) return [{ reason: 'secret-differs' }, ...denied];
    if (!isUp) return [{ reason: 'redis-unreachable' }, ...denied];
    return [
      ...denied,
      ...(this.#options.replica.isRestless ? [{ reason: 'redis-forgets' } as const] : []),
      ...(leased ? [] : [{ reason: 'lease-lost' } as const]),
      ...(strangers > 0 ? [{ reason: 'foreign-secret' } as const] : []),
      ...quarantines
        .filter(({ ms }) => ms > 0)
        .map(({ ms, upstream }) => {
          return { reason: 'quarantine', upstream, retryAfterMs: Math.ceil(ms) } as const;
        }),
      ...ghosts
        .filter(({ slots }) => slots > 0)
        .map(({ ms, slots, upstream }) => {
          return { reason: 'ghost-slots', upstream, slots, retryAfterMs: Math.ceil(ms) } as const;
        }),
    ];
  }

  /** The values for a scrape. */
  get gauges(): ReplicaGauges {
    const { ghosts, quarantines, replica } = this.#options;
    const isUp = !replica.isOut;
    return {
      isUp,
      leased: replica.leased,
      replicas: isUp ? this.#alive : 0,
      isKeptOut: replica.isKeptOut,
      strangers: isUp ? this.#strangers : 0,
      quarantines: quarantines(),
      ghosts: ghosts(),
    };
  }

  /** Checks whether Redis responds. */
  look(): void {
    const { isOut } = this.#options.replica;
    if (isOut === this.#wasOut) return;
    this.#wasOut = isOut;
    if (isOut) {
      this.#complain(
        'Redis is unreachable. Until it responds, no upstream requests are sent, and cache entries are served as stale.',
      );
    } else {
      this.#refusals.forget(() => true);
      this.#notice('redis reachable again');
    }
    this.#options.outageChanged(isOut);
  }

  /** Redis has replied with an error message. */
  refused(reason: string): void {
    const now = this.#options.clock.now();
    const loggedAt = this.#refusals.get(reason);
    if (loggedAt !== undefined && now - loggedAt < REPEAT_MS) return;
    this.#refusals.set(reason, now);
    this.#complain(`Redis returned an error: ${reason}.`);
  }

  /** The permissions that the user lacks have changed. */
  denied(permissions: readonly string[]): void {
    this.#permissions = permissions;
    const lacking = permissions.join(', ');
    if (lacking === '') this.#notice('redis permissions complete');
    else
      this.#complain(
        `The user of REDIS_URL lacks permissions: ${lacking}. Grant them with ACL SETUSER.`,
      );
  }

  /** A beat has a reply, with the numbers of replicas that are alive and that are excluded. */
  beaten(alive: number, strangers: number): void {
    this.#alive = alive;
    const before = this.#strangers;
    this.#strangers = strangers;
    if (strangers > 0 && before === 0) {
      this.#complain(
        'A replica with another REDIS_SECRET uses the same Redis and REDIS_PREFIX. It is excluded and sends no upstream requests.',
      );
    } else if (strangers === 0 && before > 0) {
      this.#notice('replicas with another secret gone');
    }
  }

  /** Redis has another memory than before. */
  newEpoch(epoch: string): void {
    const { isRestless } = this.#options.replica;
    if (!this.#hadMemory) this.#notice('redis connected', { epoch });
    else if (!isRestless) {
      this.#complain(
        'Redis lost its data or was restored from an older copy. No upstream requests are sent until all earlier ones have left the window.',
      );
    } else if (!this.#wasRestless) {
      this.#complain(
        'Redis loses its data repeatedly, so no upstream requests are sent. Raise maxmemory, set maxmemory-policy to volatile-lru, and check whether something deletes or restores its data.',
      );
    }
    this.#hadMemory = true;
    this.#wasRestless = isRestless;
  }

  #complain(sentence: string): void {
    this.#options.events.emit('complaint', { sentence });
  }

  #notice(message: string, facts?: Readonly<Record<string, string>>): void {
    this.#options.events.emit('notice', { message, ...(facts && { facts }) });
  }
}
