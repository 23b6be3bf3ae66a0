import {
  BudgetExhausted,
  GatewayError,
  IdempotencyKeyInUse,
  IdempotencyKeyReused,
  type UpstreamName,
  UpstreamRejected,
} from '../../errors.ts';
import type { EventStream } from '../../observe/event-stream.ts';
import type { AtOnce } from '../../scheduling/at-once.ts';
import type { Clock } from '../../scheduling/clock.ts';
import type { Access } from '../operation.ts';
import type { Creation, Write } from '../request.ts';
import type { Writes } from '../writes.ts';
import type { IdempotencyKey, KeyName } from './idempotency-key.ts';
import type { EvidenceLists } from './looks/evidence-lists.ts';
import { LostCreations } from './looks/lost-creations.ts';
import type { KnownKey, Records } from './records.ts';
import type { RowLocks, Unlock } from './row-locks.ts';
import { WriteRun } from './write-run.ts';

interface KeyedWritesOptions {
  readonly upstream: UpstreamName;
  readonly baseUrl: string;
  readonly clock: Clock;
  readonly events: EventStream | undefined;
  /** What became of keys. */
  readonly records: Records;
  readonly rowLocks: RowLocks;
  /** See `LostCreations`. */
  readonly settleMs: number;
  readonly writes: Writes;
}

/** A caller that waited for the same key or an equal creation is told to retry after this time, in milliseconds. */
const RETRY_AFTER_MS = 1000;

/** All writes: those with a key are executed once, and the effect of a creation is found although its response was lost. */
export class KeyedWrites {
  readonly #options: KeyedWritesOptions;
  readonly #lostCreations: LostCreations;

  constructor(options: KeyedWritesOptions) {
    this.#options = options;
    this.#lostCreations = new LostCreations(options);
  }

  /**
   * Names the record of an idempotency key of this API: `caller` identifies its caller, and `key` the key among theirs.
   * Those of another base URL have other names.
   */
  nameKey(caller: string, key: string): KeyName {
    const { baseUrl, records, upstream } = this.#options;
    return {
      name: records.digest(`${baseUrl} ${JSON.stringify([upstream, caller, key])}`),
      scope: records.digest(`${baseUrl} ${JSON.stringify([upstream, caller])}`),
      upstream,
    };
  }

  /**
   * Sends a write: 1 upstream request. With a key that has an outcome, returns that: none. If the response to a creation was
   * lost, also at most 3 reads that look for the row. Also throws what `Writes.write` throws.
   * @throws OutcomeUnknown `OUTCOME_UNKNOWN` with the time at which a retry can find out, and rows that may be the result.
   * @throws IdempotencyKeyReused `IDEMPOTENCY_KEY_REUSED`
   * @throws IdempotencyKeyInUse `IDEMPOTENCY_KEY_IN_USE` if another request uses the key for longer than the caller waits.
   */
  write<T>(write: Write<T>, access: Access, lists: EvidenceLists): Promise<T> {
    const { caller, idempotency: key = null } = access;
    return caller.receipt.track(() => {
      if (!key && write.evidence?.kind !== 'creation') {
        return this.#options.writes.write(write, access);
      }
      const run = new WriteRun({ write, access, lists, key }, this.#options);
      return key ? this.#saved(run, key) : this.#execute(run);
    });
  }

  /** What its caller is told is what the next owner says. */
  async #saved<T>(run: WriteRun<T>, key: IdempotencyKey): Promise<T> {
    try {
      return await this.#once(run, key);
    } finally {
      await this.#options.records.committed();
    }
  }

