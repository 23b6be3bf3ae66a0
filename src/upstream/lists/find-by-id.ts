import { type AtOnce, andThen } from '../../scheduling/at-once.ts';
import type { Hit } from '../cache/cache.ts';
import { madeUpRow } from '../dry-run/stand-ins.ts';
import { isOutage } from '../fallback.ts';
import type { Access } from '../operation.ts';
import type { List, Row } from '../request.ts';
import { type ListPage, unrepeated } from './page/list-page.ts';
import { PageComparison } from './page/page-comparison.ts';
import { identitiesOf } from './page/page-read.ts';
import type { Lists } from './pages.ts';

/** Rows by id: `null` for one that does not exist, the error for one whose read failed. */
type Found<R> = Map<number, R | null | Error>;

/**
 * Finds rows of a list by id, with as few upstream requests as possible: 0 for rows of a page that is cached or in
 * flight, then pages or single reads, whichever costs less.
 */
export async function findById<R extends Row>(
  lists: Lists,
  list: List<R>,
  ids: readonly number[],
  access: Access,
): Promise<Found<R>> {
  return new Search(lists, list, access, ids).run();
}

/**
 * One row as a fresh response has it, see `Read.strict`; `null` if it does not exist. As many upstream requests as
 * `findById`.
 * @throws the error of the read, even if an older response is cached.
 */
export async function findFresh<R extends Row>(
  lists: Lists,
  list: List<R>,
  id: number,
  access: Access,
): Promise<R | null> {
  const found = await new Search(lists, list, access, [id], true).run();
  const row = found.get(id) ?? null;
  if (row instanceof Error) throw row;
  return row;
}

/** Maximum number of pages of a list that are searched for one row. */
const MOST_PAGES = 8;

/**
 * A row that is cached and fresh: on a page that no other contradicts, or from a single read; `undefined` for any
 * other. No upstream request.
 */
export function cachedRow<R extends Row>(
  lists: Lists,
  list: List<R>,
  id: number,
  access: Access,
): AtOnce<R | undefined> {
  const { consistency, asked } = lists.outline(list, access);
  const rowOn = (page: Pick<ListPage<R>, 'rows'> | null) => page?.rows.find((row) => row.id === id);
  for (const number of asked.size > MOST_PAGES ? [] : [...asked]) {
    const hit = lists.hit(list, number, access);
    const page = hit?.state === 'fresh' ? hit.entry.value : null;
    if (page && rowOn(page) && !consistency.isOutdated(page)) {
      return andThen(lists.page(list, number, access), rowOn);
    }
  }
  const single = list.single?.(id);
  if (!single || lists.client.peek(single, access)?.state !== 'fresh') return undefined;
  return andThen(lists.client.read(single, access), (row) => row ?? undefined);
}

/**
 * A row as the latest response has it that is cached and not outdated; `null` if there is none. No upstream request.
 */
export function lastKnownRow<R extends Row>(
  lists: Lists,
  list: List<R>,
  id: number,
  access: Access,
): R | null {
  let latest: { readonly row: R; readonly at: number } | null = null;
  const note = (hit: Hit | undefined, row: R | null | undefined): void => {
    if (!hit || hit.state === 'fallback' || !row) return;
    const at = hit.entry.stamp.storedAt;
    if (!latest || at >= latest.at) latest = { row, at };
  };
  for (const number of lists.outline(list, access).asked) {
    const hit = lists.hit(list, number, access);
    note(
      hit,
      hit?.entry.value?.rows.find((row) => row.id === id),
    );
  }
  const single = list.single?.(id);
  const hit = single && lists.client.peek(single, access);
  note(hit, hit?.entry.value);
  return (latest as { readonly row: R } | null)?.row ?? null;
}

/** Number of rows that a row with this id represents: 1 unless it is a placeholder. */
function rowsOf(id: number, { mode }: Access): number {
  return mode?.kind === 'planned' ? mode.dryRun.standIns.rowsOf(id) : 1;
}

/**
 * One search for rows by id. Others read the same list at the same time, so it checks the cache again after each
 * wait.
 */
