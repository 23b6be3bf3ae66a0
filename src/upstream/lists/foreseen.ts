import type { Read, Row } from '../request.ts';
import { placeOfOffset } from './anchor.ts';
import { pageEndOf } from './page/list-page.ts';
import type { ListSource } from './read-pages.ts';
import type { ListView } from './views/view.ts';
import { DEFAULT_WINDOW, type WindowArguments } from './window.ts';

/**
 * Predicts for each uncached page of a window whether its response can lead to reads of other pages: if none does, a
 * dry run is exact. No upstream request.
 */
export function foreseenPages<R extends Row>(
  source: ListSource<R>,
  window: WindowArguments,
  view?: ListView<R> | null,
): (read: Read<unknown>) => boolean {
  const { lists, list, access } = source;
  const { first, after, last, before } = window;
  if (!list.paged) return () => true;
  if (view) return () => cachedEnd(source) !== null;
  if ((last ?? after ?? before) != null) return () => false;
  const offset = window.offset ?? 0;
  const count = first ?? DEFAULT_WINDOW;
  return ({ query }) => {
    const page = Number(query?.['page']);
    const fits = lists.fitsFirstPage(list, offset + count, access);
    if (page === 1 && fits) return true;
    const { perPage } = lists.outline(list, access);
    const end = cachedEnd(source);
    if (offset === 0 || perPage === null || end === null) return false;
    const place = placeOfOffset(offset, perPage);
    const isEnough = page === end || lists.fitsFirstPage(list, place.index + count, access);
    return page === place.page && page <= end && isEnough;
  };
}

/** The number of the last page, if the first one is cached, fresh, and says so. */
function cachedEnd<R extends Row>({ lists, list, access }: ListSource<R>): number | null {
  const hit = lists.hit(list, 1, access);
  const page = hit?.state === 'fresh' ? hit.entry.value : null;
  if (!page) return null;
  return pageEndOf(page, 1, lists.pageSize).lastPage;
}
