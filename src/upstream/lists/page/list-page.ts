import type { List, Page, PageArrival, Row } from '../../request.ts';

/** What a page says of the end of its list. */
export interface PageEnd {
  /** Whether no page follows. */
  readonly last: boolean;
  /** Whether that is certain: otherwise the next page can be empty, or repeat this one. */
  readonly certain: boolean;
  /** The number of the last page, as the page states it; null if it does not. */
  readonly lastPage: number | null;
}

/** A page with its number, its rows, and whether it is the last of the list. */
export interface ListPage<R extends Row> {
  readonly number: number;
  readonly rows: readonly R[];
  readonly last: boolean;
  readonly perPage: number;
  readonly total: number | null;
  /** See `PageEnd.certain`. */
  readonly certain: boolean;
  /** See `Page.placeholder`: `rows` is then empty, and `perPage` is the assumed number of rows. */
  readonly placeholder: ((rows: number) => R) | null;
  /** See `Page.arrival`. */
  readonly arrival?: PageArrival | undefined;
  /** See `Page.distinct`. */
  readonly distinct?: boolean;
  /** Number of writes to the list that the page certainly shows. See `PageConsistency.writes`. */
  readonly writes: number;
}

/** The page size of a list that is returned whole, and of a view. */
export const WHOLE = 1_000_000;

/** Rows as one page that is the whole list. */
export function wholePage<R extends Row>(
  rows: readonly R[],
  more: Partial<ListPage<R>> = {},
): ListPage<R> {
  return {
    number: 1,
    rows,
    last: true,
    perPage: WHOLE,
    total: rows.length,
    certain: true,
    placeholder: null,
    distinct: true,
    writes: 0,
    ...more,
  };
}

/** The paging members of a page, as sent, and the number of its rows. */
type Sent = Omit<Page<Row>, 'rows'>;

/** `result`, also if it is not the total. */
function resultOf({ result, total }: Sent): number | null {
  return result ?? total;
}

/**
 * Whether a page that was requested as number `requested` is an earlier one: past the end, some installations repeat
 * the last page. Where the other members say that there is such a page, `currentpage` is wrong.
 */
export function isRepeated(page: Sent, requested: number): boolean {
  const { currentPage, maxPage, perPage } = page;
  const total = resultOf(page);
  if (currentPage === null || currentPage >= requested) return false;
  const isIn = maxPage !== null && maxPage >= requested;
  return !isIn && (total === null || perPage === null || total <= (requested - 1) * perPage);
}

/**
 * What a page says of the end of its list; it was requested as number `number`, with `size` rows. On real
 * installations `nextpage`, `maxpage` and `result` contradict each other, so what two of them say decides. Where one
 * stands against one, the next page is read as well, unless `nextpage` just keeps growing.
 */
export function pageEndOf(page: Sent, number: number, size: number): PageEnd {
  const { maxPage, nextPage, perPage, sent } = page;
  const total = resultOf(page);
  const stated = [maxPage, total && perPage ? Math.ceil(total / perPage) : null];
  if (sent === 0 || isRepeated(page, number)) {
    const lastPage = number === 1 ? 1 : (stated.find((each) => each !== null) ?? null);
    return { last: true, certain: true, lastPage };
  }
  const next = nextPage === null ? null : nextPage > number;
  const max = maxPage === null ? null : maxPage > number;
  // `result` can be the number of rows of the page: on a first page, both mean the same.
  const isEither = number === 1 && total === sent;
  const rest = isEither ? null : saysMore(page, number, size);
  const says = [next, max, rest];
  const more = says.filter((each) => each === true).length;
  const end = says.filter((each) => each === false).length;
  if (more === 0 && end === 0) {
    const isFull = sent >= (perPage ?? size);
    return { last: !isFull, certain: !isFull, lastPage: isFull ? null : number };
  }
  if (end > more || (end === more && next === true)) {
    return { last: true, certain: true, lastPage: number };
  }
  // Without the size of the pages, a short last page looks as one of many short ones.
  const isSure = max === true || (rest === true && (perPage !== null || number === 1));
  const certain = isSure && more > end + (isEither ? 1 : 0);
  const ahead = stated.filter((each) => each !== null && each > number) as number[];
  const isKnown = certain && ahead.length > 0;
  return { last: false, certain, lastPage: isKnown ? Math.min(...ahead) : null };
}

