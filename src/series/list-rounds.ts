import { BoundedMap } from '../bounded-map.ts';
import type { PageContents } from '../upstream/request.ts';

/** Lists whose pages are remembered. */
const LISTS_REMEMBERED = 2000;

/** Pages of a list that were requested since a time: how many rows each has. */
interface Round {
  readonly total: number | null;
  readonly from: number;
  readonly pages: Map<number, number>;
  lastPage: number | null;
}

/**
 * Finds out when all pages of a list were read, with as many rows as the list has: a row that none of them had is not
 * in the list any more.
 */
export class ListRounds {
  readonly #rounds = new BoundedMap<Round>({ max: LISTS_REMEMBERED });

  /**
   * Records a page of a list without filters. If it completes the pages, returns since when all of them were
   * requested, on `clock.now()`; otherwise `null`.
   */
  seen(
    owner: string,
    { askedAt, contents }: { readonly contents: PageContents; readonly askedAt: number },
  ): number | null {
    const { isLast, number, path, rows, total } = contents;
    const key = `${owner} ${path}`;
    let round = this.#rounds.get(key);
    // Pages of different states of the list do not add up.
    if (!round || round.total !== total || askedAt < round.from || round.pages.has(number)) {
      round = { total, from: askedAt, pages: new Map(), lastPage: null };
      this.#rounds.set(key, round);
    }
    round.pages.set(number, rows.length);
    if (isLast) round.lastPage = number;
    const { lastPage, pages } = round;
    if (lastPage === null || pages.size < lastPage) return null;
    this.#rounds.delete(key);
    let sum = 0;
    for (const count of pages.values()) sum += count;
    return sum === total ? round.from : null;
  }
}
