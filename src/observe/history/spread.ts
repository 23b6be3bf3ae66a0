import type { Clock } from '../../scheduling/clock.ts';
import { HourCounts } from './hour.ts';

/** Each bucket reaches twice as far as the one before: from 1 ms to more than two minutes. */
const BUCKETS = 18;

/** How durations of the last hour are spread, in buckets. */
export class Spread {
  readonly #counts: HourCounts;

  constructor(clock: Clock) {
    this.#counts = new HourCounts(clock, BUCKETS, true);
  }

  add(ms: number): void {
    const bucket = ms < 1 ? 0 : Math.floor(Math.log2(ms)) + 1;
    this.#counts.add(Math.min(BUCKETS - 1, bucket));
  }

  merge(other: Spread): void {
    this.#counts.merge(other.#counts);
  }

  /**
   * The 95th percentile in milliseconds, as exact as the buckets are, of these and `zeros` more that took no time.
   * 0 where there are none.
   */
  p95(zeros: number): number {
    const counts = Array.from({ length: BUCKETS }, (_, bucket) => this.#counts.sum(bucket));
    const all = counts.reduce((sum, count) => sum + count, zeros);
    let rank = 0.95 * all - zeros;
    if (rank <= 0) return 0;
    for (const [bucket, count] of counts.entries()) {
      if (rank <= count) {
        // What is in the first one took less than a millisecond: none, for a person.
        if (bucket === 0) return 0;
        const from = 2 ** (bucket - 1);
        return Math.round(from + from * (rank / count));
      }
      rank -= count;
    }
    return 2 ** (BUCKETS - 1);
  }
}
