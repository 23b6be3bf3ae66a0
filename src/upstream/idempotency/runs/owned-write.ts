import { GatewayError } from '../../../errors.ts';
import type { Answered } from '../../reads/fetch.ts';
import type { Outcome } from '../../reads/waiter.ts';
import type { Repeatable } from '../../request.ts';
import { type Failure, outcomeOf } from '../../wire/failure.ts';
import type { Ambiguity, FinalOutcome, OwnedRecord } from '../record.ts';
import type { SendRecord } from '../send-record.ts';
import type { Records } from '../store/records.ts';

/** A request under way takes no longer, in milliseconds: an upload ends when its sender does. */
const LONGEST_MS = 86_400_000;

interface OwnedWriteOptions<T> {
  readonly records: Records;
  readonly record: OwnedRecord;
  /** What is known of earlier requests; `null` if there were none. */
  readonly ambiguity: Ambiguity | null;
  /** Ids of rows that exist before the first request; `null` if they are unknown. */
  readonly baseline: readonly number[] | null;
  /** The path of the list to which it adds a row; absent for another write. */
  readonly list: string | undefined;
  readonly refusedAgain: Repeatable<T>['refusedAgain'];
  /** Called when the record is no longer owned. */
  readonly onOver: () => void;
}

/**
 * The record of a write from its claim to its end: for the caller that owns it, and without this caller until a
 * request under way is over.
 */
export class OwnedWrite<T> implements SendRecord<T> {
  readonly #options: OwnedWriteOptions<T>;
  /** What is known if the outcome is not; `null` if nothing was sent. */
  #ambiguity: Ambiguity | null;
  /** The same before the request under way. */
  #before: Ambiguity | null;
  #isUnderWay = false;
  /** Whether the latest request has ended without a known outcome. */
  isLost = false;
  /** Whether the caller no longer waits. */
  #isLeft = false;
  /** Whether the record is no longer owned. */
  isOver = false;
  /** Whether a repeated request was refused, and the first may be applied. */
  isRefused = false;
  /** The result, if the refusal of a repeated request shows that the first was applied. */
  found: { readonly value: T } | null = null;

  constructor(options: OwnedWriteOptions<T>) {
    this.#options = options;
    this.#ambiguity = options.ambiguity;
    this.#before = options.ambiguity;
  }

  /** What is known of a write that was sent and whose outcome is not known; `null` for any other. */
  get ambiguity(): Ambiguity | null {
    return this.#ambiguity;
  }

  /** The state while the next request is under way. */
  #next(): Ambiguity {
    const { baseline, records } = this.#options;
    const { now } = records;
    const before = this.#ambiguity;
    return {
      attempts: 1,
      sentAt: before?.sentAt ?? now,
      overAt: now + LONGEST_MS,
      baseline: before ? before.baseline : baseline,
      candidates: [],
      isAbsent: false,
    };
  }

  leaving(): void {
    const next = this.#next();
    this.#before = this.#ambiguity;
    this.#ambiguity = next;
    this.#isUnderWay = true;
    this.isLost = false;
    this.#options.record.sending(next);
  }

  stayed(outcome?: Outcome<T> | null): void {
    if (outcome && 'error' in outcome && !(outcome.error instanceof GatewayError)) {
      this.#lost();
      return;
    }
    this.#ambiguity = this.#before;
    this.#isUnderWay = false;
    this.#options.record.unsent();
  }

  answered(answered: Answered<T>): void {
    if (answered.kind === 'value') {
      this.end({ kind: 'done', value: answered.value });
      return;
    }
    const { failure } = answered;
    const outcome = outcomeOf(failure);
    if (outcome === 'rejected') this.#rejected(failure);
    else if (outcome === 'nothing') this.stayed();
    else this.#lost();
  }

  ended(): void {
    // Its loop has failed, which is a bug: the request can have been sent.
    if (this.#isUnderWay) this.#lost();
    if (this.#isLeft) this.#handBack();
  }

  /** Its caller gets a result, or no longer waits: the record is handed back as soon as nothing is under way. */
  leave(): void {
    this.#isLeft = true;
    if (!this.#isUnderWay) this.#handBack();
  }

  /** The outcome is known. */
  end(outcome: FinalOutcome): void {
    if (this.isOver) return;
    this.#isUnderWay = false;
    this.isOver = true;
    this.#options.onOver();
    const { list, record } = this.#options;
    record.ended(outcome.kind === 'done' ? { ...outcome, list } : outcome);
  }

  /** More is known of a write whose outcome is not. */
  note(ambiguity: Ambiguity): void {
    this.#ambiguity = ambiguity;
  }

  #rejected(failure: Failure): void {
    if (!('reason' in failure)) return;
    const { kind, reason } = failure;
    const { refusedAgain } = this.#options;
    if (this.#before === null || !refusedAgain) {
      this.end({ kind: 'rejected', reason });
      return;
    }
    const value = refusedAgain(kind);
    if (value === null) {
      this.#lost();
      this.isRefused = true;
    } else {
      this.found = { value };
      this.end({ kind: 'done', value });
    }
  }

  #lost(): void {
    this.#isUnderWay = false;
    this.isLost = true;
    const ambiguity = this.#ambiguity;
    if (ambiguity) this.#ambiguity = { ...ambiguity, overAt: this.#options.records.now };
  }

  #handBack(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#options.onOver();
    const { record } = this.#options;
    // Of a key that may only have been used before, nothing was sent here.
    const ambiguity = this.#ambiguity;
    if (!ambiguity || ambiguity === this.#options.ambiguity) record.release();
    else record.unknown(ambiguity);
  }
}
