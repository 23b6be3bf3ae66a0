import type { DecodeContext, List, Page, PageContents, PageTraits, Read, Row } from '../request.ts';
import { contentsOf } from './page-contents.ts';

/** Additional properties of the read of a page. */
export type PageReadOptions = Partial<
  Pick<PageTraits<unknown>, 'uncertain' | 'further' | 'reload'>
> &
  Pick<Read<unknown>, 'strict'>;

/**
 * The read of one page of a list; its value is `null` if its parent is absent. It is a class, because there is one
 * for every page that is looked up, and the remembered part of a read must not reference its operation.
 */
export class PageRead<R extends Row> implements Read<Page<R> | null>, PageTraits<Page<R> | null> {
  readonly page = this;
  readonly keyed = { scope: '', key: '' };
  readonly method = 'GET';
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly resource: Read<unknown>['resource'];
  readonly tags: readonly string[];
  readonly inFlightTags: readonly string[];
  readonly about: number | undefined;
  readonly absentIsNull: boolean;
  readonly further: PageTraits<unknown>['further'];
  readonly uncertain: boolean;
  readonly reload: boolean;
  readonly strict: boolean;
  readonly #list: List<R>;
  readonly #number: number;
  readonly elsewhereTags: readonly string[];
  readonly #consistency: PageConsistency;

  /** `consistency` is notified of every response. */
  constructor(
    list: List<R>,
    page: { readonly number: number; readonly size: number },
    consistency: PageConsistency,
    { uncertain = false, further, reload = false, strict = false }: PageReadOptions = {},
  ) {
    this.path = list.path;
    this.query = list.paged
      ? { ...list.query, limit: String(page.size), page: String(page.number) }
      : (list.query ?? {});
    this.resource = list.resource;
    this.tags = list.tags;
    this.inFlightTags = list.inFlightTags ?? [];
    this.elsewhereTags = list.rowTags ? [ROWS_LEFT] : [];
    this.about = list.about;
    this.absentIsNull = list.absentIsNull ?? false;
    this.further = further;
    this.uncertain = uncertain;
    this.reload = reload;
    this.strict = strict;
    this.#list = list;
    this.#number = page.number;
    this.#consistency = consistency;
  }

