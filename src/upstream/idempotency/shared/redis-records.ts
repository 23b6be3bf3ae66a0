import type { Digest } from '../../../digest.ts';
import type { IdempotencyGauges } from '../../../observe/metrics/write-metrics.ts';
import { RedisRefused, RedisUnavailable } from '../../../redis/failures.ts';
import { scripts } from '../../../redis/lua/scripts.ts';
import type { RecordMessage } from '../../../redis/messages.ts';
import type { Replica } from '../../../redis/replica.ts';
import type { ProtocolTimes } from '../../../redis/times.ts';
import { inBackground } from '../../../scheduling/at-once.ts';
import type { Clock } from '../../../scheduling/clock.ts';
import type { Sealing } from '../../../storage/sealing.ts';
import type { SlotRecord } from '../../budget/budget.ts';
import type { IdempotencyKey } from '../idempotency-key.ts';
import type { Ambiguity, Claim, OwnedRecord, Records } from '../records.ts';
import { isSame, type ProcessRecords } from '../store/process-records.ts';
import { type RecordState, sentFor } from '../store/record-lines.ts';
import { EndsElsewhere } from './ends-elsewhere.ts';
import { RECORDS_PER_COMMAND, RecordOutbox } from './record-outbox.ts';
import { RecordTexts, type SharedRecord } from './record-texts.ts';
import type { RedisRowLocks, WantedLock } from './redis-row-locks.ts';

interface RedisRecordsOptions {
  readonly replica: Pick<Replica, 'call' | 'epoch' | 'epochAgeMs' | 'id' | 'toLocal'>;
  readonly clock: Clock;
  readonly times: Pick<ProtocolTimes, 'beatMs' | 'leaseMs' | 'sendByMs'>;
  readonly sealing: Pick<Sealing, 'open' | 'seal'>;
  readonly rowLocks: Pick<RedisRowLocks, 'want'>;
  /** What this replica has executed or has heard of: it is published when Redis has lost its data. */
  readonly own: ProcessRecords;
  readonly keepMs: number;
  /** Memory for the records of all replicas in Redis, in bytes. */
  readonly maxBytes: number;
}

/** A caller that finds its key in use on another replica is told to retry after this time, in milliseconds. */
const RETRY_AFTER_MS = 1000;
/** A replica that is alive has heard of a loss of data and begun to publish after this number of leases. */
const PUBLISHING_LEASES = 2;
/** The ownership of a record that could not be claimed: no record has it. */
const UNOWNED = '?';
/** Claims in a row that find another epoch: then something is wrong with Redis. */
const MOST_CLAIMS = 3;

/** The reply to a claim. */
interface Reply {
  readonly kind: string;
  /** The record as it was found; `null` if there was none, or this replica knows more of it. */
  readonly text: string | null;
  /** By how much the shared clock is ahead of that of this process. */
  readonly aheadMs: number;
  /** Whether the lock was granted. */
  readonly isLocked: boolean;
}

/** What a claim asks for: an ownership, and a lock. */
interface Asked {
  readonly token: string;
  readonly wanted: WantedLock | null;
}

/** A record that a request of this replica uses. */
interface Lent {
  readonly key: IdempotencyKey;
  readonly own: OwnedRecord;
  /** The ownership. */
  readonly token: string;
  readonly firstAt: number;
  readonly ambiguity: Ambiguity | null;
}

/**
 * The records of all replicas, in Redis. A record has one owner, a replica with a valid lease, and is written in the step
 * that grants the slot of its write. What this replica has executed or has heard of is in its own records too: they
 * answer without a round trip, and are published when Redis has lost its data.
 */
export class RedisRecords implements Records {
  readonly #options: RedisRecordsOptions;
  readonly #texts: RecordTexts;
  readonly #outbox: RecordOutbox;
  readonly #ends: EndsElsewhere;
  /** The ownerships of this replica, by the name of the record. */
  readonly #tokens = new Map<string, string>();
  #claims = 0;
  /** Redis may have deleted records of keys that were first used before that, on `now`. */
  #lowAt = Number.NEGATIVE_INFINITY;
  #isPublishing = false;
  #publishAgain = false;

  constructor(options: RedisRecordsOptions) {
    this.#options = options;
    this.#texts = new RecordTexts(options.sealing);
    this.#outbox = new RecordOutbox(options);
    this.#ends = new EndsElsewhere(options.clock);
  }

  /** The clock of this process: the times in Redis are converted. */
  get now(): number {
    return this.#options.own.now;
  }

