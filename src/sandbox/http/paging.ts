/** The five members that describe a page. Implements: Link API > Pagination members. */
export interface PageMembers {
  result: number;
  perpage: number;
  currentpage: number;
  nextpage: number | null;
  maxpage: number;
}

const DEFAULT_LIMIT = 15;

/**
 * Returns the page for `limit` and `page`. Values other than positive integers are ignored, and a page after the last
 * one is empty: the documentation has no error for either.
 */
export function cutPage<R>(
  rows: readonly R[],
  query: Record<string, string>,
  maxLimit: number,
): { members: PageMembers; rows: R[] } {
  const perpage = Math.min(positive(query['limit']) ?? Math.min(DEFAULT_LIMIT, maxLimit), maxLimit);
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
