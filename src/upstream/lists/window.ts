import { BadUserInput } from '../../errors.ts';
import { type Steps, until } from '../../scheduling/at-once.ts';
import type { Row } from '../request.ts';
import { type Cursor, decodeCursor } from './cursor.ts';
import { WHOLE, wholePage } from './page/list-page.ts';
import { placeholderView, placeholderWindow } from './placeholder-window.ts';
import {
  type ListSource,
  nameOf,
  PARENT_ABSENT,
  PLACEHOLDERS,
  ReadPages,
  type WalkedPages,
} from './read-pages.ts';
import type { ListView } from './views/view.ts';
import { ViewedPages } from './views/viewed-pages.ts';
import { Walk, type Window, type WindowPart } from './walk.ts';

/** The part of a list, by Relay's arguments and the number of rows to skip. */
export interface WindowArguments {
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
  readonly last?: number | null | undefined;
  readonly before?: string | null | undefined;
  readonly offset?: number | null | undefined;
}

/** Number of rows of a window if neither `first` nor `last` is set. */
export const DEFAULT_WINDOW = 20;
/** Maximum number of rows of a window. */
export const MAX_WINDOW = 500;

/**
 * Cuts a window out of a list, or of a view of it; `null` if the list's parent is absent. Costs one upstream request
 * for each uncached page of the window; a window from the end of a list that was never read costs one more, which
 * finds the end. A view costs one for each uncached page of the list.
 * @throws BadUserInput `BAD_USER_INPUT` for invalid arguments, before any request.
 */
export function* readWindow<R extends Row>(
  source: ListSource<R>,
  window: WindowArguments,
  view?: ListView<R> | null,
): Steps<Window<R> | null> {
  const part = partOf(window, () => nameOf(source.list, view?.key));
  const pages = pagesOf(source, view);
  const walk = new Walk(pages);
  try {
    for (;;) {
      const cut = yield* walk.cut(part);
      if (!pages.forgetOutdated()) return cut;
    }
  } catch (error) {
    if (error === PARENT_ABSENT) return null;
    if (error !== PLACEHOLDERS) throw error;
    const placeholders = view ? placeholderView(source, part) : placeholderWindow(source, part);
    return yield* until(placeholders);
  }
}

/**
 * Cuts a window out of rows in memory. `name` is `WalkedPages.name`. No upstream request.
 * @throws BadUserInput as `readWindow`.
 */
export function windowOfRows<R extends Row>(
  rows: readonly R[],
  { name, identities }: Pick<WalkedPages<R>, 'identities' | 'name'>,
  window: WindowArguments,
): Steps<Window<R>> {
  const pages: WalkedPages<R> = {
    name,
    identities,
    total: rows.length,
    perPage: WHOLE,
    pageSize: WHOLE,
    lastPage: 1,
    *page(number) {
      return yield* until(wholePage(number === 1 ? rows : [], { number }));
    },
    *ahead() {
      // There are no further pages.
    },
    forgetOutdated: () => false,
  };
  return new Walk(pages).cut(partOf(window, () => name));
}

/** @throws BadUserInput */
function partOf(
  { first, after, last, before, offset }: WindowArguments,
  nameOfList: () => string,
): WindowPart {
  if (first != null && last != null)
    throw new BadUserInput('Pass either "first" or "last", not both.');
  if (offset != null && (last ?? after ?? before) != null)
    throw new BadUserInput('"offset" can be combined with "first" only.');
  if (offset != null && offset < 0)
    throw new BadUserInput(`"offset" must be 0 or greater, not ${offset}.`);
  return {
    after: after == null ? null : cursorIn(nameOfList, after, 'after'),
    before: before == null ? null : cursorIn(nameOfList, before, 'before'),
    offset: offset ?? 0,
    count: checkCount(first ?? last ?? DEFAULT_WINDOW, last == null ? 'first' : 'last'),
    fromBack: last != null,
  };
}

/** @throws BadUserInput for a cursor of another list, whose position has no meaning in this one. */
function cursorIn(nameOfList: () => string, text: string, argument: 'after' | 'before'): Cursor {
  const cursor = decodeCursor(text, argument);
  if (cursor.list === nameOfList()) return cursor;
  throw new BadUserInput(
    `"${argument}" is a cursor of another list, or of this list with another search, filter or order. Pass a cursor of the same field with the same arguments.`,
  );
}

/**
 * All rows of a list that is returned whole, or of a view of it, in order. Costs 0 or 1 upstream request; in a dry
 * run, one row represents the unknown ones.
 */
export function* readAll<R extends Row>(
  source: ListSource<R>,
  view?: ListView<R> | null,
): Steps<readonly R[]> {
  try {
    const { rows } = yield* pagesOf(source, view).page(1);
    return rows;
  } catch (error) {
    if (error === PARENT_ABSENT) return [];
    if (error !== PLACEHOLDERS) throw error;
    const page = yield* until(source.lists.page(source.list, 1, source.access));
    return page?.placeholder ? [page.placeholder(1)] : [];
  }
}

function pagesOf<R extends Row>(source: ListSource<R>, view?: ListView<R> | null): WalkedPages<R> {
  const pages = new ReadPages(source, view?.key);
  if (!view) return pages;
  const { caller } = source.access;
  const { upstream } = source.lists.client;
  return new ViewedPages(pages, view, { caller, upstream });
}

function checkCount(count: number, name: 'first' | 'last'): number {
  if (count >= 0 && count <= MAX_WINDOW) return count;
  throw new BadUserInput(`"${name}" must be from 0 to ${MAX_WINDOW}, not ${count}.`);
}
