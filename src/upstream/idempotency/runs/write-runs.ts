import { BoundedMap } from '../../../bounded-map.ts';
import {
  BudgetExhausted,
  OutcomeUnknown,
  type UpstreamName,
  UpstreamRejected,
} from '../../../errors.ts';
import type { AtOnce } from '../../../scheduling/at-once.ts';
import type { Clock } from '../../../scheduling/clock.ts';
import { patienceOf } from '../../operation.ts';
import type { Row } from '../../request.ts';
import type { Writes } from '../../writes.ts';
import type { IdempotencyKey } from '../idempotency-key.ts';
import { idOf } from '../looks/known-rows.ts';
import { type Found, mayBeApplied, Reconciler, type SettleTimes } from '../looks/reconciler.ts';
import type { RowWrites } from '../looks/row-writes.ts';
import type { Ambiguity, OwnedRecord, Records } from '../records.ts';
import { CREATION, type RowLock, type RowLocks } from '../row-locks.ts';
import { OwnedWrite } from './owned-write.ts';
import { SendHold } from './send-hold.ts';
import { unknownOutcome } from './unknown-outcome.ts';
import type { WriteCall } from './write-call.ts';

interface WriteRunsOptions extends SettleTimes {
  readonly upstream: UpstreamName;
  readonly clock: Clock;
  readonly records: Records;
  readonly rowLocks: RowLocks;
  readonly rowWrites: RowWrites;
  readonly timeoutMs: number;
  readonly writes: Writes;
}

/** A caller that waited for an equal creation is told to retry after this time, in milliseconds. */
const RETRY_AFTER_MS = 1000;
/** A replica whose process pauses can send a request this much later, in milliseconds. */
const LONGEST_PAUSE_MS = 5000;
/** Keys whose row before the first request is remembered. */
const MOST_ROWS = 1000;

/** The place of a creation that waits for no other. */
const NO_LOCK: RowLock = { release: () => {} };

/** Ids of rows that existed before a creation; `null` if they are unknown. */
type Baseline = readonly number[] | null;

/** Of a write whose effect was not looked for. */
const NOTHING_SEEN = { candidates: [], absentAt: [] } as const;

/** Executes writes: sends them, and finds out what became of them if the response was lost. */
export class WriteRuns {
  readonly #options: WriteRunsOptions;
  readonly #reconciler: Reconciler;
  /** Rows before the first request, by the name of the key. */
  readonly #rowsBefore = new BoundedMap<Row>({ max: MOST_ROWS });

  constructor(options: WriteRunsOptions) {
    this.#options = options;
    this.#reconciler = new Reconciler(options);
  }

  /** Executes a creation without a key: 1 upstream request, and at most 2 reads if its response was lost. */
  async create<T>(call: WriteCall<T>): Promise<T> {
    const { records, writes } = this.#options;
    const { access, write } = call;
    const entered = this.#enter(call);
    const hold = new SendHold<T>(entered instanceof Promise ? await entered : entered);
    try {
      const baseline = this.#baseline(call);
      const sentAt = records.now;
      let value: T;
      try {
        value = await writes.write(write, access, hold);
      } catch (error) {
        if (!(error instanceof OutcomeUnknown)) throw error;
        const overAt = records.now;
        const lost = { ...NOTHING_SEEN, attempts: 1, sentAt, overAt, baseline };
        const found = await this.#reconciler.find(call, lost);
        if (found.kind !== 'done') throw this.#unknown(call, found, error);
        value = await this.#found(call, found.value);
      }
      this.#created(call, baseline, value);
      return value;
    } finally {
      hold.leave();
    }
  }

  /**
   * Executes a write whose record is owned: 1 upstream request, 2 if the first had no effect, and the reads that look for
   * the effect.
   */
  async own<T>(call: WriteCall<T>, key: IdempotencyKey, record: OwnedRecord): Promise<T> {
    const { evidence } = call.write;
    const creation = evidence?.kind === 'creation' ? evidence : null;
    let place: RowLock | null;
    try {
      place = record.lock ?? (creation && (await this.#enter(call)));
    } catch (error) {
      record.release();
      throw error;
    }
    call.before = this.#rowBefore(call, key);
    const baseline = this.#baseline(call);
    const owned = new OwnedWrite<T>({
      records: this.#options.records,
      record,
      ambiguity: record.ambiguity ?? this.#suspicion(key),
      call: call.write,
      baseline,
      list: call.list,
      timeoutMs: this.#options.timeoutMs,
      mayBeApplied: mayBeApplied(evidence),
      onOver: () => place?.release(),
    });
    if (record.ambiguity) owned.note(this.#over(record.ambiguity));
    try {
      const value = await this.#run(call, owned, record);
      this.#created(call, record.ambiguity?.baseline ?? baseline, value);
      this.#rowsBefore.delete(key.name);
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
    const { writes } = this.#options;
    let cause: unknown;
    for (;;) {
      if (owned.ambiguity) {
        const found = await this.#reconciler.find(call, owned.ambiguity, (next) =>
          owned.looked(next),
        );
        if (found.kind === 'done') return this.#reconciled(call, owned, record, found.value);
        owned.note(found.ambiguity);
        if (found.kind === 'unknown') throw this.#unknown(call, found, cause);
        // A key that may have been used was perhaps never sent.
        call.isResent = record.ambiguity !== null || owned.isLost;
      }
      try {
        const value = await writes.write(call.write, call.access, owned);
        call.emit('executed');
        call.report('EXECUTED', record.firstAt);
        return value;
      } catch (error) {
        const { ambiguity, rejection } = owned;
        if (rejection && ambiguity) {
          const found = await this.#reconciler.findApplied(call, ambiguity, rejection);
          if (found.kind === 'done') return this.#reconciled(call, owned, record, found.value);
          if (found.kind === 'unknown') throw this.#unknown(call, found, error);
          owned.end({ kind: 'rejected', reason: rejection.reason });
        }
        if (!owned.isLost) throw error;
        cause = error;
      }
    }
  }

  async #reconciled<T>(
    call: WriteCall<T>,
    owned: OwnedWrite<T>,
    { firstAt }: OwnedRecord,
    value: T,
  ): Promise<T> {
    owned.end({ kind: 'done', value });
    await this.#found(call, value);
    call.report('RECONCILED', firstAt);
    return value;
  }

  /** A write has happened although its response was lost. */
  async #found<T>(call: WriteCall<T>, value: T): Promise<T> {
    await this.#options.writes.found(call.write, value, call.access);
    call.emit('reconciled');
    return value;
  }

  /**
   * What an earlier owner has left. It owns the record no more, so that the sender of an upload, which may take any time,
   * has gone: its request is not complete, or waits for the response.
   */
  #over(ambiguity: Ambiguity): Ambiguity {
    const { records, timeoutMs } = this.#options;
    const overAt = records.now + timeoutMs + LONGEST_PAUSE_MS;
    return ambiguity.overAt <= overAt ? ambiguity : { ...ambiguity, overAt };
  }

