import { GatewayError, OutcomeUnknown, type UpstreamName } from '../../errors.ts';
import type { EventStream } from '../../observe/event-stream.ts';
import type { KeyedEnd } from '../../observe/events.ts';
import type { Access } from '../operation.ts';
import type { Answered } from '../reads/fetch.ts';
import type { Outcome } from '../reads/waiter.ts';
import type { Creation, Write } from '../request.ts';
import { type Failure, outcomeOf } from '../wire/failure.ts';
import type { IdempotencyKey, KeyedOutcome } from './idempotency-key.ts';
import type { Ambiguity, FinalOutcome, KeptRecord } from './kept-records.ts';
import type { EvidenceLists } from './looks/evidence-lists.ts';
import type { Records } from './records.ts';
import type { Unlock } from './row-locks.ts';

interface RunWorld {
  readonly upstream: UpstreamName;
  readonly events: EventStream | undefined;
  readonly records: Records;
}

/** Number of characters of a key's name in events. */
const NAME_SHOWN = 8;
/** A request under way takes no longer, in milliseconds: an upload ends when its sender does. */
const LONGEST_MS = 86_400_000;

/**
 * One write: what it is, what it costs, how it ends, and the record of its key. It has the record until its caller has a
 * result or no longer waits, and no request is under way.
 */
export class WriteRun<T> {
  readonly write: Write<T>;
  /** The row that it creates, if it is a creation. */
  readonly creation: Creation<T> | null;
  readonly access: Access;
  readonly lists: EvidenceLists;
  /** `null` for a write without a key. */
  readonly key: IdempotencyKey | null;
  /** Upstream requests that have looked for the effect. */
  reads = 0;
  /** Ids of rows that exist before the first request; `null` if they are unknown. */
  baseline: readonly number[] | null = null;
  /** What is known of a write that was sent and whose outcome is not known; `null` for any other. */
  ambiguity: Ambiguity | null = null;
  /** What is known of earlier requests; `null` if there were none. */
  foundAmbiguity: Ambiguity | null = null;
  /** Whether the latest request has ended without a known outcome. */
  isLost = false;
  /** Whether the record is no longer owned. */
  isOver = false;
  /** Whether a repeated request was refused, and the first may be applied. */
  isRefused = false;
  /** The result, if the refusal of a repeated request shows that the first was applied. */
  found: { readonly value: T } | null = null;
  readonly #world: RunWorld;
  readonly #callsBefore: number;
  readonly #locks: Unlock[] = [];
  #record: KeptRecord | null = null;
  /** The record and the ambiguity as they were found. */
  #foundState: KeptRecord['state'] = null;
  /** The ambiguity before the request under way. */
  #before: Ambiguity | null = null;
  #isUnderWay = false;
  /** Whether the caller no longer waits. */
  #isLeft = false;

  constructor(
    of: Pick<WriteRun<T>, 'access' | 'key' | 'lists' | 'write'>,
    { events, records, upstream }: RunWorld,
  ) {
    this.write = of.write;
    const { evidence } = of.write;
    this.creation = evidence?.kind === 'creation' ? evidence : null;
    this.access = of.access;
    this.lists = of.lists;
    this.key = of.key;
    this.#world = { events, records, upstream };
    this.#callsBefore = this.#calls;
  }

  get #calls(): number {
    return this.access.caller.receipt.calls(this.#world.upstream);
  }

  /** Whether a second request has the same effect. */
  get isRepeatable(): boolean {
    return this.write.evidence?.kind === 'repeatable';
  }

  /** Holds a lock until it is over. */
  hold(unlock: Unlock): void {
    this.#locks.push(unlock);
  }

  /** Takes over the record of its key. */
  own(record: KeptRecord): void {
    const { state } = record;
    this.#record = record;
    this.#foundState = state;
    const isAmbiguous = typeof state === 'object' && state?.kind === 'ambiguous';
    this.foundAmbiguity = isAmbiguous ? state.ambiguity : this.#suspicion();
    this.ambiguity = this.foundAmbiguity;
    this.#before = this.foundAmbiguity;
  }

