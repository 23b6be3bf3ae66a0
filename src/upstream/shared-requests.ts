import { setMaxListeners } from 'node:events';
import type { Clock } from '../clock.ts';
import { BudgetExhausted, type UpstreamName } from '../errors.ts';
import type { Observer } from '../observe/observer.ts';
import type { Budget, Job } from './budget/budget.ts';
import type { Lane } from './budget/lanes.ts';
import type { Rehearsal } from './dry-run.ts';
import type { Receipt } from './receipt.ts';
import type { Feedback } from './wire/rate-limit-headers.ts';

/** Who asks, on whose account, and how patient they are. One per operation. */
export interface Caller {
  /** Whom slots are charged to in the fair order. */
  readonly name: string;
  readonly receipt: Receipt;
  /** How long the operation may wait for turns in all, in milliseconds. */
  readonly maxWaitMs: number;
  /** Aborts when nobody waits for the operation's answer any more. */
  readonly signal: AbortSignal;
  /** Present when the operation is only priced: nothing may be sent for it. */
  readonly rehearsal?: Rehearsal;
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
  /** Whose operation has set a call aside for it; given back when it does not leave for that one. */
  readonly planned?: Receipt;
  readonly urgency?: () => number;
  /** See `Job.lengthy`. */
  readonly lengthy?: boolean;
  /** Asked at the turn of a refresh that nobody waits for: whether it is still of use. */
  readonly due?: () => boolean;
  readonly budget: Budget;
  readonly clock: Clock;
  /** Asked just before the request leaves: an error keeps it here and is what its readers get. */
  readonly hindrance?: () => unknown;
  /** Called when the request leaves, for instance to note as of when its answer will hold. */
  readonly onSent?: () => void;
  /** Called once, when it is certain that nothing more comes of this flight. */
  readonly onDone?: () => void;
  /**
   * Sends the request and answers either what came of it or that the upstream refused it.
   * Rejects when nothing good came of it. `payer` is the receipt that it goes on.
   */
  readonly send: (payer: Receipt | undefined) => Promise<Landing<T>>;
  readonly observer?: Observer | undefined;
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
  caller: string;
  readonly urgency: () => number;
  readonly lengthy: boolean;
  readonly #options: FlightOptions<T>;
  readonly #waiters = new Set<Waiter<T>>();
  #state: 'queued' | 'leaving' | 'sent' | 'done' = 'queued';
  /** Whose receipt its first request is on. */
  #payer: Receipt | undefined;
  #queuedAt = 0;

  constructor(options: FlightOptions<T>) {
    this.#options = options;
    this.lane = options.lane;
    this.caller = options.caller;
    this.urgency = options.urgency ?? (() => 0);
    this.lengthy = options.lengthy ?? false;
  }

  /** Whether it still waits for a slot. */
  get queued(): boolean {
    return this.#state === 'queued';
  }

  /** Puts the request into the queue. */
  depart(): void {
    this.#queuedAt = this.#options.clock.now();
    this.#options.budget.enqueue(this);
  }

  /**
   * Waits for the answer with a caller's patience. A caller whose turn comes sooner brings it forward.
   * @throws BudgetExhausted `BUDGET_EXHAUSTED` as soon as it is known that it will leave too late.
   * @throws the caller's abort reason, when they hang up.
   */
  wait(caller: Caller): Promise<T> {
    const { signal } = caller;
    if (signal.aborted) {
      this.#cancelIfUnwanted();
      return Promise.reject(signal.reason as Error);
    }
    return new Promise<T>((resolve, reject) => {
      const onAbort = (): void => this.#leave(waiter, signal.reason);
      const deaf = (): void => signal.removeEventListener('abort', onAbort);
      const waiter: Waiter<T> = {
        caller,
        resolve: (value) => {
          deaf();
          resolve(value);
        },
        reject: (error) => {
          deaf();
          reject(error);
        },
        cancelTimer: () => {},
        waiting: false,
      };
      // An operation listens once for each of its reads, which is no leak.
      setMaxListeners(0, signal);
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiters.add(waiter);
      const { budget } = this.#options;
      if (this.lane !== 'write') budget.hasten(this, caller.name);
      if (this.queued && patienceOf(waiter) === 0) budget.rush(this);
      if (this.queued) this.#beginWaiting(waiter, budget.estimateOf(this));
    });
  }

