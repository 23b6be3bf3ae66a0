import type { Clock } from '../../clock.ts';

/** How many refreshes may go back to back before they are spread over the window. */
const BURST_SHARE = 1 / 6;

/** Spreads refreshes over the window, so that they do not spend at its beginning what readers want later. */
export class RefreshPace {
  readonly #clock: Clock;
  #tokens: number;
  #at: number;

  constructor(clock: Clock, limit: number) {
    this.#clock = clock;
    this.#tokens = burst(limit);
    this.#at = clock.now();
  }

  /** Milliseconds until a refresh may go, when one may go every `everyMs` on average; 0 when one may now. */
  waitMs(limit: number, everyMs: number): number {
    const now = this.#clock.now();
    this.#tokens = Math.min(burst(limit), this.#tokens + (now - this.#at) / everyMs);
    this.#at = now;
    return this.#tokens >= 1 ? 0 : Math.max(1, Math.ceil((1 - this.#tokens) * everyMs));
  }

  /** A refresh goes. */
  spend(): void {
    this.#tokens -= 1;
  }
}

function burst(limit: number): number {
  return Math.max(1, Math.floor(limit * BURST_SHARE));
}
