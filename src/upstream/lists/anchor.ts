import type { Steps } from '../../scheduling/at-once.ts';
import type { Row } from '../request.ts';
import { type Cursor, NEIGHBORS } from './cursor.ts';
import type { ListPage } from './page/list-page.ts';
import type { WalkedPages } from './read-pages.ts';

/** A position between two rows of a list: before the row at `index`. */
export interface Place {
  readonly page: number;
  /** Index in the page's rows. Equal to their number for the position after the last row. */
  readonly index: number;
}

/** The place before the first row. */
export const FIRST_PLACE: Place = { page: 1, index: 0 };

/** A bound for forged cursors: no list has more pages, and larger integers are not exact. */
const FURTHEST_PAGE = 1_000_000_000;

/** The rows of a cursor are searched on the pages with at most this many rows before and after its former page. */
const ROWS_MOVED = 30;

/** The pages of a list as they are now: each costs 0 or 1 upstream request. */
export type Pages<R extends Row> = Pick<
  WalkedPages<R>,
  'identities' | 'lastPage' | 'page' | 'pageSize' | 'perPage' | 'runOf'
>;

/** Which side of a cursor's row is wanted. */
export type Side = 'after' | 'before';

/**
 * Finds the position just after (`after`) or just before (`before`) the row of a cursor: by the identity of the row,
 * first on its former page, then on the pages to which rows move; otherwise between its neighbors; otherwise by the
 * number of rows before it. In a sorted list, only rows with the sort value of the cursor are considered, because the
 * value of its row can have changed. Costs one upstream request for the former page, and one for each further page
 * that is needed to be certain.
 */
export function* findPlace<R extends Row>(
  cursor: Cursor,
  side: Side,
  pages: Pages<R>,
): Steps<Place> {
  const { page, place, sample } = yield* formerPage(cursor, pages);
  const run = pages.runOf?.(cursor);
  if (run) return placeInRun(cursor, side, { page, pages, run });
  const anchor = new Anchor(cursor, side, place, pages, sample.perPage);
  anchor.look(page);
  for (let next = anchor.nextPage(); next !== null; next = anchor.nextPage()) {
    anchor.look(yield* pages.page(next));
  }
  return anchor.place;
}

/** The page with a position of a list as it was counted before, and one that shows the page size. */
function* formerPage<R extends Row>(
  position: PagedIndex,
  pages: Pages<R>,
): Steps<{ page: ListPage<R>; place: Place; sample: ListPage<R> }> {
  let place = rebase(position, pages.perPage ?? position.perPage);
  let page = yield* pages.page(place.page);
  // Past the end of the list, the page size is unknown.
  const sample = page.rows.length > 0 ? page : yield* pages.page(1);
  if (sample.perPage !== position.perPage && !(sample.last && sample.number === 1)) {
    place = rebase(position, sample.perPage);
    page = yield* pages.page(place.page);
  }
  return { page, place, sample };
}

/** The place of a cursor in a list that is sorted, and one page. */
function placeInRun<R extends Row>(
  cursor: Cursor,
  side: Side,
  { page, pages, run: { from, to } }: InRun<R>,
): Place {
  const former = { page: 1, index: cursor.index - from };
  const anchor = new Anchor(cursor, side, former, pages, page.perPage);
  anchor.look({ ...page, rows: page.rows.slice(from, to) });
  const { found } = anchor;
  if (found) return { page: 1, index: from + found.index };
  // Of the rows with this value, those named by the cursor are gone: rather all others again than none of them.
  return { page: 1, index: side === 'after' ? from : to };
}

interface InRun<R extends Row> {
  readonly page: ListPage<R>;
  readonly pages: Pages<R>;
  readonly run: { readonly from: number; readonly to: number };
}

/**
 * Finds the place behind a number of rows, or behind the last row if there are fewer. Costs one upstream request for
 * the page with that place, and one more if the page size or the end of the list has to be found out.
 */
