import type { Credential } from '../auth/credential.ts';
import { BudgetExhausted, GatewayError } from '../errors.ts';
import { type AtOnce, inBackground } from '../scheduling/at-once.ts';
import type { Budget } from './budget/budget.ts';
import type { Budgets } from './budget/budgets.ts';
import type { CachedReads } from './cached-reads.ts';
import type { CountHistory } from './count-history.ts';
import type { RowLocks, Unlock } from './idempotency/row-locks.ts';
import type { WriteRun } from './idempotency/write-run.ts';
import { type Access, mostCallsOf, namedInBudget, waitsAs } from './operation.ts';
import { type Answered, attempt } from './reads/fetch.ts';
import type { Outcome } from './reads/waiter.ts';
import { Waiters, type WaitersWorld } from './reads/waiters.ts';
import type { Call, Write } from './request.ts';
import { resourceOf } from './wire/exchange.ts';
import { type Failure, readError, writeError } from './wire/failure.ts';
import { WireError } from './wire/send.ts';
import type { Wire } from './wire/wire.ts';

/** A request for one operation alone. */
interface Unshared<T> {
  readonly call: Call<T>;
  readonly lane: 'write' | 'interactive';
  /** The tags that it can invalidate, if it is a write. */
  readonly tags: readonly string[];
  readonly settle: (answered: Answered<T>) => Outcome<T>;
  /** Learns how each request of it ends. */
  readonly run?: WriteRun<T> | undefined;
  /** Ends its turn among the writers of its row. */
  readonly unlock?: Unlock | undefined;
}

interface WritesOptions extends WaitersWorld {
  readonly rowLocks: RowLocks;
  /** See `LostCreations`. */
  readonly settleMs: number;
  readonly counts: CountHistory | undefined;
  readonly budgets: Budgets;
  readonly cached: CachedReads;
  readonly wire: Wire;
}

/** The shortest time after which a caller that waits for the writers of a row is told to retry, in milliseconds. */
const LEAST_RETRY_MS = 1000;

/** Requests whose responses are for one operation only, and which are sent once: writes, and reads of secrets. */
export class Writes {
  readonly #options: WritesOptions;
  /** Counts them, so that each has a separate line on a receipt. */
  #count = 0;

  constructor(options: WritesOptions) {
    this.#options = options;
  }

  /**
   * Sends a write, in its turn among the writers of its row. See `Client.write`. Without callers that wait, a request
   * under way continues, and `run` learns how it ends.
   * @throws BudgetExhausted `BUDGET_EXHAUSTED` if the other writers of its row take longer than the caller waits.
   * @throws the error of its guard.
   */
  async write<T>(write: Write<T>, access: Access, run?: WriteRun<T>): Promise<T> {
    const entered = this.#enter(write, access);
    const unlock = entered instanceof Promise ? await entered : entered;
    return this.#sendWrite(write, access, { run, unlock });
  }

