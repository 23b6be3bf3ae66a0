import { callerOfKey } from '../callers.ts';
import { type Amounts, OTHER_NAMES, wordsOf } from './minutes.ts';
import { type OperationField, operationCost } from './operations.ts';

/** The shares of failed operations from which the gateway counts as degraded, and as failing. */
const DEGRADED_SHARE = 0.05;
const FAILING_SHARE = 0.2;
/** Maximum number of shown codes and callers, and of shown callers for each code. */
const SHOWN = 5;
const CALLERS_SHOWN = 3;

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

/** What became of the operations whose counts these are, and of which codes. `codes`: by code, and by code and caller. */
export function recentOperations(
  total: Amounts<OperationField>,
  codes: ReadonlyMap<string, Amounts<'failed'>>,
): Pick<
  Recent,
  'operations' | 'failed' | 'level' | 'rejected' | 'codes' | 'waitP95Ms' | 'maxAgeMs'
> {
  const { ended = 0, failed = 0, maxAgeMs = 0, rejected = 0 } = total;
  const counts = mostFirst([...codes].map(([key, row]) => [key, row.failed ?? 0]));
  return {
    operations: ended,
    failed,
    level: levelOf(failed, ended),
    rejected,
    codes: counts
      .filter(([key]) => key !== OTHER_NAMES && !key.includes(' '))
      .slice(0, SHOWN)
      .map(([code, times]) => ({
        code,
        failed: times,
        callers: counts
          .filter(([key]) => key.startsWith(`${code} `))
          .slice(0, CALLERS_SHOWN)
          .map(([key, count]) => ({ ...callerOfKey(wordsOf(key)[1]), count })),
      })),
    waitP95Ms: operationCost(total).waitP95Ms,
    maxAgeMs,
  };
}

/** Whom requests were sent for. */
export function recentSpenders(
  spenders: ReadonlyMap<string, Amounts<'sends'>>,
): Pick<Recent, 'sends' | 'spenders'> {
  const callers = new Map<string, number>();
  let all = 0;
  for (const [key, { sends = 0 }] of spenders) {
    all += sends;
    const [, caller] = wordsOf(key);
    if (key !== OTHER_NAMES) callers.set(caller, (callers.get(caller) ?? 0) + sends);
  }
  const most = mostFirst([...callers]).slice(0, SHOWN);
  const named = most.map(([key, count]) => ({
    ...(key === '' ? { caller: null } : callerOfKey(key)),
    count,
  }));
  return { sends: all, spenders: named };
}

function levelOf(failed: number, operations: number): Recent['level'] {
  if (failed === 0 || failed < DEGRADED_SHARE * operations) return 'ok';
  return failed < FAILING_SHARE * operations ? 'degraded' : 'failing';
}

function mostFirst(counts: readonly (readonly [name: string, count: number])[]) {
  return counts.filter(([, count]) => count > 0).sort(([, a], [, b]) => b - a);
}
