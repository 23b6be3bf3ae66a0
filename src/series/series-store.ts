import type { Store } from '../store/store.ts';
import type { Count, CountName, Row } from '../upstream/request.ts';
import { Series } from './series.ts';

/** When something was observed. */
interface SavedMoment {
  readonly hour: number;
  /** When its response was requested, on `clock.now()`. */
  readonly askedAt: number;
}

/** The series of one count of an owner, by the ids of rows. */
interface Rows {
  /** The key of each in the store, without its id. */
  readonly key: string;
  readonly byId: Map<number, Series>;
}

/** The series of one credential. */
interface Owned {
  readonly name: string;
  readonly counts: Map<CountName, Rows>;
  bytes: number;
}

/** All keys of series in the store. */
const KEYS = { from: 'counts/', to: 'counts0' };
/** The share of the memory that is left to the growth of series: new ones do not use it. */
const GROWTH_SHARE = 0.1;
/** To make room, all series are looked through: what is freed must last for a while. */
const FREED_SHARE = 0.05;

/**
 * All series in bounded memory, and each of them in the store. If it is full, the series that were neither observed nor read for the longest time are
 * removed, of the credential with the most of them first. A new series removes none of the current hour: a list that is
 * too long would otherwise lose all of its history, and not only a part.
 */
export class SeriesStore {
  readonly #owners = new Map<string, Owned>();
  readonly #maxBytes: number;
  readonly #store: Store;
  #bytes = 0;
  #size = 0;
  /** The latest hour of any series. */
  #latest = -1;
  /** The hour in which there was no room for another, and none could be made. */
  #fullIn = -1;
  /** Series that were not begun, because there was no room. */
  refused = 0;

  constructor(store: Store, maxBytes: number) {
    this.#store = store;
    this.#maxBytes = maxBytes;
  }

  /**
   * Loads what the store has, and deletes series without a value since an hour. Returns how many cannot be read.
   * @throws StoreError
   */
  async load(oldest: number): Promise<number> {
    let damaged = 0;
    for await (const [key, value] of this.#store.read(KEYS)) {
      const [, owner = '', count, id] = key.split('/');
      const series = Series.read(value.toString());
      if (!series) damaged += 1;
      else if (series.latest < oldest) this.#store.delete(key);
      else this.#restore(owner, count as CountName, Number(id), series);
    }
    return damaged;
  }

  /** Number of series. */
  get size(): number {
    return this.#size;
  }

  /** The series of a row; `undefined` if there is none. */
  find(owner: string, count: CountName, id: number): Series | undefined {
    return this.#owners.get(owner)?.counts.get(count)?.byId.get(id);
  }

  /** Records the counts of the rows of one response. */
  observe<R extends Row>(
    owner: string,
    count: Count<R>,
    observed: readonly R[],
    { askedAt, hour }: SavedMoment,
  ): void {
    const owned = this.#ownedBy(owner);
    const rows = rowsOf(owned, count.name);
    for (const row of observed) {
      const value = count.value(row);
      if (value === null) continue;
      const { id } = row;
      const origin = count.origin(row);
      let series = rows.byId.get(id);
      if (!series || isAnother(series, origin)) {
        this.#drop(owned, rows, id);
        if (!this.#hasRoom(hour)) continue;
        series = new Series(origin);
        this.#add(owned, rows, id, series);
      }
      // A response that was overtaken by a newer one says nothing new.
      if (askedAt < series.askedAt) continue;
      series.askedAt = askedAt;
      series.usedIn = hour;
      const grown = series.observe(hour, value);
      if (grown === null) continue;
      this.#grow(owned, grown);
      this.#store.put(rows.key + id, series.text);
      if (hour > this.#latest) this.#latest = hour;
    }
    this.#checkSize();
    if (owned.bytes === 0) this.#owners.delete(owner);
  }

  #restore(owner: string, count: CountName, id: number, series: Series): void {
    const owned = this.#ownedBy(owner);
    this.#add(owned, rowsOf(owned, count), id, series);
    if (series.latest > this.#latest) this.#latest = series.latest;
    this.#checkSize();
  }

  /** Removes a series, if there is one. */
  remove(owner: string, count: CountName, id: number): void {
    const owned = this.#owners.get(owner);
    const rows = owned?.counts.get(count);
    if (owned && rows) this.#drop(owned, rows, id);
  }

  /** The ids of the series of one count, with the series. */
  *of(owner: string, count: CountName): Generator<readonly [number, Series]> {
    yield* this.#owners.get(owner)?.counts.get(count)?.byId ?? [];
  }

  /** Removes what was recorded after the current hour, because the clock was set back. */
  cutAfter(hour: number): void {
    if (this.#latest <= hour) return;
    for (const owned of this.#owners.values()) {
      for (const { id, rows, series } of seriesOf(owned)) {
        if (series.latest <= hour) continue;
        const before = series.bytes;
        series.cut(hour);
        this.#grow(owned, series.bytes - before);
        this.#store.put(rows.key + id, series.text);
      }
    }
    this.#latest = hour;
  }

  #ownedBy(owner: string): Owned {
    let owned = this.#owners.get(owner);
    if (!owned) {
      owned = { name: owner, counts: new Map(), bytes: 0 };
      this.#owners.set(owner, owned);
    }
    return owned;
  }

  #add(owned: Owned, rows: Rows, id: number, series: Series): void {
    rows.byId.set(id, series);
    this.#size += 1;
    this.#grow(owned, series.bytes);
  }

  #drop(owned: Owned, { byId, key }: Rows, id: number): void {
    const series = byId.get(id);
    if (!series) return;
    byId.delete(id);
    this.#store.delete(key + id);
    this.#size -= 1;
    this.#grow(owned, -series.bytes);
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

function rowsOf({ counts, name }: Owned, count: CountName): Rows {
  let rows = counts.get(count);
  if (!rows) {
    rows = { key: `${KEYS.from}${name}/${count}/`, byId: new Map() };
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
    for (const one of alike.toReversed().sort((a, b) => b.rows.byId.size - a.rows.byId.size)) {
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
    for (const [id, series] of rows.byId) yield { rows, id, series };
  }
}
