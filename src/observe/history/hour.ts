import type { OperationRecord } from '../events.ts';
import type { Amounts } from './counts.ts';

const RUNS = 0;
const CALLS = 1;
const SAVED = 2;
const ERRORS = 3;
/** Runs answered on the fast path. */
const FAST = 4;
const WAITS = 5;

/** Buckets of durations, each of which reaches twice as far as the one before: from 1 ms to more than two minutes. */
const BUCKETS = 18;
const DURATIONS = WAITS + BUCKETS;

/** Fields that are counted for each name of an operation. */
export const OPERATION_FIELDS = DURATIONS + BUCKETS;

/** The cost of the operations of one name in the last hour. */
export interface OperationHour {
  readonly runs: number;
  /** Upstream requests that they caused. */
  readonly calls: number;
  /** Requests avoided by the cache or by coalescing. */
  readonly saved: number;
  /** Runs with an error. */
  readonly errors: number;
  /** The 95th percentiles, in milliseconds, with the precision of the buckets. 0 without runs. */
  readonly waitP95Ms: number;
  readonly durationP95Ms: number;
}

/** The counts of a completed operation. */
export function operationAmounts(record: OperationRecord): Amounts {
  const { calls, durationMs, outcome, saved, waitedMs } = record;
  const isError = outcome === 'partial' || outcome === 'failed';
  return [
    [RUNS, 1],
    [CALLS, calls],
    [SAVED, saved],
    [ERRORS, Number(isError)],
    [WAITS + bucketOf(waitedMs), 1],
    [DURATIONS + bucketOf(durationMs), 1],
  ];
}

/** The counts of `runs` operations on the fast path, with no duration and no wait. */
export function fastAmounts(runs: number, saved: number): Amounts {
  return [
    [RUNS, runs],
    [FAST, runs],
    [SAVED, saved],
  ];
}

/** The result for the sums of an hour. */
export function operationHour(sums: readonly number[]): OperationHour {
  const [runs = 0, calls = 0, saved = 0, errors = 0, fast = 0] = sums;
  return {
    runs,
    calls,
    saved,
    errors,
    waitP95Ms: p95(sums.slice(WAITS, DURATIONS), fast),
    durationP95Ms: p95(sums.slice(DURATIONS), fast),
  };
}

function bucketOf(ms: number): number {
  return ms < 1 ? 0 : Math.min(BUCKETS - 1, Math.floor(Math.log2(ms)) + 1);
}

/** The percentile of values counted by bucket, plus `zeros` values of 0. */
function p95(counts: readonly number[], zeros: number): number {
  const all = counts.reduce((sum, count) => sum + count, zeros);
  let rank = 0.95 * all - zeros;
  if (rank <= 0) return 0;
  for (const [bucket, count] of counts.entries()) {
    if (rank <= count) {
      // Durations in the first bucket are below one millisecond, and shown as 0.
      if (bucket === 0) return 0;
      const from = 2 ** (bucket - 1);
      return Math.round(from + from * (rank / count));
    }
    rank -= count;
  }
  return 2 ** (BUCKETS - 1);
}
