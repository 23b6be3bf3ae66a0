import type { Clock } from '../scheduling/clock.ts';

const MINUTE_MS = 60_000;
/** Requests within this time are saved as one entry. */
const TOGETHER_MS = 1000;

interface SentRequests {
  readonly at: number;
  readonly calls: number;
}

/** What is saved of the pace of a job. */
export interface SavedPace {
  /** Maximum number of requests of a step. */
  readonly step: number;
  /** The requests of the last minute; times are in milliseconds since 1970. */
  readonly sent: readonly SentRequests[];
}

/** Limits the requests of a job in each minute, over all of its runs. */
export class Pace {
  readonly #clock: Clock;
  readonly #most: number;
  #step: number;
  /** The requests of the last minute, on `clock.now()`. */
  #sent: SentRequests[];

  /** `most`: requests per minute. */
  constructor(clock: Clock, most: number, { sent, step }: SavedPace = { sent: [], step: 1 }) {
    const [now, wall] = [clock.now(), clock.wall()];
    this.#clock = clock;
    this.#most = most;
    this.#step = step;
    this.#sent = sent.map(({ at, calls }) => ({ at: now - Math.max(0, wall - at), calls }));
  }

  get saved(): SavedPace {
    const [now, wall] = [this.#clock.now(), this.#clock.wall()];
    const sent = this.#ofMinute.map(({ at, calls }) => ({ at: at + wall - now, calls }));
    return { step: this.#step, sent };
  }

  /** Requests were sent until now. */
  spent(calls: number): void {
    if (calls === 0) return;
    const at = this.#clock.now();
    const second = Math.floor(at / TOGETHER_MS);
    const before = this.#ofMinute;
    const latest = before.at(-1);
    const isSame = latest && Math.floor(latest.at / TOGETHER_MS) === second;
    if (isSame) before.splice(-1, 1, { at, calls: latest.calls + calls });
    else before.push({ at, calls });
    this.#sent = before;
  }

  /** Milliseconds until a step of at most this number of requests fits. One that never fits waits for an empty minute. */
  waitMs(mostCalls: number): number {
    this.#step = mostCalls;
    return this.#untilFits(Math.min(mostCalls, this.#most));
  }

  /** Milliseconds until the last of this number of further requests is sent, by steps as large as the one before. */
  forecastMs(calls: number): number {
    const step = Math.max(1, Math.min(this.#step, this.#most));
    const perMinute = this.#most - (this.#most % step);
    // What fits into a minute is sent at once, so that each minute repeats the one before.
    const minutes = Math.max(0, Math.ceil(calls / perMinute) - 1);
    const last = Math.ceil((calls - minutes * perMinute) / step) * step;
    return minutes * MINUTE_MS + this.#untilFits(last);
  }

  #untilFits(calls: number): number {
    const now = this.#clock.now();
    const sent = this.#ofMinute;
    let count = sent.reduce((sum, each) => sum + each.calls, 0);
    let waitMs = 0;
    for (const each of sent) {
      if (count + calls <= this.#most) break;
      count -= each.calls;
      waitMs = each.at + MINUTE_MS - now;
    }
    return waitMs;
  }

  get #ofMinute(): SentRequests[] {
    const now = this.#clock.now();
    return this.#sent.filter(({ at }) => at + MINUTE_MS > now);
  }
}
