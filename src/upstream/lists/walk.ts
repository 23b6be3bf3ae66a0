import { type AtOnce, type Steps, takeAll, takeSteps, until } from '../../scheduling/at-once.ts';
import type { Access } from '../operation.ts';
import type { List, Row } from '../request.ts';
import { FIRST_PLACE, findPlace, type Place, type Side } from './anchor.ts';
import { type Cursor, encodeCursor, NEIGHBORS } from './cursor.ts';
import { identityOf, type ListPage } from './list-page.ts';
import type { Lists } from './pages.ts';

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
  readonly count: number;
  readonly fromBack: boolean;
}

/** The list, and the credential to read it with. */
export interface ListSource<R extends Row> {
  readonly lists: Lists;
  readonly list: List<R>;
  readonly access: Access;
}

/** Thrown by a walk over a list whose parent is absent. */
export const PARENT_ABSENT = Symbol('parent absent');
/** Thrown by a walk of a dry run over unknown rows. */
export const PLACEHOLDERS = Symbol('placeholders');

/** A walk over the pages of one list, which reads each page at most once. */
export class Walk<R extends Row> {
  readonly #source: ListSource<R>;
  readonly #filter: ((row: R) => boolean) | undefined;
  readonly #pages = new Map<number, ListPage<R>>();

  constructor(source: ListSource<R>, filter: ((row: R) => boolean) | undefined) {
    this.#source = source;
    this.#filter = filter;
  }

