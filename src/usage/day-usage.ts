import type { UpstreamName } from '../errors.ts';

/** A day, in milliseconds. Days are numbers of days since 1970, in UTC. */
export const DAY_MS = 86_400_000;

/** What requests are counted by on one day. */
interface UsageKey {
  readonly upstream: UpstreamName;
  readonly resource: string;
  readonly callerClass: string;
  readonly caller: string;
  readonly operation: string;
}

/** Requests of one day with equal keys. */
export interface UsageRow extends UsageKey {
  /** Number of requests that were sent. */
  readonly calls: number;
  /** Number of requests that were avoided, by the cache or by a request in flight. */
  readonly saved: number;
}

/** In place of a class, a caller and an operation: of requests for which no caller waits. */
export const REFRESHES = '(refreshes)';
/** In place of a caller or an operation: those that are counted together, because there are too many. */
export const OTHERS_TOGETHER = '(others)';
/** In place of an operation without a name. */
export const UNNAMED = '(unnamed)';

/** A text that is equal for equal keys. */
function textOfKey(key: UsageKey): string {
  const { caller, callerClass, operation, resource, upstream } = key;
  return [upstream, resource, callerClass, caller, operation].join('\n');
}

/**
 * Maximum size of the rows of a day as texts, besides those of `OTHERS_TOGETHER`, in bytes: about 2000 rows. 400 days take
 * at most 64 MB.
 */
const MOST_BYTES = 160_000;
/** Size of a row besides its key, in bytes. */
const ROW_BYTES = 40;
/** Number of rows that are added to those of `OTHERS_TOGETHER` when there are more. */
const FOLDED_ROWS = 200;
/** Maximum number of operations of a caller that are counted separately: callers can invent names. */
const MOST_OPERATIONS = 100;

/** A row of a day, which can grow. */
export interface CountedRow extends UsageKey {
  /** Unique in its day, and in later ones. */
  readonly id: number;
  calls: number;
  saved: number;
  /** The row to which this one was added, and which counts for it. */
  into?: CountedRow;
}

/**
 * The requests of one day, in rows of bounded size: if there are more, those with the fewest requests are counted
 * together, by class and resource. So the sum, and the sums by class and resource, are always exact.
 */
export class DayUsage {
  /** Days since 1970, in UTC. */
  readonly day: number;
  /** The id of the next new row. */
  nextId: number;
  readonly #rows = new Map<string, CountedRow>();
  /** The operations of each caller. */
  readonly #operations = new Map<string, Set<string>>();
  #changed = new Set<CountedRow>();
  /** Of all rows except those of `OTHERS_TOGETHER` and of refreshes, which are not folded. */
  #bytes = 0;

  constructor(day: number, nextId: number) {
    this.day = day;
    this.nextId = nextId;
  }

  /** All rows, in no order. */
  get rows(): readonly UsageRow[] {
    return [...this.#rows.values()];
  }

  /** The rows that have changed since the last call. Those without requests are to be removed. */
  changes(): Iterable<CountedRow> {
    const changed = this.#changed;
    this.#changed = new Set();
    return changed;
  }

  /** Adds requests; returns the row in which they are counted. */
  add(row: UsageRow): CountedRow {
    const isKnown = this.#rows.has(textOfKey(row));
    const counted = this.#put(isKnown ? row : { ...row, operation: this.#operationOf(row) });
    if (this.#bytes > MOST_BYTES) this.#fold();
    return counted;
  }

  /** Reverses the count of a request that was not sent after all. */
  takeBack(row: CountedRow): void {
    const counted = row.into ?? row;
    counted.calls -= 1;
    this.#changed.add(counted);
    if (counted.calls + counted.saved === 0) this.#remove(counted);
  }

  /** Adds a row that an earlier process has saved. */
  restore(id: number, row: UsageRow): void {
    this.#put({ ...row, operation: this.#operationOf(row) }, id);
    this.#changed.clear();
  }

  #put(row: UsageRow, id = this.nextId): CountedRow {
    const key = textOfKey(row);
    let counted = this.#rows.get(key);
    if (counted) {
      counted.calls += row.calls;
      counted.saved += row.saved;
    } else {
      counted = { ...row, id };
      this.nextId = Math.max(this.nextId, id + 1);
      this.#rows.set(key, counted);
      this.#bytes += bytesOf(row);
    }
    this.#changed.add(counted);
    return counted;
  }

  #remove(row: CountedRow): void {
    if (this.#rows.delete(textOfKey(row))) this.#bytes -= bytesOf(row);
  }

  /** The operation of a new row; `OTHERS_TOGETHER` if its caller has too many. */
  #operationOf(row: UsageRow): string {
    if (isFixed(row)) return row.operation;
    const caller = callerOf(row);
    const operations = this.#operations.get(caller) ?? new Set();
    if (operations.has(row.operation)) return row.operation;
    if (operations.size >= MOST_OPERATIONS) return OTHERS_TOGETHER;
    this.#operations.set(caller, operations.add(row.operation));
    return row.operation;
  }

  /** Adds the rows with the fewest requests to those of `OTHERS_TOGETHER`. */
  #fold(): void {
    const rows = [...this.#rows.values()].filter((row) => !isFixed(row));
    rows.sort((one, other) => one.calls - other.calls || one.saved - other.saved);
    for (const row of rows.slice(0, FOLDED_ROWS)) {
      this.#remove(row);
      row.into = this.#put({ ...row, caller: OTHERS_TOGETHER, operation: OTHERS_TOGETHER });
      row.calls = 0;
      row.saved = 0;
      this.#changed.add(row);
    }
    this.#operations.clear();
    for (const row of this.#rows.values()) this.#operationOf(row);
  }
}

function isFixed({ caller }: UsageRow): boolean {
  return caller === OTHERS_TOGETHER || caller === REFRESHES;
}

function bytesOf(row: UsageRow): number {
  return isFixed(row) ? 0 : Buffer.byteLength(textOfKey(row)) + ROW_BYTES;
}

function callerOf({ caller, callerClass }: UsageRow): string {
  return `${callerClass}\n${caller}`;
}
