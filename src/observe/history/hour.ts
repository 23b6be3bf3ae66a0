import type { OperationRecord } from '../events.ts';

/** Columns in which an hour is counted; the last of them is under way. */
const COLUMNS = 12;
const COLUMN_MS = 3_600_000 / COLUMNS;

/** The largest count that is kept. */
const MOST = 0xffff_ffff;

/** What is added to fields: pairs of a field and a number, which is below 0 for what is taken back. */
export type Amounts = readonly (readonly [field: number, times: number])[];

/**
 * Counts of the last hour, by field: what is older falls out, five minutes at a time. Moments are milliseconds on
 * `clock.now()`.
 */
export class HourCounts {
  /** Column by column, each with all fields. */
  readonly #counts: Uint32Array;
  readonly #fields: number;
  /** The latest column, counted from the clock's start. */
  #column: number;

  constructor(fields: number, now: number) {
    this.#fields = fields;
    this.#counts = new Uint32Array(COLUMNS * fields);
    this.#column = Math.floor(now / COLUMN_MS);
  }

  /** Adds to the column of a moment. What is older than an hour has no column any more. */
  add(at: number, amounts: Amounts): void {
    const column = Math.floor(at / COLUMN_MS);
    this.#advance(column);
    if (this.#column - column >= COLUMNS) return;
    const start = (column % COLUMNS) * this.#fields;
    for (const [field, times] of amounts) this.#add(start + field, times);
  }

  /** The sum of each field over the hour before a moment. */
  sums(now: number): number[] {
    this.#advance(Math.floor(now / COLUMN_MS));
    const sums = Array.from({ length: this.#fields }, () => 0);
    for (const [at, count] of this.#counts.entries()) (sums[at % this.#fields] as number) += count;
    return sums;
  }

  /** Takes in what another one with the same fields has counted, each in its own column. */
  merge(other: HourCounts): void {
    this.#advance(other.#column);
    other.#advance(this.#column);
    for (const [at, count] of other.#counts.entries()) this.#add(at, count);
  }

  #add(at: number, times: number): void {
    this.#counts[at] = Math.min(MOST, Math.max(0, (this.#counts[at] as number) + times));
  }

  #advance(column: number): void {
    for (let next = Math.max(this.#column, column - COLUMNS) + 1; next <= column; next += 1) {
      const start = (next % COLUMNS) * this.#fields;
      this.#counts.fill(0, start, start + this.#fields);
    }
    this.#column = Math.max(this.#column, column);
  }
}

/**
 * Counts by name, of a bounded number of names however many there are: the one that was not used for the longest goes,
 * and what was counted for it is kept under `others`.
 */
export class HourTable {
  readonly #fields: number;
  readonly #max: number;
  readonly #rows = new Map<string, HourCounts>();
  readonly #others: HourCounts;

  constructor(max: number, fields: number, now: number) {
    this.#max = max;
    this.#fields = fields;
    this.#others = new HourCounts(fields, now);
  }

  /** Adds to the counts of a name, which becomes the one used last. */
  count(name: string, at: number, amounts: Amounts): void {
    const row = this.#rows.get(name) ?? new HourCounts(this.#fields, at);
    row.add(at, amounts);
    this.#rows.delete(name);
    this.#rows.set(name, row);
    if (this.#rows.size <= this.#max) return;
    for (const [oldest, counts] of this.#rows) {
      this.#others.merge(counts);
      this.#rows.delete(oldest);
      return;
    }
  }

  /** The sums of one name; zeros where it has none. */
  of(name: string, now: number): number[] {
    return (this.#rows.get(name) ?? new HourCounts(this.#fields, now)).sums(now);
  }

  /** The sums of all names. */
  rows(now: number): [name: string, sums: number[]][] {
    return [...this.#rows].map(([name, counts]) => [name, counts.sums(now)]);
  }

  /** The sums of the names that have gone. */
  others(now: number): number[] {
    return this.#others.sums(now);
  }
}

const RUNS = 0;
const CALLS = 1;
const SAVED = 2;
const ERRORS = 3;
/** Runs that were answered on the fast path. */
const FAST = 4;
const WAITS = 5;

/** Buckets of durations, each of which reaches twice as far as the one before: from 1 ms to more than two minutes. */
const BUCKETS = 18;
const DURATIONS = WAITS + BUCKETS;

/** Fields that are counted for each name of an operation. */
export const OPERATION_FIELDS = DURATIONS + BUCKETS;

/** What operations of one name have cost in the last hour. */
export interface OperationHour {
  readonly runs: number;
  /** Upstream calls that they caused. */
  readonly calls: number;
  /** Calls that the cache or a request under way spared. */
  readonly saved: number;
  /** Runs with an error. */
  readonly errors: number;
  /** The 95th percentiles, in milliseconds and as exact as the buckets. 0 where there are no runs. */
  readonly waitP95Ms: number;
  readonly durationP95Ms: number;
}

/** What is counted of an operation that has ended. */
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

/** What is counted of `runs` operations on the fast path: they took no time, and nothing waited. */
export function fastAmounts(runs: number, saved: number): Amounts {
  return [
    [RUNS, runs],
    [FAST, runs],
    [SAVED, saved],
  ];
}

/** What the sums of an hour say. */
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

/** The percentile of what is counted by bucket, and of `zeros` more that took no time. */
function p95(counts: readonly number[], zeros: number): number {
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
