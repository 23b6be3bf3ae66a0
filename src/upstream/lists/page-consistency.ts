import type { Page, Row } from '../request.ts';

/** Repeated reads that a list can have in hand at most. */
const MOST_SPARE = 100;
/** So often in a row can a page come again as it was, before its disagreement is taken for a habit. */
const MOST_DOUBT = 2;

/** What is compared of a page. */
interface Compared {
  /** Which answer of its list it was; absent where that is not known. */
  readonly arrival?: number | undefined;
  readonly total: number | null;
}

/**
 * Whether the pages of one list can stand side by side, although they were read at different times: rows
 * that came or went elsewhere in between are on two of them, or on none. The older page is then read
 * again. There are at most as many such reads as others of the list, and none where they do not help.
 */
export class PageConsistency {
  #arrivals = 0;
  #adopted = 0;
  /** The total that the latest page told, when it came, and when it was asked for, where that is of interest. */
  #latest: { readonly arrival: number; readonly total: number; askedAt?: number } | null = null;
  /** Arrivals of pages that are outdated for another reason. */
  readonly #outdated = new Set<number>();
  #spare = 0;
  #doubt = 0;

  /** How many writes of this process have changed the list. */
  writes = 0;

  /** Takes note of a page that has come, `again` if it is one that was outdated. */
  arrived<R extends Row>(page: Page<R>, again: boolean): Page<R> {
    this.#arrivals += 1;
    const arrival = this.#arrivals;
    if (!again) this.#spare = Math.min(MOST_SPARE, this.#spare + 1);
    if (page.total !== null) this.#latest = { arrival, total: page.total };
    return { ...page, arrival };
  }

  /** When a page that has come was asked for, on the clock of the cache. */
  stamped({ arrival }: Page<Row>, askedAt: number): void {
    if (this.#latest && this.#latest.arrival === arrival) this.#latest.askedAt = askedAt;
  }

  /** Takes a page in that another replica has read, among those that have come here as it was asked for. */
  adopted<R extends Row>(page: Page<R>, askedAt: number): Page<R> {
    if (askedAt > (this.#latest?.askedAt ?? Number.NEGATIVE_INFINITY) || !this.#latest) {
      const latest = this.arrived(page, true);
      this.stamped(latest, askedAt);
      return latest;
    }
    this.#adopted += 1;
    return { ...page, arrival: this.#latest.arrival - 1 / (1 + this.#adopted) };
  }

  /** Whether a page is older than another that it does not go with, and is worth to be read again. */
  isOutdated({ arrival, total }: Compared): boolean {
    if (arrival === undefined || this.#spare < 1 || this.#doubt >= MOST_DOUBT) return false;
    if (this.#outdated.has(arrival)) return true;
    const latest = this.#latest;
    return latest !== null && total !== null && arrival < latest.arrival && total !== latest.total;
  }

  /** Two pages have a row in common: the one that came first is outdated. */
  overlap(a: Compared, b: Compared): void {
    if (a.arrival === undefined || b.arrival === undefined || a.arrival === b.arrival) return;
    this.#outdated.add(Math.min(a.arrival, b.arrival));
  }

  /** An outdated page is about to be read again. */
  spend({ arrival }: Compared): void {
    this.#spare -= 1;
    if (arrival !== undefined) this.#outdated.delete(arrival);
  }

  /** Compares an outdated page with what came when it was read again. */
  judge(outdated: Page<Row>, page: Page<Row>): void {
    // Nothing newer could be had.
    if (page.arrival === outdated.arrival) return;
    const ids = ({ rows }: Page<Row>) => rows.map(({ id }) => id).join();
    const sameRows = ids(page) === ids(outdated);
    this.#doubt = sameRows && page.total === outdated.total ? this.#doubt + 1 : 0;
    // Rows would have been lost or shown twice: such a read is no waste, and costs none of those in hand.
    if (!sameRows) this.#spare = Math.min(MOST_SPARE, this.#spare + 1);
  }

  /** One that knows as much, and goes its own way from there. */
  copy(): PageConsistency {
    const copy = new PageConsistency();
    copy.writes = this.writes;
    copy.#arrivals = this.#arrivals;
    copy.#latest = this.#latest;
    copy.#spare = this.#spare;
    copy.#doubt = this.#doubt;
    for (const arrival of this.#outdated) copy.#outdated.add(arrival);
    return copy;
  }
}