/**
 * A page, or the empty page past the end if it has the rows of the page before it: an upstream that ignores the number
 * of a page, or repeats the last one, may not say so.
 */
export function unrepeated<R extends Row>(
  page: ListPage<R>,
  before: ListPage<R> | null | undefined,
): ListPage<R> {
  if (!before || before.certain || page.rows.length === 0) return page;
  const isSame =
    page.rows.length === before.rows.length &&
    page.rows.every(({ id }, n) => id === before.rows[n]?.id);
  return isSame ? { ...page, rows: [], last: true, certain: true } : page;
}

/** Whether `result` says that rows follow those of a page; null if it cannot be the total. */
function saysMore(page: Sent, number: number, size: number): boolean | null {
  const { perPage, sent } = page;
  const total = resultOf(page);
  if (total === null || total < sent + number - 1) return null;
  if (number === 1) return total > sent;
  if (perPage === null) return total !== (number - 1) * size + sent && total > number * sent;
  const before = (number - 1) * perPage;
  return total <= before ? null : total > before + Math.min(sent, perPage);
}

/** `result`, if neither the rows of the page nor its other members contradict that it is the total; otherwise null. */
export function totalOf(page: Sent, requested: number, size: number): number | null {
  const { currentPage, maxPage, perPage, sent } = page;
  const total = resultOf(page);
  const number = isRepeated(page, requested) ? (currentPage ?? 1) : requested;
  if (total === null || total < sent) return null;
  if (sent === 0) return number === 1 ? (total === 0 ? 0 : null) : total || null;
  // Each page before has at least one row.
  if (total < sent + number - 1) return null;
  const before = perPage === null && number > 1 ? null : (number - 1) * (perPage ?? 0);
  if (before !== null && number > 1 && total <= before) return null;
  if (pageEndOf(page, number, size).last)
    return before === null || total <= before + sent ? total : null;
  const isMore = saysMore(page, number, size);
  const isIn =
    maxPage === null ||
    perPage === null ||
    (total > (maxPage - 1) * perPage && total <= maxPage * perPage);
  return isMore === true && isIn ? total : null;
}

/** The page of a list in a response; `pageSize` rows were requested. */
export function listPageOf<R extends Row>(
  list: List<R>,
  page: Page<R>,
  {
    end,
    number,
    pageSize,
    writes,
  }: Pick<ListPage<R>, 'number' | 'writes'> & { readonly end: PageEnd; readonly pageSize: number },
): ListPage<R> {
  const { total, placeholder = null, arrival, distinct = false } = page;
  if (!list.paged) return wholePage(page.rows, { total, placeholder, arrival, distinct, writes });
  const perPage = page.perPage ?? pageSize;
  const { last, certain } = end;
  const rows = isRepeated(page, number) ? [] : page.rows;
  return { number, rows, last, perPage, total, certain, placeholder, arrival, distinct, writes };
}

/** The minimum number of rows of a page, from the pages read `before` and one more. */
export function surePerPageAfter(
  { last, rows }: ListPage<Row>,
  page: Page<Row>,
  before: number | null,
): number | null {
  const seen = last ? page.perPage : rows.length;
  return seen === null || before === null ? (seen ?? before) : Math.min(seen, before);
}

/**
 * The number of the last page, as far as known after a page was read, which itself states `promised`; `before` is the value known before. `follows`
 * is whether the previous page is known: an empty page far behind the end does not show where the end is.
 */
export function lastPageAfter(
  { number, last, rows }: ListPage<Row>,
  promised: number | null,
  { before, follows }: { readonly before: number | null; readonly follows: boolean },
): number | null {
  if (last && rows.length === 0 && number > 1) {
    const known = promised ?? before ?? (follows ? number : null);
    return known === null ? null : Math.max(1, Math.min(number - 1, known));
  }
  if (last) return number;
  if (promised !== null) return promised;
  return before !== null && before > number ? before : null;
}
