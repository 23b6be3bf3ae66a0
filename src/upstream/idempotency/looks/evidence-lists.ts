import type { Access } from '../../operation.ts';
import type { Call, List, Row } from '../../request.ts';

/** A page of a list that was read past the cache. */
export interface SeenPage {
  readonly number: number;
  readonly rows: readonly Row[];
  readonly isLast: boolean;
  /** Number of the last page; `null` if the page does not state it. */
  readonly lastPage: number | null;
}

/** The page of a list on which new rows appear. */
export interface ListEnd {
  readonly page: number;
  /** The highest id on it; `null` for an empty list. */
  readonly highest: number | null;
}

/** The lists of one upstream, as far as the search for a created row needs them. */
export interface EvidenceLists {
  /** The end of a list, if cached pages show it. No request. */
  cachedEnd(list: List<Row>, access: Access): ListEnd | null;
  /** The request of a page. */
  pageCall(list: List<Row>, number: number): Call<SeenPage>;
}

/** How the ids of a page are ordered; `null` if they are not, or if there are fewer than two rows. */
export function orderOf(rows: readonly Row[]): 'ascending' | 'descending' | null {
  if (rows.length < 2) return null;
  const isOrdered = (sign: 1 | -1) =>
    rows.every(({ id }, at) => at === 0 || sign * (id - (rows[at - 1] as Row).id) > 0);
  if (isOrdered(1)) return 'ascending';
  return isOrdered(-1) ? 'descending' : null;
}

/** The highest id; `null` without rows. */
export function highestId(rows: readonly Row[]): number | null {
  let highest: number | null = null;
  for (const { id } of rows) highest = Math.max(highest ?? id, id);
  return highest;
}