  /** What is assumed of an unknown key that may have been used; `null` if it is new. */
  #suspicion(): Ambiguity | null {
    const madeAt = this.key?.madeAt ?? null;
    const { records } = this.#world;
    if (madeAt === null && !records.hasLost) return null;
    const { knownSince, now } = records;
    if (madeAt !== null && madeAt >= knownSince) return null;
    const sentAt = Math.min(now, madeAt ?? knownSince);
    // Its process has ended, or it was sent long ago.
    const overAt = Math.min(now, knownSince);
    return { attempts: 0, sentAt, overAt, baseline: null, candidates: [], isAbsent: false };
  }

  /** The operation has a result. */
  report(outcome: KeyedOutcome, firstAt = this.#record?.of.firstAt ?? 0): void {
    const upstreamCalls = this.#calls - this.#callsBefore;
    this.key?.report({ outcome, firstAt: new Date(firstAt).toISOString(), upstreamCalls });
  }

  /** Emits its end, if it has a key or its response was lost; `settlesAt` is when a retry can find out what an unknown outcome is. */
  emit(outcome: KeyedEnd, settlesAt: number | null = null): void {
    const { events, upstream } = this.#world;
    const { access, key, reads, write } = this;
    if (!key && outcome !== 'reconciled' && outcome !== 'unknown') return;
    const { name, receipt } = access.caller;
    events?.emit('keyed', {
      upstream,
      mutation: key?.mutation ?? `${write.method} ${write.path.split('/', 3)[2] ?? ''}`,
      outcome,
      key: key && key.name.slice(0, NAME_SHOWN),
      asker: receipt.asker,
      caller: name,
      reads,
      settlesAt,
    });
  }

  /**
   * The error if its outcome is unknown, which it also emits. `settlesAt` is when a retry can find out, in milliseconds
   * since 1970, `null` if none can; `candidates` are rows that may be the result, and `cause` is the error of the request.
   */
  unknown(
    settlesAt: number | null,
    { candidates = [], cause }: { candidates?: readonly number[]; cause?: unknown } = {},
  ): OutcomeUnknown {
    this.emit('unknown', settlesAt);
    const { records, upstream } = this.#world;
    const { creation, key, write } = this;
    const times = settlesAt !== null && {
      settlesAt: new Date(settlesAt).toISOString(),
      // Without a key, a program that retries would make the change twice.
      ...(key && { retryAfterMs: Math.max(0, Math.ceil(settlesAt - records.now)) }),
    };
    return new OutcomeUnknown(upstream, this.#advice(settlesAt !== null), {
      check: write.check,
      details: { ...times },
      ...(creation && candidates.length > 0
        ? { candidates: { resource: creation.list.resource, ids: candidates } }
        : {}),
      cause: cause instanceof Error ? cause.cause : undefined,
    });
  }

  #advice(settles: boolean): string {
    const { check } = this.write;
    if (this.key && settles) {
      return this.isRepeatable
        ? 'Retry with the same idempotency key: a second request has the same effect.'
        : 'Retry with the same idempotency key: the gateway looks for the change and does not send it again.';
    }
    if (check === null) return 'It is safe to retry.';
    return `Check ${check} before you retry${this.key ? ' with another idempotency key' : ''}.`;
  }

  /** A request has its slot, and is sent as soon as that and the record are saved. */
  leaving(): void {
    const { now } = this.#world.records;
    const before = this.ambiguity;
    this.#before = before;
    this.ambiguity = {
      attempts: 1,
      sentAt: before?.sentAt ?? now,
      overAt: now + LONGEST_MS,
      baseline: before ? before.baseline : this.baseline,
      candidates: [],
      isAbsent: false,
    };
    this.#isUnderWay = true;
    this.isLost = false;
    this.#save({ kind: 'ambiguous', ambiguity: this.ambiguity });
  }

  /**
   * It was not sent, or was refused for the rate limit, and waits for another slot. With an `outcome`, it is over: an error
   * that is not a `GatewayError` is a bug, and the request can have been sent.
   */
  stayed(outcome?: Outcome<T> | null): void {
    if (outcome && 'error' in outcome && !(outcome.error instanceof GatewayError)) {
      this.#lost();
      return;
    }
    this.ambiguity = this.#before;
    this.#isUnderWay = false;
    // A crash may lose that.
    this.#save(this.#foundState);
  }

  /** It has its response, before the caller has it. */
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

  /** No request of it follows: it has an outcome, or no caller waits for it. */
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
    this.#isUnderWay = false;
    const list = this.creation?.list.path;
    this.#over(outcome.kind === 'done' ? { ...outcome, list } : outcome);
  }

  #rejected(failure: Failure): void {
    if (!('reason' in failure)) return;
    const { kind, reason } = failure;
    const { evidence } = this.write;
    const refusedAgain = evidence?.kind === 'repeatable' ? evidence.refusedAgain : undefined;
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
    const { ambiguity } = this;
    if (ambiguity) this.ambiguity = { ...ambiguity, overAt: this.#world.records.now };
  }

  #handBack(): void {
    const { ambiguity } = this;
    // Of a key that may only have been used before, nothing was sent here.
    const isAsFound = !ambiguity || ambiguity === this.foundAmbiguity;
    this.#over(isAsFound ? this.#foundState : { kind: 'ambiguous', ambiguity });
  }

  #over(state: KeptRecord['state']): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#save(state);
    if (this.#record) this.#world.records.handBack(this.#record);
    for (const unlock of this.#locks) unlock();
  }

  #save(state: KeptRecord['state']): void {
    if (this.#record) this.#world.records.save(this.#record, state);
  }
}
