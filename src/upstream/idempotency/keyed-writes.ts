import type { Digest } from '../../digest.ts';
import {
  IdempotencyKeyInUse,
  IdempotencyKeyReused,
  type UpstreamName,
  UpstreamRejected,
} from '../../errors.ts';
import type { EventStream } from '../../observe/event-stream.ts';
import type { Clock } from '../../scheduling/clock.ts';
import { type Access, patienceOf } from '../operation.ts';
import type { Write } from '../request.ts';
import type { Writes } from '../writes.ts';
import type { IdempotencyKey } from './idempotency-key.ts';
import type { EvidenceLists } from './looks/evidence-lists.ts';
import { waitFor } from './patience.ts';
import type { Claim, FinalOutcome } from './record.ts';
import { RowLocks } from './row-locks.ts';
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
  readonly timeoutMs: number;
  readonly writes: Writes;
}

/** The claim of a key that no other request uses. */
type FreeClaim = Exclude<Claim, { kind: 'busy' }>;

/** All writes: those with a key are executed once, and the effect of a creation is found although its response was lost. */
export class KeyedWrites {
  readonly #options: KeyedWritesOptions;
  readonly #runs: WriteRuns;
  /** The callers that wait for the end of a key, in the order in which they came. */
  readonly #lines: RowLocks;

  constructor(options: KeyedWritesOptions) {
    this.#options = options;
    this.#runs = new WriteRuns(options);
    this.#lines = new RowLocks(options.clock);
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
    return this.#runs.create(new WriteCall({ write, access, lists, key }, this.#options), evidence);
  }

  #once<T>(call: WriteCall<T>, key: IdempotencyKey): Promise<T> {
    return call.access.caller.receipt.track(async () => {
      return this.#settle(call, key, await this.#claim(call, key));
    });
  }

  /** Claims the record; waits for another request that uses it as long as the caller waits. */
  async #claim<T>(call: WriteCall<T>, key: IdempotencyKey): Promise<FreeClaim> {
    const { clock, records } = this.#options;
    const { caller } = call.access;
    let claim = records.claim(key);
    if (claim.kind !== 'busy') return claim;
    const { receipt, signal } = caller;
    receipt.waitBegins();
    try {
      // Only the first in the line claims when the key is free: there can be thousands.
      const place = await this.#lines.exclude(key.name, { patienceMs: patienceOf(caller), signal });
      try {
        for (;;) {
          if (!place) throw this.#inUse(call, claim.retryAfterMs);
          claim = records.claim(key);
          if (claim.kind !== 'busy') return claim;
          const terms = { patienceMs: patienceOf(caller), signal };
          const isFree = await waitFor(claim.ended, clock, terms);
          if (!isFree) throw this.#inUse(call, claim.retryAfterMs);
        }
      } finally {
        place?.release();
      }
    } finally {
      receipt.waitEnds();
    }
  }

  #inUse<T>(call: WriteCall<T>, retryAfterMs: number): unknown {
    const { signal } = call.access.caller;
    if (signal.aborted) return signal.reason;
    call.emit('conflict_in_use');
    return new IdempotencyKeyInUse(retryAfterMs);
  }

  #settle<T>(call: WriteCall<T>, key: IdempotencyKey, claim: FreeClaim): Promise<T> | T {
    const { records, upstream } = this.#options;
    switch (claim.kind) {
      case 'reused':
        call.emit('reused');
        throw new IdempotencyKeyReused();
      case 'unreadable':
        throw unknownOutcome(call, { upstream, settlesAt: null, now: records.now, candidates: [] });
      case 'final':
        return this.#replay(call, claim);
      default:
        return this.#runs.own(call, key, claim.record);
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
