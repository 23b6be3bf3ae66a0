import type { Clock } from '../../clock.ts';
import { LONGEST_PAUSE_WINDOWS } from '../wire/rate-limit-headers.ts';

/** First pause after a refusal that does not say how long; doubles with each one in a row. */
const FIRST_PAUSE_MS = 1000;

/** Nothing is sent for as long as an upstream wants after it has refused a request for its rate limit. */
export class Pause {
  readonly #clock: Clock;
  readonly #windowMs: number;
  #until = Number.NEGATIVE_INFINITY;
  #refusalsInARow = 0;
  #era = 0;

  constructor(clock: Clock, windowMs: number) {
    this.#clock = clock;
    this.#windowMs = windowMs;
  }

  /** Milliseconds until it is over; 0 when there is none. */
  get restMs(): number {
    return Math.max(0, this.#until - this.#clock.now());
  }

  /** When it is over, on `clock.now()`; in the past when there is none. */
  get until(): number {
    return this.#until;
  }

  /** Counts the pauses: what left before the latest one says nothing about the time after it. */
  get era(): number {
    return this.#era;
  }

  /**
   * A request that left in `era` was refused: pauses for as long as the upstream wants, if it says, but
   * not beyond three windows, and longer each time that was not enough. Requests that were on the wire together are refused together,
   * which is one refusal.
   */
  refused(retryAfterMs: number | null, era: number): void {
    let ms = retryAfterMs ?? 0;
    if (era === this.#era) {
      const guessMs = Math.min(this.#windowMs, FIRST_PAUSE_MS * 2 ** this.#refusalsInARow);
      if (retryAfterMs === null || this.#refusalsInARow > 0) ms = Math.max(ms, guessMs);
      this.#refusalsInARow += 1;
      this.#era += 1;
    }
    const pauseMs = Math.min(Math.max(ms, 1), LONGEST_PAUSE_WINDOWS * this.#windowMs);
    this.#until = Math.max(this.#until, this.#clock.now() + pauseMs);
  }

  /** A request that left after the latest pause was taken. */
  accepted(): void {
    this.#refusalsInARow = 0;
  }
}