  /** `further`: see `PageTraits.further`. */
  *#page(number: number, further?: number): Steps<ListPage<R>> {
    const read = this.#pages.get(number);
    if (read) return read;
    const { lists, list, access } = this.#source;
    const listPage = yield* until(lists.page(list, number, access, { further }));
    if (listPage === null) throw PARENT_ABSENT;
    if (listPage.placeholder) throw PLACEHOLDERS;
    const filter = this.#filter;
    const page = filter
      ? { ...listPage, rows: listPage.rows.filter((row) => filter(row)) }
      : listPage;
    this.#pages.set(number, page);
    return page;
  }

  /** Number of rows of the whole list: as the latest page states it, or all that pass the filter. */
  get #total(): number | null {
    let latest: ListPage<R> | null = null;
    for (const page of this.#pages.values()) {
      if (this.#filter || !this.#source.list.paged) return page.rows.length;
      const isLater = (page.arrival ?? 0) >= (latest?.arrival ?? 0);
      if (page.total !== null && isLater) latest = page;
    }
    return latest?.total ?? null;
  }

  /**
   * Removes the pages that are older than others and contradict them, so that they are read again. Returns whether
   * there are any: then everything derived from the pages must be derived again.
   */
  forgetOutdated(): boolean {
    // A single page is always consistent.
    if (this.#pages.size < 2) return false;
    const { lists, list, access } = this.#source;
    const { consistency } = lists.outline(list, access);
    for (const page of this.#pages.values()) {
      const next = this.#pages.get(page.number + 1);
      if (next && this.#share(page, next)) consistency.overlap(page, next);
    }
    const outdated = [...this.#pages.values()].filter(
      (page) => consistency.isOutdated(page) || page.writes < consistency.writes,
    );
    for (const { number } of outdated) this.#pages.delete(number);
    return outdated.length > 0;
  }

  /** Whether the row at the edge of a page is also on the adjacent page. */
  #share(page: ListPage<R>, next: ListPage<R>): boolean {
    const [last, first] = [page.rows.at(-1), next.rows[0]];
    if (!last || !first) return false;
    const [a, b] = [this.#identity(last), this.#identity(first)];
    return (
      next.rows.some((row) => this.#identity(row) === a) ||
      page.rows.some((row) => this.#identity(row) === b)
    );
  }

  /** Cuts a part out of the list. See `readWindow`. */
  *cut({ after, before, count, fromBack }: WindowPart): Steps<Window<R>> {
    const start = after ? yield* until(this.#find(after, 'after')) : FIRST_PLACE;
    const end = before ? yield* until(this.#find(before, 'before')) : null;
    if (!fromBack) return yield* this.#forwards(start, end, count);
    return yield* this.#backwards(start, end ?? (yield* this.#end()), end !== null, count);
  }

  /** The position just after (`after`) or just before (`before`) the row of a cursor. See `findPlace`. */
  #find(cursor: Cursor, side: Side): AtOnce<Place> {
    const { lists, list, access } = this.#source;
    return findPlace(cursor, side, {
      page: (number) => takeSteps(this.#page(number)),
      identity: (row) => this.#identity(row),
      perPage: lists.outline(list, access).perPage,
    });
  }

  *#forwards(start: Place, end: Place | null, count: number): Steps<Window<R>> {
    const rows: WindowRow<R>[] = [];
    let { page: number, index } = start;
    let page = yield* this.#page(number);
    // Most windows end on their first page, where no row occurs twice. Rows before the start count as seen, because
    // pages with rows in common repeat some of them at the start of the next page.
    let seen = page.distinct ? null : this.#identities(page.rows.slice(0, index));
    const more = () => !end || isBefore({ page: number, index }, end);
    while (rows.length < count && more()) {
      const row = page.rows[index];
      if (row) {
        const identity = seen && this.#identity(row);
        if (identity === null || !seen?.has(identity)) {
          rows.push(new StandingRow(this, page, index));
        }
        if (identity !== null) seen?.add(identity);
        index += 1;
      } else {
        if (page.last) break;
        seen ??= this.#identities(page.rows);
        yield* this.#ahead(page, count - rows.length, { upTo: end?.page });
        number += 1;
        index = 0;
        page = yield* this.#page(number);
      }
    }
    let rowsFollow = index < page.rows.length;
    if (!rowsFollow && !page.last) {
      rowsFollow = page.certain || (yield* this.#page(number + 1)).rows.length > 0;
    }
    return {
      rows,
      hasNextPage: rowsFollow,
      hasPreviousPage: isBefore(FIRST_PLACE, start),
      total: this.#total,
    };
  }

  *#backwards(start: Place, end: Place, rowsFollow: boolean, count: number): Steps<Window<R>> {
    const rows: WindowRow<R>[] = [];
    let { page: number, index } = end;
    let page = yield* this.#page(number);
    const seen = this.#identities(page.rows.slice(index));
    while (rows.length < count && isBefore(start, { page: number, index })) {
      const row = page.rows[index - 1];
      if (index > 0) {
        index -= 1;
        const identity = row && this.#identity(row);
        if (row && identity !== undefined && !seen.has(identity)) {
          rows.unshift(new StandingRow(this, page, index));
          seen.add(identity);
        }
      } else {
        // A cursor can point past the end, where all pages are empty.
        const end = page.rows.length > 0 ? number : (this.#lastPage ?? number);
        if (end >= number) yield* this.#ahead(page, count - rows.length, { downTo: start.page });
        number = Math.max(start.page, Math.min(number - 1, end));
        page = yield* this.#page(number);
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

  /** The position after the last row. */
  *#end(): Steps<Place> {
    let number = this.#lastPage ?? 1;
    let page = yield* this.#page(number);
    while (!page.last) {
      number = Math.max(number + 1, this.#lastPage ?? 0);
      page = yield* this.#page(number);
    }
    while (page.rows.length === 0 && number > 1) {
      number = Math.min(number - 1, this.#lastPage ?? number);
      page = yield* this.#page(number);
    }
    return { page: number, index: page.rows.length };
  }

  /**
   * Reads in one turn the pages that the next `wanted` rows certainly fill, within the known pages: those after a
   * page up to another one, or those before it down to another one.
   */
  *#ahead(
    from: ListPage<R>,
    wanted: number,
    towards: { readonly upTo: number | undefined } | { readonly downTo: number },
  ): Steps<void> {
    const known = this.#lastPage ?? from.number + 1;
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
    yield* until(takeAll(numbers.map((number) => this.#page(number, perPage))));
  }

  /** The list's last page, as far as it is known. */
  get #lastPage(): number | null {
    const { lists, list, access } = this.#source;
    return lists.outline(list, access).lastPage;
  }

  #identity(row: R): string {
    return identityOf(this.#source.list, row);
  }

  #identities(rows: readonly R[]): Set<string> {
    return new Set(rows.map((row) => this.#identity(row)));
  }

  /**
   * The cursor of a row, derived only from its page, without neighbors of other pages: the same row of the same page
   * has the same cursor, regardless of other reads.
   */
  cursor({ number, perPage, rows, total }: ListPage<R>, index: number): string {
    const names = (some: readonly R[]) => some.map((each) => this.#identity(each));
    return encodeCursor({
      page: number,
      index,
      perPage,
      identity: this.#identity(rows[index] as R),
      before: names(rows.slice(Math.max(0, index - NEIGHBORS.before), index).toReversed()),
      behind: names(rows.slice(index + 1, index + 1 + NEIGHBORS.behind)),
      ...(total === null ? {} : { total }),
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
