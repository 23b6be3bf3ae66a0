import type { Creation, Row } from '../../request.ts';
import { highestId, type ListEnd, orderOf, type SeenPage } from './evidence-lists.ts';

/** A row that was created this long before or after a request, in milliseconds, may be its result: clocks differ. */
const CLOCKS_DIFFER_MS = 120_000;
/** A time stamp is wrong by at most this time if its zone is, in milliseconds. */
const ZONES_DIFFER_MS = 26 * 3_600_000;
/** What is known of a request that may have created a row. Times are in milliseconds since 1970. */
export interface SentCreation {
  readonly sentAt: number;
  /** The latest time at which the row can have been created. */
  readonly until: number;
  /** See `Ambiguity`. */
  readonly baseline: readonly number[] | null;
  /** Whether a row is the result of another write. */
  readonly isOfAnother: (id: number) => boolean;
}

type SentTimes = Omit<SentCreation, 'isOfAnother'>;

/** The result of a look at the pages where new rows appear. */
export type JudgedRows =
  | { readonly kind: 'found'; readonly row: Row }
  | { readonly kind: 'several'; readonly candidates: readonly number[] }
  | { readonly kind: 'absent' }
  /** The pages do not show all rows that may be the result. */
  | { readonly kind: 'undecided' };

/**
 * Finds the result of a request among the rows of pages, in the order in which they were read: exactly one that is equal
 * and new.
 */
export function judgeRows(
  creation: Creation<unknown>,
  pages: readonly SeenPage[],
  sent: SentCreation,
): JudgedRows {
  const rows = rowsOf(pages);
  const possible = rows.filter(({ id }) => !sent.isOfAnother(id));
  const isOrdered = rows.length < 2 || orderOf(rows) !== null;
  const ageOf = (row: Row) => ageIn(creation, row, { ...sent, isOrdered });
  const equal = possible.filter((row) => creation.matches(row) && ageOf(row) !== 'old');
  const [first, ...others] = equal;
  if (first && others.length === 0 && ageOf(first) === 'new') return { kind: 'found', row: first };
  const similar = possible.filter(
    (row) =>
      !equal.includes(row) && creation.resembles(row) && isNew(creation, row, sent, isOrdered),
  );
  const candidates = [...equal, ...similar].map(({ id }) => id);
  if (candidates.length > 0) return { kind: 'several', candidates };
  return { kind: showsAll(creation, pages, sent) ? 'absent' : 'undecided' };
}

/** Whether there is evidence that a row is new; that it is unique is none for a row that only resembles. */
function isNew(
  creation: Creation<unknown>,
  row: Row,
  sent: SentCreation,
  isOrdered: boolean,
): boolean {
  return ageIn({ ...creation, isUnique: false }, row, { ...sent, isOrdered }) === 'new';
}

/** Whether a row was created by the request or later, as far as ids and time stamps show it. */
function ageIn(
  { createdAt, isUnique }: Pick<Creation<unknown>, 'createdAt' | 'isUnique'>,
  row: Row,
  { baseline, isOrdered, sentAt, until }: SentTimes & { readonly isOrdered: boolean },
): 'new' | 'old' | 'unclear' {
  if (baseline?.includes(row.id)) return 'old';
  if (baseline && isOrdered) return baseline.some((id) => id > row.id) ? 'old' : 'new';
  const at = Date.parse(createdAt?.(row) ?? '');
  if (at < sentAt - ZONES_DIFFER_MS) return 'old';
  if (at >= sentAt - CLOCKS_DIFFER_MS && at <= until + CLOCKS_DIFFER_MS) return 'new';
  return isUnique ? 'new' : 'unclear';
}

/**
 * Whether pages, in the order in which they were read, show all rows that are newer than a request. Between two reads, other
 * clients delete and create rows: what is deleted moves the later rows to a page before.
 */
export function showsAll(
  creation: Pick<Creation<unknown>, 'createdAt' | 'isUnique'>,
  pages: readonly SeenPage[],
  sent: SentTimes,
): boolean {
  const isOld = (row: Row) => ageIn(creation, row, { ...sent, isOrdered: true }) === 'old';
  const reachesOld = ({ number, rows }: SeenPage) => number === 1 || rows.some(isOld);
  if (pages.some(({ isLast, number }) => isLast && number === 1)) return true;
  const order = orderOf(rowsOf(pages));
  // A row can move from the second page to the first after that was read: only one response shows all.
  if (order === 'descending')
    return pages.some(({ number, rows }) => number === 1 && rows.some(isOld));
  // From the end backwards, a row moves to a page that is read later.
  return order === 'ascending' && pages.slice(endAt(pages)).some(reachesOld);
}

/** The end of a list, if pages show it. */
export function endOf(pages: readonly SeenPage[]): ListEnd | null {
  const order = orderOf(rowsOf(pages));
  const end =
    order === 'ascending'
      ? pages[endAt(pages)]
      : pages.find(({ isLast, number }) => number === 1 && (isLast || order === 'descending'));
  return end ? { page: end.number, highest: highestId(rowsOf(pages)) } : null;
}

/** The place of the last page of a list among pages; their number if it is none of them. */
function endAt(pages: readonly SeenPage[]): number {
  const at = pages.findLastIndex(({ isLast }) => isLast);
  return at === -1 ? pages.length : at;
}

/** The rows of pages in the order of the list. */
function rowsOf(pages: readonly SeenPage[]): Row[] {
  const sorted = pages.toSorted((a, b) => a.number - b.number);
  const rows = new Map(sorted.flatMap((page) => page.rows.map((row) => [row.id, row] as const)));
  return [...rows.values()];
}

/** The page to read after others; `null` if none shows more. */
export function nextPage(pages: readonly SeenPage[]): number | null {
  const page = pages.at(-1);
  if (!page) return 1;
  const { isLast, lastPage, number, rows } = page;
  if (orderOf(rowsOf(pages)) === 'descending') {
    if (pages.every((each) => each.number !== 1)) return 1;
    return isLast ? null : number + 1;
  }
  // New rows are on the last page.
  if (endAt(pages) === pages.length) return Math.max(lastPage ?? 0, number + 1);
  if (number === 1) return null;
  return rows.length > 0 || lastPage === null ? number - 1 : Math.min(lastPage, number - 1);
}