class Search<R extends Row> {
  readonly #lists: Lists;
  readonly #list: List<R>;
  readonly #access: Access;
  /** See `Read.strict`. */
  readonly #strict: boolean;
  readonly #found: Found<R> = new Map();
  readonly #missing: Set<number>;
  /** The pages whose rows this search has seen, whether cached afterwards or not. */
  readonly #seen = new Map<number, ListPage<R> | null>();
  readonly #comparison: PageComparison<R>;
  /** Whether a page was not cached. */
  #hasRead = false;
  /** Whether pages contradict each other that were not read again. */
  #isTorn = false;
  /** The pages that other readers were reading, for which this search has waited. */
  readonly #joined = new Set<number>();

  constructor(lists: Lists, list: List<R>, access: Access, ids: readonly number[], strict = false) {
    this.#lists = lists;
    this.#list = list;
    this.#access = access;
    this.#strict = strict;
    this.#missing = new Set(ids);
    this.#comparison = new PageComparison({
      upstream: lists.client.upstream,
      identities: (rows) => identitiesOf(list, rows),
      consistency: () => lists.outline(list, access).consistency,
    });
  }

  async run(): Promise<Found<R>> {
    const missing = this.#missing;
    this.#lists.noteSaved(this.#list, this.#access);
    while (missing.size > 0) {
      const cached = this.#cachedPage();
      if (cached !== null) await this.#readPage(cached);
      else if (await this.#takeSingles()) continue;
      else if (await this.#joinPage()) continue;
      else {
        const next = this.#nextPage();
        if (next === null) {
          if (!(await this.#readOutdated())) break;
          continue;
        }
        this.#hasRead ||= this.#lists.peek(this.#list, next, this.#access) === undefined;
        await this.#readPage(next);
      }
    }
    if (this.#isWhole()) this.#settle(() => null);
    await Promise.all([...missing].map((id) => this.#readSingle(id)));
    await this.#takeFallbacks();
    return this.#found;
  }

  /** A cached page that holds a missing row, if there is one. */
  #cachedPage(): number | null {
    for (const number of this.#asked) {
      if (this.#seen.has(number)) continue;
      const rows = this.#lists.peek(this.#list, number, this.#access)?.rows ?? [];
      if (rows.some(({ id }) => this.#missing.has(id))) return number;
    }
    return null;
  }

  /** Takes the rows whose single read is cached or in flight; returns whether there were any. */
  async #takeSingles(): Promise<boolean> {
    const { client } = this.#lists;
    const access = this.#access;
    const free = [...this.#missing].filter((id) => {
      const read = this.#list.single?.(id);
      if (!read) return false;
      const hit = client.peek(read, access);
      return (hit && hit.state !== 'fallback') || client.inFlight(read, access);
    });
    for (const id of free) this.#missing.delete(id);
    await Promise.all(free.map((id) => this.#readSingle(id)));
    return free.length > 0;
  }

  /** Waits for a page that another reader is reading; returns whether there was one. */
  async #joinPage(): Promise<boolean> {
    for (const number of this.#asked) {
      if (this.#seen.has(number) || this.#joined.has(number)) continue;
      if (!this.#lists.inFlight(this.#list, number, this.#access)) continue;
      this.#joined.add(number);
      try {
        const strict = this.#strict;
        this.#take(number, await this.#lists.page(this.#list, number, this.#access, { strict }));
      } catch {
        // The other reader reports this failure. This search continues with other pages and single reads.
      }
      return true;
    }
    return false;
  }

  /** Reads a page, and settles all missing rows if that fails. */
  async #readPage(number: number): Promise<void> {
    const list = this.#list;
    const mayBeAbsent = this.#seen.get(number - 1)?.certain === false;
    const how = { uncertain: list.paged, mayBeAbsent, strict: this.#strict };
    try {
      this.#take(number, await this.#lists.page(list, number, this.#access, how));
    } catch (error) {
      this.#settle(() => error as Error);
    }
  }

  #take(number: number, found: ListPage<R> | null): void {
    const page = found && unrepeated(found, this.#seen.get(number - 1));
    this.#seen.set(number, page);
    // Assumes one page, because a placeholder does not define on which page the rows are.
    if (page?.placeholder) this.#settle((id) => madeUpRow(this.#list.resource, id) as R);
    for (const row of page?.rows ?? []) {
      if (this.#missing.delete(row.id)) this.#found.set(row.id, row);
    }
  }

  #settle(answer: (id: number) => R | null | Error): void {
    for (const id of this.#missing) this.#found.set(id, answer(id));
    this.#missing.clear();
  }

  /** Reads a single row; there is none if the API has no single read. */
  async #readSingle(id: number): Promise<void> {
    const read = this.#list.single?.(id);
    const how = this.#strict ? { strict: true } : {};
    let row: R | null | Error = null;
    try {
      if (read) row = await this.#lists.client.read({ ...read, ...how }, this.#access);
    } catch (error) {
      row = error as Error;
    }
    this.#found.set(id, row);
  }

  /**
   * Takes rows whose single read failed in an outage from pages that are cached as a fallback. Costs at most 1
   * upstream request per such page, which is read again if possible.
   */
  async #takeFallbacks(): Promise<void> {
    const lost = new Set<number>();
    for (const [id, row] of this.#found) if (isOutage(row)) lost.add(id);
    if (lost.size === 0 || this.#strict) return;
    for (const number of this.#asked) {
      const rows = this.#lists.hit(this.#list, number, this.#access)?.entry.value?.rows ?? [];
      if (!rows.some(({ id }) => lost.has(id))) continue;
      try {
        const page = await this.#lists.page(this.#list, number, this.#access);
        for (const row of page?.rows ?? []) if (lost.delete(row.id)) this.#found.set(row.id, row);
      } catch {
        // The error of the single read is reported.
      }
    }
  }

  /**
   * The page to read next for the missing rows, or null if no page can contain them. Cached pages that only show
   * that a row does not exist come last, because this result is as old as the page.
   */
  #nextPage(): number | null {
    const list = this.#list;
    let missing = 0;
    for (const id of this.#missing) missing += rowsOf(id, this.#access);
    const end = this.#end;
    const uncached: number[] = [];
    const cached: number[] = [];
    for (let number = 1; number <= (end ?? Number.POSITIVE_INFINITY); number += 1) {
      if (this.#seen.has(number)) continue;
      const isCached = this.#lists.peek(list, number, this.#access) !== undefined;
      (isCached ? cached : uncached).push(number);
      if (!isCached && (end === null || uncached.length >= missing)) break;
    }
    // The length of the list is unknown before its first page: it is read only if that can cost less.
    const cost = end === null && missing === 1 ? Number.POSITIVE_INFINITY : uncached.length;
    if (list.single && cost >= missing) return null;
    // The age of cached pages is accepted for the absence of several rows, or if the others were read as well.
    const isShown = !list.single || missing > 1 || this.#hasRead;
    return uncached[0] ?? (isShown ? (cached[0] ?? null) : null);
  }

  /**
   * Reads the pages again that others contradict, unless single reads are better: a row can have moved between them.
   * Returns whether there were any.
   */
  async #readOutdated(): Promise<boolean> {
    try {
      const outdated = this.#comparison.outdated(this.#seen);
      this.#isTorn = outdated.size > 0;
      if (this.#list.single && outdated.size >= this.#missing.size) return false;
      for (const number of outdated) await this.#readPage(number);
      return outdated.size > 0;
    } catch (error) {
      this.#settle(() => error as Error);
      return false;
    }
  }

  /** Whether this search has seen all pages, so that the missing rows do not exist. */
  #isWhole(): boolean {
    const end = this.#end;
    if (end === null || this.#isTorn) return false;
    for (let number = 1; number <= end; number += 1) if (!this.#seen.has(number)) return false;
    return true;
  }

  /** The number of the last page; null if it is unknown. */
  get #end(): number | null {
    if (!this.#list.paged) return 1;
    for (const [number, page] of this.#seen) if (page?.last) return number;
    return this.#lists.outline(this.#list, this.#access).lastPage;
  }

  /** The pages that any reader has requested so far. */
  get #asked(): readonly number[] {
    return [...this.#lists.outline(this.#list, this.#access).asked];
  }
}
