import { type Steps, until } from '../../../scheduling/at-once.ts';
import type { Access } from '../../operation.ts';
import type { List, Page, Row } from '../../request.ts';
import { pageEndOf } from '../page/list-page.ts';
import { areTorn } from '../page/page-comparison.ts';
import { identitiesOf } from '../page/page-read.ts';
import type { Lists } from '../pages.ts';
import { placeholderView } from '../placeholder-window.ts';
import { type ListSource, PARENT_ABSENT, PLACEHOLDERS, ReadPages } from '../read-pages.ts';
import { DEFAULT_WINDOW } from '../window.ts';

/**
 * All rows of a list, each once and in order; none if the list's parent is absent. Costs one upstream request for
 * each uncached page. In a dry run, one row represents the unknown ones.
 * @throws GatewayError `OPERATION_TOO_EXPENSIVE`, see `ReadPages.all`.
 */
export function* readWhole<R extends Row>(source: ListSource<R>): Steps<readonly R[]> {
  try {
    return distinctRows(source.list, yield* new ReadPages(source).all());
  } catch (error) {
    if (error === PARENT_ABSENT) return [];
    if (error !== PLACEHOLDERS) throw error;
    const part = { after: null, before: null, offset: 0, count: DEFAULT_WINDOW, fromBack: false };
    const { rows } = yield* until(placeholderView(source, part));
    return rows.map(({ node }) => node);
  }
}

function distinctRows<R extends Row>(
  list: List<R>,
  pages: readonly Pick<Page<R>, 'rows' | 'distinct'>[],
): readonly R[] {
  const [first] = pages;
  if (first?.distinct && pages.length === 1) return first.rows;
  const rows = pages.flatMap((page) => page.rows);
  const distinct = new Map<string, R>();
  for (const [n, identity] of identitiesOf(list, rows).entries()) {
    if (!distinct.has(identity)) distinct.set(identity, rows[n] as R);
  }
  return [...distinct.values()];
}

/** The cached rows of a list. */
export interface CachedRows<R> {
  readonly rows: readonly R[];
  /** Whether they are all rows that the list had when its pages were read. */
  readonly complete: boolean;
}

/** The rows of the pages that are cached and not outdated. No upstream request, also none in the background. */
export function readCached<R extends Row>(
  lists: Lists,
  list: List<R>,
  access: Access,
): CachedRows<R> {
  const numbers = [...new Set([1, ...lists.outline(list, access).asked])].sort((a, b) => a - b);
  const pages: Page<R>[] = [];
  let next = 1;
  let complete = false;
  let isTorn = false;
  for (const number of numbers) {
    const page = lists.cachedPage(list, number, access);
    if (page === undefined) continue;
    if (page === null) {
      // The parent is absent, so that there are no rows.
      if (number === 1) return { rows: [], complete: true };
      continue;
    }
    const before = pages.at(-1);
    pages.push(page);
    if (number !== next) continue;
    isTorn ||= before !== undefined && areTorn(before, page, (rows) => identitiesOf(list, rows));
    next += 1;
    complete ||= pageEndOf(page, number, lists.pageSize).last;
  }
  return { rows: distinctRows(list, pages), complete: complete && !isTorn };
}
