import { BadUserInput } from '../../errors.ts';
import { type AtOnce, type Steps, takeSteps, until } from '../../scheduling/at-once.ts';
import type { Row } from '../request.ts';
import { decodeCursor } from './cursor.ts';
import {
  type ListSource,
  PARENT_ABSENT,
  PLACEHOLDERS,
  Walk,
  type Window,
  type WindowPart,
  type WindowRow,
} from './walk.ts';

/** The part of a list, by Relay's arguments. */
export interface WindowArguments {
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
  readonly last?: number | null | undefined;
  readonly before?: string | null | undefined;
}

/** Number of rows of a window if neither `first` nor `last` is set. */
export const DEFAULT_WINDOW = 20;
/** Maximum number of attempts to cut a window out of a list that changes meanwhile. */
const MOST_CUTS = 3;
/** Maximum number of rows of a window. */
export const MAX_WINDOW = 500;

/**
 * Cuts a window out of a list; `null` if the list's parent is absent. Costs one upstream request for each uncached
 * page of the window; a window from the end of a list that was never read costs one more, which finds the end.
 * `filter` omits rows of a list that is returned whole.
 * @throws BadUserInput `BAD_USER_INPUT` for invalid arguments, before any request.
 */
export function readWindow<R extends Row>(
  source: ListSource<R>,
  window: WindowArguments,
  filter?: (row: R) => boolean,
): AtOnce<Window<R> | null> {
  return takeSteps(cutWindow(source, window, filter));
}

function* cutWindow<R extends Row>(
  source: ListSource<R>,
  { first, after, last, before }: WindowArguments,
  filter: ((row: R) => boolean) | undefined,
): Steps<Window<R> | null> {
  if (first != null && last != null)
    throw new BadUserInput('Pass either "first" or "last", not both.');
  const count = checkCount(first ?? last ?? DEFAULT_WINDOW, last == null ? 'first' : 'last');
  const afterCursor = after == null ? null : decodeCursor(after, 'after');
  const beforeCursor = before == null ? null : decodeCursor(before, 'before');
  const walk = new Walk(source, filter);
  const part: WindowPart = {
    after: afterCursor,
    before: beforeCursor,
    count,
    fromBack: last != null,
  };
  try {
    let window = yield* walk.cut(part);
    for (let cuts = 1; cuts < MOST_CUTS && walk.forgetOutdated(); cuts += 1) {
      window = yield* walk.cut(part);
    }
    return window;
  } catch (error) {
    if (error === PARENT_ABSENT) return null;
    if (error !== PLACEHOLDERS) throw error;
    const from = afterCursor?.page ?? (last == null ? 1 : (beforeCursor?.page ?? null));
    return yield* until(placeholderWindow(source, from, count));
  }
}

/**
 * A window of a dry run with unknown rows: it has the requested number of rows, on full pages, and one row represents
 * all unknown ones. `from` is its first page, or null if the end of the list must be found: then it is assumed to be
 * near.
 */
async function placeholderWindow<R extends Row>(
  { lists, list, access }: ListSource<R>,
  from: number | null,
  count: number,
): Promise<Window<R>> {
  const rows: WindowRow<R>[] = [];
  let standIn: ((rows: number) => R) | null = null;
  let unknown = 0;
  let number = from ?? 1;
  do {
    const page = await lists.page(list, number, access, { uncertain: from === null });
    number += 1;
    const left = count - rows.length - unknown;
    if (page?.placeholder) {
      standIn ??= page.placeholder;
      unknown += Math.min(left, page.perPage);
    } else if (page && page.rows.length > 0) {
      for (const row of page.rows.slice(0, left)) rows.push({ node: row, cursor: '' });
    } else break;
  } while (rows.length + unknown < count && list.paged);
  if (standIn && unknown > 0) rows.push({ node: standIn(unknown), cursor: '' });
  return { rows, hasNextPage: false, hasPreviousPage: false, total: null };
}

function checkCount(count: number, name: 'first' | 'last'): number {
  if (count >= 0 && count <= MAX_WINDOW) return count;
  throw new BadUserInput(`"${name}" must be from 0 to ${MAX_WINDOW}, not ${count}.`);
}
