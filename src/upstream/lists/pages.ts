import type { Credential } from '../../auth/credential.ts';
import type { AtOnce } from '../../scheduling/at-once.ts';
import type { Hit } from '../cache/cache.ts';
import type { Client } from '../client.ts';
import type { Access, Looking } from '../operation.ts';
import type { List, Page, Row, Write } from '../request.ts';
import { ListEvidence } from './list-evidence.ts';
import { MOST_READS, type Outline, Outlines } from './outlines.ts';
import {
  type ListPage,
  lastPageAfter,
  listPageOf,
  pageEndOf,
  surePerPageAfter,
} from './page/list-page.ts';
import { type PageRead, type PageReadOptions, ROWS_LEFT } from './page/page-read.ts';

/** A requested page. */
interface AskedPage<R extends Row> {
  readonly list: List<R>;
  readonly number: number;
  readonly access: Access;
  readonly outline: Outline;
  /** Number of writes to the list before the request: the response shows all of them. */
  readonly writes: number;
}

/**
 * The lists of one upstream. It always reads whole pages, so every window and every row of a cached page costs no
 * upstream request.
 *
 * Implements: Link API > Pagination members.
 */
export class Lists {
  readonly client: Client;
  /** Rows that are requested for a page. */
  readonly pageSize: number;
  readonly #outlines: Outlines;
  readonly #evidence = new ListEvidence(this);

  /** `pageSize` is the requested number of rows per page; if the upstream returns fewer, that page size is used. */
  constructor(client: Client, pageSize: number, outlines = new Outlines()) {
    this.client = client;
    this.pageSize = pageSize;
    this.#outlines = outlines;
  }

  /** The same lists for one dry run. Its rows are invented, so it does not change the outlines. */
  forDryRun(): Lists {
    return new Lists(this.client, this.pageSize, new Outlines(this.#outlines));
  }

  /**
   * One page of a list, `null` if its parent is absent. Costs 0 or 1 upstream request: a cached page that
   * contradicts a newer one is read again. `uncertain` if the page decides whether further ones are read;
   * `further` is `PageTraits.further`.
   */
  page<R extends Row>(
    list: List<R>,
    number: number,
    access: Access,
    more: PageReadOptions = {},
  ): AtOnce<ListPage<R> | null> {
    const asked = this.#ask(list, number, access);
    const { outline } = asked;
    const read = outline.read(list, { number, size: this.pageSize }, more);
    // If it throws, nothing was requested.
    const reading = this.client.read(read, access);
    const page =
      reading instanceof Promise
        ? reading.then((found) => this.#newer(asked, found, more))
        : this.#newer(asked, reading, more);
    if (page instanceof Promise) return this.#arrives(asked, page);
    this.#note(asked);
    return this.#arrived(asked, page);
  }

  #ask<R extends Row>(list: List<R>, number: number, access: Access): AskedPage<R> {
    const outline = this.#outlines.of(list, access.credential.partition);
    return { list, number, access, outline, writes: outline.consistency.writes };
  }

  /** Records that a page is requested. */
  #note<R extends Row>({ list, number, outline }: AskedPage<R>): void {
    outline.list = list;
    if (outline.asked.has(number)) return;
    outline.asked.add(number);
    this.#outlines.remember(outline);
  }

  async #arrives<R extends Row>(
    asked: AskedPage<R>,
    page: Promise<Page<R> | null>,
  ): Promise<ListPage<R> | null> {
    this.#note(asked);
    try {
      return this.#arrived(asked, await page);
    } catch (error) {
      this.#isNotThere(asked);
      throw error;
    }
  }

