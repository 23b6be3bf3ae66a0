import type { OperationRecord } from '../events.ts';
import type { Amounts } from './counts.ts';

const RUNS = 0;
const CALLS = 1;
const SAVED = 2;
const ERRORS = 3;
const WAITS = 4;
/** Buckets of durations, each of which reaches twice as far as the one before: from 1 ms to more than two minutes. */
const BUCKETS = 18;
const DURATIONS = WAITS + BUCKETS;

/** Fields that are counted for each name of an operation. */
export const OPERATION_FIELDS = DURATIONS + BUCKETS;

/** Codes of one operation that are counted and shown. */
const CODES_SHOWN = 5;
/** Codes of callers' mistakes, which no operator can fix. */
const CALLERS_FAULT =
  /^(GRAPHQL|BAD|PERSISTED|OPERATION|TOO|IDEMPOTENCY)_|^UNAUTHENTICATED$|^FORBIDDEN$/;

/** The cost of the operations of one name. */
export interface OperationCost {
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
  return [
    [RUNS, 1],
    [CALLS, calls],
    [SAVED, saved],
    [ERRORS, Number(outcome === 'partial' || outcome === 'failed')],
    [WAITS + bucketOf(waitedMs), 1],
    [DURATIONS + bucketOf(durationMs), 1],
  ];
}

/** The counts of `runs` operations on the fast path, with no duration and no wait. */
export function fastAmounts(runs: number, saved: number): Amounts {
  return [
    [RUNS, runs],
    [SAVED, saved],
    [WAITS, runs],
    [DURATIONS, runs],
  ];
}

/** The cost for the sums of counts. */
export function operationCost(sums: readonly number[]): OperationCost {
  const [runs = 0, calls = 0, saved = 0, errors = 0] = sums;
  const waitP95Ms = p95(sums.slice(WAITS, DURATIONS));
  return { runs, calls, saved, errors, waitP95Ms, durationP95Ms: p95(sums.slice(DURATIONS)) };
}

/** Why an operation failed, without mistakes of its caller; empty where it did not fail, or its caller hung up. */
export function failureCodes({ codes, outcome }: OperationRecord): readonly string[] {
  if (outcome === 'ok' || outcome === 'canceled') return [];
  return codes.filter((code) => !CALLERS_FAULT.test(code)).slice(0, CODES_SHOWN);
}

function bucketOf(ms: number): number {
  return ms < 1 ? 0 : Math.min(BUCKETS - 1, Math.floor(Math.log2(ms)) + 1);
}

/** The percentile of values counted by bucket. Those in the first bucket, below a millisecond, are shown as 0. */
function p95(counts: readonly number[]): number {
  let rank = 0.95 * counts.reduce((sum, count) => sum + count, 0);
  const bucket = counts.findIndex((count) => (rank -= count) <= 0);
  if (bucket <= 0) return 0;
  const from = 2 ** (bucket - 1);
  return Math.round(from + from * (1 + rank / (counts[bucket] as number)));
}
