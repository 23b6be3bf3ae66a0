import type { List, Page, PageContents, Row } from '../request.ts';

/** What one page shows of its list, for what is recorded of it over time. */
export function contentsOf<R extends Row>(
  { about, count, paged, path, query, resource }: List<R>,
  { rows, total }: Page<R>,
  { isLast, number }: Pick<PageContents, 'isLast' | 'number'>,
): PageContents {
  return {
    resource,
    path,
    number,
    rows,
    count,
    total: paged ? total : rows.length,
    isLast,
    isWhole: query === undefined && about === undefined,
  };
}
