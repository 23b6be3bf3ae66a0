import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isLastPage, pageDecoder } from '../../../src/upstream/decode/page.ts';
import { DecodeError } from '../../../src/upstream/decode/row-reader.ts';
import type { Page, Row } from '../../../src/upstream/request.ts';

const decoder = pageDecoder({
  resource: 'things',
  keys: ['things', 'stuff'],
  decodeRow: (row) => ({ id: row.id(), name: row.text('name') }),
});

function decode(body: unknown): { page: Page<Row>; surprises: string[] } {
  const surprises: string[] = [];
  const page = decoder(body, { timeZone: 'UTC', surprise: (field) => surprises.push(field) });
  return { page, surprises };
}

const ids = (body: unknown) => decode(body).page.rows.map((row) => row.id);

describe('pageDecoder', () => {
  const paging = { result: 3, perpage: 2, currentpage: 1, nextpage: 2, maxpage: 2 };
  const expected = { total: 3, perPage: 2, currentPage: 1, nextPage: 2, maxPage: 2, sent: 2 };
  const rows = [{ id: 1 }, { id: 2 }];

  test('reads rows and paging members inside `data`, which may have an `error` of its own', () => {
    const { page, surprises } = decode({ error: 0, data: { error: '0', ...paging, things: rows } });
    expect(page).toMatchObject(expected);
    expect(page.rows).toEqual([
      { id: 1, name: null },
      { id: 2, name: null },
    ]);
    expect(surprises).toEqual([]);
  });

  test('reads rows and paging members at the top level', () => {
    expect(decode({ error: 0, ...paging, things: rows }).page).toMatchObject(expected);
  });

  test('reads paging members at the top level beside rows in `data`', () => {
    expect(decode({ error: 0, ...paging, data: { things: rows } }).page).toMatchObject(expected);
    expect(decode({ error: 0, ...paging, data: rows }).page).toMatchObject(expected);
  });

  test('reads paging members written as text', () => {
    const text = Object.fromEntries(Object.entries(paging).map(([k, v]) => [k, String(v)]));
    expect(decode({ data: { ...text, things: rows } }).page).toMatchObject(expected);
  });

  test('reads a `maxpage` of 0, an absent `nextpage` and a `nextpage` of false as not told', () => {
    const { page, surprises } = decode({ data: { maxpage: 0, nextpage: false, things: rows } });
    expect(page).toMatchObject({ maxPage: null, nextPage: null, total: null, perPage: null });
    expect(surprises).toEqual([]);
    expect(decode({ data: { things: rows } }).page.nextPage).toBeNull();
  });

  test('finds the list under any of its keys', () => {
    expect(ids({ data: { stuff: rows } })).toEqual([1, 2]);
    expect(ids({ stuff: rows })).toEqual([1, 2]);
  });

  test('takes rows that are an object keyed by number', () => {
    expect(ids({ data: { things: { 0: { id: 1 }, 1: { id: '2' } } } })).toEqual([1, 2]);
    expect(ids({ data: { 0: { id: 1 }, 1: { id: 2 } } })).toEqual([1, 2]);
  });

  test.each([
    [{ data: { things: [] } }],
    [{ data: { things: {} } }],
    [{ data: { things: null } }],
    [{ data: { result: 0 } }],
    [{ data: [] }],
    [{ error: 0, result: '0' }],
  ])('reads %j as an empty page', (body) => {
    expect(decode(body)).toMatchObject({ page: { rows: [], sent: 0 }, surprises: [] });
  });

  test('reads `data` of null as an empty page, and says so', () => {
    expect(decode({ data: null })).toMatchObject({ page: { sent: 0 }, surprises: ['things.data'] });
  });

  test('skips a row without an id, counts it as sent and as a surprise', () => {
    const { page, surprises } = decode({
      data: { things: [{ id: null }, { name: 'x' }, { id: 3 }] },
    });
    expect(page.rows.map((row) => row.id)).toEqual([3]);
    expect(page.sent).toBe(3);
    expect(surprises).toEqual(['things.id', 'things.id']);
  });

  test('keeps the page when a row is broken', () => {
    const { page, surprises } = decode({ things: ['x', null, { id: 1, name: [] }, { id: 2 }] });
    expect(page.rows.map((row) => row.id)).toEqual([1, 2]);
    expect(surprises).toEqual(['things', 'things', 'things.name']);
  });

  test('keeps more rows than `perpage` says', () => {
    expect(ids({ data: { perpage: 1, things: rows } })).toEqual([1, 2]);
  });

  test.each([[{}], [[1]], ['x'], [{ data: { other: [1] } }], [{ data: { things: 'x' } }]])(
    'refuses %j, which holds no list',
    (body) => {
      expect(() => decode(body)).toThrow(DecodeError);
    },
  );

  test('never throws anything but a DecodeError, for any JSON', () => {
    const body = fc.oneof(
      fc.jsonValue(),
      fc.record({ data: fc.jsonValue(), things: fc.jsonValue() }, { requiredKeys: [] }),
      fc.record({ data: fc.record({ things: fc.jsonValue() }) }),
    );
    fc.assert(
      fc.property(body, (value) => {
        try {
          const { page } = decode(value);
          expect(page.rows.length).toBeLessThanOrEqual(page.sent);
        } catch (error) {
          expect(error).toBeInstanceOf(DecodeError);
        }
      }),
    );
  });
});

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