  get knownSince(): number {
    const { keepMs, replica } = this.#options;
    const { now } = this;
    // While Redis is unknown, nothing is sent.
    const epochAt = replica.epoch === '' ? Number.NEGATIVE_INFINITY : now - replica.epochAgeMs;
    return Math.max(now - keepMs, epochAt, this.#lowAt);
  }

  get hasLost(): boolean {
    return false;
  }

  createdIn(list: string): ReadonlySet<number> {
    return this.#options.own.createdIn(list);
  }

  get digest(): Digest {
    return this.#options.own.digest;
  }

  get gauges(): IdempotencyGauges {
    return this.#options.own.gauges;
  }

  async claim(key: IdempotencyKey, row?: string): Promise<Claim> {
    const own = this.#options.own.claim(key);
    if (own.kind !== 'owned') return own;
    this.#claims += 1;
    const token = `${this.#options.replica.id}.${this.#claims.toString(36)}`;
    const wanted = row === undefined ? null : this.#options.rowLocks.want(row);
    try {
      return await this.#claimShared(key, own.record, { token, wanted });
    } catch (error) {
      wanted?.lock.release();
      if (!(error instanceof RedisUnavailable || error instanceof RedisRefused)) {
        own.record.release();
        throw error;
      }
      if (error instanceof RedisUnavailable && error.doubtful) this.#letGo(key.name, token);
      // Without an ownership it gets no slot, and claims again when Redis is reachable.
      return { kind: 'owned', record: this.#lend(key, own.record, UNOWNED) };
    }
  }

  /** Another replica has written a record, which is remembered here too: that replica may not be there to publish it. */
  recordedElsewhere({ at, free, name, text }: RecordMessage): void {
    const { clock, own, replica } = this.#options;
    const local = this.now + replica.toLocal(at) - clock.now();
    const record = text === '' ? null : this.#texts.read(name, text, at - local);
    if (text === '') own.forget(name);
    else if (record?.state) own.learn({ ...record, state: record.state }, free);
    if (free) this.#ends.ended(name);
  }

  /** Redis has lost its data: all that is known here is written again. */
  newEpoch(): void {
    if (this.#isPublishing) this.#publishAgain = true;
    else inBackground(this.#publish());
  }

  /** Redis is reachable again. */
  again(): void {
    this.#outbox.again();
  }

  close(): void {
    this.#outbox.close();
    this.#options.own.close();
  }

  async #claimShared(
    key: IdempotencyKey,
    own: OwnedRecord,
    { token, wanted }: Asked,
  ): Promise<Claim> {
    const { name } = key;
    const { aheadMs, isLocked, kind, text } = await this.#ask(key, own, { token, wanted });
    if (!isLocked) wanted?.drop();
    const known = text === null ? null : this.#texts.read(name, text, aheadMs);
    const isReadable = text === null || known !== null;
    const isUsable = isReadable && (!known || isSame(known, key));
    // After a loss of data, the replica that has sent the request may not have published its outcome yet.
    const isEarly = own.ambiguity !== null && this.#youngMs > 0;
    if (kind === 'owned' && isUsable && !isEarly) {
      const lent = this.#lend(key, own, token, known);
      return { kind, record: wanted && isLocked ? { ...lent, lock: wanted.lock } : lent };
    }
    own.release();
    if (isLocked) wanted?.lock.release();
    if (kind === 'owned') this.#letGo(name, token);
    if (!isReadable) return { kind: 'unreadable' };
    if (!isUsable) return { kind: 'reused' };
    if (!known?.state || known.state.kind === 'ambiguous') {
      // Also if it is too early.
      return { kind: 'busy', ended: this.#ends.of(name), retryAfterMs: RETRY_AFTER_MS };
    }
    this.#options.own.learn({ ...known, state: known.state });
    return { kind: 'final', firstAt: known.firstAt, outcome: known.state };
  }

  /** Milliseconds for which other replicas may still be publishing what they know. */
  get #youngMs(): number {
    const { replica, times } = this.#options;
    return PUBLISHING_LEASES * times.leaseMs - replica.epochAgeMs;
  }

  /** One round trip; another one if Redis has lost its data since the latest. */
  async #ask(key: IdempotencyKey, own: OwnedRecord, { token, wanted }: Asked): Promise<Reply> {
    const { keepMs, maxBytes: max, replica } = this.#options;
    const { name } = key;
    const state = own.ambiguity && stateOf(own.ambiguity);
    const record = this.#recordOf(key, own.firstAt, state);
    const lock = wanted && { lock: wanted.told };
    const told = JSON.stringify({ name, token, sent: sentFor(state), ms: keepMs, max, ...lock });
    for (let claims = 0; claims < MOST_CLAIMS; claims += 1) {
      const { now: shared, rest } = await replica.call(scripts.take, (bounds) => {
        return [told, bounds ? this.#textAt(record, bounds.lower) : ''];
      });
      const [kind, text, , low, locked] = rest;
      if (kind === 'again') continue;
      const aheadMs = shared - this.now;
      if (Number(low) > 0) this.#lowAt = Math.max(this.#lowAt, Number(low) - aheadMs - keepMs);
      const isNew = kind === 'owned' && text === '';
      const isLocked = locked === 'locked';
      return { kind: String(kind), text: isNew ? null : String(text), aheadMs, isLocked };
    }
    throw new RedisUnavailable('Redis loses its data repeatedly', false);
  }

  /** Lends a record to the request that has claimed it. `known` is what Redis has of it. */
  #lend(
    key: IdempotencyKey,
    own: OwnedRecord,
    token: string,
    known: SharedRecord | null = null,
  ): OwnedRecord {
    const { name } = key;
    const found = known?.state?.kind === 'ambiguous' ? known.state.ambiguity : null;
    const ambiguity = latest(own.ambiguity, found);
    const lent = { key, own, token, firstAt: known?.firstAt ?? own.firstAt, ambiguity };
    if (token !== UNOWNED) this.#tokens.set(name, token);
    /** Whether its text can be another than when it was claimed. */
    let isChanged = ambiguity !== found;
    return {
      firstAt: lent.firstAt,
      ambiguity,
      withSlot: (next) => {
        isChanged = true;
        return this.#slotRecord(lent, next);
      },
      sending: (next) => own.sending(next),
      unsent: () => own.unsent(),
      // A replica that asks before Redis has it joins, and one that is killed before has left a record of its request.
      ended: (outcome) => {
        own.ended(outcome);
        inBackground(this.#end(lent, outcome));
      },
      unknown: (next) => {
        own.unknown(next);
        inBackground(this.#end(lent, stateOf(next)));
      },
      release: () => {
        own.release();
        if (isChanged) inBackground(this.#end(lent, ambiguity && stateOf(ambiguity)));
        else this.#letGo(name, token);
      },
    };
  }

  /** The state while the request is under way that gets the slot. It can be sent for some time after that. */
  #slotRecord({ firstAt, key, token }: Lent, next: Ambiguity): SlotRecord {
    const { keepMs, times } = this.#options;
    const queuedAt = this.now;
    return {
      name: key.name,
      token,
      sent: next.attempts,
      keepMs: Math.max(1, firstAt + keepMs - queuedAt),
      textAt: (shared) => {
        const overAt = next.overAt + (this.now - queuedAt) + times.sendByMs;
        const sentAt = next.sentAt < queuedAt ? next.sentAt : this.now;
        const state = stateOf({ ...next, sentAt, overAt });
        return this.#textAt(this.#recordOf(key, firstAt, state), shared);
      },
    };
  }

  /** Writes the state of a record that is not owned any more; `null` for a key that was never sent. */
  #end({ firstAt, key, token }: Lent, state: RecordState | null): Promise<void> {
    this.#forget(key.name, token);
    return this.#write(this.#recordOf(key, firstAt, state), token, false);
  }

  /** Gives up an ownership, whether Redis knows of it or not. */
  #letGo(name: string, token: string): void {
    if (token === UNOWNED) return;
    this.#forget(name, token);
    const until = this.#options.clock.now() + this.#options.keepMs;
    const put = { name, token, sent: 0, owned: false, until, textAt: () => '', asIs: true };
    inBackground(this.#outbox.put(put));
  }

  #forget(name: string, token: string): void {
    if (this.#tokens.get(name) === token) this.#tokens.delete(name);
  }

  async #publish(): Promise<void> {
    this.#isPublishing = true;
    do {
      this.#publishAgain = false;
      const all = [...this.#options.own.sent];
      for (let at = 0; at < all.length && !this.#publishAgain; at += RECORDS_PER_COMMAND) {
        await Promise.all(
          all.slice(at, at + RECORDS_PER_COMMAND).map((record) => {
            const token = this.#tokens.get(record.name);
            return this.#write({ ...record }, token ?? '-', token !== undefined);
          }),
        );
      }
    } while (this.#publishAgain);
    this.#isPublishing = false;
  }

  #write(record: SharedRecord, token: string, owned: boolean): Promise<void> {
    const { name, state, until } = record;
    return this.#outbox.put({
      name,
      token,
      sent: sentFor(state),
      owned,
      until: this.#options.clock.now() + (until - this.now),
      textAt: (shared) => (state === null ? '' : this.#textAt(record, shared)),
    });
  }

  #recordOf(key: IdempotencyKey, firstAt: number, state: RecordState | null): SharedRecord {
    const { fingerprint, mutation, name, scope, upstream } = key;
    const until = firstAt + this.#options.keepMs;
    return { name, scope, upstream, mutation, ...fingerprint, firstAt, until, state };
  }

  #textAt(record: SharedRecord, shared: number): string {
    return this.#texts.write(record, shared - this.now);
  }
}

function stateOf(ambiguity: Ambiguity): RecordState {
  return { kind: 'ambiguous', ambiguity };
}

/** Of what this replica and Redis know of the same requests, what is known later. */
function latest(own: Ambiguity | null, found: Ambiguity | null): Ambiguity | null {
  if (!own || !found) return own ?? found;
  if (own.attempts !== found.attempts) return own.attempts > found.attempts ? own : found;
  return own.isAbsent || own.candidates.length > 0 ? own : found;
}
