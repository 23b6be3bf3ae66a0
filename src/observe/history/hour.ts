import type { Clock } from '../../scheduling/clock.ts';

/** Columns in which an hour is counted; the last of them is under way. */
const COLUMNS = 12;
const COLUMN_MS = 3_600_000 / COLUMNS;

/** Counts of the last hour, by field: what is older falls out, five minutes at a time. */
export class HourCounts {
  readonly #clock: Clock;
  /** Column by column, each with all fields. */
  readonly #counts: Uint32Array | Uint16Array;
  readonly #fields: number;
  readonly #most: number;
  /** The column under way, counted from the clock's start. */
  #column: number;

  /** `coarse` counts take half the memory, and stay at 65,535 once they are there. */
  constructor(clock: Clock, fields: number, coarse = false) {
    this.#clock = clock;
    this.#fields = fields;
    this.#counts = coarse ? new Uint16Array(COLUMNS * fields) : new Uint32Array(COLUMNS * fields);
    this.#most = coarse ? 0xffff : 0xffff_ffff;
    this.#column = Math.floor(clock.now() / COLUMN_MS);
  }

  /** Adds to a field, or takes from it where `times` is below 0. */
  add(field: number, times = 1): void {
    this.#goOn();
    this.#add((this.#column % COLUMNS) * this.#fields + field, times);
  }

  /** The sum of a field over the hour. */
  sum(field: number): number {
    this.#goOn();
    let sum = 0;
    for (let at = field; at < this.#counts.length; at += this.#fields) sum += this.#counts[at] ?? 0;
    return sum;
  }

  /** Takes in what another one with the same fields has counted, each in its own column. */
  merge(other: HourCounts): void {
    this.#goOn();
    other.#goOn();
    for (let at = 0; at < this.#counts.length; at += 1) this.#add(at, other.#counts[at] ?? 0);
  }

  #add(at: number, times: number): void {
    const count = (this.#counts[at] ?? 0) + times;
    this.#counts[at] = Math.min(this.#most, Math.max(0, count));
  }

  #goOn(): void {
    const column = Math.floor(this.#clock.now() / COLUMN_MS);
    for (let next = Math.max(this.#column, column - COLUMNS) + 1; next <= column; next += 1) {
      const at = (next % COLUMNS) * this.#fields;
      this.#counts.fill(0, at, at + this.#fields);
    }
    this.#column = column;
  }
}

/** What a row of an `HourTable` must be able to do. */
interface Mergeable<Row> {
  merge(other: Row): void;
}

/**
 * Rows by name, bounded in number however many names there are: the one that was not used for the longest goes, and
 * what it has counted is kept under `others`.
 */
export class HourTable<Row extends Mergeable<Row>> {
  readonly #rows = new Map<string, Row>();
  readonly #create: (name: string) => Row;
  readonly #max: number;
  /** What was counted under names that have gone; `null` as long as none has. */
  others: Row | null = null;

  constructor(max: number, create: (name: string) => Row) {
    this.#max = max;
    this.#create = create;
  }

  /** The row of a name, which becomes the one used last. */
  of(name: string): Row {
    const known = this.#rows.get(name);
    if (known) this.#rows.delete(name);
    const row = known ?? this.#create(name);
    this.#rows.set(name, row);
    if (this.#rows.size > this.#max) this.#forgetOldest();
    return row;
  }

  /** All rows with a name. */
  get rows(): Iterable<Row> {
    return this.#rows.values();
  }

  #forgetOldest(): void {
    for (const [name, row] of this.#rows) {
      this.others ??= this.#create('');
      this.others.merge(row);
      this.#rows.delete(name);
      return;
    }
  }
}
