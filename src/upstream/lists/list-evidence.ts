import type { Hit } from '../cache/cache.ts';
import {
  type EvidenceLists,
  highestId,
  type ListEnd,
  orderOf,
  type SeenPage,
} from '../idempotency/looks/evidence-lists.ts';
import type { Access } from '../operation.ts';
import type { Call, List, Page, Row } from '../request.ts';
import type { Outline } from './outlines.ts';
import { isRepeated, pageEndOf } from './page/list-page.ts';

/** The pages of lists, as far as they are cached. */
interface CachedPages {
  readonly pageSize: number;
  hit<R extends Row>(
    list: List<R>,
    number: number,
    access: Access,
  ): Hit<Page<R> | null> | undefined;
  outline(list: List<Row>, access: Access): Pick<Outline, 'lastPage'>;
}

/** After this time, in milliseconds, other clients may have created too many rows since. */
const LONGEST_MS = 900_000;

/** What cached pages show of lists, and requests of pages past the cache. */
export class ListEvidence implements EvidenceLists {
  readonly #pages: CachedPages;

  constructor(pages: CachedPages) {
    this.#pages = pages;
  }

  cachedEnd(list: List<Row>, access: Access): ListEnd | null {
    const first = this.#known(list, 1, access);
    if (!first) return null;
    const highest = highestId(first.rows);
    if (!list.paged || this.#isLast(first, 1)) return { page: 1, highest };
    const order = orderOf(first.rows);
    if (order === 'descending') return { page: 1, highest };
    const { lastPage } = this.#pages.outline(list, access);
    const last = lastPage === null ? null : this.#known(list, lastPage, access);
    if (order === null || lastPage === null || !last || !this.#isLast(last, lastPage)) return null;
    return { page: lastPage, highest: highestId(last.rows) };
  }

  #isLast(page: Page<Row>, number: number): boolean {
    return pageEndOf(page, number, this.#pages.pageSize).last;
  }

  /** A cached page. What it shows existed, also if it is outdated: so it serves for some time after a write. */
  #known(list: List<Row>, number: number, access: Access): Page<Row> | null {
    const hit = this.#pages.hit(list, number, access);
    const isOld = hit?.state === 'fallback' && hit.ageMs > LONGEST_MS;
    return (!isOld && hit?.entry.value) || null;
  }

  pageCall(list: List<Row>, number: number): Call<SeenPage> {
    const { path, query } = list;
    const paging = { limit: String(this.#pages.pageSize), page: String(number) };
    return {
      method: 'GET',
      path,
      ...(list.paged ? { query: { ...query, ...paging } } : query && { query }),
      decode: (body, context) => {
        const page = list.decode(body, context);
        const end = list.paged
          ? pageEndOf(page, number, this.#pages.pageSize)
          : { last: true, lastPage: 1 };
        return {
          number,
          rows: isRepeated(page, number) ? [] : page.rows,
          isLast: end.last,
          lastPage: end.lastPage,
        };
      },
    };
  }
}