  /** What is assumed of an unknown key that may have been used; `null` if it is new. */
  #suspicion({ madeAt }: IdempotencyKey): Ambiguity | null {
    const { hasLost, knownSince, now } = this.#options.records;
    if (madeAt === null ? !hasLost : madeAt >= knownSince) return null;
    const sentAt = Math.min(now, madeAt ?? knownSince);
    // Its process has ended, or it was sent long ago.
    const overAt = Math.min(now, knownSince);
    return { ...NOTHING_SEEN, attempts: 0, sentAt, overAt, baseline: null };
  }

  #baseline<T>({ access, list, lists, write }: WriteCall<T>): Baseline {
    const { evidence } = write;
    if (list === null || evidence?.kind !== 'creation') return null;
    const { knownRows, now } = this.#options.records;
    const { query: _filters, ...whole } = evidence.list;
    const end = lists.cachedEnd(whole, access);
    // A write invalidates the page: the next creation finds the id there. Looks can have seen a later end.
    const page = Math.max(end?.page ?? 1, knownRows.place(list).page ?? 1);
    if (end) knownRows.seen(list, { ...end, page }, now);
    return knownRows.baseline(list, now);
  }

  #created<T>({ list }: WriteCall<T>, baseline: Baseline, value: T): void {
    const id = idOf(value);
    if (list === null || id === null) return;
    const { knownRows, now } = this.#options.records;
    knownRows.created(list, { baseline, id }, now);
  }

  /** The row that a write changes, as cached before its first request; `null` if that does not matter. */
  #rowBefore<T>({ access, lists, write }: WriteCall<T>, { name }: IdempotencyKey): Row | null {
    const { evidence } = write;
    if (evidence?.kind !== 'row') return null;
    const known = this.#rowsBefore.get(name);
    if (known) return known;
    const row = lists.cachedRow(evidence.list, evidence.id, access)?.row ?? null;
    if (row) this.#rowsBefore.set(name, row);
    return row;
  }

  /**
   * Names the lock of equal creations; `undefined` for other writes. An upload takes as long as its sender likes, so none
   * waits for another.
   */
  placeOf<T>({ access, write }: WriteCall<T>): string | undefined {
    const { evidence, stream } = write;
    if (evidence?.kind !== 'creation' || stream) return undefined;
    return `${CREATION}${access.credential.partition} ${evidence.content}`;
  }

  /** Waits for equal creations that are under way: with a key, those of all replicas. */
  #enter<T>(call: WriteCall<T>): AtOnce<RowLock> {
    const name = this.placeOf(call);
    if (name === undefined) return NO_LOCK;
    const { rowLocks } = this.#options;
    const { caller } = call.access;
    const { receipt, signal } = caller;
    const terms = { patienceMs: patienceOf(caller), signal };
    const entered = call.key ? rowLocks.exclude(name, terms) : rowLocks.excludeHere(name, terms);
    if (entered && !(entered instanceof Promise)) return entered;
    receipt.waitBegins();
    return Promise.resolve(entered).then((lock) => {
      receipt.waitEnds();
      if (lock) return lock;
      if (signal.aborted) throw signal.reason;
      throw this.#equalUnderWay();
    });
  }

  #equalUnderWay(): BudgetExhausted {
    const { records, upstream } = this.#options;
    const availableAt = new Date(records.now + RETRY_AFTER_MS);
    const sentence = 'An equal creation takes too long.';
    return new BudgetExhausted(upstream, RETRY_AFTER_MS, availableAt, 'changes', { sentence });
  }

  #unknown<T>(
    call: WriteCall<T>,
    found: Exclude<Found<T>, { kind: 'done' }>,
    cause: unknown,
  ): OutcomeUnknown {
    const { records, upstream } = this.#options;
    return unknownOutcome(call, {
      upstream,
      settlesAt: found.kind === 'unknown' ? found.settlesAt : null,
      now: records.now,
      candidates: found.ambiguity.candidates,
      cause,
    });
  }
}
