import { describe, expect, test } from 'vitest';
import { pageEndOf, totalOf } from '../../../src/upstream/lists/page/list-page.ts';
import type { Page, Row } from '../../../src/upstream/request.ts';

/** A page of ten rows that says nothing. */
const page: Page<Row> = {
  rows: [],
  total: null,
  perPage: null,
  currentPage: null,
  nextPage: null,
  maxPage: null,
  sent: 10,
};

describe('pageEndOf', () => {
  const what = (members: Partial<Page<Row>>, number: number) => {
    const { certain, last } = pageEndOf({ ...page, ...members }, number, 10);
    return last ? 'last' : certain ? 'more' : 'uncertain';
  };

  test.each<[string, Partial<Page<Row>>, number]>([
    ['the page is empty, whatever else it says', { sent: 0, nextPage: 9, maxPage: 9 }, 2],
    ['the current page is the last', { currentPage: 3, maxPage: 3, nextPage: 4 }, 3],
    ['the current page is past the last', { currentPage: 4, maxPage: 3 }, 4],
    ['nextpage repeats the current page', { currentPage: 3, nextPage: 3 }, 3],
    ['nextpage goes back', { currentPage: 3, nextPage: 1 }, 3],
    ['nextpage says that there is none, and nothing else is told', { nextPage: 0 }, 3],
    [
      'the total is reached while nextpage keeps growing',
      { currentPage: 3, nextPage: 4, perPage: 10, total: 30 },
      3,
    ],
    ['an earlier page than asked for came back', { currentPage: 3, nextPage: 4 }, 5],
    ['nothing is told of a page that is not full', { sent: 9 }, 1],
    ['it holds the total, and is not full', { sent: 9, total: 9 }, 1],
    [
      'nextpage and result are against maxpage',
      { nextPage: 0, maxPage: 9, perPage: 10, total: 30 },
      3,
    ],
    ['nextpage and maxpage are against result', { nextPage: 0, maxPage: 1, total: 99 }, 1],
  ])('ends when %s', (_, members, requested) => {
    expect(what(members, requested)).toBe('last');
  });

  test.each<[string, Partial<Page<Row>>, number]>([
    ['maxpage is ahead', { currentPage: 1, maxPage: 2, nextPage: 2 }, 1],
    ['maxpage is ahead and nextpage is absent', { currentPage: 1, maxPage: 2 }, 1],
    ['the total is not reached', { currentPage: 2, nextPage: 3, perPage: 10, total: 21 }, 2],
    ['the total is not reached and nothing else is told', { perPage: 10, total: 21 }, 2],
    [
      'pages are shorter than perpage says, and maxpage knows',
      { currentPage: 2, nextPage: 3, maxPage: 3, perPage: 100, total: 150 },
      2,
    ],
    [
      'nextpage repeats against result and maxpage',
      { currentPage: 1, nextPage: 1, maxPage: 3, perPage: 10, total: 25 },
      1,
    ],
    [
      'currentpage repeats against result and maxpage',
      { currentPage: 1, nextPage: 2, maxPage: 3, perPage: 10, total: 25 },
      2,
    ],
    ['result counts the page', { nextPage: 2, maxPage: 3, perPage: 10, total: 10 }, 1],
  ])('goes on when %s', (_, members, requested) => {
    expect(what(members, requested)).toBe('more');
  });

  test.each<[string, Partial<Page<Row>>, number]>([
    ['nextpage alone grows', { currentPage: 1, nextPage: 2 }, 1],
    ['nextpage grows, and result can be the rows of the page', { nextPage: 2, total: 10 }, 1],
    ['the same for a page that is not full', { nextPage: 2, total: 10, perPage: 100 }, 1],
    ['nextpage is against maxpage', { currentPage: 3, nextPage: 3, maxPage: 9 }, 3],
    ['maxpage is against result', { maxPage: 1, total: 99 }, 1],
    ['nothing is told of a full page', {}, 1],
    ['result is the rows of a full page', { total: 10 }, 1],
  ])('is uncertain when %s', (_, members, requested) => {
    expect(what(members, requested)).toBe('uncertain');
  });
});

describe('totalOf', () => {
  test.each<[string, Partial<Page<Row>>, number, number | null]>([
    ['is what is told', { total: 25, perPage: 10, nextPage: 2, maxPage: 3 }, 1, 25],
    ['is what the last page tells', { total: 25, perPage: 10, maxPage: 3, sent: 5 }, 3, 25],
    ['is what a page past the end tells', { total: 25, perPage: 10, sent: 0 }, 7, 25],
    [
      'is what the last page tells again',
      { total: 25, perPage: 10, sent: 5, currentPage: 3 },
      7,
      25,
    ],
    [
      'is unknown where it is the rows of the page',
      { total: 10, perPage: 10, nextPage: 2 },
      1,
      null,
    ],
    ['is unknown on a later page of those', { total: 10, perPage: 10, nextPage: 3 }, 2, null],
    ['is unknown on their last page', { total: 3, perPage: 10, sent: 3 }, 3, null],
    ['is unknown past their end', { total: 0, perPage: 10, sent: 0 }, 4, null],
    ['is unknown where fewer than the rows are told', { total: 7 }, 1, null],
    ['is unknown where the end is here', { total: 99, maxPage: 1, nextPage: 0 }, 1, null],
    ['is unknown where maxpage is against it', { total: 15, perPage: 10, maxPage: 3 }, 1, null],
    ['is 0 for an empty list', { total: 0, sent: 0 }, 1, 0],
  ])('%s', (_, members, requested, total) => {
    expect(totalOf({ ...page, ...members }, requested, 10)).toBe(total);
  });
});
