import {
  BudgetExhausted,
  GatewayError,
  type OutcomeUnknown,
  type UpstreamName,
  UpstreamRejected,
} from '../../../errors.ts';
import type { AtOnce } from '../../../scheduling/at-once.ts';
import type { Clock } from '../../../scheduling/clock.ts';
import type { Write } from '../../request.ts';
import type { Writes } from '../../writes.ts';
import type { IdempotencyKey } from '../idempotency-key.ts';
import { LostCreations } from '../looks/lost-creations.ts';
import type { Ambiguity, OwnedRecord } from '../record.ts';
import { CREATION, lockFor, type RowLock, type RowLocks, termsOf } from '../row-locks.ts';
import type { Records } from '../store/records.ts';
import { OwnedWrite } from './owned-write.ts';
import { unknownOutcome } from './unknown-outcome.ts';
import type { WriteCall } from './write-call.ts';

interface WriteRunsOptions {
  readonly upstream: UpstreamName;
  readonly clock: Clock;
  readonly records: Records;
  readonly rowLocks: RowLocks;
  /** See `LostCreations`. */
  readonly settleMs: number;
  readonly writes: Writes;
}

/** A caller that waited for an equal creation is told to retry after this time, in milliseconds. */
const RETRY_AFTER_MS = 1000;

/** The place of a creation that waits for no other. */
const NO_LOCK: RowLock = { release: () => {} };

/** The record of a write without a key. */
const NO_RECORD: OwnedRecord = {
  firstAt: 0,
  ambiguity: null,
  sending() {},
  unsent() {},
  ended() {},
  unknown() {},
  release() {},
};

/** Executes writes: sends them, and finds the row of a creation whose response was lost. */
export class WriteRuns {
  readonly #options: WriteRunsOptions;
  readonly #lostCreations: LostCreations;

  constructor(options: WriteRunsOptions) {
    this.#options = options;
    this.#lostCreations = new LostCreations(options);
  }

  /**
   * Executes a creation without a key, or a write whose record is owned: 1 upstream request, and at most 3 reads if the
   * response to a creation was lost.
   */
  async own<T>(call: WriteCall<T>, record: OwnedRecord = NO_RECORD): Promise<T> {
    const { evidence } = call.write;
    const creation = evidence?.kind === 'creation' ? evidence : null;
    let place: RowLock | null;
    try {
      place = creation && (await this.#enter(call));
    } catch (error) {
      record.release();
      throw error;
    }
    const baseline = creation && this.#lostCreations.baseline(call, creation);
    const owned = new OwnedWrite<T>({
      records: this.#options.records,
      record,
      ambiguity: record.ambiguity ?? this.#suspicion(call.key),
      baseline,
      list: creation?.list.path,
      refusedAgain: evidence?.kind === 'repeatable' ? evidence.refusedAgain : undefined,
      onOver: () => place?.release(),
    });
    try {
      const value = await this.#run(call, owned, record);
      if (creation) {
        const before = record.ambiguity?.baseline ?? baseline;
        this.#lostCreations.created(call, creation, { baseline: before, value });
      }
      return value;
    } catch (error) {
      if (error instanceof UpstreamRejected && owned.isOver) {
        call.emit('rejected');
        call.report('EXECUTED', record.firstAt);
      }
      throw error;
    } finally {
      owned.leave();
    }
  }

  async #run<T>(call: WriteCall<T>, owned: OwnedWrite<T>, record: OwnedRecord): Promise<T> {
    const { settleMs, writes } = this.#options;
    const isRepeatable = call.write.evidence?.kind === 'repeatable';
    if (owned.ambiguity && !isRepeatable) {
      const found = await this.#find(call, owned, owned.ambiguity);
      if (found) return this.#reconciled(call, owned, record, found.value);
    }
    try {
      const value = await writes.write(this.#guarded(call, owned), call.access, owned);
      call.emit('executed');
      call.report('EXECUTED', record.firstAt);
      return value;
    } catch (error) {
      if (owned.found) return this.#reconciled(call, owned, record, owned.found.value);
      const { ambiguity } = owned;
      if (!owned.isLost || !ambiguity) throw error;
      if (isRepeatable) {
        const settlesAt = owned.isRefused ? null : ambiguity.overAt + settleMs;
        throw this.#unknown(call, { candidates: [], settlesAt, cause: error });
      }
      const found = await this.#find(call, owned, ambiguity, error);
      if (!found) throw error;
      return this.#reconciled(call, owned, record, found.value);
    }
  }

  /**
   * The result of a creation that was perhaps sent before; `null` if it was not.
   * @throws OutcomeUnknown
   */
  async #find<T>(
    call: WriteCall<T>,
    owned: OwnedWrite<T>,
    ambiguity: Ambiguity,
    cause?: unknown,
  ): Promise<{ readonly value: T } | null> {
    const { evidence } = call.write;
    if (evidence?.kind !== 'creation') {
      throw this.#unknown(call, { candidates: [], settlesAt: null, cause });
    }
    const found = await this.#lostCreations.find(call, evidence, ambiguity);
    if (found.kind === 'done') return found;
    owned.note(found.ambiguity);
    const { attempts, candidates } = found.ambiguity;
    if (found.kind === 'absent' && attempts === 0) return null;
    const settlesAt = found.kind === 'unknown' ? found.settlesAt : null;
    throw this.#unknown(call, { candidates, settlesAt, cause });
  }

