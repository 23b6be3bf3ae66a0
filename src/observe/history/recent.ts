import { callerKey, callerOfKey, type NamedCaller } from '../callers.ts';
import type { OperationRecord, ReadResult } from '../events.ts';
import { Counts, CountTable, FIVE_MINUTES } from './counts.ts';
import {
  failureCodes,
  fastAmounts,
  OPERATION_FIELDS,
  operationAmounts,
  operationCost,
} from './operations.ts';

/** The shares of failed operations from which the gateway counts as degraded, and as failing. */
const DEGRADED_SHARE = 0.05;
const FAILING_SHARE = 0.2;

/** Maximum number of separately counted codes, of pairs of a code and a caller, and of callers. */
const CODES_COUNTED = 32;
const CALLERS_COUNTED = 200;
/** Maximum number of shown codes and callers, and of shown callers for each code. */
const SHOWN = 5;
const CALLERS_SHOWN = 3;

/** Fields behind those of operations. */
const FAILED = OPERATION_FIELDS;
const REJECTED = FAILED + 1;
const READS = REJECTED + 1;
const HITS = READS + 1;
const MAX_AGE = HITS + 1;
const FIELDS = MAX_AGE + 1;

const ONE = [[0, 1]] as const;
/** Stands for refreshes among the keys of callers, which contain a space. */
const REFRESHES = '';

/** A number of something of one caller; `null`: refreshes. */
interface CallerCount {
  readonly caller: string | null;
  /** Absent in the default class. */
  readonly callerClass?: string | undefined;
  readonly count: number;
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
  /** The most frequent first; at most 5, each with its most frequent callers; at most 3. */
  readonly codes: readonly {
    readonly code: string;
    readonly failed: number;
    readonly callers: readonly CallerCount[];
  }[];
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
    this.#pairs = new CountTable(CALLERS_COUNTED, 1, FIVE_MINUTES, now);
    this.#spenders = new CountTable(CALLERS_COUNTED, 1, FIVE_MINUTES, now);
  }

  /** Counts an operation of a caller that has ended. Returns the codes with which it failed. */
  ended(at: number, record: OperationRecord, caller: NamedCaller | null): readonly string[] {
    const { maxAgeMs, outcome } = record;
    const codes = failureCodes(record);
    if (outcome === 'canceled') return codes;
    if (outcome !== 'ok' && codes.length === 0) {
      this.#all.add(at, [[REJECTED, 1]]);
      return codes;
    }
    this.#all.add(at, [...operationAmounts(record), [FAILED, Number(codes.length > 0)]]);
    this.#all.raise(at, MAX_AGE, maxAgeMs);
    for (const code of codes) {
      this.#codes.count(code, at, ONE);
      // A code has no space in it.
      this.#pairs.count(`${code} ${callerKey(caller ?? { caller: '' })}`, at, ONE);
    }
    return codes;
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
    const sum = (field: number): number => sums[field] as number;
    const { runs: operations, waitP95Ms } = operationCost(sums.slice(0, OPERATION_FIELDS));
    const failed = sum(FAILED);
    const spenders = counted(this.#spenders, now);
    const pairs = counted(this.#pairs, now);
    return {
      operations,
      failed,
      level: levelOf(failed, operations),
      rejected: sum(REJECTED),
      codes: counted(this.#codes, now)
        .slice(0, SHOWN)
        .map(([code, times]) => ({
          code,
          failed: times,
          callers: pairs
            .filter(([name]) => name.startsWith(`${code} `))
            .slice(0, CALLERS_SHOWN)
            .map(([name, count]) => ({ ...callerOfKey(name.slice(code.length + 1)), count })),
        })),
      reads: sum(READS),
      hits: sum(HITS),
      waitP95Ms,
      maxAgeMs: Math.max(...this.#all.columns(now, MAX_AGE)),
      sends: spenders.reduce((all, [, count]) => all + count, this.#spenders.others(now)[0] ?? 0),
      spenders: spenders.slice(0, SHOWN).map(([name, count]) => ({
        ...(name === REFRESHES ? { caller: null } : callerOfKey(name)),
        count,
      })),
    };
  }
}

function levelOf(failed: number, operations: number): Recent['level'] {
  if (failed === 0 || failed < DEGRADED_SHARE * operations) return 'ok';
  return failed < FAILING_SHARE * operations ? 'degraded' : 'failing';
}

/** The names of a table with their counts, the most first. */
function counted(table: CountTable, now: number): (readonly [name: string, count: number])[] {
  return table
    .rows(now)
    .map(([name, [count = 0]]) => [name, count] as const)
    .filter(([, count]) => count > 0)
    .sort(([, a], [, b]) => b - a);
}
