import type { SandboxRequest } from './router.ts';

/** The five members that describe a page. Implements: Link API > Pagination members. */
export interface PageMembers {
  result: number;
  perpage: number;
  currentpage: number;
  nextpage: number | null;
  maxpage: number;
}

const DEFAULT_LIMIT = 15;

/** Maximum number of rows of a page, or that of each list by its path. */
export type MaxLimit = number | ((path: string) => number);

/**
 * Returns the page for `limit` and `page`. Values other than positive integers are ignored, and a page after the last
 * one is empty: the documentation has no error for either.
 */
export function cutPage<R>(
  rows: readonly R[],
  { path, query }: Pick<SandboxRequest, 'path' | 'query'>,
  maxLimit: MaxLimit,
): { members: PageMembers; rows: R[] } {
  const most = typeof maxLimit === 'number' ? maxLimit : maxLimit(path);
  const perpage = Math.min(positive(query['limit']) ?? DEFAULT_LIMIT, most);
  const currentpage = positive(query['page']) ?? 1;
  const maxpage = Math.ceil(rows.length / perpage);
  const nextpage = currentpage < maxpage ? currentpage + 1 : null;
  return {
    members: { result: rows.length, perpage, currentpage, nextpage, maxpage },
    rows: rows.slice((currentpage - 1) * perpage, currentpage * perpage),
  };
}

function positive(text: string | undefined): number | undefined {
  return text !== undefined && /^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined;
}
