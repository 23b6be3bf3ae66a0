import { setMaxListeners } from 'node:events';
import type { Clock } from '../../scheduling/clock.ts';
import { type Caller, giveUpAfter, patienceOf } from '../operation.ts';

/** A response, or the failure. */
export type Outcome<T> = { readonly value: T } | { readonly error: unknown };

/** One caller that waits for the response to a request, with its own deadline and signal. */
export class Waiter<T> {
  readonly caller: Caller;
  /** See `settle`, which is called at most once. */
  readonly answer: Promise<T>;
  /** Whether the time until the turn of its request counts on its receipt. */
  isQueued = false;
  readonly #clock: Clock;
  #resolve = (_value: T): void => {};
  #reject = (_error: unknown): void => {};
  #cancelPatience = (): void => {};
  #cancelFallback: (() => void) | null = null;
  readonly #onAbort: () => void;

  /** `left` is called when the caller hangs up. */
  constructor(caller: Caller, clock: Clock, left: () => void) {
    this.caller = caller;
    this.#clock = clock;
    this.#onAbort = left;
    this.answer = new Promise<T>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // An operation adds one listener for each of its reads. This is not a leak.
    setMaxListeners(0, caller.signal);
    caller.signal.addEventListener('abort', left, { once: true });
  }

  /** The caller has a fallback: `leave` is called after `ms` milliseconds without a response. */
  fallBackIn(ms: number, leave: () => void): void {
    this.#cancelFallback = this.#clock.after(ms, leave);
    this.caller.receipt.withFallback.begin();
  }

  /** Remaining time that the caller waits for a turn, in milliseconds. */
  get patienceMs(): number {
    return patienceOf(this.caller);
  }

  /** Its request waits in a lane: `giveUp` is called after `ms` milliseconds. */
  beginQueue(ms: number, giveUp: () => void): void {
    this.isQueued = true;
    this.caller.receipt.waitBegins();
    this.#cancelPatience = giveUpAfter(this.#clock, ms, giveUp);
  }

  /** Its request has left the lane. */
  endQueue(): void {
    if (!this.isQueued) return;
    this.#cancelPatience();
    this.caller.receipt.waitEnds();
    this.isQueued = false;
  }

  /** Ends the wait with its result, or with the failure. */
  settle(outcome: Outcome<T>): void {
    this.endQueue();
    this.caller.signal.removeEventListener('abort', this.#onAbort);
    if (this.#cancelFallback) {
      this.#cancelFallback();
      this.caller.receipt.withFallback.end();
    }
    if ('value' in outcome) this.#resolve(outcome.value);
    else this.#reject(outcome.error);
  }
}