  /** Its turn among the writers of its row, once its guard has passed; `undefined` for a write without a row. */
  #enter<T>({ guard, row }: Write<T>, access: Access): AtOnce<Unlock | undefined> {
    if (row === undefined) {
      if (guard) throw new TypeError('a write with a guard has no row');
      return undefined;
    }
    const { caller, credential } = access;
    const { cached, rowLocks } = this.#options;
    const [name = ''] = cached.tagsOf([row], credential);
    const tooLong = () => this.#tooLong(access);
    const locked = rowLocks.lockFor(caller, name, { alone: guard !== undefined, tooLong });
    return guard ? this.#guarded(guard, locked) : locked;
  }

  async #guarded(guard: () => Promise<void>, locked: AtOnce<Unlock>): Promise<Unlock> {
    const unlock = await locked;
    try {
      await guard();
      return unlock;
    } catch (error) {
      unlock();
      throw error;
    }
  }

  #tooLong({ caller, credential }: Access): BudgetExhausted {
    const { budgets, clock, upstream } = this.#options;
    const estimateMs = budgets.lookAt(credential).estimate('write', namedInBudget(caller));
    const retryAfterMs = Math.max(LEAST_RETRY_MS, Math.ceil(estimateMs));
    const availableAt = new Date(clock.wall() + retryAfterMs);
    return new BudgetExhausted(upstream, retryAfterMs, availableAt, 'changes');
  }

  #sendWrite<T>(
    write: Write<T>,
    access: Access,
    more: Pick<Unshared<T>, 'run' | 'unlock'>,
  ): Promise<T> {
    const { credential } = access;
    const { cached } = this.#options;
    const tags = write.mayTouch ?? write.touches(null);
    const settle = (answered: Answered<T>): Outcome<T> => {
      if (answered.kind === 'value') {
        const { value } = answered;
        this.#ends(write, credential, true);
        access.caller.receipt.messages.add(answered.message());
        cached.touch(write.touches(value), credential);
        return { value };
      }
      return this.#settleFailed(write, answered.failure, credential);
    };
    return this.#send({ call: write, lane: 'write', tags, settle, ...more }, access);
  }

  /** A write with an unknown outcome has happened: no reader gets the state before it any more. */
  found<T>(write: Write<T>, value: T, { credential }: Access): void {
    this.#ends(write, credential, true);
    this.#options.cached.touch(write.touches(value), credential);
  }

  #settleFailed<T>(write: Write<T>, failure: Failure, credential: Credential): Outcome<T> {
    const { cached, upstream } = this.#options;
    const error: GatewayError = writeError(upstream, failure, write.check);
    // A response "not found" means that cached data of the object is also outdated.
    const isOutdated = !(failure instanceof WireError) && failure.kind === 'absent';
    if (isOutdated || error.code === 'OUTCOME_UNKNOWN') this.#ends(write, credential, isOutdated);
    if (isOutdated) cached.touch(write.touches(null), credential);
    else if (error.code === 'OUTCOME_UNKNOWN') cached.doubt(write.touches(null), credential);
    return { error };
  }

  /** The row that a write deletes has no further history. */
  #ends({ ends }: Pick<Write<never>, 'ends'>, credential: Credential, certain: boolean): void {
    const { counts, upstream } = this.#options;
    if (ends) counts?.deleted({ upstream, credential }, ends, certain);
  }

  /** See `Budgets.onDrain`. */
  onDrain(task: () => void): () => void {
    return this.#options.budgets.onDrain(task);
  }

  /** Sends a read before other reads and past the cache, for a write: 1 upstream request. Throws as a read does. */
  look<T>(call: Call<T>, access: Access): Promise<T> {
    return this.#read(call, access, 'write');
  }

  /** Sends a read whose response is a secret. See `Client.readSecret`. */
  readSecret<T>(call: Call<T>, access: Access): Promise<T> {
    return access.caller.receipt.track(() => this.#read(call, access, 'interactive'));
  }

  #read<T>(call: Call<T>, access: Access, lane: Unshared<T>['lane']): Promise<T> {
    const settle = (answered: Answered<T>): Outcome<T> =>
      answered.kind === 'value'
        ? { value: answered.value }
        : { error: readError(this.#options.upstream, answered.failure) };
    return this.#send({ call, lane, tags: [], settle }, access);
  }

  /**
   * 1 upstream request.
   * @throws GatewayError `UPSTREAM_UNAVAILABLE` while the breaker is open, `OPERATION_TOO_EXPENSIVE`.
   */
  async #send<T>(unshared: Unshared<T>, { caller, credential }: Access): Promise<T> {
    const { budgets, clock, events, upstream, wire } = this.#options;
    const { call, unlock } = unshared;
    let budget: Budget;
    try {
      budget = budgets.of(credential);
      const limit = mostCallsOf(caller, budgets.maxCalls(credential));
      if (wire.heldBack) throw wire.heldBack;
      caller.receipt.spending.take(upstream, limit);
    } catch (error) {
      unlock?.();
      throw error;
    }
    const waiters = new Waiters<T>({
      upstream,
      clock,
      events,
      budget,
      ...waitsAs(caller, unshared.lane, budget),
      lengthy: call.stream !== undefined,
      resource: resourceOf(call),
      planned: caller.receipt,
    });
    inBackground(this.#takeTurns(unshared, credential, waiters));
    return waiters.wait(caller);
  }

  async #takeTurns<T>(
    unshared: Unshared<T>,
    credential: Credential,
    waiters: Waiters<T>,
  ): Promise<void> {
    const { clock, settleMs } = this.#options;
    let outcome: Outcome<T> | null = null;
    try {
      outcome = await this.#sendInTurn(unshared, credential, waiters);
    } finally {
      const { run, unlock } = unshared;
      run?.ended();
      // An upstream continues after its connection is closed.
      if (unlock && isUnknown(outcome)) clock.after(settleMs, unlock);
      else unlock?.();
    }
  }

  /**
   * Limiter > send, until the request has its response or no caller waits for it. Returns the result for the callers, if
   * it was sent.
   */
  async #sendInTurn<T>(
    { call, run, settle, tags }: Unshared<T>,
    credential: Credential,
    waiters: Waiters<T>,
  ): Promise<Outcome<T> | null> {
    const { cached, upstream, wire } = this.#options;
    this.#count += 1;
    const key = `unshared ${this.#count}`;
    for (let turn = await waiters.turn(); turn; turn = await waiters.turn()) {
      const slot = turn;
      // With the slot and the record in one transaction.
      if (tags.length > 0) cached.sends(tags, credential, slot.id);
      run?.leaving();
      let answer: Answered<T> | undefined;
      const outcome = await attempt({ upstream, waiters, wire }, slot, {
        call,
        credential,
        key,
        renews: false,
        settle: (answered) => {
          answer = answered;
          const one = settle(answered);
          slot.end(answered.feedback);
          return one;
        },
      });
      if (tags.length > 0) cached.sent(credential, slot.id);
      if (run && !answer) run.stayed(outcome);
      if (!outcome) continue;
      try {
        if (run && answer) run.answered(answer);
      } finally {
        waiters.end(outcome);
      }
      return outcome;
    }
    return null;
  }
}

/** Whether it is unknown whether a write has happened. */
function isUnknown(outcome: Outcome<unknown> | null): boolean {
  if (outcome === null || !('error' in outcome)) return false;
  const { error } = outcome;
  return !(error instanceof GatewayError) || error.code === 'OUTCOME_UNKNOWN';
}
