import type { List, Page, Row } from '../request.ts';
import { promisedLastPage } from './outlines.ts';

/** A page as it is worked with: its number, its rows, and whether the list ends with it. */
export interface ListPage<R extends Row> {
  readonly number: number;
  readonly rows: readonly R[];
  readonly last: boolean;
  readonly perPage: number;
  readonly total: number | null;
  /**
   * Whether `last` is beyond doubt. Where an upstream tells neither the number of pages nor that of
   * rows, a page can promise another one that turns out to be empty.
   */
  readonly certain: boolean;
  /** See `Page.placeholder`: `rows` is then empty, and `perPage` how many rows it is taken to have. */
  readonly placeholder: ((rows: number) => R) | null;
  /** See `Page.arrival`. */
  readonly arrival?: number | undefined;
  /** See `Page.distinct`. */
  readonly distinct?: boolean;
  /** Writes to the list that it surely shows. See `Agreement.writes`. */
  readonly writes: number;
}

/** The page size of a list that comes whole. */
const WHOLE = 1_000_000;

/** What a page of a list's answer comes to; `pageSize` rows were asked for. */
export function listPageOf<R extends Row>(
  list: List<R>,
  page: Page<R>,
  {
    number,
    pageSize,
    writes,
  }: { readonly number: number; readonly pageSize: number; readonly writes: number },
): ListPage<R> {
  const { total, placeholder = null, arrival, distinct = false } = page;
  if (!list.paged) {
    const { rows } = page;
    const perPage = WHOLE;
    return {
      number,
      rows,
      last: true,
      perPage,
      total,
      certain: true,
      placeholder,
      arrival,
      distinct,
      writes,
    };
  }
  const perPage = page.perPage ?? pageSize;
  // Asked for a page past the end, some upstreams answer with the last one once more.
  const beyond = page.currentPage !== null && page.currentPage < number;
  const last = isLastPage(page, number);
  const certain = last || promisedLastPage(page) !== null;
  const rows = beyond ? [] : page.rows;
  return { number, rows, last, perPage, total, certain, placeholder, arrival, distinct, writes };
}

/**
 * Whether no page follows `page`, which was asked for as number `requestedPage` (from 1). The paging
 * members contradict each other on real installations, so each is believed only where it stops:
 * `nextpage` can repeat the current page or keep growing past the end, and `maxpage` can be missing.
 */
export function isLastPage(page: Page<Row>, requestedPage: number): boolean {
  if (page.sent === 0) return true;
  const current = page.currentPage ?? requestedPage;
  // Asked for a page past the end, some installations answer with the last one again.
  if (current < requestedPage) return true;
  if (page.maxPage !== null && current >= page.maxPage) return true;
  if (page.nextPage !== null && page.nextPage <= current) return true;
  if (page.maxPage !== null) return false;
  if (page.total !== null) {
    if (page.perPage !== null) return current * page.perPage >= page.total;
    if (current === 1 && page.sent >= page.total) return true;
  }
  return page.nextPage === null;
}
