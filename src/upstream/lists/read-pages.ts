import { crc32 } from 'node:zlib';
import { GatewayError } from '../../errors.ts';
import { type Steps, takeAll, until } from '../../scheduling/at-once.ts';
import type { Access } from '../operation.ts';
import type { List, PageTraits, Row } from '../request.ts';
import type { Cursor } from './cursor.ts';
import { type ListPage, unrepeated, WHOLE } from './page/list-page.ts';
import { PageComparison } from './page/page-comparison.ts';
import { identitiesOf } from './page/page-read.ts';
import type { Lists } from './pages.ts';
import type { SortValue } from './views/view.ts';

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

/** Pages of a list that are read to compute one of its views: 100,000 rows on pages of 100. */
export const MOST_PAGES_OF_VIEW = 1000;

/** The pages that are read ahead: those after a page up to another one, or those before it down to another one. */
export type Ahead = { readonly upTo: number | undefined } | { readonly downTo: number };

/** The pages that a walk goes over, each read at most once. */
export interface WalkedPages<R extends Row> {
  page(number: number): Steps<ListPage<R>>;
  /** Reads in one turn the pages that the next `wanted` rows certainly fill, within the known pages. */
  ahead(from: ListPage<R>, wanted: number, towards: Ahead): Steps<void>;
  readonly identities: (rows: readonly R[]) => readonly string[];
  /** A short name that other lists do not have, nor other views of this one: the cursors of each are its own. */
  readonly name: string;
  /** Number of rows of the whole list, as the latest page states it; null if it does not. */
  readonly total: number | null;
  /** Number of rows of a page; null if no page was read before. */
  readonly perPage: number | null;
  /** Rows that are requested for a page. */
  readonly pageSize: number;
  /** The number of the last page, as far as it is known. */
  readonly lastPage: number | null;
  /** The value that the rows are sorted by, for a cursor; absent for a list in its own order. */
  sortedBy?(row: R): SortValue;
  /** The indices on the first page between which rows have the sort value of a cursor; absent as above. */
  runOf?(cursor: Cursor): { readonly from: number; readonly to: number } | null;
  /**
   * Removes the pages that others contradict, so that they are read again. Returns whether there are any: then
   * everything derived from the pages must be derived again.
   */
  forgetOutdated(): boolean;
}

/** All pages of a list, in order. */
type AllPages<R extends Row> = readonly [ListPage<R>, ...ListPage<R>[]];

/** See `WalkedPages.name`; `view` is the key of the view. */
export function nameOf({ path, query }: Pick<List<Row>, 'path' | 'query'>, view = ''): string {
  return crc32(JSON.stringify([path, query, view])).toString(36);
}

/** The pages of a list as the upstream has them. */
export class ReadPages<R extends Row> implements WalkedPages<R> {
  readonly #source: ListSource<R>;
  readonly #pages = new Map<number, ListPage<R>>();
  /** Most walks read one page, and compare none. */
  #comparison: PageComparison<R> | null = null;
  readonly identities: WalkedPages<R>['identities'];
  readonly #view: string;
  #name: string | null = null;

  /** `view` is the key of the view that they are read for; empty for the list in its own order. */
  constructor(source: ListSource<R>, view = '') {
    this.#source = source;
    this.#view = view;
    this.identities = (rows) => identitiesOf(source.list, rows);
  }

  get name(): string {
    this.#name ??= nameOf(this.#source.list, this.#view);
    return this.#name;
  }

  /**
   * `further`: see `PageTraits.further`.
   * @throws PARENT_ABSENT
   * @throws PLACEHOLDERS
   */
  *page(number: number, further?: PageTraits<unknown>['further']): Steps<ListPage<R>> {
    const read = this.#pages.get(number);
    if (read) return read;
    const { lists, list, access } = this.#source;
    const before = this.#pages.get(number - 1);
    const mayBeAbsent = before?.certain === false;
    const found = yield* until(lists.page(list, number, access, { further, mayBeAbsent }));
    if (found === null) throw PARENT_ABSENT;
    if (found.placeholder) throw PLACEHOLDERS;
    const page = before ? unrepeated(found, before) : found;
    this.#pages.set(number, page);
    return page;
  }