export function* findOffset<R extends Row>(offset: number, pages: Pages<R>): Steps<Place> {
  const { lastPage, pageSize } = pages;
  const position = { ...placeOfOffset(offset, pageSize), perPage: pageSize };
  const { page: expected } = placeOfOffset(offset, pages.perPage ?? pageSize);
  if (lastPage !== null && expected > lastPage) {
    // A cached last page shows that there are no more rows.
    const end = yield* pages.page(Math.max(1, lastPage));
    if (end.last && (end.rows.length > 0 || end.number === 1)) return endOf(end);
  }
  const { page, place, sample } = yield* formerPage(position, pages);
  if (page.rows.length === 0 && sample.rows.length === 0) return FIRST_PLACE;
  return page.last && place.index > page.rows.length ? endOf(page) : place;
}

function endOf({ number, rows }: ListPage<Row>): Place {
  return { page: number, index: rows.length };
}

/** The known positions of a cursor's row and its neighbors. */
class Anchor<R extends Row> {
  readonly #cursor: Cursor;
  readonly #side: Side;
  readonly #origin: Place;
  readonly #pages: Pages<R>;
  readonly #perPage: number;
  readonly #looked = new Map<number, ListPage<R>>();
  /** The row itself; the nearest row before it; the nearest behind it. */
  #row: Place | null = null;
  #before: (Place & { readonly rank: number }) | null = null;
  #behind: (Place & { readonly rank: number }) | null = null;
  /** By how many rows the list has grown since the cursor was created; negative if it has shrunk. */
  #growth = 0;

  constructor(cursor: Cursor, side: Side, origin: Place, pages: Pages<R>, perPage: number) {
    this.#cursor = cursor;
    this.#side = side;
    this.#origin = origin;
    this.#pages = pages;
    this.#perPage = perPage;
  }

