import { BoundedMap } from '../../bounded-map.ts';
import type { List, Page, Row } from '../request.ts';
import { Agreement } from './agreement.ts';
import { AskedPages } from './asked-pages.ts';
import type { PageRead } from './page-read.ts';

/** What is known of a list from the pages read so far. It steers; the pages themselves decide. */
export interface Outline {
  /** Rows of a page; null when no page was read yet. */
  perPage: number | null;
  /** Number of the last page; null when it is not known. */
  lastPage: number | null;
  /** The pages that may be cached or in flight. */
  readonly asked: AskedPages;
  /** Rows that a page has at least, unless it is the last; null when no page has shown or said it. */
  surePerPage: number | null;
  /** Whose list it is: cache and budget of one credential. */
  readonly partition: string;
  /** Whether its pages were read of the same state of it. */
  readonly agreement: Agreement;
  /** The list itself, as it was last asked for. */
  list: List<Row> | null;
  /** The reads of its first pages that are there, by their numbers: each is made once. */
  readonly reads: Map<number, PageRead<Row>>;
}

/** Lists whose outline is remembered; the one least recently used is forgotten first. */
const OUTLINES_REMEMBERED = 2000;
/** Characters of its filters that a remembered list has at most: what callers write is no small thing. */
const LONGEST_FILTERS = 1000;

/** The outlines of lists, by partition. */
export class Outlines {
  readonly #outlines = new BoundedMap<Outline>({ max: OUTLINES_REMEMBERED });
  /** Whose outlines this one begins with, and leaves as they are. */
  readonly #original: Outlines | null;
  /** What lists that were never read are taken to be like, as of that one. */
  #sureBefore: number | null = null;

  constructor(original: Outlines | null = null) {
    this.#original = original;
  }

  /** The outline of a list, to look at: a blank one for a list that is not known. */
  of(list: Pick<List<Row>, 'path' | 'query'>, partition: string): Outline {
    return this.#known(keyOf(list, partition)) ?? blank(partition);
  }

  /** The outline of a list that is about to be read, to change. It is remembered until `forget`. */
  open(list: Pick<List<Row>, 'path' | 'query'>, partition: string): Outline {
    const key = keyOf(list, partition);
    const known = this.#known(key);
    if (known || key === null) return known ?? blank(partition);
    const outline = blank(partition);
    this.#outlines.set(key, outline);
    return outline;
  }

  /** Forgets a list of which nothing was learnt, and nothing is in flight. */
  forget(list: Pick<List<Row>, 'path' | 'query'>, outline: Outline): void {
    const { asked, lastPage, partition, perPage } = outline;
    if (asked.size > 0 || perPage !== null || (lastPage ?? 0) > 0) return;
    const key = keyOf(list, partition);
    if (key !== null && this.#outlines.peek(key) === outline) this.#outlines.delete(key);
  }

  /**
   * Rows that a page of a list surely has, unless it is the last; a list that was never read is taken to
   * be like the others. 0 when no list was read.
   */
  surePerPage(outline: Outline): number {
    if (outline.surePerPage !== null) return outline.surePerPage;
    if (!this.#original) return this.#leastSure;
    this.#sureBefore ??= this.#original.#leastSure;
    return this.#sureBefore;
  }

  get #leastSure(): number {
    let least = Number.POSITIVE_INFINITY;
    for (const { surePerPage } of this.#outlines.values()) {
      if (surePerPage !== null && surePerPage < least) least = surePerPage;
    }
    return Number.isFinite(least) ? least : 0;
  }

  #known(key: string | null): Outline | undefined {
    if (key === null) return undefined;
    const own = this.#outlines.get(key);
    if (own || !this.#original) return own;
    const copy = this.#original.copyOf(key);
    if (copy) this.#outlines.set(key, copy);
    return copy;
  }

  /** All outlines of a partition. */
  in(partition: string): Outline[] {
    const own = [...this.#outlines.values()].filter((outline) => outline.partition === partition);
    return [...(this.#original?.in(partition) ?? []), ...own];
  }

  /** Forgets all outlines of a partition. */
  forgetAll(partition: string): void {
    this.#outlines.forget((_, outline) => outline.partition === partition);
  }

  /** Lets the lists with one of these tags know that they were changed. */
  written(partition: string, tags: ReadonlySet<string>): void {
    if (this.#original) return;
    for (const { list, agreement } of this.in(partition)) {
      const all = [...(list?.tags ?? []), ...(list?.inFlightTags ?? [])];
      if (all.some((tag) => tags.has(tag))) agreement.writes += 1;
    }
  }

  /** A copy of an outline, which is not used by that. */
  private copyOf(key: string): Outline | undefined {
    const outline = this.#outlines.peek(key);
    if (!outline) return undefined;
    const { agreement, asked } = outline;
    return { ...outline, asked: asked.copy(), agreement: agreement.copy(), reads: new Map() };
  }
}

/** What a list is remembered under; `null` for one whose filters are too long to be remembered. */
function keyOf({ path, query }: Pick<List<Row>, 'path' | 'query'>, partition: string) {
  if (!query) return `${partition} ${path}?`;
  const length = Object.values(query).reduce((sum, value) => sum + value.length, 0);
  return length > LONGEST_FILTERS ? null : `${partition} ${path}?${new URLSearchParams(query)}`;
}

/** Rows that a page of a list has at least, by those read before and one more. */
export function surePerPageAfter(
  outline: Outline,
  page: Page<Row>,
  { last, rows }: { readonly last: boolean; readonly rows: readonly Row[] },
): number | null {
  const seen = last ? page.perPage : rows.length;
  if (seen === null || outline.surePerPage === null) return seen ?? outline.surePerPage;
  return Math.min(seen, outline.surePerPage);
}

/** The number of the list's last page after a page was read, as far as is known. */
export function lastPageAfter(
  {
    number,
    last,
    rows,
  }: { readonly number: number; readonly last: boolean; readonly rows: readonly Row[] },
  page: Page<Row>,
  outline: Outline,
): number | null {
  const promised = promisedLastPage(page);
  if (last && rows.length === 0 && number > 1) {
    return Math.max(1, Math.min(number - 1, promised ?? outline.lastPage ?? number));
  }
  if (last) return number;
  if (promised !== null) return promised;
  return outline.lastPage !== null && outline.lastPage > number ? outline.lastPage : null;
}

function blank(partition: string): Outline {
  return {
    perPage: null,
    lastPage: null,
    asked: new AskedPages(),
    surePerPage: null,
    partition,
    agreement: new Agreement(),
    list: null,
    reads: new Map(),
  };
}

/** The last page by what a page before it says; null when it does not say. */
export function promisedLastPage(page: Page<Row>): number | null {
  if (page.maxPage !== null) return page.maxPage;
  if (page.total === null || page.perPage === null) return null;
  return Math.ceil(page.total / page.perPage);
}
