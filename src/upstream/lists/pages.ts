import { isLastPage } from '../decode/page.ts';
import type { DryRunClient } from '../dry-run-client.ts';
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
  /** See `Page.placeholder`: `rows` is then empty, and `perPage` how many rows it is taken to have. */
  readonly placeholder: ((rows: number) => R) | null;
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
  /** How many rows a row with an id stands for: more than 1 for those that a dry run makes up. */
  readonly rowsOf: (id: number) => number;

  /** `pageSize` rows are asked for at a time; an upstream that gives fewer is followed. */
  constructor(
    client: UpstreamClient,
    pageSize: number,
    outlines = new Outlines(),
    rowsOf: (id: number) => number = () => 1,
  ) {
    this.client = client;
    this.#pageSize = pageSize;
    this.#outlines = outlines;
    this.rowsOf = rowsOf;
  }

  /** The same lists through another client of the same upstream. */
  through(client: UpstreamClient): Lists {
    return new Lists(client, this.#pageSize, this.#outlines, this.rowsOf);
  }

  /** The same lists through a client that makes rows up, of which nothing must be learnt here. */
  dryRun(client: DryRunClient): Lists {
    const rowsOf = (id: number) => client.rowsOf(id);
    return new Lists(client, this.#pageSize, new Outlines(this.#outlines), rowsOf);
  }

  /**
   * One page of a list, `null` when its parent is absent. 0 or 1 upstream call: a cached page that does not
   * go with a newer one is read again. `uncertain` where the page decides whether further ones are read;
   * `further` is `Read.further`.
   */
  async page<R extends Row>(
    list: List<R>,
    number: number,
    access: Access,
    { uncertain = false, further }: Pick<Read<R>, 'uncertain' | 'further'> = {},
  ): Promise<ListPage<R> | null> {
    const outline = this.#outlines.open(list, access.credential.partition);
    outline.asked.add(number);
    outline.list = list;
    // Only a page that is there is looked into again.
    let isThere = false;
    try {
      const { writes } = outline.agreement;
      const page = await this.#read(list, number, outline, access, { uncertain, further });
      if (page === null) return this.#absent(number, outline, writes);
      const listPage = { ...this.#toListPage(list, page, number), writes };
      if (listPage.placeholder) {
        return { ...listPage, perPage: list.paged ? (outline.perPage ?? this.#pageSize) : 1 };
      }
      isThere = listPage.rows.length > 0 || number === 1;
      if (isThere) outline.perPage = listPage.perPage;
      if (list.paged) outline.surePerPage = surePerPageAfter(outline, page, listPage);
      outline.lastPage = lastPageAfter(listPage, page, outline);
      return listPage;
    } finally {
      if (!isThere && !this.#isKnown(list, number, access)) outline.asked.delete(number);
      this.#outlines.forget(list, outline);
    }
  }

  /** Reads a page, and again if it is outdated by a newer one that it does not go with. */
  async #read<R extends Row>(
    list: List<R>,
    number: number,
    { agreement }: Outline,
    access: Access,
    more: Pick<Read<R>, 'uncertain' | 'further'>,
  ): Promise<Page<R> | null> {
    const read = (again: boolean) => {
      const decode: List<R>['decode'] = (body, context) =>
        agreement.arrived(list.decode(body, context), again);
      const one = { ...this.#pageRead(list, number), decode, ...more, anew: again };
      return this.client.read(one, access);
    };
    // What is cached or can be joined now shows all of them, and so does a request that leaves from now on.
    const page = await read(false);
    if (page === null || !agreement.isOutdated(page)) return page;
    agreement.spend(page);
    const newer = await read(true);
    if (newer !== null) agreement.judge(page, newer);
    return newer;
  }

  /** What stands for a page that is not there; `null` when that is because its parent is absent. */
  #absent<R extends Row>(number: number, outline: Outline, writes: number): ListPage<R> | null {
    outline.lastPage = Math.min(number - 1, outline.lastPage ?? number);
    if (number === 1) return null;
    // Some upstreams refuse a page past the end; only the first one speaks for the parent.
    const perPage = outline.perPage ?? this.#pageSize;
    const end = { rows: [], last: true, total: null, certain: true, placeholder: null };
    return { number, perPage, writes, ...end };
  }

  /** Whether a page is cached with rows on it, or in flight for somebody else. */
  #isKnown(list: List<Row>, number: number, access: Access): boolean {
    const rows = this.peek(list, number, access)?.rows ?? [];
    return rows.length > 0 || this.inFlight(list, number, access);
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
      return list?.rowTags && asked.all.some((number) => has(list, number)) ? [list] : [];
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

  /** Forgets what was learnt of the lists of a partition. */
  forget(partition: string): void {
    this.#outlines.forgetAll(partition);
  }

  /** Whether the first `count` rows of a list are surely on its first page, as far as it has so many. */
  fitsFirstPage(list: List<Row>, count: number, access: Access): boolean {
    return !list.paged || count < this.#outlines.surePerPage(this.outline(list, access));
  }

  /** What is known of a list before a page of it is read. */
  outline(list: Pick<List<Row>, 'path' | 'query'>, { credential }: Access): Readonly<Outline> {
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
      placeholder: (idFor) => placeholderPage((rows) => placeholderRow(list, idFor(rows))),
    };
  }

  #toListPage<R extends Row>(
    list: List<R>,
    page: Page<R>,
    number: number,
  ): Omit<ListPage<R>, 'writes'> {
    const { total, placeholder = null, arrival } = page;
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

/** A page of which nothing is known. */
function placeholderPage<R extends Row>(placeholder: (rows: number) => R): Page<R> {
  const unknown = { total: null, perPage: null, currentPage: null, nextPage: null, maxPage: null };
  return { ...unknown, rows: [], sent: 0, placeholder };
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
