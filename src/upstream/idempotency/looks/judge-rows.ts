import type { Creation, Row } from '../../request.ts';
import { highestId, type ListEnd, orderOf, type SeenPage } from './evidence-lists.ts';

/** A row that was created this long before or after a request, in milliseconds, may be its result: clocks differ. */
const CLOCKS_DIFFER_MS = 120_000;
/** A time stamp is wrong by at most this time if its zone is, in milliseconds. */
const ZONES_DIFFER_MS = 26 * 3_600_000;
/** So soon after a request, in milliseconds, ... */
const FEW_NEW_ROWS_MS = 600_000;
/** ... no more rows are assumed to be new, if neither ids nor time stamps show it. */
const MOST_NEW_ROWS = 20;

/** What is known of a request that may have created a row. Times are in milliseconds since 1970. */
export interface SentCreation {
  readonly sentAt: number;
  /** The latest time at which the row can have been created. */
  readonly until: number;
  readonly now: number;
  /** See `Ambiguity`. */
  readonly baseline: readonly number[] | null;
  /** Whether a row is the result of another write. */
  readonly isOfAnother: (id: number) => boolean;
}

/** The result of a look at the pages where new rows appear. */
export type Judged =
  | { readonly kind: 'found'; readonly row: Row }
  | { readonly kind: 'several'; readonly candidates: readonly number[] }
  | { readonly kind: 'absent' }
  /** The pages do not show all rows that may be the result. */
  | { readonly kind: 'undecided' };

/** Finds the result of a request among the rows of pages: exactly one that is equal and new. */
export function judgeRows(
  creation: Creation<unknown>,
  pages: readonly SeenPage[],
  sent: SentCreation,
): Judged {
  const rows = new Map(pages.flatMap((page) => page.rows.map((row) => [row.id, row] as const)));
  const possible = [...rows.values()].filter(({ id }) => !sent.isOfAnother(id));
  const isOrdered = pages.every(({ rows: some }) => some.length < 2 || orderOf(some) !== null);
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
  { baseline, isOrdered, sentAt, until }: SentCreation & { readonly isOrdered: boolean },
): 'new' | 'old' | 'unclear' {
  if (baseline?.includes(row.id)) return 'old';
  if (baseline && isOrdered) return baseline.some((id) => id > row.id) ? 'old' : 'new';
  const at = Date.parse(createdAt?.(row) ?? '');
  if (at < sentAt - ZONES_DIFFER_MS) return 'old';
  if (at >= sentAt - CLOCKS_DIFFER_MS && at <= until + CLOCKS_DIFFER_MS) return 'new';
  return isUnique ? 'new' : 'unclear';
}

/** Whether the row would be on the pages. */
export function showsAll(
  { createdAt }: Pick<Creation<unknown>, 'createdAt'>,
  pages: readonly SeenPage[],
  { baseline, now, sentAt }: Pick<SentCreation, 'baseline' | 'now' | 'sentAt'>,
): boolean {
  if (isWhole(pages)) return true;
  const end = pages.find(isEnd);
  if (!end) return false;
  // Rows that were created at the same time can fill the page before.
  const rows = pages.flatMap((page) => (Math.abs(page.number - end.number) < 2 ? page.rows : []));
  const isOld = (row: Row) =>
    baseline
      ? baseline.some((id) => id >= row.id)
      : Date.parse(createdAt?.(row) ?? '') < sentAt - CLOCKS_DIFFER_MS;
  if (rows.some(isOld)) return true;
  return baseline === null && now - sentAt <= FEW_NEW_ROWS_MS && rows.length > MOST_NEW_ROWS;
}

/** Whether pages are all pages of their list. */
export function isWhole(pages: readonly SeenPage[]): boolean {
  const numbers = new Set(pages.map(({ number }) => number));
  return pages.some(({ isLast, number }) => {
    if (!isLast) return false;
    for (let before = 1; before < number; before += 1) if (!numbers.has(before)) return false;
    return true;
  });
}

/** The end of a list, if pages show it. */
export function endOf(pages: readonly SeenPage[]): ListEnd | null {
  const end = pages.find(isEnd) ?? (isWhole(pages) ? pages.find(({ isLast }) => isLast) : null);
  if (!end) return null;
  return { page: end.number, highest: highestId(pages.flatMap(({ rows }) => rows)) };
}

/** Whether new rows appear on a page. */
function isEnd({ isLast, number, rows }: SeenPage): boolean {
  const order = orderOf(rows);
  if (order === 'descending') return number === 1;
  return isLast && (order === 'ascending' || number > 1);
}

/** The page to read after the first; `null` if it shows nothing more. */
export function nextPage(first: SeenPage, isEnough: boolean): number | null {
  const { isLast, lastPage, number, rows } = first;
  if (isWhole([first])) return null;
  if (number === 1) {
    if (orderOf(rows) === 'descending') return isEnough ? null : 2;
    // The new rows are on the last page, whose number can be unknown.
    return lastPage === null || lastPage === 1 ? null : lastPage;
  }
  if (!isLast) return lastPage ?? number + 1;
  return isEnough && rows.length > 0 ? null : number - 1;
}