  /** Looks for the row and its neighbors in a page. */
  look(page: ListPage<R>): void {
    const { identity, before = [], behind = [], total } = this.#cursor;
    this.#looked.set(page.number, page);
    if (total !== undefined && page.total !== null) this.#growth = page.total - total;
    const { index } = this.#origin;
    const at = (each: number): Place => ({ page: page.number, index: each });
    // Checks the former position first, because a row can occur twice, and pages can be long.
    const former = page.number === this.#origin.page ? page.rows[index] : undefined;
    if (former && this.#pages.identities([former])[0] === identity) {
      this.#row ??= at(index);
      return;
    }
    const identities = this.#pages.identities(page.rows);
    const found = identities.indexOf(identity);
    if (found >= 0) this.#row ??= at(found);
    for (const [each, name] of identities.entries()) {
      const rankBefore = before.indexOf(name);
      if (rankBefore >= 0 && rankBefore < (this.#before?.rank ?? Number.POSITIVE_INFINITY)) {
        this.#before = { ...at(each), rank: rankBefore };
      }
      const rankBehind = behind.indexOf(name);
      if (rankBehind >= 0 && rankBehind < (this.#behind?.rank ?? Number.POSITIVE_INFINITY)) {
        this.#behind = { ...at(each), rank: rankBehind };
      }
    }
  }

  /** The next page to search, or null if no page makes the position more certain. */
  nextPage(): number | null {
    const [before, behind] = [this.#before, this.#behind];
    if (this.#row) return null;
    if (before && behind) {
      return this.#firstUnseen(upFrom(before.page + 1, behind.page - before.page - 1));
    }
    // The row can be separated from its neighbors by a page boundary.
    if (before) return this.#firstUnseen([before.page + 1]);
    if (behind) return this.#firstUnseen([behind.page - 1]);
    const { page } = this.#origin;
    const guess = placeOfOffset(this.#originOffset + this.#growth, this.#perPage).page;
    const isInside = (this.#looked.get(page)?.rows.length ?? 0) > 0;
    const moved = this.#cursor.total === undefined ? ROWS_MOVED : Math.abs(this.#growth);
    const reach = isInside ? Math.ceil(Math.min(moved, ROWS_MOVED) / this.#perPage) || 1 : 1;
    const towards = this.#growth > 0 ? 1 : -1;
    const around = upFrom(1, reach).flatMap((away) => [
      page + towards * away,
      page - towards * away,
    ]);
    return this.#firstUnseen([guess, ...around]);
  }

  /** The requested position. */
  get place(): Place {
    return this.found ?? this.#placeByNumber();
  }

  /** The position next to the row or to a neighbor; null if none of them is left. */
  get found(): Place | null {
    const [row, before, behind, side] = [this.#row, this.#before, this.#behind, this.#side];
    if (row) return side === 'after' ? { ...row, index: row.index + 1 } : row;
    const behindBefore = before && { page: before.page, index: before.index + 1 };
    const between = side === 'after' ? (behindBefore ?? behind) : (behind ?? behindBefore);
    return between && { page: between.page, index: between.index };
  }

  /**
   * The position by the number of rows before it, if none of the known rows is left. If in doubt, rows are returned
   * twice rather than omitted.
   */
  #placeByNumber(): Place {
    const { before = [], behind = [], total } = this.#cursor;
    const offset = this.#originOffset;
    // The row itself and those named behind it are gone, and none of them from before the place.
    const grown = 1 + behind.length + this.#growth;
    if (this.#side === 'before') {
      return placeOfOffset(
        total === undefined ? offset : offset + Math.max(0, grown),
        this.#perPage,
      );
    }
    if (total === undefined ? this.#wasOnLastPage : offset + 1 + behind.length === total) {
      // All rows after the place are gone: each remaining one was before it, or is new.
      return total === undefined ? this.#lastPlace : placeOfOffset(offset + grown, this.#perPage);
    }
    return placeOfOffset(offset + Math.min(-before.length, grown), this.#perPage);
  }

  get #originOffset(): number {
    return (this.#origin.page - 1) * this.#perPage + this.#origin.index;
  }

  /** Whether the cursor's page was not full and the cursor names all rows after its own. */
  get #wasOnLastPage(): boolean {
    const { index, perPage, behind = [] } = this.#cursor;
    const named = behind.length > 0 && behind.length < NEIGHBORS.behind;
    return named && index + 1 + behind.length < perPage;
  }

  /** After the last row of the searched pages. */
  get #lastPlace(): Place {
    const pages = [...this.#looked.values()].filter(({ rows }) => rows.length > 0);
    const last = pages.reduce<ListPage<R> | null>(
      (a, b) => (a && a.number > b.number ? a : b),
      null,
    );
    return last ? { page: last.number, index: last.rows.length } : FIRST_PLACE;
  }

  /** The first of these pages that is in the list and was not searched yet. */
  #firstUnseen(numbers: readonly number[]): number | null {
    const ends = [...this.#looked.values()].filter(({ last }) => last).map(({ number }) => number);
    const end = Math.min(...ends, Number.POSITIVE_INFINITY);
    const unseen = numbers.find(
      (number) => number >= 1 && number <= end && !this.#looked.has(number),
    );
    return unseen ?? null;
  }
}

/** `count` numbers from one on. */
function upFrom(first: number, count: number): number[] {
  return Array.from({ length: Math.max(0, count) }, (_, index) => first + index);
}

/** A position, and the page size that it refers to. */
type PagedIndex = Pick<Cursor, 'index' | 'page' | 'perPage'>;

/** A position in pages of another size. */
function rebase(
  { page, index, perPage }: Pick<Cursor, 'index' | 'page' | 'perPage'>,
  actual: number,
): Place {
  if (perPage === actual) return { page, index };
  return placeOfOffset((page - 1) * perPage + index, actual);
}

/** The position after a number of rows, if all pages are full. */
export function placeOfOffset(offset: number, perPage: number): Place {
  const rows = Math.max(0, offset);
  return { page: Math.min(FURTHEST_PAGE, Math.floor(rows / perPage) + 1), index: rows % perPage };
}
