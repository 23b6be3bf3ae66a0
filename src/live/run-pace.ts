import type { Clock } from '../clock.ts';

/** Work that may be done without a rest, in milliseconds, */
const BURST_MS = 100;
/** ... and the share of the time that may be worked for longer. */
const SHARE = 0.5;

/**
 * Begins the runs of live queries, one after the other. A write can make many of them due at once: they use half of
 * the processor for longer than a moment, and stand behind nobody's request but their own.
 */
export class RunPace {
  readonly #clock: Clock;
  readonly #inTurn: (work: () => void) => void;
  readonly #waiting: (() => void)[] = [];
  #isBusy = false;
  /** Milliseconds of work that may be done now; below 0 what has to be rested for. */
  #credit = BURST_MS;
  #creditAt: number;

  /** `inTurn` begins what can take a while, now or in a later turn of the event loop. */
  constructor(clock: Clock, inTurn: (work: () => void) => void) {
    this.#clock = clock;
    this.#inTurn = inTurn;
    this.#creditAt = clock.now();
  }

  /** Begins a piece of work when its turn comes. */
  begin(work: () => void): void {
    this.#waiting.push(work);
    if (!this.#isBusy) this.#next();
  }

  /** Does something that belongs to a run, at once. */
  do(work: () => void): void {
    const since = this.#clock.now();
    work();
    this.#credit -= this.#clock.now() - since;
  }

  #next(): void {
    const work = this.#waiting.shift();
    this.#isBusy = work !== undefined;
    if (!work) return;
    const begin = (): void =>
      this.#inTurn(() => {
        this.do(work);
        setImmediate(() => this.#next());
      });
    const restMs = this.#restMs;
    if (restMs > 0) this.#clock.after(restMs, begin);
    else begin();
  }

  get #restMs(): number {
    const now = this.#clock.now();
    this.#credit = Math.min(BURST_MS, this.#credit + (now - this.#creditAt) * SHARE);
    this.#creditAt = now;
    return this.#credit >= 0 ? 0 : -this.#credit / SHARE;
  }
}