  /** The write with a guard that does not report a conflict: if it was perhaps sent before, it may itself be the cause. */
  #guarded<T>(call: WriteCall<T>, { ambiguity }: OwnedWrite<T>): Write<T> {
    const { access, write } = call;
    const { guard } = write;
    if (!guard || !ambiguity) return write;
    const doubted = async (): Promise<void> => {
      try {
        await guard();
      } catch (error) {
        const isOfRow = !(error instanceof GatewayError) || error instanceof UpstreamRejected;
        if (!isOfRow || access.caller.signal.aborted) throw error;
        throw this.#unknown(call, { candidates: [], settlesAt: null });
      }
    };
    return { ...write, guard: doubted };
  }

  #reconciled<T>(call: WriteCall<T>, owned: OwnedWrite<T>, { firstAt }: OwnedRecord, value: T): T {
    owned.end({ kind: 'done', value });
    this.#found(call, value);
    call.report('RECONCILED', firstAt);
    return value;
  }

  /** A write has happened although its response was lost. */
  #found<T>(call: WriteCall<T>, value: T): T {
    this.#options.writes.found(call.write, value, call.access);
    call.emit('reconciled');
    return value;
  }

  /** What is assumed of an unknown key that may have been used; `null` if it is new. */
  #suspicion(key: IdempotencyKey | null): Ambiguity | null {
    if (!key) return null;
    const { madeAt } = key;
    const { hasLost, knownSince, now } = this.#options.records;
    if (madeAt === null ? !hasLost : madeAt >= knownSince) return null;
    const sentAt = Math.min(now, madeAt ?? knownSince);
    // Its process has ended, or it was sent long ago.
    const overAt = Math.min(now, knownSince);
    return { attempts: 0, sentAt, overAt, baseline: null, candidates: [], isAbsent: false };
  }

  /**
   * Names the lock of equal creations; `undefined` for other writes. An upload takes as long as its sender likes, so none
   * waits for another.
   */
  #placeOf<T>({ access, write }: WriteCall<T>): string | undefined {
    const { evidence, stream } = write;
    if (evidence?.kind !== 'creation' || stream) return undefined;
    return `${CREATION}${access.credential.partition} ${evidence.content}`;
  }

  /** Waits for equal creations that are under way. */
  #enter<T>(call: WriteCall<T>): AtOnce<RowLock> {
    const name = this.#placeOf(call);
    if (name === undefined) return NO_LOCK;
    const { caller } = call.access;
    const entering = this.#options.rowLocks.exclude(name, termsOf(caller));
    return lockFor(entering, caller, () => this.#equalUnderWay());
  }

  #equalUnderWay(): BudgetExhausted {
    const { records, upstream } = this.#options;
    const availableAt = new Date(records.now + RETRY_AFTER_MS);
    const sentence = 'An equal creation takes too long.';
    return new BudgetExhausted(upstream, RETRY_AFTER_MS, availableAt, 'changes', { sentence });
  }

  #unknown<T>(
    call: WriteCall<T>,
    of: Pick<Parameters<typeof unknownOutcome>[1], 'candidates' | 'cause' | 'settlesAt'>,
  ): OutcomeUnknown {
    const { records, upstream } = this.#options;
    const { candidates, cause, settlesAt } = of;
    return unknownOutcome(call, { upstream, now: records.now, candidates, cause, settlesAt });
  }
}
