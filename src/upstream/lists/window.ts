import { BadUserInput } from '../../errors.ts';
import type { Access } from '../operation.ts';
import type { List, Row } from '../request.ts';
import { findPlace, isBefore, type Place, type Side } from './anchor.ts';
import { type Cursor, decodeCursor, encodeCursor, NEIGHBORS } from './cursor.ts';
import type { ListPage, Lists } from './pages.ts';

/** Which part of a list: Relay's arguments. */
export interface WindowArguments {
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
  readonly last?: number | null | undefined;
  readonly before?: string | null | undefined;
}

/** A row, and where it stands: `cursor` is made when it is asked for. */
interface WindowRow<R> {
  readonly row: R;
  readonly cursor: string;
}

/** A part of a list, in the list's order. */
export interface Window<R> {
  readonly rows: readonly WindowRow<R>[];
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
  /** Rows of the whole list; `null` when the upstream does not say. */
  readonly total: number | null;
}

/** Rows of a window when neither `first` nor `last` is given. */
export const DEFAULT_WINDOW = 20;
/** Most rows of a window. */
const MAX_WINDOW = 500;

/** Which list, by whom. */
export interface ListSource<R extends Row> {
  readonly lists: Lists;
  readonly list: List<R>;
  readonly access: Access;
}

/**
 * Cuts a window out of a list; `null` when the list's parent is absent. Upstream calls: one for each
 * page that the window touches and that is not cached; a window from the end of a list that was never
 * read costs one more, which finds the end. `filter` leaves rows out of a list that comes whole.
 * @throws BadUserInput `BAD_USER_INPUT` for arguments that name no window, before any call.
 */
export async function readWindow<R extends Row>(
  source: ListSource<R>,
  { first, after, last, before }: WindowArguments,
  filter?: (row: R) => boolean,
): Promise<Window<R> | null> {
  if (first != null && last != null) throw new BadUserInput('Pass "first" or "last", not both.');
  const count = checkCount(first ?? last ?? DEFAULT_WINDOW, last == null ? 'first' : 'last');
  const afterCursor = after == null ? null : decodeCursor(after, 'after');
  const beforeCursor = before == null ? null : decodeCursor(before, 'before');
  const walk = new Walk(source, filter);
  try {
    const start = afterCursor ? await walk.find(afterCursor, 'after') : FIRST_PLACE;
    const end = beforeCursor ? await walk.find(beforeCursor, 'before') : null;
    if (last == null) return await walk.forwards(start, end, count);
    return await walk.backwards(start, end ?? (await walk.end()), end !== null, count);
  } catch (error) {
    if (error === PARENT_ABSENT) return null;
    if (error !== PLACEHOLDERS) throw error;
    const from = afterCursor?.page ?? (last == null ? 1 : (beforeCursor?.page ?? null));
    return placeholderWindow(source, from, count);
  }
}

/**
 * A window of a dry run, where not all rows are known: it has as many as are asked for, on full pages.
 * `from` is its first page, or null where the end of the list would have to be found: then it is
 * reckoned with that it is not far.
 */
async function placeholderWindow<R extends Row>(
  { lists, list, access }: ListSource<R>,
  from: number | null,
  count: number,
): Promise<Window<R>> {
  const rows: WindowRow<R>[] = [];
  let number = from ?? 1;
  do {
    const page = await lists.page(list, number, access, from === null);
    number += 1;
    if (!page || page.rows.length === 0) break;
    for (const row of page.rows) if (rows.length < count) rows.push({ row, cursor: '' });
  } while (rows.length < count && list.paged);
  return { rows, hasNextPage: false, hasPreviousPage: false, total: null };
}

const FIRST_PLACE: Place = { page: 1, index: 0 };
const PARENT_ABSENT = Symbol('parent absent');
const PLACEHOLDERS = Symbol('placeholders');

function checkCount(count: number, name: 'first' | 'last'): number {
  if (count >= 0 && count <= MAX_WINDOW) return count;
  throw new BadUserInput(`"${name}" must be from 0 to ${MAX_WINDOW}, not ${count}.`);
}

/** A walk over the pages of one list, which reads each page at most once. */
class Walk<R extends Row> {
  readonly #source: ListSource<R>;
  readonly #filter: ((row: R) => boolean) | undefined;
  readonly #pages = new Map<number, ListPage<R>>();
  /** A list without pages that is filtered has as many rows as pass the filter. */
  #total: number | null = null;

  constructor(source: ListSource<R>, filter: ((row: R) => boolean) | undefined) {
    this.#source = source;
    this.#filter = filter;
  }

  async page(number: number): Promise<ListPage<R>> {
    const read = this.#pages.get(number);
    if (read) return read;
    const { lists, list, access } = this.#source;
    const listPage = await lists.page(list, number, access);
    if (listPage === null) throw PARENT_ABSENT;
    if (listPage.placeholder) throw PLACEHOLDERS;
    const filter = this.#filter;
    const rows = filter ? listPage.rows.filter((row) => filter(row)) : listPage.rows;
    const page = { ...listPage, rows };
    this.#total = filter || !list.paged ? rows.length : (listPage.total ?? this.#total);
    this.#pages.set(number, page);
    return page;
  }

