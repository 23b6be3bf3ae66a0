import type {
  DecodeContext,
  List,
  Page,
  PageArrival,
  PageContents,
  PageTraits,
  Read,
  Row,
} from '../request.ts';
import type { PageConsistency, Received } from './consistency/page-consistency.ts';
import { isRepeated, type PageEnd, pageEndOf, totalOf } from './consistency/page-end.ts';

/** Additional properties of the read of a page. */
export type PageReadOptions = Partial<
  Pick<PageTraits<unknown>, 'uncertain' | 'further' | 'reload'>
> &
  Pick<Read<unknown>, 'strict'> & {
    /** Whether an upstream that does not have the page has shown the end of the list. */
    readonly mayBeAbsent?: boolean;
  };

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
  readonly #size: number;
  readonly elsewhereTags: readonly string[];
  readonly #consistency: PageConsistency;

  /** `consistency` is notified of every response. */
  constructor(
    list: List<R>,
    page: { readonly number: number; readonly size: number },
    consistency: PageConsistency,
    {
      uncertain = false,
      further,
      mayBeAbsent = false,
      reload = false,
      strict = false,
    }: PageReadOptions = {},
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
    this.absentIsNull = mayBeAbsent || (list.absentIsNull ?? false);
    this.further = further;
    this.uncertain = uncertain;
    this.reload = reload;
    this.strict = strict;
    this.#list = list;
    this.#number = page.number;
    this.#size = page.size;
    this.#consistency = consistency;
  }

  decode(body: unknown, context: DecodeContext): Page<R> {
    const page = this.#list.decode(body, context);
    const total = this.#list.paged ? totalOf(page, this.#number, this.#size) : page.total;
    const result = total === page.total ? undefined : page.total;
    const found = { ...page, total, ...(result !== undefined && { result }) };
    const received = this.#received(found, this.reload ? 'again' : 'new');
    const distinct = new Set(received.identities).size === page.rows.length;
    return { ...found, distinct, arrival: this.#consistency.arrived(found, received) };
  }

  stamped(page: Page<R> | null, askedAt: number): void {
    if (page) this.#consistency.stamped(page, askedAt);
  }

  adopt(page: Page<R> | null, askedAt: number): Page<R> | null {
    if (!page) return null;
    const received = this.#received(page, 'adopted');
    return { ...page, arrival: this.#consistency.adopted(page, received, askedAt) };
  }

  #received({ rows }: Page<R>, as: Received['as']): Received {
    return { number: this.#number, identities: identitiesOf(this.#list, rows), as };
  }

  contents(page: Page<R> | null): PageContents | null {
    if (!page) return null;
    const isLast = !this.#list.paged || pageEndOf(page, this.#number, this.#size).last;
    return contentsOf(this.#list, page, { number: this.#number, isLast });
  }

  lateTags(page: Page<R> | null): readonly string[] {
    return this.#list.rowTags?.(page?.rows ?? []) ?? [];
  }
}

/** The tag touched by a write that removes rows from the lists of many parents. */
export const ROWS_LEFT = 'rows left';

/** The identities of rows within their list. */
export function identitiesOf<R extends Row>(list: List<R>, rows: readonly R[]): readonly string[] {
  return list.identities?.(rows) ?? rows.map(({ id }) => String(id));
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

/** How a page was requested, and what it says of the end of its list. */
interface ArrivedPage {
  readonly number: number;
  readonly pageSize: number;
  readonly writes: number;
  readonly end: PageEnd;
}

/** The page of a list in a response; `pageSize` rows were requested. */
export function listPageOf<R extends Row>(
  list: List<R>,
  page: Page<R>,
  { end, number, pageSize, writes }: ArrivedPage,
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

/** What one page shows of its list, for what is recorded of it over time. */
function contentsOf<R extends Row>(
  { about, count, paged, path, query, resource }: List<R>,
  { rows, total }: Page<R>,
  { isLast, number }: Pick<PageContents, 'isLast' | 'number'>,
): PageContents {
  return {
    resource,
    path,
    number,
    rows,
    count,
    total: paged ? total : rows.length,
    isLast,
    isWhole: query === undefined && about === undefined,
  };
}
