import { callerKey, callerOfKey, type NamedCaller } from '../callers.ts';
import type { OperationRecord, ReadResult } from '../events.ts';
import { type Amounts, Counts, CountTable, FIVE_MINUTES } from './counts.ts';
import { failureCodes } from './failure-codes.ts';
import { fastAmounts, OPERATION_FIELDS, operationHour } from './hour.ts';

/** The shares of failed operations from which the gateway counts as degraded, and as failing. */
const DEGRADED_SHARE = 0.05;
const FAILING_SHARE = 0.2;

/** Maximum number of separately counted codes, of pairs of a code and a caller, and of callers. */
const CODES_COUNTED = 32;
const PAIRS_COUNTED = 200;
const SPENDERS_COUNTED = 200;
/** Maximum number of shown codes and callers, and of shown callers for each code. */
const CODES_SHOWN = 5;
const CALLERS_SHOWN = 3;
const SPENDERS_SHOWN = 5;

/** Fields behind those of operations. */
const FAILED = OPERATION_FIELDS;
const REJECTED = FAILED + 1;
const READS = REJECTED + 1;
const HITS = READS + 1;
const MAX_AGE = HITS + 1;
const FIELDS = MAX_AGE + 1;

/** A number of something of one caller; `null`: refreshes. */
interface CallerCount {
  readonly caller: string | null;
  /** Absent in the default class. */
  readonly callerClass?: string | undefined;
  readonly count: number;
}

/** Operations that failed with one code. */
interface CodeCount {
  readonly code: string;
  readonly failed: number;
  /** Their callers, the most frequent first; at most 3. */
  readonly callers: readonly CallerCount[];
}

/** The last five minutes of all operations. */
export interface Recent {
  /** Operations that ended, without those whose caller hung up and those that `rejected` counts. */
  readonly operations: number;
  /** Those of them with an error that is not the caller's mistake. */
  readonly failed: number;
  /** `degraded` from 5 % failed operations on, `failing` from 20 %. */
  readonly level: 'ok' | 'degraded' | 'failing';
  /** Operations with client errors only, such as a syntax error. */
  readonly rejected: number;
  /** The most frequent first; at most 5. */
  readonly codes: readonly CodeCount[];
  readonly reads: number;
  /** Reads that cost no request. */
  readonly hits: number;
  /** The 95th percentile of the time that operations waited for a slot, in milliseconds. */
  readonly waitP95Ms: number;
  /** Age of the oldest response used, in milliseconds. */
  readonly maxAgeMs: number;
  /** Requests that were sent. */
  readonly sends: number;
  /** Whom they were sent for, the most first; at most 5. */
  readonly spenders: readonly CallerCount[];
}

/** Counts the last five minutes in bounded memory. */
export class RecentCounts {
  readonly #all: Counts;
  readonly #codes: CountTable;
  readonly #pairs: CountTable;
  readonly #spenders: CountTable;

  constructor(now: number) {
    this.#all = new Counts(FIELDS, FIVE_MINUTES, now);
    this.#codes = new CountTable(CODES_COUNTED, 1, FIVE_MINUTES, now);
    this.#pairs = new CountTable(PAIRS_COUNTED, 1, FIVE_MINUTES, now);
    this.#spenders = new CountTable(SPENDERS_COUNTED, 1, FIVE_MINUTES, now);
  }

  /**
   * Counts an operation of a caller that has ended, with its `operationAmounts`. Returns whether it failed; `null` if it
   * does not count.
   */
  ended(
    at: number,
    record: OperationRecord,
    { amounts, caller }: { readonly amounts: Amounts; readonly caller: NamedCaller | null },
  ): boolean | null {
    const { maxAgeMs, outcome } = record;
    if (outcome === 'canceled') return null;
    const failures = outcome === 'ok' ? [] : failureCodes(record);
    if (outcome !== 'ok' && failures.length === 0) {
      this.#all.add(at, [[REJECTED, 1]]);
      return null;
    }
    this.#all.add(at, [...amounts, [FAILED, Number(failures.length > 0)]]);
    this.#all.raise(at, MAX_AGE, maxAgeMs);
    for (const code of failures) {
      this.#codes.count(code, at, ONE);
      // A code has no space in it.
      this.#pairs.count(`${code} ${callerKey(caller ?? { caller: '' })}`, at, ONE);
    }
    return failures.length > 0;
  }

  /** Operations were answered on the fast path. */
  answered(at: number, runs: number, maxAgeMs: number): void {
    this.#all.add(at, fastAmounts(runs, 0));
    this.#all.raise(at, MAX_AGE, maxAgeMs);
  }

  /** Reads were answered. */
  read(at: number, result: ReadResult, times: number): void {
    this.#all.add(at, [
      [READS, times],
      [HITS, result === 'miss' ? 0 : times],
    ]);
  }

  /** A request was sent for a caller, `null` for a refresh; `times` is -1 if it was not sent after all. */
  sent(at: number, caller: NamedCaller | null, times: 1 | -1): void {
    this.#spenders.count(caller ? callerKey(caller) : REFRESHES, at, [[0, times]]);
  }

  /** The five minutes before a moment. */
  at(now: number): Recent {
    const sums = this.#all.sums(now);
    const { runs: operations, waitP95Ms } = operationHour(sums.slice(0, OPERATION_FIELDS));
    const sum = (field: number): number => sums[field] as number;
    const failed = sum(FAILED);
    const spenders = counted(this.#spenders, now);
    const sends = spenders.reduce((all, { count }) => all + count, 0);
    return {
      operations,
      failed,
      level: levelOf(failed, operations),
      rejected: sum(REJECTED),
      codes: this.#codesAt(now),
      reads: sum(READS),
      hits: sum(HITS),
      waitP95Ms,
      maxAgeMs: this.#all.largest(now, MAX_AGE),
      sends: sends + (this.#spenders.others(now)[0] as number),
      spenders: spenders.slice(0, SPENDERS_SHOWN).map(({ count, name }) => ({
        ...(name === REFRESHES ? { caller: null } : callerOfKey(name)),
        count,
      })),
    };
  }

  /** The share of operations that failed in the five minutes before a moment. */
  failedShare(now: number): number {
    const sums = this.#all.sums(now);
    const { runs } = operationHour(sums.slice(0, OPERATION_FIELDS));
    return runs > 0 ? (sums[FAILED] as number) / runs : 0;
  }

  #codesAt(now: number): CodeCount[] {
    const pairs = counted(this.#pairs, now);
    return counted(this.#codes, now)
      .slice(0, CODES_SHOWN)
      .map(({ count: failed, name: code }) => ({
        code,
        failed,
        callers: pairs
          .filter(({ name }) => name.startsWith(`${code} `))
          .slice(0, CALLERS_SHOWN)
          .map(({ count, name }) => ({ ...callerOfKey(name.slice(code.length + 1)), count })),
      }));
  }
}

const ONE = [[0, 1]] as const;
/** Stands for refreshes among the keys of callers, which contain a space. */
const REFRESHES = '';

function levelOf(failed: number, operations: number): Recent['level'] {
  if (failed === 0 || failed < DEGRADED_SHARE * operations) return 'ok';
  return failed < FAILING_SHARE * operations ? 'degraded' : 'failing';
}

/** The names of a table with their counts, the most first. */
function counted(table: CountTable, now: number): { name: string; count: number }[] {
  return table
    .rows(now)
    .map(([name, sums]) => ({ name, count: sums[0] as number }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count);
}
