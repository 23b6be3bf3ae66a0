import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { pageDecoder } from '../../../src/upstream/decode/envelope.ts';
import { DecodeError, text } from '../../../src/upstream/decode/fields.ts';
import type { Page, Row } from '../../../src/upstream/request.ts';

const decoder = pageDecoder({
  resource: 'things',
  keys: ['things', 'stuff'],
  fields: { name: text('name') },
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

  test('reads a `maxpage` of 0 as not told, and every empty `nextpage` as none', () => {
    for (const nextpage of [null, false, 0, '0', '']) {
      const { page, surprises } = decode({ data: { maxpage: 0, nextpage, things: rows } });
      expect(page).toMatchObject({ maxPage: null, nextPage: 0, total: null, perPage: null });
      expect(surprises).toEqual([]);
    }
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
