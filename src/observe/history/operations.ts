import type { OperationRecord } from '../events.ts';
import type { Amounts } from './minutes.ts';

/** Buckets of durations, each of which reaches twice as far as the one before: from 1 ms to more than two minutes. */
const BUCKETS = 18;
/** Codes of one operation that are counted and shown. */
const CODES_SHOWN = 5;
/** Codes of callers' mistakes, which no operator can fix. */
const CALLERS_FAULT =
  /^(GRAPHQL|BAD|PERSISTED|OPERATION|TOO|IDEMPOTENCY)_|^UNAUTHENTICATED$|^FORBIDDEN$/;

type TimedField = 'wait' | 'duration';

/**
 * What is counted of the operations of a name. `ended`: without those whose caller hung up and those that `rejected`
 * counts, which have only mistakes of their caller. `failed`: those of them with other errors.
 */
export type OperationField =
  | 'runs'
  | 'calls'
  | 'saved'
  | 'errors'
  | 'ended'
  | 'failed'
  | 'rejected'
  | 'maxAgeMs'
  | `${TimedField}${number}`;

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

/** The counts of a completed operation that failed with these codes. */
export function operationAmounts(
  record: OperationRecord,
  failures: readonly string[],
): Amounts<OperationField> {
  const { calls, durationMs, maxAgeMs, outcome, saved, waitedMs } = record;
  const errors = Number(outcome === 'partial' || outcome === 'failed');
  const run = { runs: 1, calls, saved, errors, [`duration${bucketOf(durationMs)}`]: 1 };
  if (outcome === 'canceled') return run;
  if (errors > 0 && failures.length === 0) return { ...run, rejected: 1 };
  const failed = Number(failures.length > 0);
  return { ...run, ended: 1, failed, maxAgeMs, [`wait${bucketOf(waitedMs)}`]: 1 };
}

/** The counts of `runs` operations on the fast path, with no duration and no wait. */
export function fastAmounts(
  runs: number,
  saved: number,
  maxAgeMs: number,
): Amounts<OperationField> {
  return { runs, saved, ended: runs, wait0: runs, duration0: runs, maxAgeMs };
}

/** The cost for the sums of counts. */
export function operationCost(sums: Amounts<OperationField>): OperationCost {
  const { calls = 0, errors = 0, runs = 0, saved = 0 } = sums;
  const waitP95Ms = p95(sums, 'wait');
  return { runs, calls, saved, errors, waitP95Ms, durationP95Ms: p95(sums, 'duration') };
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
function p95(sums: Amounts<OperationField>, timed: TimedField): number {
  const counts = Array.from({ length: BUCKETS }, (_, bucket) => sums[`${timed}${bucket}`] ?? 0);
  let rank = 0.95 * counts.reduce((sum, count) => sum + count, 0);
  const bucket = counts.findIndex((count) => (rank -= count) <= 0);
  if (bucket <= 0) return 0;
  const from = 2 ** (bucket - 1);
  return Math.round(from + from * (1 + rank / (counts[bucket] as number)));
}
