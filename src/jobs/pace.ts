import type { Clock } from '../scheduling/clock.ts';

const MINUTE_MS = 60_000;

/** Limits the requests of a job in each minute. */
export class Pace {
  readonly #clock: Clock;
  readonly #most: number;
  /** The requests of the last minute, as steps. */
  readonly #steps: { readonly at: number; readonly calls: number }[] = [];

  /** `most`: requests per minute. `isResumed`: earlier requests may have been sent immediately before. */
  constructor(clock: Clock, most: number, isResumed: boolean) {
    this.#clock = clock;
    this.#most = most;
    if (isResumed) this.spent(most);
  }

  /** Requests were sent until now. */
  spent(calls: number): void {
    if (calls > 0) this.#steps.push({ at: this.#clock.now(), calls });
  }

  /** Milliseconds until a step of this number of requests fits. One that never fits waits for an empty minute. */
  waitMs(calls: number): number {
    const now = this.#clock.now();
    while (this.#steps[0] && this.#steps[0].at + MINUTE_MS <= now) this.#steps.shift();
    let sent = this.#steps.reduce((sum, step) => sum + step.calls, 0);
    for (const step of this.#steps) {
      if (sent + calls <= this.#most) break;
      sent -= step.calls;
      if (sent + calls <= this.#most || sent === 0) return step.at + MINUTE_MS - now;
    }
    return 0;
  }
}