  decode(body: unknown, context: DecodeContext): Page<R> {
    const page = this.#list.decode(body, context);
    const identities = page.rows.map((row) => identityOf(this.#list, row));
    const distinct = new Set(identities).size === identities.length;
    return { ...this.#consistency.arrived(page, this.reload), distinct };
  }

  stamped(page: Page<R> | null, askedAt: number): void {
    if (page) this.#consistency.stamped(page, askedAt);
  }

  adopt(page: Page<R> | null, askedAt: number): Page<R> | null {
    return page && this.#consistency.adopted(page, askedAt);
  }

  contents(page: Page<R> | null): PageContents | null {
    if (!page) return null;
    const isLast = !this.#list.paged || isLastPage(page, this.#number);
    return contentsOf(this.#list, page, { number: this.#number, isLast });
  }

  lateTags(page: Page<R> | null): readonly string[] {
    return page?.rows.flatMap((row) => this.#list.rowTags?.(row) ?? []) ?? [];
  }
}

/** The tag touched by a write that removes rows from the lists of many parents. */
export const ROWS_LEFT = 'rows left';

/** The identity of a row within its list. */
export function identityOf<R extends Row>(list: List<R>, row: R): string {
  return list.identity?.(row) ?? String(row.id);
}

/** A page with its number, its rows, and whether it is the last of the list. */
export interface ListPage<R extends Row> {
  readonly number: number;
  readonly rows: readonly R[];
  readonly last: boolean;
  readonly perPage: number;
  readonly total: number | null;
  /**
   * Whether `last` is certain. If an upstream sends neither the number of pages nor the number of rows, a page can
   * announce a next page that is empty.
   */
  readonly certain: boolean;
  /** See `Page.placeholder`: `rows` is then empty, and `perPage` is the assumed number of rows. */
  readonly placeholder: ((rows: number) => R) | null;
  /** See `Page.arrival`. */
  readonly arrival?: number | undefined;
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

/** The page of a list in a response; `pageSize` rows were requested. */
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
  if (!list.paged) return wholePage(page.rows, { total, placeholder, arrival, distinct, writes });
  const perPage = page.perPage ?? pageSize;
  // For a page past the end, some upstreams repeat the last one.
  const beyond = page.currentPage !== null && page.currentPage < number;
  const last = isLastPage(page, number);
  const certain = last || promisedLastPage(page) !== null;
  const rows = beyond ? [] : page.rows;
  return { number, rows, last, perPage, total, certain, placeholder, arrival, distinct, writes };
}

/**
 * Whether no page follows `page`, which was requested as number `requestedPage` (from 1). The paging members
 * contradict each other on real installations, so each is used only to stop: `nextpage` can repeat the current
 * page or keep growing past the end, and `maxpage` can be missing.
 */
export function isLastPage(page: Page<Row>, requestedPage: number): boolean {
  if (page.sent === 0) return true;
  const current = page.currentPage ?? requestedPage;
  // For a page past the end, some installations repeat the last one.
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
 * The number of the last page, as far as known after a page was read; `before` is the value known before. `follows`
 * is whether the previous page is known: an empty page far behind the end does not show where the end is.
 */
export function lastPageAfter(
  { number, last, rows }: ListPage<Row>,
  page: Page<Row>,
  { before, follows }: { readonly before: number | null; readonly follows: boolean },
): number | null {
  const promised = promisedLastPage(page);
  if (last && rows.length === 0 && number > 1) {
    const known = promised ?? before ?? (follows ? number : null);
    return known === null ? null : Math.max(1, Math.min(number - 1, known));
  }
  if (last) return number;
  if (promised !== null) return promised;
  return before !== null && before > number ? before : null;
}

/** The number of the last page, as an earlier page states it; null if it does not. */
export function promisedLastPage(page: Page<Row>): number | null {
  if (page.maxPage !== null) return page.maxPage;
  if (page.total === null || page.perPage === null) return null;
  return Math.ceil(page.total / page.perPage);
}

/** Maximum number of repeated reads that a list can save up. */
const MOST_SPARE = 100;
/** Number of unchanged repeated reads in a row after which a contradiction is considered permanent. */
const MOST_DOUBT = 2;

/** The compared properties of a page. */
interface Compared {
  /** The ordinal of its response among those of its list; absent if unknown. */
  readonly arrival?: number | undefined;
  readonly total: number | null;
}

/**
 * Checks whether the pages of one list, read at different times, are consistent: if other clients add or delete rows
 * in between, a row can be on two pages or on none. The older page is then read again. The number of such reads is
 * at most the number of other reads of the list; there are none if they do not help.
 */
export class PageConsistency {
  #arrivals = 0;
  #adopted = 0;
  /** The total of the latest page, when it arrived, and when it was requested, if needed. */
  #latest: { readonly arrival: number; readonly total: number; askedAt?: number } | null = null;
  /** Arrivals of pages that are outdated for another reason. */
  readonly #outdated = new Set<number>();
  #spare = 0;
  #doubt = 0;

  /** How many writes of this process have changed the list. */
  writes = 0;

  /** Records a received page; `again` if it replaces an outdated one. */
  arrived<R extends Row>(page: Page<R>, again: boolean): Page<R> {
    this.#arrivals += 1;
    const arrival = this.#arrivals;
    if (!again) this.#spare = Math.min(MOST_SPARE, this.#spare + 1);
    if (page.total !== null) this.#latest = { arrival, total: page.total };
    return { ...page, arrival };
  }

  /** When a received page was requested, on the clock of the cache. */
  stamped({ arrival }: Page<Row>, askedAt: number): void {
    if (this.#latest && this.#latest.arrival === arrival) this.#latest.askedAt = askedAt;
  }

  /** Adds a page that another replica has read to the received ones, in the order of requests. */
  adopted<R extends Row>(page: Page<R>, askedAt: number): Page<R> {
    if (askedAt > (this.#latest?.askedAt ?? Number.NEGATIVE_INFINITY) || !this.#latest) {
      const latest = this.arrived(page, true);
      this.stamped(latest, askedAt);
      return latest;
    }
    this.#adopted += 1;
    return { ...page, arrival: this.#latest.arrival - 1 / (1 + this.#adopted) };
  }

  /** Whether a newer page contradicts this page, and reading it again can help. */
  isOutdated({ arrival, total }: Compared): boolean {
    if (arrival === undefined || this.#spare < 1 || this.#doubt >= MOST_DOUBT) return false;
    if (this.#outdated.has(arrival)) return true;
    const latest = this.#latest;
    return latest !== null && total !== null && arrival < latest.arrival && total !== latest.total;
  }

  /** Two pages have a row in common: the older one is outdated. */
  overlap(a: Compared, b: Compared): void {
    if (a.arrival === undefined || b.arrival === undefined || a.arrival === b.arrival) return;
    this.#outdated.add(Math.min(a.arrival, b.arrival));
  }

  /** An outdated page is about to be read again. */
  spend({ arrival }: Compared): void {
    this.#spare -= 1;
    if (arrival !== undefined) this.#outdated.delete(arrival);
  }

  /** Compares an outdated page with the result of reading it again. */
  judge(outdated: Page<Row>, page: Page<Row>): void {
    // Nothing newer was available.
    if (page.arrival === outdated.arrival) return;
    const ids = ({ rows }: Page<Row>) => rows.map(({ id }) => id).join();
    const sameRows = ids(page) === ids(outdated);
    this.#doubt = sameRows && page.total === outdated.total ? this.#doubt + 1 : 0;
    // Rows would have been lost or returned twice: such a read is necessary, and not counted.
    if (!sameRows) this.#spare = Math.min(MOST_SPARE, this.#spare + 1);
  }

  /** A copy with the same state that changes independently. */
  copy(): PageConsistency {
    const copy = new PageConsistency();
    copy.writes = this.writes;
    copy.#arrivals = this.#arrivals;
    copy.#latest = this.#latest;
    copy.#spare = this.#spare;
    copy.#doubt = this.#doubt;
    for (const arrival of this.#outdated) copy.#outdated.add(arrival);
    return copy;
  }
}
