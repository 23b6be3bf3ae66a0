import { OTHERS_TOGETHER, REFRESHES, textOfKey, type UsageRow } from './usage-row.ts';

/** Maximum number of rows of a day, besides those of `OTHERS_TOGETHER`. */
export const MOST_ROWS = 2000;
/** Number of rows that are added to those of `OTHERS_TOGETHER` when there are more. */
const FOLDED_ROWS = 200;
/** Maximum number of operations of a caller that are counted separately: callers can invent names. */
const MOST_OPERATIONS = 100;

type Counted = { -readonly [Member in keyof UsageRow]: UsageRow[Member] };

/**
 * The requests of one day, in a bounded number of rows: if there are more, those with the fewest requests are counted
 * together, by class and resource. So the sum, and the sums by class and resource, are always exact.
 */
export class DayUsage {
  /** Days since 1970, in UTC. */
  readonly day: number;
  readonly #rows = new Map<string, Counted>();
  /** The operations of each caller. */
  readonly #operations = new Map<string, Set<string>>();
  /** Number of rows of `OTHERS_TOGETHER` and of refreshes, which are not folded. */
  #fixed = 0;

  constructor(day: number) {
    this.day = day;
  }

  /** All rows, in no order. */
  get rows(): readonly UsageRow[] {
    return [...this.#rows.values()];
  }

  /** Number of sent requests to an upstream by callers of a class. */
  callsOf(upstream: UsageRow['upstream'], callerClass: string): number {
    let calls = 0;
    for (const row of this.#rows.values()) {
      if (row.upstream === upstream && row.callerClass === callerClass) calls += row.calls;
    }
    return calls;
  }

  /** Adds requests; returns them as they are counted: with another operation if their caller has too many. */
  add(row: UsageRow): UsageRow {
    const known = this.#rows.get(textOfKey(row));
    if (known) {
      known.calls += row.calls;
      known.saved += row.saved;
      return row;
    }
    const counted = { ...row, operation: this.#operationOf(row) };
    this.#put(counted);
    if (this.#rows.size - this.#fixed > MOST_ROWS) this.#fold();
    return counted;
  }

  #put(row: UsageRow): void {
    const key = textOfKey(row);
    const known = this.#rows.get(key);
    if (known) {
      known.calls += row.calls;
      known.saved += row.saved;
      return;
    }
    this.#rows.set(key, { ...row });
    if (isFixed(row)) this.#fixed += 1;
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
      this.#rows.delete(textOfKey(row));
      this.#put({ ...row, caller: OTHERS_TOGETHER, operation: OTHERS_TOGETHER });
    }
    this.#operations.clear();
    for (const row of this.#rows.values()) {
      if (isFixed(row)) continue;
      const caller = callerOf(row);
      const operations = this.#operations.get(caller) ?? new Set();
      this.#operations.set(caller, operations.add(row.operation));
    }
  }
}

function isFixed({ caller }: UsageRow): boolean {
  return caller === OTHERS_TOGETHER || caller === REFRESHES;
}

function callerOf({ caller, callerClass }: UsageRow): string {
  return `${callerClass}\n${caller}`;
}
