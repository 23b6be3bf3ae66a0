import { setMaxListeners } from 'node:events';
import type { Clock } from '../../scheduling/clock.ts';
import type { Caller } from '../operation.ts';

/** How long a waiter waits for something newer than its fallback, and what happens then. */
interface FallbackWait {
  readonly ms: number;
  readonly over: () => void;
}

/** One caller that waits for the answer to a request, with a patience and a signal of their own. */
export class Waiter<T> {
  readonly caller: Caller;
  /** Settles by `resolve` or `reject`, each of which is called at most once. */
  readonly answer: Promise<T>;
  /** Whether the time until the turn of its request counts on its receipt. */
  isQueued = false;
  readonly #clock: Clock;
  #resolve = (_value: T): void => {};
  #reject = (_error: unknown): void => {};
  #cancelPatience = (): void => {};
  readonly #cancelFallback: (() => void) | null;
  readonly #onAbort: () => void;

  /** `left` is called when the caller hangs up. */
  constructor(caller: Caller, clock: Clock, left: () => void, fallback: FallbackWait | null) {
    this.caller = caller;
    this.#clock = clock;
    this.#onAbort = left;
    this.answer = new Promise<T>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#cancelFallback = fallback && clock.after(fallback.ms, fallback.over);
    if (fallback) caller.receipt.withFallback.begin();
    // An operation listens once for each of its reads, which is no leak.
    setMaxListeners(0, caller.signal);
    caller.signal.addEventListener('abort', left, { once: true });
  }

  /** How much longer the caller is prepared to wait for a turn, in milliseconds. */
  get patienceMs(): number {
    return Math.max(0, this.caller.maxWaitMs - this.caller.receipt.waitedMs);
  }

  /** Its request waits in a lane: `giveUp` is called after `ms` milliseconds. */
  beginQueue(ms: number, giveUp: () => void): void {
    this.isQueued = true;
    this.caller.receipt.waitBegins();
    this.#cancelPatience = this.#clock.after(ms, giveUp);
  }

  /** Its request waits in no lane any more. */
  endQueue(): void {
    if (!this.isQueued) return;
    this.#cancelPatience();
    this.caller.receipt.waitEnds();
    this.isQueued = false;
  }

  resolve(value: T): void {
    this.#stop();
    this.#resolve(value);
  }

  reject(error: unknown): void {
    this.#stop();
    this.#reject(error);
  }

  #stop(): void {
    this.endQueue();
    this.caller.signal.removeEventListener('abort', this.#onAbort);
    if (!this.#cancelFallback) return;
    this.#cancelFallback();
    this.caller.receipt.withFallback.end();
  }
}