  /**
   * All pages of the list, in order. Costs one upstream request for each uncached page. If the first page says how
   * many there are, the others are requested together, and either all of them or none are sent.
   * @throws GatewayError `OPERATION_TOO_EXPENSIVE` if the others do not fit, or are too many for any operation.
   */
  *all(): Steps<AllPages<R>> {
    for (;;) {
      const pages = yield* this.#everyPage();
      for (const { number } of this.#pages.values()) {
        if (number > pages.length) this.#pages.delete(number);
      }
      if (!this.forgetOutdated()) return pages;
    }
  }

  *#everyPage(): Steps<AllPages<R>> {
    const pages: [ListPage<R>, ...ListPage<R>[]] = [yield* this.page(1)];
    while (!pages.at(-1)?.last) {
      const read = pages.length;
      const end = Math.max(this.lastPage ?? 0, read + 1);
      if (end > MOST_PAGES_OF_VIEW) throw this.#tooLong(end - read);
      const numbers = Array.from({ length: end - read }, (_, n) => read + n + 1);
      const others = yield* until(takeAll(numbers.map((number) => this.page(number, 'whole'))));
      const isLast = others.findIndex(({ last }) => last);
      pages.push(...(isLast < 0 ? others : others.slice(0, isLast + 1)));
    }
    return pages;
  }

  #tooLong(needed: number): GatewayError {
    const { upstream } = this.#source.lists.client;
    return new GatewayError(
      'OPERATION_TOO_EXPENSIVE',
      `The list has more than ${MOST_PAGES_OF_VIEW} pages, too many to search, filter or sort. Request it in its own order.`,
      { details: { upstream, limit: MOST_PAGES_OF_VIEW, needed, left: 0 } },
    );
  }

  get total(): number | null {
    return this.#countRows() ?? this.#statedTotal;
  }

  /** The number of all rows, if all pages were read; null otherwise. */
  #countRows(): number | null {
    const rows: R[] = [];
    for (let number = 1; ; number += 1) {
      const page = this.#pages.get(number);
      if (!page) return null;
      rows.push(...page.rows);
      if (page.last)
        return page.distinct && number === 1 ? rows.length : new Set(this.identities(rows)).size;
    }
  }

  get #statedTotal(): number | null {
    let latest: ListPage<R> | null = null;
    for (const page of this.#pages.values()) {
      const isLater = (page.arrival?.at ?? 0) >= (latest?.arrival?.at ?? 0);
      if (page.total !== null && isLater) latest = page;
    }
    return latest?.total ?? null;
  }

  /** @throws GatewayError see `PageComparison.outdated`. */
  forgetOutdated(): boolean {
    if (this.#pages.size < 2) return false;
    this.#comparison ??= new PageComparison({
      upstream: this.#source.lists.client.upstream,
      identities: this.identities,
      consistency: () => this.#outline.consistency,
    });
    const outdated = this.#comparison.outdated(this.#pages);
    for (const number of outdated) this.#pages.delete(number);
    return outdated.size > 0;
  }

  *ahead(from: ListPage<R>, wanted: number, towards: Ahead): Steps<void> {
    const known = this.lastPage ?? from.number + 1;
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
    yield* until(takeAll(numbers.map((number) => this.page(number, perPage))));
  }

  get perPage(): number | null {
    return this.#source.list.paged ? this.#outline.perPage : WHOLE;
  }

  get pageSize(): number {
    return this.#source.lists.pageSize;
  }

  get lastPage(): number | null {
    return this.#source.list.paged ? this.#outline.lastPage : 1;
  }

  get #outline(): ReturnType<Lists['outline']> {
    const { lists, list, access } = this.#source;
    return lists.outline(list, access);
  }
}
