import type { Digest } from '../../digest.ts';
import {
  IdempotencyKeyInUse,
  IdempotencyKeyReused,
  type UpstreamName,
  UpstreamRejected,
} from '../../errors.ts';
import type { EventStream } from '../../observe/event-stream.ts';
import type { Clock } from '../../scheduling/clock.ts';
import type { Access } from '../operation.ts';
import type { Write } from '../request.ts';
import type { Writes } from '../writes.ts';
import type { IdempotencyKey } from './idempotency-key.ts';
import type { EvidenceLists } from './looks/evidence-lists.ts';
import type { FinalOutcome, KnownKey } from './record.ts';
import { lockFor, type RowLocks, termsOf } from './row-locks.ts';
import { unknownOutcome } from './runs/unknown-outcome.ts';
import { WriteCall } from './runs/write-call.ts';
import { WriteRuns } from './runs/write-runs.ts';
import type { Records } from './store/records.ts';

interface KeyedWritesOptions {
  readonly upstream: UpstreamName;
  readonly baseUrl: string;
  readonly clock: Clock;
  readonly events: EventStream | undefined;
  readonly records: Records;
  readonly rowLocks: RowLocks;
  /** See `LostCreations`. */
  readonly settleMs: number;
  readonly writes: Writes;
}

/** A caller that finds its key in use is told to retry after this time, in milliseconds. */
const RETRY_AFTER_MS = 1000;

/** All writes: those with a key are executed once, and the effect of a creation is found although its response was lost. */
export class KeyedWrites {
  readonly #options: KeyedWritesOptions;
  readonly #runs: WriteRuns;

  constructor(options: KeyedWritesOptions) {
    this.#options = options;
    this.#runs = new WriteRuns(options);
  }

  /** What became of keys. */
  get records(): Records {
    return this.#options.records;
  }

  /** Names something that records have, of this API: those of another base URL have other names. */
  get nameRecord(): Digest {
    const { baseUrl, records } = this.#options;
    return (text) => records.digest(`${baseUrl} ${text}`);
  }

  /**
   * Sends a write: 1 upstream request. With a key that has an outcome, returns that: none. If the response to a creation was
   * lost, also the reads that look for the row. Also throws what `Writes.write` throws.
   * @throws OutcomeUnknown `OUTCOME_UNKNOWN` with the time at which a retry can find out, and rows that may be the result.
   * @throws IdempotencyKeyReused `IDEMPOTENCY_KEY_REUSED`
   * @throws IdempotencyKeyInUse `IDEMPOTENCY_KEY_IN_USE` if another request uses the key for longer than the caller waits.
   */
  write<T>(write: Write<T>, access: Access, lists: EvidenceLists): Promise<T> {
    const { idempotency: key = null } = access;
    const { writes } = this.#options;
    const { evidence } = write;
    if (key) return this.#once(new WriteCall({ write, access, lists, key }, this.#options), key);
    if (evidence?.kind !== 'creation') return writes.write(write, access);
    return this.#runs.own(new WriteCall({ write, access, lists, key }, this.#options));
  }

  #once<T>(call: WriteCall<T>, key: IdempotencyKey): Promise<T> {
    const { records, rowLocks } = this.#options;
    const { caller } = call.access;
    return caller.receipt.track(async () => {
      const known = records.known(key);
      if (known) return this.#settle(call, known);
      const entering = rowLocks.exclude(`key ${key.name}`, termsOf(caller));
      const place = await lockFor(entering, caller, () => {
        call.emit('conflict_in_use');
        return new IdempotencyKeyInUse(RETRY_AFTER_MS);
      });
      const outcome = records.known(key);
      if (!outcome)
        return this.#runs.own(
          call,
          records.own(key, () => place.release()),
        );
      place.release();
      return this.#settle(call, outcome);
    });
  }

  #settle<T>(call: WriteCall<T>, known: KnownKey): T {
    const { records, upstream } = this.#options;
    switch (known.kind) {
      case 'reused':
        call.emit('reused');
        throw new IdempotencyKeyReused();
      case 'unreadable':
        throw unknownOutcome(call, { upstream, settlesAt: null, now: records.now, candidates: [] });
      default:
        return this.#replay(call, known);
    }
  }

  #replay<T>(
    call: WriteCall<T>,
    { firstAt, outcome }: { readonly firstAt: number; readonly outcome: FinalOutcome },
  ): T {
    call.emit('replayed');
    call.report('REPLAYED', firstAt);
    if (outcome.kind === 'done') return outcome.value as T;
    throw new UpstreamRejected(this.#options.upstream, outcome.reason);
  }
}
