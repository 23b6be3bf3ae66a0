import type { Clock } from '../../scheduling/clock.ts';
import { Counts, STEPS } from './counts.ts';

/**
 * What is counted of the requests to one upstream: by lane, those of other processes and users of the key, those that the
 * upstream refused for its rate limit, those that failed, and how many waited at most.
 */
const COUNTERS = [
  'write',
  'interactive',
  'refresh',
  'bulk',
  'foreign',
  'refused',
  'failed',
  'queued',
] as const;
type Counter = (typeof COUNTERS)[number];
const QUEUED = COUNTERS.indexOf('queued');

/** The requests to one upstream over an hour, in steps of equal length: the oldest first, the last one is under way. */
export interface SendSteps extends Readonly<Record<Counter, readonly number[]>> {
  readonly stepMs: number;
  /** When the last step began, in milliseconds since 1970. */
  readonly lastStepAt: number;
}

/** Counts the requests to one upstream over the last hour. */
export class Sends {
  readonly #counts: Counts;
  /** Number of waiting requests, and when it last changed, on `clock.now()`. */
  #waiting = 0;
  #waitingSince = 0;

  constructor(now: number) {
    this.#counts = new Counts(COUNTERS.length, STEPS, now);
  }

  /** Adds to a counter in the step of a moment on `clock.now()`. */
  count(at: number, counter: Exclude<Counter, 'queued'>, times: number): void {
    this.#counts.add(at, [[COUNTERS.indexOf(counter), times]]);
  }

  /** One more or one less request waits from a given time on. */
  queue(at: number, change: 1 | -1): void {
    this.#countWaiting(at);
    this.#waiting = Math.max(0, this.#waiting + change);
  }

  /** The steps as they are now. */
  steps(clock: Clock): SendSteps {
    const { columnMs: stepMs } = STEPS;
    const now = clock.now();
    this.#countWaiting(now);
    const columns = COUNTERS.map((name, field) => [name, this.#counts.columns(now, field)]);
    return {
      ...(Object.fromEntries(columns) as Record<Counter, number[]>),
      stepMs,
      lastStepAt: Math.round(clock.wall() - (now % stepMs)),
    };
  }

  /** Counts those that have waited until now in each step in which they did. */
  #countWaiting(now: number): void {
    const { columnMs, columns } = STEPS;
    const from = Math.max(this.#waitingSince, now - columns * columnMs);
    this.#waitingSince = now;
    // A request that got its slot at the same time did not wait.
    if (this.#waiting === 0 || from === now) return;
    for (let at = from; at < now; at += columnMs) this.#counts.raise(at, QUEUED, this.#waiting);
    this.#counts.raise(now, QUEUED, this.#waiting);
  }
}
