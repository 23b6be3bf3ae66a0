import { describe, expect, test } from 'vitest';
import { isLastPage } from '../../../src/upstream/lists/list-page.ts';
import type { Page, Row } from '../../../src/upstream/request.ts';

describe('isLastPage', () => {
  const page: Page<Row> = {
    rows: [],
    total: null,
    perPage: null,
    currentPage: null,
    nextPage: null,
    maxPage: null,
    sent: 10,
  };

  test.each<[string, Partial<Page<Row>>, number, boolean]>([
    ['the page is empty, whatever else it says', { sent: 0, nextPage: 9, maxPage: 9 }, 2, true],
    ['the current page is the last', { currentPage: 3, maxPage: 3, nextPage: 4 }, 3, true],
    ['the current page is past the last', { currentPage: 4, maxPage: 3 }, 4, true],
    ['nextpage repeats the current page', { currentPage: 3, nextPage: 3 }, 3, true],
    [
      'nextpage repeats it, and maxpage is wrong',
      { currentPage: 3, nextPage: 3, maxPage: 9 },
      3,
      true,
    ],
    ['nextpage goes back', { currentPage: 3, nextPage: 1 }, 3, true],
    ['nextpage is null and nothing else is told', { currentPage: 3 }, 3, true],
    [
      'the total is reached while nextpage keeps growing',
      { currentPage: 3, nextPage: 4, perPage: 10, total: 30 },
      3,
      true,
    ],
    ['the first page holds the total', { nextPage: 2, total: 10 }, 1, true],
    ['an earlier page than asked for came back', { currentPage: 3, nextPage: 4 }, 5, true],
    ['nothing is told', {}, 1, true],
  ])('stops when %s', (_, members, requested, expected) => {
    expect(isLastPage({ ...page, ...members }, requested)).toBe(expected);
  });

  test.each<[string, Partial<Page<Row>>, number]>([
    ['maxpage is ahead', { currentPage: 1, maxPage: 2, nextPage: 2 }, 1],
    ['maxpage is ahead and nextpage is absent', { currentPage: 1, maxPage: 2 }, 1],
    ['nextpage grows and maxpage is unknown', { currentPage: 1, nextPage: 2 }, 1],
    ['the total is not reached', { currentPage: 2, nextPage: 3, perPage: 10, total: 21 }, 2],
    ['the total is not reached and nothing else is told', { perPage: 10, total: 21 }, 2],
    [
      'pages are shorter than perpage says, and maxpage knows',
      { currentPage: 2, nextPage: 3, maxPage: 3, perPage: 100, total: 150 },
      2,
    ],
  ])('goes on when %s', (_, members, requested) => {
    expect(isLastPage({ ...page, ...members }, requested)).toBe(false);
  });
});