  async #once<T>(run: WriteRun<T>, key: IdempotencyKey): Promise<T> {
    const { records, rowLocks } = this.#options;
    const known = records.known(key);
    if (known) return this.#settle(run, known);
    const tooLong = () => {
      run.emit('conflict_in_use');
      return new IdempotencyKeyInUse(RETRY_AFTER_MS);
    };
    const { caller } = run.access;
    const unlock = await rowLocks.lockFor(caller, `key ${key.name}`, { alone: true, tooLong });
    const settled = records.known(key);
    if (settled) {
      unlock();
      return this.#settle(run, settled);
    }
    run.hold(unlock);
    run.own(records.own(key));
    return this.#execute(run);
  }

  /** The result of an earlier call with the key. */
  #settle<T>(run: WriteRun<T>, known: KnownKey): T {
    if (known.kind === 'reused') {
      run.emit('reused');
      throw new IdempotencyKeyReused();
    }
    if (known.kind === 'unreadable') throw run.unknown(null);
    const { firstAt, outcome } = known;
    run.emit('replayed');
    run.report('REPLAYED', firstAt);
    if (outcome.kind === 'done') return outcome.value as T;
    throw new UpstreamRejected(this.#options.upstream, outcome.reason);
  }

  async #execute<T>(run: WriteRun<T>): Promise<T> {
    const { creation } = run;
    try {
      if (creation) {
        // An upload takes as long as its sender likes, so none waits for another.
        if (!run.write.stream) run.hold(await this.#lockEqual(run, creation));
        run.baseline = this.#lostCreations.baseline(run, creation);
      }
      const value = await this.#send(run);
      if (creation) {
        const baseline = run.foundAmbiguity?.baseline ?? run.baseline;
        this.#lostCreations.created(run, creation, { baseline, value });
      }
      return value;
    } catch (error) {
      if (error instanceof UpstreamRejected && run.isOver) {
        run.emit('rejected');
        run.report('EXECUTED');
      }
      throw error;
    } finally {
      run.leave();
    }
  }

  /**
   * Waits for equal creations that are under way.
   * @throws BudgetExhausted `BUDGET_EXHAUSTED`
   */
  #lockEqual<T>({ access }: WriteRun<T>, { content }: Creation<T>): AtOnce<Unlock> {
    const { records, rowLocks, upstream } = this.#options;
    const tooLong = () => {
      const availableAt = new Date(records.now + RETRY_AFTER_MS);
      const sentence = 'An equal creation takes too long.';
      return new BudgetExhausted(upstream, RETRY_AFTER_MS, availableAt, 'changes', { sentence });
    };
    const name = `creation ${access.credential.partition} ${content}`;
    return rowLocks.lockFor(access.caller, name, { alone: true, tooLong });
  }

  async #send<T>(run: WriteRun<T>): Promise<T> {
    const { settleMs, writes } = this.#options;
    if (run.ambiguity && !run.isRepeatable) {
      const found = await this.#find(run);
      if (found) return this.#reconciled(run, found.value);
    }
    try {
      const value = await writes.write(guarded(run), run.access, run);
      run.emit('executed');
      run.report('EXECUTED');
      return value;
    } catch (error) {
      if (run.found) return this.#reconciled(run, run.found.value);
      const { ambiguity } = run;
      if (!run.isLost || !ambiguity) throw error;
      if (run.isRepeatable) {
        throw run.unknown(run.isRefused ? null : ambiguity.overAt + settleMs, { cause: error });
      }
      const found = await this.#find(run, error);
      if (!found) throw error;
      return this.#reconciled(run, found.value);
    }
  }

  /**
   * The result of a creation that was perhaps sent before; `null` if it was not.
   * @throws OutcomeUnknown
   */
  async #find<T>(run: WriteRun<T>, cause?: unknown): Promise<{ readonly value: T } | null> {
    const { ambiguity, creation } = run;
    if (!creation || !ambiguity) throw run.unknown(null, { cause });
    const found = await this.#lostCreations.find(run, creation, ambiguity);
    if ('value' in found) return found;
    const { attempts, candidates, isAbsent } = found.ambiguity;
    run.ambiguity = found.ambiguity;
    if (isAbsent && attempts === 0) return null;
    throw run.unknown(found.settlesAt, { candidates, cause });
  }

  /** A write has happened although its response was lost. */
  #reconciled<T>(run: WriteRun<T>, value: T): T {
    run.end({ kind: 'done', value });
    this.#options.writes.found(run.write, value, run.access);
    run.emit('reconciled');
    run.report('RECONCILED');
    return value;
  }
}

/** The write with a guard that does not report a conflict: if it was perhaps sent before, it may itself be the cause. */
function guarded<T>(run: WriteRun<T>): Write<T> {
  const { access, ambiguity, write } = run;
  const { guard } = write;
  if (!guard || !ambiguity) return write;
  const doubted = async (): Promise<void> => {
    try {
      await guard();
    } catch (error) {
      const isOfRow = !(error instanceof GatewayError) || error instanceof UpstreamRejected;
      if (!isOfRow || access.caller.signal.aborted) throw error;
      throw run.unknown(null);
    }
  };
  return { ...write, guard: doubted };
}