  /** Creates a page from a response, and updates the outline. */
  #arrived<R extends Row>(asked: AskedPage<R>, page: Page<R> | null): ListPage<R> | null {
    const { list, number, outline, writes } = asked;
    if (page === null) {
      const absent: ListPage<R> | null = this.#absent(number, outline, writes);
      this.#isNotThere(asked);
      return absent;
    }
    const { pageSize } = this;
    const end = pageEndOf(page, number, pageSize);
    const listPage = listPageOf(list, page, { end, number, pageSize, writes });
    if (listPage.placeholder) {
      this.#isNotThere(asked);
      return { ...listPage, perPage: list.paged ? (outline.perPage ?? pageSize) : 1 };
    }
    // Only an existing page is searched again.
    const isThere = listPage.rows.length > 0 || number === 1;
    if (isThere) outline.perPage = listPage.perPage;
    if (list.paged) outline.surePerPage = surePerPageAfter(listPage, page, outline.surePerPage);
    outline.lastPage = lastPageAfter(listPage, end.lastPage, {
      before: outline.lastPage,
      follows: outline.asked.has(number - 1),
    });
    if (!isThere) this.#isNotThere(asked);
    return listPage;
  }

  /** A page was not read, or is empty: it is not searched again, unless others have a newer result. */
  #isNotThere({ list, number, access, outline }: AskedPage<Row>): void {
    if (!this.#isKnown(list, number, access)) outline.asked.delete(number);
    this.#outlines.forget(outline);
  }

  /** A page, or its newer version if it is outdated. */
  #newer<R extends Row>(
    { list, number, access, outline }: AskedPage<R>,
    page: Page<R> | null,
    more: PageReadOptions,
  ): AtOnce<Page<R> | null> {
    const { consistency } = outline;
    if (page === null || !consistency.isOutdated(page)) return page;
    const again = outline.read(list, { number, size: this.pageSize }, { ...more, reload: true });
    const reading = this.client.read(again, access);
    consistency.spend();
    return reading;
  }

  #readOf<R extends Row>(list: List<R>, number: number, { credential }: Looking): PageRead<R> {
    const outline = this.#outlines.of(list, credential.partition);
    return outline.read(list, { number, size: this.pageSize });
  }

  /** The result for a page that does not exist; `null` if its parent is absent. */
  #absent<R extends Row>(number: number, outline: Outline, writes: number): ListPage<R> | null {
    const { asked, lastPage } = outline;
    if (number === 1 || lastPage !== null || asked.has(number - 1)) {
      outline.lastPage = Math.min(number - 1, lastPage ?? number);
    }
    if (number === 1) return null;
    // Some upstreams reject a page past the end; only the first page shows whether the parent exists.
    const perPage = outline.perPage ?? this.pageSize;
    const end = { rows: [], last: true, total: null, certain: true, placeholder: null };
    return { number, perPage, writes, ...end };
  }

  /** Whether a page is cached with rows on it, or in flight for another reader. */
  #isKnown(list: List<Row>, number: number, access: Access): boolean {
    if (this.inFlight(list, number, access)) return true;
    return (this.peek(list, number, access)?.rows ?? []).length > 0;
  }

  /**
   * Sends a write. See `Client.write`. A deletion from a list invalidates all its pages, including those without
   * the row: the rows after it move up, and each page contains the total.
   */
  write<T>(write: Write<T>, access: Access): Promise<T> {
    const { leaves } = write;
    const rowsLeft = leaves === undefined ? [] : [ROWS_LEFT];
    const touches = (result: T | null) => {
      const left = leaves === undefined ? [] : this.#listsWith([leaves], access.credential);
      const own = left.flatMap(({ ownTag }) => ownTag ?? []);
      const tags = [...write.touches(result), ...own, ...rowsLeft];
      this.#outlines.written(access.credential.partition, new Set(tags));
      return tags;
    };
    const mayTouch = [...write.touches(null), ...rowsLeft];
    return this.client.write({ ...write, touches, mayTouch }, access, this.#evidence);
  }

  /** The lists of which a cached page has a row with one of these tags. */
  #listsWith(rowTags: readonly string[], credential: Credential): List<Row>[] {
    const isTouched = (tag: string): boolean => rowTags.includes(tag);
    const has = (list: List<Row>, number: number): boolean => {
      const page = this.hit(list, number, { credential })?.entry.value;
      return list.rowTags?.(page?.rows ?? []).some(isTouched) === true;
    };
    return this.#outlines.in(credential.partition).flatMap(({ list, asked }) => {
      return list?.rowTags && [...asked].some((number) => has(list, number)) ? [list] : [];
    });
  }

  /** Records the first pages of a list that the process before has saved, for rows that are looked up by id. */
  noteSaved(list: List<Row>, access: Access): void {
    if (!this.client.hasSaved(access)) return;
    for (
      let number = 1;
      number <= Math.min(MOST_READS, this.#lastKnown(list, access));
      number += 1
    ) {
      if (this.outline(list, access).asked.has(number)) continue;
      const page = this.peek(list, number, access);
      if (!page) continue;
      const asked = this.#ask(list, number, access);
      this.#note(asked);
      this.#arrived(asked, page);
    }
  }

  /** The last page of a list, as far as known. */
  #lastKnown(list: List<Row>, access: Access): number {
    return list.paged ? (this.outline(list, access).lastPage ?? 1) : 1;
  }

  /** See `Client.refresh`. */
  refresh(list: List<Row>, number: number, credential: Credential): boolean {
    return this.client.refresh(this.#readOf(list, number, { credential }), credential);
  }

  /** The cache entry of a page in any state: for choosing what to read, not for reading it. */
  hit<R extends Row>(
    list: List<R>,
    number: number,
    looking: Looking,
  ): Hit<Page<R> | null> | undefined {
    return this.client.peek(this.#readOf(list, number, looking), looking);
  }

  /** The cached page, without refreshing it: see `Client.cachedValue`. */
  cachedPage<R extends Row>(
    list: List<R>,
    number: number,
    access: Access,
  ): Page<R> | null | undefined {
    return this.client.cachedValue(this.#readOf(list, number, access), access);
  }

  /** The page if the cache has it, and not only as a fallback, under the same conditions. */
  peek<R extends Row>(list: List<R>, number: number, access: Access): Page<R> | null | undefined {
    const hit = this.hit(list, number, access);
    return hit === undefined || hit.state === 'fallback' ? undefined : hit.entry.value;
  }

  /** Whether the page is in flight, so that it can be shared. */
  inFlight<R extends Row>(list: List<R>, number: number, access: Access): boolean {
    return this.client.inFlight(this.#readOf(list, number, access), access);
  }

  /** Forgets the outlines of the lists of a partition. */
  forget(partition: string): void {
    this.#outlines.forgetAll(partition);
  }

  /** Whether the first `count` rows of a list, or all if it has fewer, are certainly on its first page. */
  fitsFirstPage(list: List<Row>, count: number, access: Access): boolean {
    return (
      !list.paged || count < this.#outlines.surePerPage(this.outline(list, access), list.resource)
    );
  }

  /** What is known of a list before a page of it is read. */
  outline(list: Pick<List<Row>, 'path' | 'query'>, { credential }: Access): Outline {
    return this.#outlines.of(list, credential.partition);
  }
}
