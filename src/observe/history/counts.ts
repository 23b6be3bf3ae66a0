/** The counted time span, in columns of equal length; the last one is the current one. */
interface Span {
  readonly columns: number;
  readonly columnMs: number;
}

/** An hour, in columns of five minutes. */
export const HOUR: Span = { columns: 12, columnMs: 300_000 };
/** An hour, in columns of twenty seconds. */
export const STEPS: Span = { columns: 180, columnMs: 20_000 };
/** Five minutes, in columns of ten seconds. */
export const FIVE_MINUTES: Span = { columns: 30, columnMs: 10_000 };

/** The largest count that is kept. */
const MOST = 0xffff_ffff;

/** Additions to fields: pairs of a field and a number, which is negative for a reversal. */
export type Amounts = readonly (readonly [field: number, times: number])[];

/** Counts of a span, by field; older columns are removed. Times are milliseconds on `clock.now()`. */
export class Counts {
  /** Column by column, each with all fields. */
  readonly #counts: Uint32Array;
  readonly #fields: number;
  readonly #span: Span;
  /** The latest column, counted from the clock's start. */
  #column: number;

  constructor(fields: number, span: Span, now: number) {
    this.#fields = fields;
    this.#span = span;
    this.#counts = new Uint32Array(span.columns * fields);
    this.#column = this.#columnOf(now);
  }

  /** Adds to the column of a given time. Older times than the span have no column. */
  add(at: number, amounts: Amounts): void {
    const start = this.#startOf(at);
    if (start !== null) for (const [field, times] of amounts) this.#add(start + field, times);
  }

  /** Raises a field of the column of a given time to at least this value. */
  raise(at: number, field: number, value: number): void {
    const start = this.#startOf(at);
    if (start === null) return;
    const known = this.#counts[start + field] as number;
    this.#counts[start + field] = Math.min(MOST, Math.max(known, value));
  }

  /** The sum of each field over the span before a moment. */
  sums(now: number): number[] {
    this.#advance(this.#columnOf(now));
    const sums = Array.from({ length: this.#fields }, () => 0);
    for (const [at, count] of this.#counts.entries()) (sums[at % this.#fields] as number) += count;
    return sums;
  }

  /** A field in each column of the span before a moment, the oldest first. */
  columns(now: number, field: number): number[] {
    this.#advance(this.#columnOf(now));
    const { columns } = this.#span;
    return Array.from({ length: columns }, (_, index) => {
      const at = ((this.#column + 1 + index) % columns) * this.#fields + field;
      return this.#counts[at] as number;
    });
  }

  /** Adds the counts of another object with the same fields and span, column by column. */
  merge(other: Counts): void {
    this.#advance(other.#column);
    other.#advance(this.#column);
    for (const [at, count] of other.#counts.entries()) this.#add(at, count);
  }

  #columnOf(moment: number): number {
    return Math.floor(moment / this.#span.columnMs);
  }

  /** Where the fields of the column of a moment begin; `null` where it has none any more. */
  #startOf(at: number): number | null {
    const { columns } = this.#span;
    const column = this.#columnOf(at);
    this.#advance(column);
    return this.#column - column < columns ? (column % columns) * this.#fields : null;
  }

  #add(at: number, times: number): void {
    this.#counts[at] = Math.min(MOST, Math.max(0, (this.#counts[at] as number) + times));
  }

  #advance(column: number): void {
    const { columns } = this.#span;
    for (let next = Math.max(this.#column, column - columns) + 1; next <= column; next += 1) {
      const start = (next % columns) * this.#fields;
      this.#counts.fill(0, start, start + this.#fields);
    }
    this.#column = Math.max(this.#column, column);
  }
}

/**
 * Counts by name, for a bounded number of names: the least recently used name is removed, and its counts are added to
 * `others`.
 */
export class CountTable {
  readonly #fields: number;
  readonly #max: number;
  readonly #span: Span;
  readonly #rows = new Map<string, Counts>();
  readonly #others: Counts;

  constructor(max: number, fields: number, span: Span, now: number) {
    this.#max = max;
    this.#fields = fields;
    this.#span = span;
    this.#others = new Counts(fields, span, now);
  }

  /** Adds to the counts of a name, which becomes the one used last. */
  count(name: string, at: number, amounts: Amounts): void {
    const row = this.#rows.get(name) ?? new Counts(this.#fields, this.#span, at);
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

  /** The sums of all names. */
  rows(now: number): [name: string, sums: number[]][] {
    return [...this.#rows].map(([name, counts]) => [name, counts.sums(now)]);
  }

  /** The sums of the removed names. */
  others(now: number): number[] {
    return this.#others.sums(now);
  }
}
