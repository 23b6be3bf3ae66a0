import { BoundedMap } from '../../bounded-map.ts';
import type { Resource } from '../../resources.ts';
import type { List, Row } from '../request.ts';
import { PageConsistency } from './page/page-consistency.ts';
import { PageRead, type PageReadOptions } from './page/page-read.ts';

/** Maximum number of remembered pages of one list: a search for a row checks all of them. */
const MOST_PAGES = 500;

/**
 * The numbers of a list's pages that may be cached or in flight. Callers can request any number by a cursor, so
 * their number is bounded, and the highest are removed first.
 */
class AskedPages extends Set<number> {
  #furthest = 0;

  override add(number: number): this {
    super.add(number);
    this.#furthest = Math.max(this.#furthest, number);
    if (this.size > MOST_PAGES) this.delete(this.#furthest);
    return this;
  }

  override delete(number: number): boolean {
    const isThere = super.delete(number);
    if (number === this.#furthest) this.#furthest = Math.max(0, ...this);
    return isThere;
  }

  /** A copy that changes independently. */
  copy(): AskedPages {
    const copy = new AskedPages();
    for (const number of this) copy.add(number);
    return copy;
  }
}

/** Number of first pages of a list whose read objects are reused. */
export const MOST_READS = 8;

/** What is known of a list from the pages read so far. Used only to choose reads; results come from the pages. */
export class Outline {
  /** Number of rows of a page; null if no page was read yet. */
  perPage: number | null = null;
  /** Number of the last page; null when it is not known. */
  lastPage: number | null = null;
  /** Minimum number of rows of a page that is not the last; null if no page has shown or stated it. */
  surePerPage: number | null = null;
  /** The list, as last requested. */
  list: List<Row> | null = null;
  /** Its key; `null` for a list whose filters are too long to be remembered. */
  readonly key: string | null;
  /** The owner of the list: cache and budget of one credential. */
  readonly partition: string;
  /** The pages that may be cached or in flight. */
  readonly asked: AskedPages;
  /** Whether its pages show the same state of the list. */
  readonly consistency: PageConsistency;
  /** The existing reads of its first pages, by page number: each is created once. */
  readonly #reads = new Map<number, PageRead<Row>>();

  constructor(
    key: string | null,
    partition: string,
    asked = new AskedPages(),
    consistency = new PageConsistency(),
  ) {
    this.key = key;
    this.partition = partition;
    this.asked = asked;
    this.consistency = consistency;
  }

  /** The read of a page of `size` rows: the same object each time, unless it has additional properties. */
  read<R extends Row>(
    list: List<R>,
    page: { readonly number: number; readonly size: number },
    more: PageReadOptions = {},
  ): PageRead<R> {
    const { further, mayBeAbsent, reload, strict, uncertain } = more;
    const isPlain = !uncertain && !mayBeAbsent && !reload && !strict && further === undefined;
    const known = isPlain ? this.#reads.get(page.number) : undefined;
    if (known) return known as PageRead<R>;
    const read = new PageRead(list, page, this.consistency, more);
    if (isPlain && page.number <= MOST_READS) this.#reads.set(page.number, read);
    return read;
  }

  /** A copy that changes independently. */
  copy(): Outline {
    const { asked, consistency, key, lastPage, list, partition, perPage, surePerPage } = this;
    const copy = new Outline(key, partition, asked.copy(), consistency.copy());
    return Object.assign(copy, { lastPage, list, perPage, surePerPage });
  }
}

/** Lists whose outline is remembered; the least recently used is removed first. */
const OUTLINES_REMEMBERED = 2000;
/** Maximum length of the filters of a remembered list, in characters: callers determine it. */
const LONGEST_FILTERS = 1000;

/** The outlines of lists, by partition. */
export class Outlines {
  readonly #outlines = new BoundedMap<Outline>({ max: OUTLINES_REMEMBERED });
  /** The outlines from which this starts. It does not change them. */
  readonly #original: Outlines | null;
  /** The minimum that `#original` assumes for lists that were never read, by partition and kind. */
  readonly #leastSure = new Map<string, number>();

  constructor(original: Outlines | null = null) {
    this.#original = original;
  }

  /** The outline of a list: a blank one, which `remember` keeps, for a list that is not known. */
  of(list: Pick<List<Row>, 'path' | 'query'>, partition: string): Outline {
    const key = keyOf(list, partition);
    return this.#known(key) ?? new Outline(key, partition);
  }

  /** Keeps the outline of a list that is read, until `forget`. */
  remember(outline: Outline): void {
    const { key } = outline;
    if (key !== null && this.#outlines.peek(key) !== outline) this.#outlines.set(key, outline);
  }

  /** Forgets a list if nothing is known of it and no read is in flight. */
  forget(outline: Outline): void {
    const { asked, key, lastPage, perPage } = outline;
    if (asked.size > 0 || perPage !== null || (lastPage ?? 0) > 0) return;
    if (key !== null && this.#outlines.peek(key) === outline) this.#outlines.delete(key);
  }

  /**
   * Minimum number of rows of a page that is not the last. A list that was never read is like the others of its kind,
   * which have the same endpoint; 0 if none of them was read. Other kinds can have another page size.
   */
  surePerPage({ partition, surePerPage }: Outline, resource: Resource): number {
    if (surePerPage !== null) return surePerPage;
    const name = `${partition} ${resource}`;
    const least =
      this.#leastSure.get(name) ?? (this.#original ?? this).#leastOf(partition, resource);
    if (this.#original) this.#leastSure.set(name, least);
    return least;
  }

  #leastOf(partition: string, resource: Resource): number {
    let least = Number.POSITIVE_INFINITY;
    for (const { list, surePerPage, ...each } of this.#outlines.values()) {
      if (list?.resource !== resource || each.partition !== partition) continue;
      least = Math.min(least, surePerPage ?? least);
    }
    return Number.isFinite(least) ? least : 0;
  }

  #known(key: string | null): Outline | undefined {
    if (key === null) return undefined;
    const own = this.#outlines.get(key);
    if (own || !this.#original) return own;
    const copy = this.#original.#outlines.peek(key)?.copy();
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

  /** Notifies the lists with one of these tags that they were changed. */
  written(partition: string, tags: ReadonlySet<string>): void {
    if (this.#original) return;
    for (const { list, consistency } of this.in(partition)) {
      const all = [...(list?.tags ?? []), ...(list?.inFlightTags ?? [])];
      if (all.some((tag) => tags.has(tag))) consistency.writes += 1;
    }
  }
}

/** See `Outline.key`. */
function keyOf({ path, query }: Pick<List<Row>, 'path' | 'query'>, partition: string) {
  if (!query) return `${partition} ${path}?`;
  const length = Object.values(query).reduce((sum, value) => sum + value.length, 0);
  return length > LONGEST_FILTERS ? null : `${partition} ${path}?${new URLSearchParams(query)}`;
}
