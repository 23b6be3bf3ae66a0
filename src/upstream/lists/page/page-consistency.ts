import { hash } from 'node:crypto';
import type { ListState, Page, PageArrival, Row } from '../../request.ts';

/** Maximum number of repeated reads that a list can save up. */
const MOST_SPARE = 100;
/** Number of unchanged repeated reads in a row after which a contradiction is considered permanent. */
const MOST_DOUBT = 2;
/** The same for pages between which rows can be. */
const MOST_DOUBT_IF_TORN = 10;
/** Number of earlier responses with the same rows that are known of a page. */
const MOST_SAME = 4;
/** Number of pages of a list whose latest rows are known. */
const MOST_KNOWN = 500;

/** The compared properties of a page. */
interface Compared {
  readonly arrival?: PageArrival | undefined;
}

/** How a page was received. */
export interface ReceivedPage {
  readonly number: number;
  /** The identities of its rows. */
  readonly identities: readonly string[];
  /** `again`: it replaces an outdated one. `adopted`: another process has read it. */
  readonly as: 'new' | 'again' | 'adopted';
}

/**
 * Checks whether the pages of one list, read at different times, are consistent: if other clients add or delete rows
 * in between, a row can be on two pages or on none. The older page is then read again. The number of such reads is
 * at most the number of other reads of the list; there are none if they do not help.
 */
export class PageConsistency {
  #arrivals = 0;
  #adopted = 0;
  /** See `PageArrival`. */
  #grown = 0;
  #shrunk = 0;
  /** The latest page with a total, and when it was requested, if needed. */
  #latest: { readonly arrival: PageArrival; askedAt?: number } | null = null;
  /** Pages that another one shows to be outdated, by their `at`; true if rows can be lost. */
  readonly #outdated = new Map<number, boolean>();
  /** The latest response for a page. */
  readonly #pages = new Map<number, { readonly digest: string; readonly arrival: PageArrival }>();
  #spare = 0;
  #doubt = 0;

  /** How many writes of this process have changed the list. */
  writes = 0;

  /** Records a received page. */
  arrived({ total }: Page<Row>, { as, identities, number }: ReceivedPage): PageArrival {
    this.#arrivals += 1;
    const stated = this.#latest?.arrival.total ?? total;
    if (total !== null && stated !== null) {
      if (total > stated) this.#grown += 1;
      if (total < stated) this.#shrunk += 1;
    }
    const now = { at: this.#arrivals, grown: this.#grown, shrunk: this.#shrunk, total };
    const before = this.#pages.get(number);
    const digest = hash('sha1', identities.join('\n'), 'base64');
    const isSame = before?.digest === digest;
    const same = before && isSame ? statesOf(before.arrival).slice(-MOST_SAME) : [];
    const arrival: PageArrival = { ...now, same };
    if (this.#pages.size < MOST_KNOWN || before) this.#pages.set(number, { digest, arrival });
    const wasOutdated = before !== undefined && this.#outdated.delete(before.arrival.at);
    const isAgain = as === 'again' || (as === 'new' && wasOutdated);
    if (before && !(isSame && before.arrival.total === total)) this.#doubt = 0;
    else if (isAgain) this.#doubt += 1;
    // Rows would have been lost or returned twice: such a read is necessary, and not counted.
    if (as === 'new' || (as === 'again' && !isSame)) {
      this.#spare = Math.min(MOST_SPARE, this.#spare + 1);
    }
    if (total !== null) this.#latest = { arrival };
    return arrival;
  }

  /** When a received page was requested, on the clock of the cache. */
  stamped({ arrival }: Compared, askedAt: number): void {
    if (this.#latest && this.#latest.arrival === arrival) this.#latest.askedAt = askedAt;
  }

  /** Adds a page that the process before has read to the received ones, in the order of requests. */
  adopted(page: Page<Row>, how: ReceivedPage, askedAt: number): PageArrival {
    if (askedAt > (this.#latest?.askedAt ?? Number.NEGATIVE_INFINITY) || !this.#latest) {
      const arrival = this.arrived(page, how);
      this.stamped({ arrival }, askedAt);
      return arrival;
    }
    this.#adopted += 1;
    const { at, grown, shrunk, total } = this.#latest.arrival;
    return {
      at: at - 1 / (1 + this.#adopted),
      grown: page.total === total ? grown : grown - 1,
      shrunk: page.total === total ? shrunk : shrunk - 1,
      total: page.total,
      same: [],
    };
  }

  /** Whether a newer page contradicts this page, and reading it again can help. */
  isOutdated({ arrival }: Compared): boolean {
    if (!arrival) return false;
    const { at, grown, shrunk, total } = arrival;
    const mark = this.#outdated.get(at);
    if (mark === true) return this.#doubt < MOST_DOUBT_IF_TORN;
    if (this.#spare < 1 || this.#doubt >= MOST_DOUBT) return false;
    return mark === false || (total !== null && (grown < this.#grown || shrunk < this.#shrunk));
  }

  /** Notes that another page shows that a page is outdated. `isTorn`: rows can be between them. */
  outdates({ arrival }: Compared, isTorn: boolean): void {
    if (arrival) this.#outdated.set(arrival.at, isTorn);
  }

  /** An outdated page is about to be read again. */
  spend(): void {
    this.#spare = Math.max(0, this.#spare - 1);
  }

  /** A copy with the same state that changes independently. */
  copy(): PageConsistency {
    const copy = new PageConsistency();
    copy.writes = this.writes;
    copy.#arrivals = this.#arrivals;
    copy.#grown = this.#grown;
    copy.#shrunk = this.#shrunk;
    copy.#latest = this.#latest;
    copy.#spare = this.#spare;
    copy.#doubt = this.#doubt;
    for (const [at, isTorn] of this.#outdated) copy.#outdated.set(at, isTorn);
    for (const [number, page] of this.#pages) copy.#pages.set(number, page);
    return copy;
  }
}

/** The responses that had the rows of a page. */
export function statesOf({ same, ...own }: PageArrival): readonly ListState[] {
  return [...same, own];
}
