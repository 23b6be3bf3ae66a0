import type { Access } from '../operation.ts';
import type { List, Row } from '../request.ts';
import { type ListPage, type Lists, placeholderRow } from './pages.ts';

/** Rows by id: `null` for one that does not exist, the error for one whose read failed. */
type Found<R> = Map<number, R | null | Error>;

/**
 * Rows of a list by id, in as few upstream calls as can be known: 0 for rows of a cached page or of one
 * in flight, then pages or single reads, whichever is fewer.
 */
export async function findById<R extends Row>(
  lists: Lists,
  list: List<R>,
  ids: readonly number[],
  access: Access,
): Promise<Found<R>> {
  const found: Found<R> = new Map();
  const missing = new Set(ids);
  const take = (page: ListPage<R> | null): void => {
    for (const row of page?.rows ?? []) if (missing.delete(row.id)) found.set(row.id, row);
  };
  const fail = (error: unknown): Found<R> => {
    for (const id of missing) found.set(id, error as Error);
    return found;
  };
  const search: Search<R> = { lists, list, access, missing, found };

  for (const number of Array.from(lists.outline(list, access).asked)) {
    const rows = lists.peek(list, number, access)?.rows ?? [];
    if (rows.some(({ id }) => missing.has(id))) take(await lists.page(list, number, access));
  }
  await takeSingles(search);
  for (const number of Array.from(lists.outline(list, access).asked)) {
    if (missing.size === 0) return found;
    if (!lists.inFlight(list, number, access)) continue;
    // Its failure is the other reader's; this one still has other ways.
    take(await lists.page(list, number, access).catch(() => null));
  }
  // A page that was read need not be cached afterwards.
  const read = new Set<number>();
  while (missing.size > 0) {
    const next = nextPage(search, read);
    if (next === null) break;
    read.add(next);
    try {
      const page = await lists.page(list, next, access, list.paged);
      if (page?.placeholder) {
        // One page is reckoned with: a placeholder does not say on which one the rows stand.
        for (const id of missing) found.set(id, placeholderRow(list, id));
        return found;
      }
      take(page);
    } catch (error) {
      return fail(error);
    }
  }
  await Promise.all([...missing].map((id) => readSingle(search, id)));
  return found;
}

interface Search<R extends Row> {
  readonly lists: Lists;
  readonly list: List<R>;
  readonly access: Access;
  readonly missing: Set<number>;
  readonly found: Found<R>;
}

/** Takes the rows whose own read is cached or in flight. */
async function takeSingles<R extends Row>(search: Search<R>): Promise<void> {
  const { lists, list, access, missing } = search;
  if (!list.single) return;
  for (const id of missing) {
    const read = list.single(id);
    const hit = lists.client.peek(read, access.credential);
    const usable = hit !== undefined && hit.state !== 'fallback';
    if (!usable && !lists.client.inFlight(read, access.credential)) continue;
    missing.delete(id);
    await readSingle(search, id);
  }
}

/** Reads one row by itself; where the API cannot, there is none. */
async function readSingle<R extends Row>(
  { lists, list, access, found }: Search<R>,
  id: number,
): Promise<void> {
  const read = list.single?.(id);
  found.set(
    id,
    read ? await lists.client.read(read, access).catch((error: unknown) => error as Error) : null,
  );
}

/**
 * Which page to read next for the missing rows, or null when pages are no help (any more). Cached ones
 * come last, where only they say that a row does not exist: that is as old as they are.
 */
function nextPage<R extends Row>(
  { lists, list, access, missing }: Search<R>,
  read: ReadonlySet<number>,
): number | null {
  const { lastPage } = lists.outline(list, access);
  const end = list.paged ? lastPage : 1;
  const unread: number[] = [];
  const cached: number[] = [];
  for (let number = 1; number <= (end ?? Number.POSITIVE_INFINITY); number += 1) {
    if (read.has(number)) continue;
    if (lists.peek(list, number, access) !== undefined) {
      cached.push(number);
      continue;
    }
    unread.push(number);
    if (end === null || unread.length >= missing.size) break;
  }
  // The length of the list is not known before its first page: a gamble only where it can pay.
  const cost = end === null && missing.size === 1 ? Number.POSITIVE_INFINITY : unread.length;
  if (list.single && cost >= missing.size) return null;
  return unread[0] ?? (list.single ? null : (cached[0] ?? null));
}
