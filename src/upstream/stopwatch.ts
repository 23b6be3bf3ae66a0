import type { Clock } from '../scheduling/clock.ts';

/** Measures how long something went on, in milliseconds; what goes on side by side counts once. */
export class Stopwatch {
  readonly #clock: Clock;
  #totalMs = 0;
  #running = 0;
  #since = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** One more begins. */
  begin(): void {
    if (this.#running === 0) this.#since = this.#clock.now();
    this.#running += 1;
  }

  /** One of those that have begun ends. */
  end(): void {
    this.#running -= 1;
    if (this.#running === 0) this.#totalMs += this.#clock.now() - this.#since;
  }

  /** Milliseconds so far. */
  get ms(): number {
    return this.#totalMs + (this.#running > 0 ? this.#clock.now() - this.#since : 0);
  }
}
