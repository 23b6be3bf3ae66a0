import type { Count, CountName, Row } from '../upstream/request.ts';
import { Series } from './series.ts';

/** A value that has changed a point; `origin` is present if a new series begins with it. */
export interface Change {
  readonly id: number;
  readonly value: number;
  readonly origin?: string | null;
}

/** When something was observed. */
interface Moment {
  readonly hour: number;
  /** When its response was requested, on `clock.now()`. */
  readonly askedAt: number;
}

/** The series of one count of an owner, by the ids of rows. */
type Rows = Map<number, Series>;

/** The series of one credential. */
interface Owned {
  readonly counts: Map<CountName, Rows>;
  bytes: number;
}

/** The share of the memory that is left to the growth of series: new ones do not use it. */
const GROWTH_SHARE = 0.1;
/** To make room, all series are looked through: what is freed must last for a while. */
const FREED_SHARE = 0.05;

/**
 * All series in bounded memory. If it is full, the series that were neither observed nor read for the longest time are
 * removed, of the credential with the most of them first. A new series removes none of the current hour: a list that is
 * too long would otherwise lose all of its history, and not only a part.
 */
export class SeriesStore {
  readonly #owners = new Map<string, Owned>();
  readonly #maxBytes: number;
  #bytes = 0;
  #size = 0;
  /** The latest hour of any series. */
  #latest = -1;
  /** The hour in which there was no room for another, and none could be made. */
  #fullIn = -1;
  /** Series that were not begun, because there was no room. */
  refused = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Memory taken, in bytes, and the number of series. */
  get weight(): { readonly bytes: number; readonly series: number } {
    return { bytes: this.#bytes, series: this.#size };
  }

  /** The series of a row; `undefined` if there is none. */
  find(owner: string, count: CountName, id: number): Series | undefined {
    return this.#owners.get(owner)?.counts.get(count)?.get(id);
  }

  /** Records the counts of the rows of one response, and returns the values that changed a point. */
  observe<R extends Row>(
    owner: string,
    count: Count<R>,
    observed: readonly R[],
    { askedAt, hour }: Moment,
  ): Change[] {
    const owned = this.#ownedBy(owner);
    const rows = rowsOf(owned, count.name);
    const changes: Change[] = [];
    for (const row of observed) {
      const value = count.value(row);
      if (value === null) continue;
      const { id } = row;
      const origin = count.origin(row);
      let series = rows.get(id);
      const begins = !series || isAnother(series, origin);
      if (!series || begins) {
        this.#drop(owned, rows, id);
        if (!this.#hasRoom(hour)) continue;
        series = Series.empty(origin);
        this.#add(owned, rows, id, series);
      }
      // A response that was overtaken by a newer one says nothing new.
      if (askedAt < series.askedAt) continue;
      series.askedAt = askedAt;
      series.usedIn = hour;
      const grown = series.observe(hour, value);
      if (grown === null) continue;
      this.#grow(owned, grown);
      changes.push(begins ? { id, value, origin } : { id, value });
    }
    if (changes.length > 0 && hour > this.#latest) this.#latest = hour;
    this.#checkSize();
    if (owned.bytes === 0) this.#owners.delete(owner);
    return changes;
  }

  /** Adds a series that was recorded before, in the place of one of the same row. */
  restore(owner: string, count: CountName, id: number, series: Series): void {
    const owned = this.#ownedBy(owner);
    const rows = rowsOf(owned, count);
    this.#drop(owned, rows, id);
    this.#add(owned, rows, id, series);
    if (series.latest > this.#latest) this.#latest = series.latest;
    this.#checkSize();
  }

  /** Removes a series; returns whether there was one. */
  remove(owner: string, count: CountName, id: number): boolean {
    const owned = this.#owners.get(owner);
    const rows = owned?.counts.get(count);
    return owned !== undefined && rows !== undefined && this.#drop(owned, rows, id);
  }

  /** The ids of the series of one count, with the series. */
  *of(owner: string, count: CountName): Generator<readonly [number, Series]> {
    yield* this.#owners.get(owner)?.counts.get(count) ?? [];
  }

  /** All series. They may come and go meanwhile. */
  *all(): Generator<{ owner: string; count: CountName; id: number; series: Series }> {
    for (const [owner, { counts }] of this.#owners) {
      for (const [count, rows] of counts) {
        for (const [id, series] of rows) yield { owner, count, id, series };
      }
    }
  }

  /**
   * Removes what was recorded after the current hour, because the clock was set back; returns whether there was
   * anything.
   */
  cutAfter(hour: number): boolean {
    if (this.#latest <= hour) return false;
    for (const owned of this.#owners.values()) {
      for (const { series } of seriesOf(owned)) {
        const before = series.bytes;
        series.cut(hour);
        this.#grow(owned, series.bytes - before);
      }
    }
    this.#latest = hour;
    return true;
  }

  #ownedBy(owner: string): Owned {
    let owned = this.#owners.get(owner);
    if (!owned) {
      owned = { counts: new Map(), bytes: 0 };
      this.#owners.set(owner, owned);
    }
    return owned;
  }

  #add(owned: Owned, rows: Rows, id: number, series: Series): void {
    rows.set(id, series);
    this.#size += 1;
    this.#grow(owned, series.bytes);
  }

  #drop(owned: Owned, rows: Rows, id: number): boolean {
    const series = rows.get(id);
    if (!series) return false;
    rows.delete(id);
    this.#size -= 1;
    this.#grow(owned, -series.bytes);
    return true;
  }

  #grow(owned: Owned, bytes: number): void {
    owned.bytes += bytes;
    this.#bytes += bytes;
  }

  /** Whether a new series fits, if need be in the place of series that were not used in this hour. */
  #hasRoom(hour: number): boolean {
    const most = this.#maxBytes * (1 - GROWTH_SHARE);
    if (this.#bytes < most) return true;
    // To find that out again for each row of a list would take long.
    if (this.#fullIn !== hour) this.#free(hour, most);
    if (this.#bytes < most) return true;
    this.#fullIn = hour;
    this.refused += 1;
    return false;
  }

  /** Makes room if series have grown beyond the limit. */
  #checkSize(): void {
    if (this.#bytes > this.#maxBytes) this.#free(Number.POSITIVE_INFINITY, this.#maxBytes);
  }

  /**
   * Removes the series that were not used for the longest, and not since an hour, of the credentials with more than
   * their share.
   */
  #free(hour: number, most: number): void {
    const enough = most - this.#maxBytes * FREED_SHARE;
    const share = enough / this.#owners.size;
    const heaviestFirst = [...this.#owners.values()].sort((a, b) => b.bytes - a.bytes);
    for (const owned of heaviestFirst) {
      const excess = Math.min(this.#bytes - enough, owned.bytes - share);
      if (excess <= 0) return;
      for (const { id, rows } of leastUsed(owned, hour, excess)) this.#drop(owned, rows, id);
    }
  }
}

function rowsOf({ counts }: Owned, count: CountName): Rows {
  let rows = counts.get(count);
  if (!rows) {
    rows = new Map();
    counts.set(count, rows);
  }
  return rows;
}

/** Whether a row is another one than that of the series, although it has the same id. */
function isAnother(series: Series, origin: string | null): boolean {
  return origin !== null && series.origin !== null && series.origin !== origin;
}

/** The series of a credential that were not used for the longest, and not since an hour: of this many bytes. */
function leastUsed(owned: Owned, hour: number, bytes: number): { rows: Rows; id: number }[] {
  // Not sorted: there can be a hundred thousand.
  const byHour = new Map<number, { rows: Rows; id: number; bytes: number }[]>();
  for (const { id, rows, series } of seriesOf(owned)) {
    if (series.usedIn >= hour) continue;
    const alike = byHour.get(series.usedIn);
    const one = { rows, id, bytes: series.bytes };
    if (alike) alike.push(one);
    else byHour.set(series.usedIn, [one]);
  }
  const found: { rows: Rows; id: number }[] = [];
  let left = bytes;
  for (const usedIn of [...byHour.keys()].sort((a, b) => a - b)) {
    // Of those used alike, the latest rows of the longest lists.
    const alike = byHour.get(usedIn) ?? [];
    for (const one of alike.toReversed().sort((a, b) => b.rows.size - a.rows.size)) {
      if (left <= 0) return found;
      found.push(one);
      left -= one.bytes;
    }
  }
  return found;
}

/** All series of one credential. */
function* seriesOf({ counts }: Owned): Generator<{ rows: Rows; id: number; series: Series }> {
  for (const rows of counts.values()) {
    for (const [id, series] of rows) yield { rows, id, series };
  }
}
