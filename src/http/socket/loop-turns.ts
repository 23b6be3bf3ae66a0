import type { Clock } from '../../clock.ts';

/** For how long requests are begun in one turn of the event loop, in milliseconds. */
const TURN_MS = 10;
/** How many are begun at most in one turn once some wait. */
const MOST_A_TURN = 256;

/**
 * Spreads requests that arrive together over turns of the event loop, in the order in which they came: between
 * two turns, whatever needs little is answered, a probe first of all. A request on its own is begun at once.
 */
export class LoopTurns {
  readonly #clock: Clock;
  #waiting: (() => void)[] = [];
  /** Whether some wait, or did in this turn: whoever comes then stands behind them. */
  #spreading = false;
  /** When this turn's first request was begun, on `clock.now()`; null before. */
  #since: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Begins a piece of work now, or in a later turn. */
  run(work: () => void): void {
    if (!this.#spreading && this.#hasTime) {
      if (this.#since === null) this.#begin();
      work();
      return;
    }
    this.#waiting.push(work);
    if (this.#spreading) return;
    this.#spreading = true;
    this.#spread();
  }

  /** Resolves when there is time for a piece of work. */
  turn(): Promise<void> {
    return new Promise((resolve) => {
      this.run(resolve);
    });
  }

  get #hasTime(): boolean {
    return this.#since === null || this.#clock.now() - this.#since < TURN_MS;
  }

  #begin(): void {
    this.#since = this.#clock.now();
    setImmediate(() => {
      this.#since = null;
    });
  }

  /** Each is begun in a callback of its own, so that all that follows from it at once counts against the turn. */
  #spread(): void {
    let next = 0;
    const step = (): void => {
      if (!this.#hasTime) return;
      this.#since ??= this.#clock.now();
      next += 1;
      this.#waiting[next - 1]?.();
    };
    const steps = Math.min(MOST_A_TURN, this.#waiting.length);
    for (let count = 0; count < steps; count += 1) setImmediate(step);
    setImmediate(() => {
      this.#since = null;
      this.#waiting = this.#waiting.slice(next);
      this.#spreading = this.#waiting.length > 0;
      if (this.#spreading) this.#spread();
    });
  }
}