  /** The place just behind (`after`) or of (`before`) the row that a cursor names. See `findPlace`. */
  find(cursor: Cursor, side: Side): Promise<Place> {
    const { lists, list, access } = this.#source;
    return findPlace(cursor, side, {
      page: (number) => this.page(number),
      identity: (row) => this.#identity(row),
      perPage: lists.outline(list, access).perPage,
    });
  }

  async forwards(start: Place, end: Place | null, count: number): Promise<Window<R>> {
    const rows: WindowRow<R>[] = [];
    const seen = new Set<string>();
    let { page: number, index } = start;
    let page = await this.page(number);
    const more = () => !end || isBefore({ page: number, index }, end);
    while (rows.length < count && more()) {
      const row = page.rows[index];
      if (row) {
        const identity = this.#identity(row);
        if (!seen.has(identity)) rows.push(this.#windowRow(row, page, index));
        seen.add(identity);
        index += 1;
      } else {
        if (page.last) break;
        await this.#ahead(page, count - rows.length, { upTo: end?.page });
        number += 1;
        index = 0;
        page = await this.page(number);
      }
    }
    let rowsFollow = index < page.rows.length;
    if (!rowsFollow && !page.last) {
      rowsFollow = page.certain || (await this.page(number + 1)).rows.length > 0;
    }
    return {
      rows,
      hasNextPage: rowsFollow,
      hasPreviousPage: isBefore(FIRST_PLACE, start),
      total: this.#total,
    };
  }

  async backwards(
    start: Place,
    end: Place,
    rowsFollow: boolean,
    count: number,
  ): Promise<Window<R>> {
    const rows: WindowRow<R>[] = [];
    const seen = new Set<string>();
    let { page: number, index } = end;
    let page = await this.page(number);
    while (rows.length < count && isBefore(start, { page: number, index })) {
      const row = page.rows[index - 1];
      if (index > 0) {
        index -= 1;
        const identity = row && this.#identity(row);
        if (row && identity !== undefined && !seen.has(identity)) {
          rows.unshift(this.#windowRow(row, page, index));
          seen.add(identity);
        }
      } else {
        await this.#ahead(page, count - rows.length, { downTo: start.page });
        number -= 1;
        page = await this.page(number);
        index = page.rows.length;
      }
    }
    return {
      rows,
      hasNextPage: rowsFollow,
      hasPreviousPage: isBefore(FIRST_PLACE, { page: number, index }),
      total: this.#total,
    };
  }

  /** The place behind the last row. */
  async end(): Promise<Place> {
    const { lists, list, access } = this.#source;
    let number = lists.outline(list, access).lastPage ?? 1;
    let page = await this.page(number);
    while (!page.last) {
      number = Math.max(number + 1, lists.outline(list, access).lastPage ?? 0);
      page = await this.page(number);
    }
    while (page.rows.length === 0 && number > 1) {
      number = Math.min(number - 1, lists.outline(list, access).lastPage ?? number);
      page = await this.page(number);
    }
    return { page: number, index: page.rows.length };
  }

  /**
   * Reads at once the pages that the next `wanted` rows surely fill, as far as they are known to be:
   * after a page up to one, or before it down to one.
   */
  async #ahead(
    from: ListPage<R>,
    wanted: number,
    towards: { readonly upTo: number | undefined } | { readonly downTo: number },
  ): Promise<void> {
    const { lists, list, access } = this.#source;
    const known = lists.outline(list, access).lastPage ?? from.number + 1;
    const [step, limit] =
      'downTo' in towards
        ? ([-1, towards.downTo] as const)
        : ([1, Math.min(known, towards.upTo ?? known)] as const);
    const perPage = Math.max(1, from.perPage, from.rows.length);
    const numbers: number[] = [];
    for (let n = 1; n <= Math.ceil(wanted / perPage); n += 1) {
      const number = from.number + step * n;
      if (step * number <= step * limit) numbers.push(number);
    }
    await Promise.all(numbers.map((number) => this.page(number)));
  }

  #identity(row: R): string {
    return this.#source.list.identity?.(row) ?? String(row.id);
  }

  #windowRow(row: R, page: ListPage<R>, index: number): WindowRow<R> {
    const cursor = () => this.#cursor(page, index);
    return {
      row,
      get cursor() {
        return cursor();
      },
    };
  }

  #cursor(page: ListPage<R>, index: number): string {
    const { number, perPage, total } = page;
    const rows = { before: page.rows.slice(0, index), behind: page.rows.slice(index + 1) };
    for (let at = number - 1; rows.before.length < NEIGHBORS.before; at -= 1) {
      const earlier = this.#pages.get(at);
      if (!earlier) break;
      rows.before.unshift(...earlier.rows);
    }
    for (let at = number + 1; rows.behind.length < NEIGHBORS.behind; at += 1) {
      const later = this.#pages.get(at);
      if (!later) break;
      rows.behind.push(...later.rows);
    }
    const names = (some: R[]) => some.map((each) => this.#identity(each));
    return encodeCursor({
      page: number,
      index,
      perPage,
      identity: this.#identity(page.rows[index] as R),
      before: names(rows.before.slice(-NEIGHBORS.before).toReversed()),
      behind: names(rows.behind.slice(0, NEIGHBORS.behind)),
      ...(total === null ? {} : { total }),
    });
  }
}
