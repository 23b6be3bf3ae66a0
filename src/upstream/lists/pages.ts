import { BoundedMap } from '../../bounded-map.ts';
import type { Access, Client } from '../client.ts';
import { isLastPage } from '../decode/page.ts';
import type { List, Page, Read, Row } from '../request.ts';

/** A page as it is worked with: its number, its rows, and whether the list ends with it. */
export interface Leaf<R extends Row> {
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
}

/** What is known of a list from the pages read so far. It steers; the pages themselves decide. */
interface Outline {
  perPage: number | null;
  lastPage: number | null;
  readonly asked: Set<number>;
}

/** What tells a list from others. */
type Address = Pick<List<Row>, 'path' | 'query'>;

/** The page size of a list that comes whole. */
const WHOLE = 1_000_000;

/** Lists whose outline is remembered; the one least recently drawn is forgotten first. */
const OUTLINES_REMEMBERED = 2000;

/**
 * The lists of one upstream, read in whole pages whatever part of them is wanted, so that every
 * window and every row of a page that has been read once is free.
 *
 * Implements: Link API > Pagination members.
 */
export class Collections {
  readonly #client: Client;
  readonly #pageSize: number;
  readonly #outlines = new BoundedMap<Outline>({ max: OUTLINES_REMEMBERED });

  /** `pageSize` rows are asked for at a time; an upstream that gives fewer is followed. */
  constructor(client: Client, pageSize: number) {
    this.#client = client;
    this.#pageSize = pageSize;
  }

  /** One page of a list, `null` when its parent is absent. 0 or 1 upstream call. */
  async leaf<R extends Row>(
    list: List<R>,
    number: number,
    access: Access,
  ): Promise<Leaf<R> | null> {
    const outline = this.#outline(list, access);
    outline.asked.add(number);
    const page = await this.#client.read(this.#pageRead(list, number), access);
    if (page === null) {
      outline.lastPage = Math.min(number - 1, outline.lastPage ?? number);
      if (number === 1) return null;
      // Some upstreams refuse a page past the end; only the first one speaks for the parent.
      const perPage = outline.perPage ?? this.#pageSize;
      return { number, rows: [], last: true, perPage, total: null, certain: true };
    }
    const leaf = this.#toLeaf(list, page, number);
    // Nothing is learnt from a page that only stands in for one.
    if (isPlaceholder(leaf)) return leaf;
    if (leaf.rows.length > 0 || number === 1) outline.perPage = leaf.perPage;
    outline.lastPage = this.#lastPage(leaf, page, outline);
    return leaf;
  }

