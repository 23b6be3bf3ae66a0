import { isLastPage } from '../decode/page.ts';
import type { Access } from '../operation.ts';
import type { List, Page, Read, Row, Write } from '../request.ts';
import type { UpstreamClient } from '../upstream-client.ts';
import { type Outline, Outlines, promisedLastPage, surePerPageAfter } from './outlines.ts';

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
  /** True for rows that a dry run made up. */
  readonly placeholder: boolean;
  /** See `Page.arrival`. */
  readonly arrival?: number | undefined;
  /** Writes to the list that it surely shows. See `Agreement.writes`. */
  readonly writes: number;
}

/** The page size of a list that comes whole. */
const WHOLE = 1_000_000;

/**
 * The lists of one upstream, read in whole pages whatever part of them is wanted, so that every
 * window and every row of a page that has been read once is free.
 *
 * Implements: Link API > Pagination members.
 */
export class Lists {
  readonly client: UpstreamClient;
  readonly #pageSize: number;
  readonly #outlines: Outlines;

  /** `pageSize` rows are asked for at a time; an upstream that gives fewer is followed. */
  constructor(client: UpstreamClient, pageSize: number, outlines = new Outlines()) {
    this.client = client;
    this.#pageSize = pageSize;
    this.#outlines = outlines;
  }

