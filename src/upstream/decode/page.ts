import type { DecodeContext, Page, Row } from '../request.ts';
import { DecodeError, RowReader, readRow } from './row-reader.ts';
import { asMap, parseInteger } from './scalars.ts';

/** How the rows of one list are found and read. */
export interface PageShape<R extends Row> {
  /** The list's name in surprises and errors, e.g. `channels`. */
  readonly resource: string;
  /** The keys that may hold the rows, the documented one first. */
  readonly keys: readonly string[];
  /** @throws DecodeError for a row that cannot be used; it is then left out of the page. */
  readonly decodeRow: (row: RowReader) => R;
}

/**
 * Makes the decoder of a list. Rows and paging members may sit in `data` or at the top level, in any
 * mixture; the rows may be a list or an object keyed by number. A row that cannot be used is left out
 * and reported as a surprise: it never sinks the page.
 * @throws DecodeError from the decoder, when the answer holds no list at all.
 */
export function pageDecoder<R extends Row>(
  shape: PageShape<R>,
): (body: unknown, context: DecodeContext) => Page<R> {
  return (body, context) => {
    const answer = asMap(body);
    if (!answer) throw new DecodeError(shape.resource, 'an object');
    const data = asMap(answer['data']);
    const sent = findRows(answer, data, shape, context);
    const rows: R[] = [];
    for (const value of sent) {
      const row = decodeRow(value, shape, context);
      if (row) rows.push(row);
    }
    const members: Record<string, unknown> = { ...answer, ...data };
    // "There is none" is `null` in the documents and `false` here and there.
    if (members['nextpage'] === false) members['nextpage'] = null;
    const paging = new RowReader(members, shape.resource, context);
    return {
      rows,
      total: atLeast(0, paging.integer('result')),
      perPage: atLeast(1, paging.integer('perpage')),
      currentPage: atLeast(1, paging.integer('currentpage')),
      nextPage: atLeast(1, paging.integer('nextpage')),
      maxPage: atLeast(1, paging.integer('maxpage')),
      sent: sent.length,
    };
  };
}

/**
 * Whether no page follows `page`, which was asked for as number `requestedPage` (from 1). The paging
 * members contradict each other on real installations, so each is believed only where it stops:
 * `nextpage` can repeat the current page or keep growing past the end, and `maxpage` can be missing.
 */
export function isLastPage(page: Page<Row>, requestedPage: number): boolean {
  if (page.sent === 0) return true;
  const current = page.currentPage ?? requestedPage;
  // Asked for a page past the end, some installations answer with the last one again.
  if (current < requestedPage) return true;
  if (page.maxPage !== null && current >= page.maxPage) return true;
  if (page.nextPage !== null && page.nextPage <= current) return true;
  if (page.maxPage !== null) return false;
  if (page.total !== null) {
    if (page.perPage !== null) return current * page.perPage >= page.total;
    if (current === 1 && page.sent >= page.total) return true;
  }
  return page.nextPage === null;
}

function findRows<R extends Row>(
  answer: Readonly<Record<string, unknown>>,
  data: Readonly<Record<string, unknown>> | undefined,
  shape: PageShape<R>,
  context: DecodeContext,
): readonly unknown[] {
  if (Array.isArray(answer['data'])) return answer['data'] as readonly unknown[];
  for (const holder of [data ?? {}, answer]) {
    const key = shape.keys.find((name) => name in holder);
    if (key !== undefined) {
      const list = new RowReader(holder, shape.resource, context).list(key);
      if (list) return list;
      if (holder[key] === null) return [];
      throw new DecodeError(`${shape.resource}.${key}`, 'a list');
    }
  }
  // No list, yet an answer that says of itself that it has none to give.
  if (parseInteger((data ?? answer)['result']) === 0) return [];
  if (answer['data'] === null) {
    context.surprise(`${shape.resource}.data`);
    return [];
  }
  const numbered = data && Object.keys(data).every((name) => /^\d+$/.test(name));
  if (data && numbered) return Object.values(data);
  throw new DecodeError(`${shape.resource}.${shape.keys[0] ?? 'data'}`, 'a list');
}

function decodeRow<R extends Row>(
  value: unknown,
  shape: PageShape<R>,
  context: DecodeContext,
): R | null {
  try {
    return shape.decodeRow(readRow(value, shape.resource, context));
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    context.surprise(error.path);
    return null;
  }
}

function atLeast(least: number, value: number | null): number | null {
  return value !== null && value >= least ? value : null;
}
