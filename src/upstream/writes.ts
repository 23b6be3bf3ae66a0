import type { Credential } from '../auth/credential.ts';
import type { GatewayError } from '../errors.ts';
import { type AtOnce, inBackground } from '../scheduling/at-once.ts';
import type { SharedResult, Slot } from './budget/budget.ts';
import type { Budgets } from './budget/budgets.ts';
import type { CachedReads } from './cached-reads.ts';
import type { CountHistory } from './count-history.ts';
import type { Access } from './operation.ts';
import { type Answered, attempt } from './reads/fetch.ts';
import type { Outcome } from './reads/waiter.ts';
import { Waiters, type WaitersWorld } from './reads/waiters.ts';
import type { Call, Write } from './request.ts';
import { type Failure, readError, writeError } from './wire/failure.ts';
import { WireError } from './wire/send.ts';
import { resourceOf, type Wire } from './wire/wire.ts';

/** The result for the caller, and for others. */
interface Settled<T> {
  readonly outcome: Outcome<T>;
  /** Resolves when no reader gets the state before it any more. */
  readonly touched?: AtOnce<void>;
  readonly result?: SharedResult;
}

/** A request for one operation alone. */
interface Unshared<T> {
  readonly call: Call<T>;
  readonly lane: 'write' | 'interactive';
  /** The scoped tags that it can invalidate, if it is a write. */
  readonly tags: readonly string[];
  readonly settle: (answered: Answered<T>, slot: Slot) => Settled<T>;
}

interface WritesOptions extends WaitersWorld {
  readonly counts: CountHistory | undefined;
  readonly budgets: Budgets;
  readonly cached: CachedReads;
  readonly wire: Wire;
}

/** Requests whose responses are for one operation only, and which are sent once: writes, and reads of secrets. */
export class Writes {
  readonly #options: WritesOptions;
  /** Counts them, so that each has a separate line on a receipt. */
  #count = 0;

  constructor(options: WritesOptions) {
    this.#options = options;
  }

  /** Sends a write. See `Reader.write`. */
  write<T>(write: Write<T>, access: Access): Promise<T> {
    const { credential } = access;
    const tags = this.#options.cached.tagsOf(write.mayTouch ?? write.touches(null), credential);
    const settle = (answered: Answered<T>, { id }: Slot): Settled<T> => {
      const { cached } = this.#options;
      if (answered.kind === 'value') {
        const { value } = answered;
        this.#ends(write, credential, true);
        access.caller.receipt.messages.add(answered.message());
        return { outcome: { value }, touched: cached.touch(write.touches(value), credential, id) };
      }
      return this.#settleFailed(write, answered.failure, { credential, id });
    };
    return this.#send({ call: write, lane: 'write', tags, settle }, access);
  }

  #settleFailed<T>(
    write: Write<T>,
    failure: Failure,
    { credential, id }: { readonly credential: Credential; readonly id: string | undefined },
  ): Settled<T> {
    const { cached, upstream } = this.#options;
    const error: GatewayError = writeError(upstream, failure, write.check);
    const outcome = { error };
    // A response "not found" means that cached data of the object is also outdated.
    const isOutdated = !(failure instanceof WireError) && failure.kind === 'absent';
    let touched: AtOnce<void> = undefined;
    if (isOutdated || error.code === 'OUTCOME_UNKNOWN') this.#ends(write, credential, isOutdated);
    if (isOutdated) touched = cached.touch(write.touches(null), credential, id);
    else if (error.code === 'OUTCOME_UNKNOWN') {
      touched = cached.doubt(write.touches(null), credential, id);
    }
    return touched ? { outcome, touched } : { outcome, result: { kind: 'nothing' } };
  }

  /** The row that a write deletes has no further history. */
  #ends({ ends }: Pick<Write<never>, 'ends'>, credential: Credential, certain: boolean): void {
    const { counts, upstream } = this.#options;
    if (ends) counts?.deleted({ upstream, credential }, ends, certain);
  }

  /** Sends a read whose response is a secret. See `Reader.readSecret`. */
  readSecret<T>(call: Call<T>, access: Access): Promise<T> {
    const settle = (answered: Answered<T>): Settled<T> => {
      if (answered.kind === 'value') return { outcome: { value: answered.value } };
      const error = readError(this.#options.upstream, answered.failure);
      return { outcome: { error }, result: { kind: 'nothing' } };
    };
    return this.#send({ call, lane: 'interactive', tags: [], settle }, access);
  }

  /**
   * 1 upstream request.
   * @throws GatewayError `UPSTREAM_UNAVAILABLE` while the breaker is open, `OPERATION_TOO_EXPENSIVE`.
   */
  #send<T>(unshared: Unshared<T>, { caller, credential }: Access): Promise<T> {
    const { budgets, clock, events, upstream, wire } = this.#options;
    return caller.receipt.track(async () => {
      const budget = budgets.of(credential);
      const limit = budgets.maxCalls(credential);
      if (wire.heldBack) throw wire.heldBack;
      caller.receipt.spending.take(upstream, limit);
      const { call, lane, tags } = unshared;
      const waiters = new Waiters<T>({
        upstream,
        clock,
        events,
        budget,
        lane,
        lengthy: call.stream !== undefined,
        caller: caller.name,
        resource: resourceOf(call),
        planned: caller.receipt,
        sharing: { tags },
      });
      inBackground(this.#takeTurns(unshared, credential, waiters));
      return waiters.wait(caller);
    });
  }

  /** Limiter > send, until the request has its response or no caller waits for it. */
  async #takeTurns<T>(
    { call, settle }: Unshared<T>,
    credential: Credential,
    waiters: Waiters<T>,
  ): Promise<void> {
    const { wire } = this.#options;
    this.#count += 1;
    const key = `unshared ${this.#count}`;
    const settled: Settled<T>[] = [];
    for (let turn = await waiters.turn(); turn?.kind === 'slot'; turn = await waiters.turn()) {
      const slot = turn;
      const outcome = await attempt({ waiters, wire }, slot, {
        call,
        credential,
        key,
        renews: false,
        settle: (answered) => {
          const one = settle(answered, slot);
          settled.push(one);
          slot.end(answered.feedback, one.result);
          return one.outcome;
        },
      });
      if (!outcome) continue;
      try {
        await settled[0]?.touched;
      } finally {
        waiters.end(outcome);
      }
      return;
    }
  }
}