  /** The number of the list's last page after `page`, as far as is known. */
  #lastPage(leaf: Leaf<Row>, page: Page<Row>, outline: Outline): number | null {
    const { number } = leaf;
    const promised = promisedLastPage(page);
    if (leaf.last && leaf.rows.length === 0 && number > 1) {
      return Math.max(1, Math.min(number - 1, promised ?? outline.lastPage ?? number));
    }
    if (leaf.last) return number;
    if (promised !== null) return promised;
    return outline.lastPage !== null && outline.lastPage > number ? outline.lastPage : null;
  }

  /** Rows a page has, as far as is known, and the last page's number; null when it is not known. */
  outline(list: Address, access: Access): { perPage: number | null; lastPage: number | null } {
    return this.#outline(list, access);
  }

  /**
   * Rows by id, in as few upstream calls as can be known: 0 for rows of a kept page or of one under
   * way, then pages or single reads, whichever is fewer. An id that does not exist is `null`; an id
   * whose read failed is the error.
   */
  async find<R extends Row>(
    list: List<R>,
    ids: readonly number[],
    access: Access,
  ): Promise<Map<number, R | null | Error>> {
    const found = new Map<number, R | null | Error>();
    const missing = new Set(ids);
    const take = (leaf: Leaf<R> | null): void => {
      for (const row of leaf?.rows ?? []) if (missing.delete(row.id)) found.set(row.id, row);
    };
    const missingIn = (page: Page<R> | null | undefined) =>
      page?.rows.some((row) => missing.has(row.id)) ?? false;

    for (const number of this.#askedPages(list, access)) {
      const kept = this.#keptPage(list, number, access);
      if (missingIn(kept)) take(await this.leaf(list, number, access));
    }
    await this.#takeKeptSingles(list, missing, found, access);
    for (const number of this.#askedPages(list, access)) {
      if (missing.size === 0) return found;
      if (!this.#client.underWay(this.#pageRead(list, number), access.credential)) continue;
      // Its failure is the other reader's; this one still has other ways.
      take(await this.leaf(list, number, access).catch(() => null));
    }
    // A page that was read need not be kept afterwards.
    const read = new Set<number>();
    while (missing.size > 0) {
      const next = this.#nextPage(list, missing.size, access, read);
      if (next === null) break;
      if (access.caller.rehearsal) {
        // One page is reckoned with: a placeholder does not say on which one the rows stand.
        await this.leaf(list, next, access);
        if (list.paged) access.caller.rehearsal.guesses();
        for (const id of missing) found.set(id, placeholderOf(list, id));
        return found;
      }
      read.add(next);
      try {
        take(await this.leaf(list, next, access));
      } catch (error) {
        for (const id of missing) found.set(id, error as Error);
        return found;
      }
    }
    const { single } = list;
    await Promise.all(
      [...missing].map(async (id) => {
        const row = single
          ? await this.#client.read(single(id), access).catch((error: unknown) => error as Error)
          : null;
        found.set(id, row);
      }),
    );
    return found;
  }

  /** Which page to read next for `wanted` rows, or null when pages are no help (any more). */
  #nextPage<R extends Row>(
    list: List<R>,
    wanted: number,
    access: Access,
    read: ReadonlySet<number>,
  ): number | null {
    const { lastPage } = this.#outline(list, access);
    const end = list.paged ? lastPage : 1;
    const unread: number[] = [];
    for (let number = 1; number <= (end ?? Number.POSITIVE_INFINITY); number += 1) {
      if (read.has(number) || this.#keptPage(list, number, access) !== undefined) continue;
      unread.push(number);
      if (end === null || unread.length >= wanted) break;
    }
    // The length of the list is not known before its first page: a gamble only where it can pay.
    const cost = end === null && wanted === 1 ? Number.POSITIVE_INFINITY : unread.length;
    if (list.single && cost >= wanted) return null;
    return unread[0] ?? null;
  }

  async #takeKeptSingles<R extends Row>(
    list: List<R>,
    missing: Set<number>,
    found: Map<number, R | null | Error>,
    access: Access,
  ): Promise<void> {
    const { single } = list;
    if (!single) return;
    for (const id of missing) {
      const read = single(id);
      const kept = this.#client.peek(read, access.credential);
      const usable = kept !== undefined && kept.state !== 'fallback';
      if (!usable && !this.#client.underWay(read, access.credential)) continue;
      missing.delete(id);
      found.set(
        id,
        await this.#client.read(read, access).catch((error: unknown) => error as Error),
      );
    }
  }

  /** The page if it can be had without waiting. */
  #keptPage<R extends Row>(
    list: List<R>,
    number: number,
    access: Access,
  ): Page<R> | null | undefined {
    const kept = this.#client.peek(this.#pageRead(list, number), access.credential);
    return kept === undefined || kept.state === 'fallback' ? undefined : kept.value;
  }

  #askedPages<R extends Row>(list: List<R>, access: Access): number[] {
    return [...this.#outline(list, access).asked];
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
      flightTags: list.flightTags ?? [],
      absentIsNull: list.absentIsNull ?? false,
      decode: list.decode,
      placeholder: () => this.#placeholder(list, number),
    };
  }

  #toLeaf<R extends Row>(list: List<R>, page: Page<R>, number: number): Leaf<R> {
    const { total } = page;
    if (!list.paged) {
      return { number, rows: page.rows, last: true, perPage: WHOLE, total, certain: true };
    }
    const perPage = page.perPage ?? this.#pageSize;
    // Asked for a page past the end, some upstreams answer with the last one once more.
    const beyond = page.currentPage !== null && page.currentPage < number;
    const last = isLastPage(page, number);
    const certain = last || promisedLastPage(page) !== null;
    return { number, rows: beyond ? [] : page.rows, last, perPage, total, certain };
  }

  /** A page full of rows that are nobody's, for an operation that is only priced. */
  #placeholder<R extends Row>(list: List<R>, number: number): Page<R> {
    const first = (number - 1) * this.#pageSize + 1;
    const rows = Array.from({ length: list.paged ? this.#pageSize : 1 }, (_, index) =>
      placeholderOf(list, -(first + index)),
    );
    const sent = rows.length;
    return {
      rows,
      total: null,
      perPage: null,
      currentPage: null,
      nextPage: null,
      maxPage: null,
      sent,
    };
  }

  #outline(list: Address, { credential }: Access): Outline {
    const filters = new URLSearchParams(list.query).toString();
    const key = `${credential.partition} ${list.path}?${filters}`;
    const known = this.#outlines.get(key);
    if (known) return known;
    const outline: Outline = { perPage: null, lastPage: null, asked: new Set() };
    this.#outlines.set(key, outline);
    return outline;
  }
}

/** The last page by what a page before it says. */
function promisedLastPage(page: Page<Row>): number | null {
  if (page.maxPage !== null) return page.maxPage;
  if (page.total === null || page.perPage === null) return null;
  return Math.ceil(page.total / page.perPage);
}

/** Whether a page is made of placeholders. */
export function isPlaceholder({ rows: [row] }: Leaf<Row>): boolean {
  return row !== undefined && row.id < 0;
}

/** A row of which nothing is known, and no id is anybody's. */
function placeholderOf<R extends Row>(list: List<R>, id: number): R {
  return list.placeholder?.(id) ?? ({ id } as R);
}