  dispatched(): void {
    this.#state = 'leaving';
    for (const waiter of this.#waiters) this.#endWaiting(waiter);
    const { clock, observer, upstream } = this.#options;
    observer?.waited?.(upstream, this.lane, clock.now() - this.#queuedAt);
  }

  async send(): Promise<Feedback | null> {
    const payer = this.#waiters.values().next().value?.caller.receipt;
    if (!payer && !(this.lane === 'refresh' && (this.#options.due?.() ?? true))) {
      this.#finish();
      return null;
    }
    const hindrance = this.#options.hindrance?.();
    if (hindrance !== undefined) {
      const waiters = [...this.#waiters];
      this.#finish();
      for (const waiter of waiters) waiter.reject(hindrance);
      return null;
    }
    this.#state = 'sent';
    this.#payer ??= payer;
    payer?.sent(this.#options.upstream, this.#options.key);
    this.#options.onSent?.();
    const { feedback, result, again } = await this.#options.send(payer).catch(unforeseen);
    if (!result) return again ? { ...feedback, again } : feedback;
    const waiters = [...this.#waiters];
    this.#finish();
    for (const waiter of waiters) {
      if ('value' in result) waiter.resolve(result.value);
      else waiter.reject(result.error);
    }
    return feedback;
  }

  delayed(estimateMs: number): boolean {
    if (!this.queued) this.#queuedAt = this.#options.clock.now();
    this.#state = 'queued';
    for (const waiter of this.#waiters) {
      if (!waiter.waiting) this.#beginWaiting(waiter, estimateMs);
      else if (this.#isTooLate(waiter, estimateMs))
        this.#leave(waiter, this.#exhausted(estimateMs));
    }
    this.#cancelIfUnwanted();
    return this.queued;
  }

  #beginWaiting(waiter: Waiter<T>, estimateMs: number): void {
    if (this.#isTooLate(waiter, estimateMs)) {
      this.#leave(waiter, this.#exhausted(estimateMs));
      return;
    }
    const patienceMs = patienceOf(waiter);
    waiter.waiting = true;
    waiter.caller.receipt.waitBegins();
    waiter.cancelTimer = this.#options.clock.after(patienceMs, () => this.#giveUp(waiter));
  }

  #isTooLate(waiter: Waiter<T>, estimateMs: number): boolean {
    return estimateMs > patienceOf(waiter) || this.#options.budget.turnsAway(this, estimateMs);
  }

  /** The turn came later than it was estimated, or not yet. */
  #giveUp(waiter: Waiter<T>): void {
    const { budget } = this.#options;
    if (!this.#waiters.delete(waiter)) return;
    this.#endWaiting(waiter);
    this.#cancelIfUnwanted();
    const estimateMs = this.queued
      ? budget.estimateOf(this)
      : budget.estimate(this.lane === 'write' ? 'write' : 'interactive', waiter.caller.name);
    waiter.reject(this.#exhausted(estimateMs));
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
    const { planned, upstream, onDone } = this.#options;
    if (this.#payer !== planned) planned?.unplan(upstream);
    onDone?.();
  }

  #exhausted(estimateMs: number): BudgetExhausted {
    const retryAfterMs = Math.max(1, Math.ceil(estimateMs));
    const availableAt = new Date(this.#options.clock.wall() + retryAfterMs);
    return new BudgetExhausted(this.#options.upstream, retryAfterMs, availableAt);
  }
}

/** How much longer a waiter is prepared to wait for a turn. */
function patienceOf({ caller }: { readonly caller: Caller }): number {
  return Math.max(0, caller.maxWaitMs - caller.receipt.waitedMs);
}

/** Our own mistakes end like any other failure: told to those who wait, the slot given back. */
function unforeseen(error: unknown): Landing<never> {
  return { feedback: { limit: null, remaining: null, resetInMs: null }, result: { error } };
}
