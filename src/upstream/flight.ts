import type { Clock } from '../clock.ts';
import { BudgetExhausted, type UpstreamName } from '../errors.ts';
import type { Budget, Feedback, Job } from './budget.ts';
import type { Lane } from './lanes.ts';
import type { Receipt } from './receipt.ts';

/** Who asks, on whose account, and how patient they are. One per operation. */
export interface Caller {
  /** Whom slots are charged to in the fair order. */
  readonly name: string;
  readonly receipt: Receipt;
  /** How long the operation may wait for turns in all, in milliseconds. */
  readonly maxWaitMs: number;
  /** Aborts when nobody waits for the operation's answer any more. */
  readonly signal: AbortSignal;
}

interface Waiter<T> {
  readonly caller: Caller;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
  cancelTimer: () => void;
  waiting: boolean;
}

interface FlightOptions<T> {
  readonly upstream: UpstreamName;
  readonly key: string;
  readonly lane: Lane;
  /** Whom the slot is charged to. */
  readonly caller: string;
  readonly urgency?: () => number;
  readonly budget: Budget;
  readonly clock: Clock;
  /** Called when the request leaves, for instance to note as of when its answer will hold. */
  readonly onSent?: () => void;
  /** Called once, when it is certain that nothing more comes of this flight. */
  readonly onDone?: () => void;
  /**
   * Sends the request and answers either what came of it or that the upstream refused it.
   * Rejects when nothing good came of it.
   */
  readonly send: () => Promise<Landing<T>>;
}

/** What came of a request: the headers' word on the budget, and a value unless it was refused. */
export interface Landing<T> {
  readonly feedback: Feedback;
  /** The request goes again, in a slot of its own. */
  readonly again?: true;
  /** Absent when the upstream refused for its rate limit, or when the request goes again. */
  readonly result?: { readonly value: T } | { readonly error: unknown };
}

/**
 * One request on its way, and everybody who waits for its answer. It leaves when the budget gives it
 * a slot, if anybody still waits; each waiter has a patience and a signal of their own, and leaving
 * never disturbs the others.
 */
export class Flight<T> implements Job {
  lane: Lane;
  readonly caller: string;
  readonly urgency: () => number;
  readonly #options: FlightOptions<T>;
  readonly #waiters = new Set<Waiter<T>>();
  #state: 'queued' | 'leaving' | 'sent' | 'done' = 'queued';

  constructor(options: FlightOptions<T>) {
    this.#options = options;
    this.lane = options.lane;
    this.caller = options.caller;
    this.urgency = options.urgency ?? (() => 0);
  }

  /** Whether it still waits for a slot. */
  get queued(): boolean {
    return this.#state === 'queued';
  }

  /** Puts the request into the queue. */
  depart(): void {
    this.#options.budget.enqueue(this);
  }

  /**
   * Waits for the answer with a caller's patience.
   * @throws BudgetExhausted `BUDGET_EXHAUSTED` as soon as it is known that it will leave too late.
   * @throws the caller's abort reason, when they hang up.
   */
  wait(caller: Caller, estimateMs: number): Promise<T> {
    if (caller.signal.aborted) {
      this.#cancelIfUnwanted();
      return Promise.reject(caller.signal.reason as Error);
    }
    return new Promise<T>((resolve, reject) => {
      const onAbort = (): void => this.#leave(waiter, caller.signal.reason);
      const deaf = (): void => caller.signal.removeEventListener('abort', onAbort);
      const waiter: Waiter<T> = {
        caller,
        resolve: (value) => {
          deaf();
          resolve(value);
        },
        reject: (error) => {
          deaf();
          reject(error as Error);
        },
        cancelTimer: () => {},
        waiting: false,
      };
      caller.signal.addEventListener('abort', onAbort, { once: true });
      this.#waiters.add(waiter);
      if (this.lane === 'refresh' && this.queued) this.#options.budget.promote(this, 'interactive');
      if (this.queued) this.#beginWaiting(waiter, estimateMs);
    });
  }

  dispatched(): void {
    this.#state = 'leaving';
    for (const waiter of this.#waiters) this.#endWaiting(waiter);
  }

  async send(): Promise<Feedback | null> {
    const payer = this.#waiters.values().next().value;
    if (!payer && this.lane !== 'refresh') {
      this.#finish();
      return null;
    }
    this.#state = 'sent';
    payer?.caller.receipt.sent(this.#options.upstream, this.#options.key);
    this.#options.onSent?.();
    const { feedback, result, again } = await this.#options.send().catch(unforeseen);
    if (!result) {
      this.#state = 'queued';
      return again ? { ...feedback, again } : feedback;
    }
    const waiters = [...this.#waiters];
    this.#finish();
    for (const waiter of waiters) {
      if ('value' in result) waiter.resolve(result.value);
      else waiter.reject(result.error);
    }
    return feedback;
  }

  requeued(): void {
    const { budget } = this.#options;
    const estimateMs = budget.estimate(
      this.lane === 'write' ? 'write' : 'interactive',
      this.caller,
    );
    for (const waiter of this.#waiters) this.#beginWaiting(waiter, estimateMs);
    this.#cancelIfUnwanted();
  }

  #beginWaiting(waiter: Waiter<T>, estimateMs: number): void {
    const { receipt, maxWaitMs } = waiter.caller;
    const patienceMs = Math.max(0, maxWaitMs - receipt.waitedMs);
    if (estimateMs > patienceMs || patienceMs === 0) {
      this.#leave(waiter, this.#exhausted(estimateMs));
      return;
    }
    waiter.waiting = true;
    receipt.waitBegins();
    waiter.cancelTimer = this.#options.clock.after(patienceMs, () => {
      this.#leave(waiter, this.#exhausted(this.#estimateMs()));
    });
  }

  #endWaiting(waiter: Waiter<T>): void {
    waiter.cancelTimer();
    if (waiter.waiting) waiter.caller.receipt.waitEnds();
    waiter.waiting = false;
  }

  #leave(waiter: Waiter<T>, reason: unknown): void {
    if (!this.#waiters.delete(waiter)) return;
    this.#endWaiting(waiter);
    waiter.reject(reason);
    this.#cancelIfUnwanted();
  }

  #cancelIfUnwanted(): void {
    if (this.#waiters.size > 0 || this.#state !== 'queued' || this.lane === 'refresh') return;
    if (this.#options.budget.cancel(this)) this.#finish();
  }

  #finish(): void {
    this.#state = 'done';
    for (const waiter of this.#waiters) this.#endWaiting(waiter);
    this.#waiters.clear();
    this.#options.onDone?.();
  }

  #estimateMs(): number {
    const lane = this.lane === 'write' ? 'write' : 'interactive';
    return this.#options.budget.estimate(lane, this.caller);
  }

  #exhausted(estimateMs: number): BudgetExhausted {
    const retryAfterMs = Math.max(1, Math.ceil(estimateMs));
    const availableAt = new Date(this.#options.clock.wall() + retryAfterMs);
    return new BudgetExhausted(this.#options.upstream, retryAfterMs, availableAt);
  }
}

/** Our own mistakes end like any other failure: told to those who wait, the slot given back. */
function unforeseen(error: unknown): Landing<never> {
  return { feedback: { limit: null, remaining: null, resetInMs: null }, result: { error } };
}
