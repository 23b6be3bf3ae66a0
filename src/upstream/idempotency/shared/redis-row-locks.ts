import type { Digest } from '../../../digest.ts';
import { RedisRefused, RedisUnavailable } from '../../../redis/failures.ts';
import { scripts } from '../../../redis/lua/scripts.ts';
import type { Replica } from '../../../redis/replica.ts';
import type { ProtocolTimes } from '../../../redis/times.ts';
import { type AtOnce, inBackground } from '../../../scheduling/at-once.ts';
import type { Clock } from '../../../scheduling/clock.ts';
import { waitFor } from '../patience.ts';
import {
  CREATION,
  type LockTerms,
  ProcessRowLocks,
  type RowLock,
  type RowLocks,
} from '../row-locks.ts';
import { EndsElsewhere } from './ends-elsewhere.ts';

interface RedisRowLocksOptions {
  readonly replica: Pick<Replica, 'call' | 'id' | 'leased'>;
  readonly clock: Clock;
  readonly times: Pick<ProtocolTimes, 'beatMs' | 'leaseMs'>;
  /** Hides the content of creations from Redis. */
  readonly digest: Digest;
}

/** A lock that another script takes together with its own work. Exactly one of both members is used. */
export interface WantedLock {
  /** What the script has to know. */
  readonly told: { readonly row: string; readonly id: string };
  /** The lock, which Redis has granted, or may have granted. */
  readonly lock: RowLock;
  /** Redis has certainly not granted it. */
  drop(): void;
}

/**
 * The writers of all replicas. Those of this one take turns here; one that excludes all others also locks the row in
 * Redis, where others get no slot for a write to it. The lock lasts while the lease of this replica is valid.
 */
export class RedisRowLocks implements RowLocks {
  readonly #options: RedisRowLocksOptions;
  readonly #own: ProcessRowLocks;
  readonly #ends: EndsElsewhere;
  #locks = 0;
  #closed = false;

  constructor(options: RedisRowLocksOptions) {
    this.#options = options;
    this.#own = new ProcessRowLocks(options.clock);
    this.#ends = new EndsElsewhere(options.clock);
  }

  /** Costs no round trip: a writer that excludes others on another replica delays the slot. */
  enter(row: string, terms: LockTerms): AtOnce<RowLock | null> {
    return this.#own.enter(row, terms);
  }

  excludeHere(row: string, terms: LockTerms): AtOnce<RowLock | null> {
    return this.#own.exclude(row, terms);
  }

  async exclude(row: string, { patienceMs, signal }: LockTerms): Promise<RowLock | null> {
    const until = this.#options.clock.now() + patienceMs;
    const place = await this.#own.exclude(row, { patienceMs, signal });
    if (!place) return null;
    const { lock, told } = this.#want(row, place);
    if (await this.#lock(told, until, signal)) return lock;
    lock.release();
    return null;
  }

  /** A lock that excludes all others, for a script to take; `null` if the row has writers here. */
  want(row: string): WantedLock | null {
    const place = this.#own.excludeNow(row);
    return place && this.#want(row, place);
  }

  /**
   * Whether a row is still locked here, by one or two commands. After a loss of the data of Redis it is locked again if
   * no other has locked it and `isWanted` says so. While Redis is away, it is locked as long as the replica has its lease.
   */
  async isStillLocked(row: string, { id }: RowLock, isWanted: () => boolean): Promise<boolean> {
    const { replica } = this.#options;
    const args = [JSON.stringify({ row, id })];
    try {
      const [kind] = (await replica.call(scripts.lock, args)).rest;
      // The replica has learnt the state of Redis by that. After a release the row must not be locked again.
      if (kind !== 'again' || !isWanted()) return kind === 'locked';
      const [again] = (await replica.call(scripts.lock, args)).rest;
      return again === 'locked';
    } catch (error) {
      if (!(error instanceof RedisUnavailable || error instanceof RedisRefused)) throw error;
      return replica.leased;
    }
  }

  /** A row was unlocked on another replica, or a write to it has ended. */
  unlockedElsewhere(row: string): void {
    this.#ends.ended(row);
  }

  close(): void {
    this.#closed = true;
  }

  #want(row: string, place: RowLock): WantedLock {
    this.#locks += 1;
    const { digest, replica } = this.#options;
    const id = `${replica.id}.${this.#locks.toString(36)}`;
    // Made here, since a creation without a key does not need it.
    const name = row.startsWith(CREATION) ? CREATION + digest(row) : row;
    let isHeld = true;
    const release = (): void => {
      if (!isHeld) return;
      isHeld = false;
      // The next one here comes after that, or the writers of other replicas would wait for all of this one.
      inBackground(this.#unlock(name, id, () => place.release()));
    };
    return { told: { row: name, id }, lock: { id, release }, drop: () => place.release() };
  }

  /** Whether the row was locked in time, and no write to it is in flight. */
  async #lock(told: WantedLock['told'], until: number, signal: AbortSignal): Promise<boolean> {
    const { clock, replica } = this.#options;
    for (let mayAskAgain = true; ; ) {
      // Subscribed before the reply: the message can come first.
      const ended = this.#ends.of(told.row);
      let kind: unknown;
      try {
        [kind] = (await replica.call(scripts.lock, [JSON.stringify(told)])).rest;
      } catch (error) {
        if (!(error instanceof RedisUnavailable || error instanceof RedisRefused)) throw error;
      }
      if (kind === 'locked') return true;
      const isAskedAgain: boolean = kind === 'again' && mayAskAgain;
      mayAskAgain = !isAskedAgain;
      if (isAskedAgain) continue;
      const patienceMs = Math.max(0, until - clock.now());
      if (!(await waitFor(ended, clock, { patienceMs, signal }))) return false;
    }
  }

  /** Repeated until Redis has it: a replica whose lease is valid again would still have the lock. */
  async #unlock(row: string, id: string, tried: () => void): Promise<void> {
    const { clock, replica, times } = this.#options;
    for (;;) {
      try {
        await replica.call(scripts.unlock, [JSON.stringify({ row, id })]);
        tried();
        return;
      } catch (error) {
        tried();
        if (this.#closed) return;
        const waitMs = error instanceof RedisUnavailable ? times.leaseMs : times.beatMs;
        await new Promise<void>((resolve) => void clock.after(waitMs, resolve));
      }
    }
  }
}
