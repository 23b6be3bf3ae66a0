import type { Steps } from '../../scheduling/at-once.ts';
import type { Row } from '../request.ts';
import { FIRST_PLACE, findOffset, findPlace, type Place } from './anchor.ts';
import { type Cursor, encodeCursor, NEIGHBORS } from './cursor.ts';
import type { ListPage } from './page/list-page.ts';
import type { WalkedPages } from './read-pages.ts';

/** A row of a window, and its position. */
export interface WindowRow<R> {
  readonly node: R;
  readonly cursor: string;
}

/** A part of a list, in the list's order. */
export interface Window<R> {
  readonly rows: readonly WindowRow<R>[];
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
  /** Number of rows of the whole list; `null` if the upstream does not provide it. */
  readonly total: number | null;
}

/** A part of a list, from validated arguments. */
export interface WindowPart {
  readonly after: Cursor | null;
  readonly before: Cursor | null;
  /** Rows that are skipped at the start; 0 with a cursor. */
  readonly offset: number;
  readonly count: number;
  readonly fromBack: boolean;
}

/** A walk over the pages of one list. */
export class Walk<R extends Row> {
  readonly #pages: WalkedPages<R>;

  constructor(pages: WalkedPages<R>) {
    this.#pages = pages;
  }

  /** Cuts a part out of the list. See `readWindow`. */
  *cut({ after, before, offset, count, fromBack }: WindowPart): Steps<Window<R>> {
    const pages = this.#pages;
    const start = after
      ? yield* findPlace(after, 'after', pages)
      : offset > 0
        ? yield* findOffset(offset, pages)
        : FIRST_PLACE;
    const end = before ? yield* findPlace(before, 'before', pages) : null;
    if (!fromBack) return yield* this.#forwards(start, end, count);
    return yield* this.#backwards(start, end ?? (yield* this.#end()), end !== null, count);
  }

  *#forwards(start: Place, end: Place | null, count: number): Steps<Window<R>> {
    const rows: WindowRow<R>[] = [];
    let { page: number, index } = start;
    let page = yield* this.#pages.page(number);
    // Most windows end on their first page, where no row occurs twice. Rows before the start count as seen, because
    // pages with rows in common repeat some of them at the start of the next page.
    let names = page.distinct ? null : this.#pages.identities(page.rows);
    const seen = new Set(names?.slice(0, index));
    const more = () => !end || isBefore({ page: number, index }, end);
    while (rows.length < count && more()) {
      const row = page.rows[index];
      if (row) {
        const name = names?.[index];
        if (name === undefined || !seen.has(name)) rows.push(new StandingRow(this, page, index));
        if (name !== undefined) seen.add(name);
        index += 1;
      } else {
        if (page.last) break;
        for (const name of names ? [] : this.#pages.identities(page.rows)) seen.add(name);
        yield* this.#pages.ahead(page, count - rows.length, { upTo: end?.page });
        number += 1;
        index = 0;
        page = yield* this.#pages.page(number);
        names = this.#pages.identities(page.rows);
      }
    }
    let rowsFollow = index < page.rows.length;
    if (!rowsFollow && !page.last) {
      rowsFollow = page.certain || (yield* this.#pages.page(number + 1)).rows.length > 0;
    }
    return {
      rows,
      hasNextPage: rowsFollow,
      hasPreviousPage: isBefore(FIRST_PLACE, start),
      total: this.#pages.total,
    };
  }

  *#backwards(start: Place, end: Place, rowsFollow: boolean, count: number): Steps<Window<R>> {
    const rows: WindowRow<R>[] = [];
    let { page: number, index } = end;
    let page = yield* this.#pages.page(number);
    let names = page.distinct ? null : this.#pages.identities(page.rows);
    const seen = new Set(names?.slice(index));
    while (rows.length < count && isBefore(start, { page: number, index })) {
      if (index > 0) {
        index -= 1;
        if (index >= page.rows.length) continue;
        const name = names?.[index];
        if (name === undefined || !seen.has(name)) rows.unshift(new StandingRow(this, page, index));
        if (name !== undefined) seen.add(name);
      } else {
        for (const name of names ? [] : this.#pages.identities(page.rows)) seen.add(name);
        // A cursor can point past the end, where all pages are empty.
        const end = page.rows.length > 0 ? number : (this.#pages.lastPage ?? number);
        if (end >= number)
          yield* this.#pages.ahead(page, count - rows.length, { downTo: start.page });
        number = Math.max(start.page, Math.min(number - 1, end));
        page = yield* this.#pages.page(number);
        index = page.rows.length;
        names = this.#pages.identities(page.rows);
      }
    }
    return {
      rows,
      hasNextPage: rowsFollow,
      hasPreviousPage: isBefore(FIRST_PLACE, { page: number, index }),
      total: this.#pages.total,
    };
  }

  /** The position after the last row. */
  *#end(): Steps<Place> {
    let number = this.#pages.lastPage ?? 1;
    let page = yield* this.#pages.page(number);
    while (!page.last) {
      number = Math.max(number + 1, this.#pages.lastPage ?? 0);
      page = yield* this.#pages.page(number);
    }
    while (page.rows.length === 0 && number > 1) {
      number = Math.min(number - 1, this.#pages.lastPage ?? number);
      page = yield* this.#pages.page(number);
    }
    return { page: number, index: page.rows.length };
  }

  /**
   * The cursor of a row, derived only from its page, without neighbors of other pages: the same row of the same page
   * has the same cursor, regardless of other reads. In a sorted list, neighbors have the same value: one with another
   * value can get this value later, and is then at any place among them.
   */
  cursor({ number, perPage, rows, total }: ListPage<R>, index: number): string {
    const row = rows[index] as R;
    const value = this.#pages.sortedBy?.(row);
    const from = Math.max(0, index - NEIGHBORS.before);
    const near = rows.slice(from, index + 1 + NEIGHBORS.behind);
    const { name: list } = this.#pages;
    const names = this.#pages.identities(near);
    const isNear = (_name: string, n: number) => this.#pages.sortedBy?.(near[n] as R) === value;
    const own = index - from;
    return encodeCursor({
      list,
      page: number,
      index,
      perPage,
      identity: names[own] as string,
      before: names.filter((name, n) => n < own && isNear(name, n)).toReversed(),
      behind: names.filter((name, n) => n > own && isNear(name, n)),
      ...(total === null ? {} : { total }),
      ...(value === undefined ? {} : { sorted: { value } }),
    });
  }
}

/**
 * A row at its position on a page of a walk. Most operations select few cursors or none, so each is created on
 * access. It is a class, because an object with its own getter uses memory that is freed late.
 */
class StandingRow<R extends Row> implements WindowRow<R> {
  readonly #walk: Walk<R>;
  readonly #page: ListPage<R>;
  readonly #index: number;
  readonly node: R;

  constructor(walk: Walk<R>, page: ListPage<R>, index: number) {
    this.#walk = walk;
    this.#page = page;
    this.#index = index;
    this.node = page.rows[index] as R;
  }

  get cursor(): string {
    return this.#walk.cursor(this.#page, this.#index);
  }
}

/** Whether a position is before another. */
function isBefore(a: Place, b: Place): boolean {
  return a.page < b.page || (a.page === b.page && a.index < b.index);
}