  /** The same lists through another client of the same upstream. */
  through(client: UpstreamClient): Lists {
    return new Lists(client, this.#pageSize, this.#outlines);
  }

  /** The same lists through a client that makes rows up, of which nothing must be learnt here. */
  dryRun(client: UpstreamClient): Lists {
    return new Lists(client, this.#pageSize, new Outlines(this.#outlines));
  }

  /**
   * One page of a list, `null` when its parent is absent. 0 or 1 upstream call: a cached page that does not
   * go with a newer one is read again. `uncertain` where the page decides whether further ones are read.
   */
  async page<R extends Row>(
    list: List<R>,
    number: number,
    access: Access,
    uncertain = false,
  ): Promise<ListPage<R> | null> {
    const outline = this.outline(list, access);
    outline.asked.add(number);
    outline.list = list;
    const read = (again: boolean) => {
      const decode: List<R>['decode'] = (body, context) =>
        outline.agreement.arrived(list.decode(body, context), again);
      const one = { ...this.#pageRead(list, number), decode, uncertain, anew: again };
      return this.client.read(one, access);
    };
    // What is cached or can be joined now shows all of them, and so does a request that leaves from now on.
    const { writes } = outline.agreement;
    let page = await read(false);
    if (page !== null && outline.agreement.isOutdated(page)) {
      const outdated = page;
      outline.agreement.spend(outdated);
      page = await read(true);
      if (page !== null) outline.agreement.judge(outdated, page);
    }
    if (page === null) {
      outline.lastPage = Math.min(number - 1, outline.lastPage ?? number);
      if (number === 1) return null;
      // Some upstreams refuse a page past the end; only the first one speaks for the parent.
      const perPage = outline.perPage ?? this.#pageSize;
      const end = { rows: [], last: true, total: null, certain: true, placeholder: false };
      return { number, perPage, writes, ...end };
    }
    const listPage = { ...this.#toListPage(list, page, number), writes };
    if (listPage.placeholder) return listPage;
    if (listPage.rows.length > 0 || number === 1) outline.perPage = listPage.perPage;
    if (list.paged) outline.surePerPage = surePerPageAfter(outline, page, listPage);
    outline.lastPage = lastPageAfter(listPage, page, outline);
    return listPage;
  }

  /**
   * Sends a write. See `UpstreamClient.write`. What leaves a list makes all its pages invalid, those without
   * it too: the rows behind it move up, and each page tells how many there are.
   */
  write<T>(write: Write<T>, access: Access): Promise<T> {
    const touches = (result: T | null) => {
      const { leaves } = write;
      const left = leaves === undefined ? [] : this.#listsWith(leaves, access);
      const tags = [...write.touches(result), ...left.flatMap(({ ownTag }) => ownTag ?? [])];
      this.#outlines.written(access.credential.partition, new Set(tags));
      return tags;
    };
    return this.client.write({ ...write, touches }, access);
  }

  /** The lists of which a cached page has a row with a tag. */
  #listsWith(rowTag: string, { credential }: Access): List<Row>[] {
    const has = (list: List<Row>, number: number): boolean => {
      const page = this.client.peek(this.#pageRead(list, number), credential)?.value;
      return page?.rows.some((row) => list.rowTags?.(row).includes(rowTag)) === true;
    };
    return this.#outlines.in(credential.partition).flatMap(({ list, asked }) => {
      return list?.rowTags && [...asked].some((number) => has(list, number)) ? [list] : [];
    });
  }

  /** The page if the cache has it: for choosing what to read, and not for reading it. */
  peek<R extends Row>(list: List<R>, number: number, access: Access): Page<R> | null | undefined {
    const hit = this.client.peek(this.#pageRead(list, number), access.credential);
    return hit === undefined || hit.state === 'fallback' ? undefined : hit.value;
  }

  /** Whether the page is in flight, so that it can be shared. */
  inFlight<R extends Row>(list: List<R>, number: number, access: Access): boolean {
    return this.client.inFlight(this.#pageRead(list, number), access.credential);
  }

  /** Whether the first `count` rows of a list are surely on its first page, as far as it has so many. */
  fitsFirstPage(list: List<Row>, count: number, access: Access): boolean {
    return !list.paged || count < this.#outlines.surePerPage(this.outline(list, access));
  }

  /** What is known of a list before a page of it is read. */
  outline(list: Pick<List<Row>, 'path' | 'query'>, { credential }: Access): Outline {
    return this.#outlines.of(list, credential.partition);
  }

  #pageRead<R extends Row>(list: List<R>, number: number): Read<Page<R> | null> {
    const paging = { limit: String(this.#pageSize), page: String(number) };
    return {
      method: 'GET',
      path: list.path,
      query: { ...list.query, ...(list.paged ? paging : {}) },
      resource: list.resource,
      tags: list.tags,
      lateTags: (page) => page?.rows.flatMap((row) => list.rowTags?.(row) ?? []) ?? [],
      inFlightTags: list.inFlightTags ?? [],
      absentIsNull: list.absentIsNull ?? false,
      decode: list.decode,
      ...(list.about === undefined ? {} : { about: list.about }),
      placeholder: (nextId) => placeholderPage(list, list.paged ? this.#pageSize : 1, nextId),
    };
  }

  #toListPage<R extends Row>(
    list: List<R>,
    page: Page<R>,
    number: number,
  ): Omit<ListPage<R>, 'writes'> {
    const { total, placeholder = false, arrival } = page;
    if (!list.paged) {
      const whole = { last: true, perPage: WHOLE, certain: true };
      return { number, rows: page.rows, total, placeholder, arrival, ...whole };
    }
    const perPage = page.perPage ?? this.#pageSize;
    // Asked for a page past the end, some upstreams answer with the last one once more.
    const beyond = page.currentPage !== null && page.currentPage < number;
    const last = isLastPage(page, number);
    const certain = last || promisedLastPage(page) !== null;
    const rows = beyond ? [] : page.rows;
    return { number, rows, last, perPage, total, certain, placeholder, arrival };
  }
}

/** A row of which only the id is known, as a dry run reckons with it. */
export function placeholderRow<R extends Row>(list: List<R>, id: number): R {
  return list.placeholder?.(id) ?? ({ id } as R);
}

/** A full page of made-up rows. */
function placeholderPage<R extends Row>(
  list: List<R>,
  size: number,
  nextId: () => number,
): Page<R> {
  const rows = Array.from({ length: size }, () => placeholderRow(list, nextId()));
  const unknown = { total: null, perPage: null, currentPage: null, nextPage: null, maxPage: null };
  return { ...unknown, rows, sent: size, placeholder: true };
}

/** The number of the list's last page after a page was read, as far as is known. */
function lastPageAfter(
  { number, last, rows }: ListPage<Row>,
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
