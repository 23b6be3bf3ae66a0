import { GatewayError, type UpstreamName, upstreamTitle } from '../../../errors.ts';
import type { ListState, PageArrival, Row } from '../../request.ts';
import type { ListPage } from './list-page.ts';
import { type PageConsistency, statesOf } from './page-consistency.ts';

/** Number of comparisons in which pages without rows in doubt are read again, too: for newer rows. */
const MOST_FRESH_ROUNDS = 2;
/** Maximum number of pages that a walk reads again, in addition to two for each of its pages. */
const MOST_AGAIN = 10;

/** The list whose pages are compared. */
interface ComparedList<R extends Row> {
  readonly upstream: UpstreamName;
  readonly identities: (rows: readonly R[]) => readonly string[];
  /** Of the list, as it is known when pages are compared. */
  readonly consistency: () => PageConsistency;
}

/** Compares the pages of one walk, which were read at different times. */
export class PageComparison<R extends Row> {
  readonly #list: ComparedList<R>;
  #rounds = 0;
  /** Number of pages that were to be read again. */
  #again = 0;

  constructor(list: ComparedList<R>) {
    this.#list = list;
  }

  /**
   * The numbers of the pages that others contradict, and which are to be read again.
   * @throws GatewayError `UPSTREAM_UNAVAILABLE` for a list that changes whenever a page is read.
   */
  outdated(pages: ReadonlyMap<number, ListPage<R> | null>): ReadonlySet<number> {
    const outdated = new Set<number>();
    // A single page is always consistent.
    if (pages.size < 2) return outdated;
    const { identities, upstream } = this.#list;
    const consistency = this.#list.consistency();
    const isEarly = this.#rounds < MOST_FRESH_ROUNDS;
    this.#rounds += 1;
    for (const [number, page] of pages) {
      if (page && isEarly && page.writes < consistency.writes) outdated.add(number);
      const next = pages.get(number + 1);
      const found = page && next && compare(page, next, identities);
      if (!found || !(found.isTorn || isEarly)) continue;
      const older = found.isFirst ? page : next;
      consistency.outdates(older, found.isTorn);
      if (consistency.isOutdated(older)) outdated.add(older.number);
    }
    this.#again += outdated.size;
    if (this.#again <= MOST_AGAIN + 2 * pages.size) return outdated;
    throw new GatewayError(
      'UPSTREAM_UNAVAILABLE',
      `${upstreamTitle[upstream]} changes the list each time that a page of it is read. Retry later.`,
      { details: { upstream } },
    );
  }
}

/** The rows of a page, and when they were received. */
interface ReceivedRows<R extends Row> {
  readonly arrival?: PageArrival | undefined;
  readonly rows: readonly R[];
}

/** What two adjacent pages show of each other. */
interface Contradiction {
  /** Whether the first one is the older one, which is to be read again. */
  readonly isFirst: boolean;
  /** Whether rows that were there all along can be between the pages. Otherwise only newer ones are missing. */
  readonly isTorn: boolean;
}

/**
 * Compares two adjacent pages; null if they fit.
 *
 * A row that was there all along is between them if it moved from the later page to the other one after that was read.
 * It did not if they have a row in common, or if no response stated another number of rows meanwhile, or if one of them
 * had the same rows before and after the other was read. In the last case, rows can have left the pages before it and
 * have come back: the number of rows then went down and up, or up and down. A deletion and a creation between the same
 * two responses are not noticed.
 */
function compare<R extends Row>(
  page: ReceivedRows<R>,
  next: ReceivedRows<R>,
  identities: (rows: readonly R[]) => readonly string[],
): Contradiction | null {
  const [a, b] = [page.arrival, next.arrival];
  if (!a || !b || a.at === b.at) return null;
  const isFirst = a.at < b.at;
  if (haveCommonEdge(page, next, identities)) {
    return isFirst && a.same.length === 0 ? { isFirst, isTorn: false } : null;
  }
  const [ofA, ofB] = [statesOf(a), statesOf(b)];
  const isJoined =
    ofA.some((one) => ofB.some((other) => grew(one, other) === 0 && shrank(one, other) === 0)) ||
    surrounds(ofA, ofB, shrank, grew) ||
    surrounds(ofB, ofA, grew, shrank);
  return isJoined ? null : { isFirst, isTorn: true };
}

/** Whether rows that were there all along can be between two adjacent pages. */
export function areTorn<R extends Row>(
  page: ReceivedRows<R>,
  next: ReceivedRows<R>,
  identities: (rows: readonly R[]) => readonly string[],
): boolean {
  return compare(page, next, identities)?.isTorn === true;
}

/** Whether the row at the edge of a page is also on the adjacent page. */
function haveCommonEdge<R extends Row>(
  page: ReceivedRows<R>,
  next: ReceivedRows<R>,
  identities: (rows: readonly R[]) => readonly string[],
): boolean {
  const [ofPage, ofNext] = [identities(page.rows), identities(next.rows)];
  const [last, first] = [ofPage.at(-1), ofNext[0]];
  if (last === undefined || first === undefined) return false;
  return ofNext.includes(last) || ofPage.includes(first);
}

const grew = (from: ListState, to: ListState): number => to.grown - from.grown;
const shrank = (from: ListState, to: ListState): number => to.shrunk - from.shrunk;

/**
 * Whether a page had the same rows in the responses before and after another one, and the list had not both changed in
 * one way before that and changed in the other way after it.
 */
function surrounds(
  states: readonly ListState[],
  others: readonly ListState[],
  inOneWay: typeof grew,
  back: typeof grew,
): boolean {
  return others.some((other) => {
    const next = states.findIndex(({ at }) => at > other.at);
    const [before, after] = [states[next - 1], states[next]];
    if (!before || !after) return false;
    return inOneWay(before, other) === 0 || back(other, after) === 0;
  });
}
