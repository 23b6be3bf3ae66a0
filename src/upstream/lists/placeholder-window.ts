import type { Access } from '../operation.ts';
import type { Row } from '../request.ts';
import { placeOfOffset } from './anchor.ts';
import { type ListSource, MOST_PAGES_OF_VIEW } from './read-pages.ts';
import type { Window, WindowPart, WindowRow } from './walk.ts';

/**
 * A window of a dry run with unknown rows: it has as many as requested, on full pages, and one row represents all
 * unknown ones. If the end of the list would have to be found, it is assumed to be near.
 */
export async function placeholderWindow<R extends Row>(
  { lists, list, ...source }: ListSource<R>,
  { after, before, offset, count, fromBack }: WindowPart,
): Promise<Window<R>> {
  const access = again(source.access);
  const { perPage, lastPage } = lists.outline(list, access);
  const start = placeOfOffset(offset, perPage ?? lists.pageSize);
  const from = after?.page ?? (fromBack ? (before?.page ?? null) : start.page);
  const rows: WindowRow<R>[] = [];
  let standIn: ((rows: number) => R) | null = null;
  let unknown = 0;
  let skipped = offset > 0 ? start.index : 0;
  let number = from ?? 1;
  do {
    const page = await lists.page(list, number, access, { uncertain: from === null });
    number += 1;
    const left = count - rows.length - unknown;
    if (page?.placeholder) {
      standIn ??= page.placeholder;
      unknown += Math.min(left, page.perPage - skipped);
    } else if (page && page.rows.length > 0) {
      for (const row of page.rows.slice(skipped, skipped + left)) {
        rows.push({ node: row, cursor: '' });
      }
    } else break;
    skipped = 0;
  } while (rows.length + unknown < count && list.paged && number <= (lastPage ?? number));
  return windowOf(rows, standIn, unknown);
}

/**
 * The same for a view: it needs all pages of the list, as far as they are known, and has as many rows as requested.
 */
export async function placeholderView<R extends Row>(
  { lists, list, ...source }: ListSource<R>,
  { count }: WindowPart,
): Promise<Window<R>> {
  const access = again(source.access);
  const first = await lists.page(list, 1, access);
  const { lastPage } = lists.outline(list, access);
  const others = Math.min(MOST_PAGES_OF_VIEW, list.paged ? (lastPage ?? 1) : 1) - 1;
  const reading = Array.from({ length: Math.max(0, others) }, async (_, n) =>
    lists.page(list, n + 2, access, { further: 'whole' }),
  );
  const pages = await Promise.all(reading);
  const standIn = [first, ...pages].find((page) => page?.placeholder)?.placeholder ?? null;
  return windowOf([], standIn, count);
}

/** See `PlannedMode.isAgain`. */
function again({ mode, ...access }: Access): Access {
  return { ...access, mode: mode?.kind === 'planned' ? { ...mode, isAgain: true } : mode };
}

function windowOf<R extends Row>(
  rows: readonly WindowRow<R>[],
  standIn: ((rows: number) => R) | null,
  unknown: number,
): Window<R> {
  const placeholders = standIn && unknown > 0 ? [{ node: standIn(unknown), cursor: '' }] : [];
  return {
    rows: [...rows, ...placeholders],
    hasNextPage: false,
    hasPreviousPage: false,
    total: null,
  };
}
