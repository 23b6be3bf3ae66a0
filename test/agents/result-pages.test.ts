import { array, assert, nat, property, record, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pageOfResult, type ResultPage } from '../../src/agents/answers/result-pages.ts';
import { rounds } from '../support/rounds.ts';

type Json = Readonly<Record<string, unknown>>;

const asked = { operation: '{ a }', variables: {} };
const LIMIT = 32 * 1024;
const bytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** All parts of a result. */
function pagesOf(data: Json): ResultPage[] {
  const pages: ResultPage[] = [];
  let cursor: string | null = null;
  do {
    const page: ResultPage | null = pageOfResult(data, asked, cursor);
    if (!page) throw new Error('a row does not fit');
    pages.push(page);
    ({ cursor } = page);
  } while (cursor !== null);
  return pages;
}

const row = record({
  id: nat(),
  text: string({ maxLength: 3000, unit: 'grapheme' }),
  nested: array(string({ maxLength: 9000 }), { maxLength: 12 }).map((all) => {
    return { nodes: all.map((name) => ({ name })) };
  }),
});
const list = array(row, { maxLength: 40 });
const result = record({
  account: record({ name: string({ maxLength: 100 }) }),
  first: list.map((nodes) => ({ totalCount: nodes.length, nodes })),
  second: list.map((nodes) => ({ nodes })),
});

interface Rows {
  readonly nodes: readonly {
    readonly id: number;
    readonly nested: { readonly nodes: readonly unknown[] };
  }[];
}

/** All rows of a list and the rows in them, in order; a row that is continued is one row. */
const leavesOf = (pages: readonly ResultPage[], field: 'first' | 'second'): string =>
  pages
    .flatMap(({ data }) => (data[field] as Rows).nodes)
    .flatMap(({ nested }) => nested.nodes)
    .map((each) => JSON.stringify(each))
    .join('\n');

describe('A result', () => {
  it('that fits is one part', () => {
    const data = { account: { name: 'x' }, channels: { nodes: [{ id: 1 }] } };
    expect(pagesOf(data)).toEqual([{ data, cursor: null }]);
  });

  it('has parts that fit and together have every row once, in its order', () => {
    assert(
      property(result, (data) => {
        const pages = pagesOf(data);
        for (const page of pages) expect(bytes(page.data)).toBeLessThanOrEqual(LIMIT);
        const whole = [{ data, cursor: null }];
        for (const field of ['first', 'second'] as const) {
          expect(leavesOf(pages, field)).toBe(leavesOf(whole, field));
        }
        // What is no list is in each part.
        for (const page of pages) expect(page.data['account']).toEqual(data.account);
      }),
      { numRuns: rounds(60) },
    );
  });

  it('that cannot be cut at a row is none', () => {
    const data = { channels: { nodes: [{ text: 'x'.repeat(LIMIT) }] } };
    expect(pageOfResult(data, asked, null)).toBeNull();
  });

  it.each([
    ['a text that is none', 'x'],
    ['one that is too long', 'A'.repeat(30_000)],
    [
      'one with a position that is none',
      Buffer.from('["x",{"lists":[["a",-1]]}]').toString('base64url'),
    ],
  ])('does not go on at %s', (_, cursor) => {
    expect(() => pageOfResult({ a: [] }, asked, cursor)).toThrow('The cursor is not one');
  });

  it('goes on by the same operation only', () => {
    const data = { rows: Array.from({ length: 100 }, () => 'x'.repeat(1000)) };
    const { cursor = null } = pageOfResult(data, asked, null) ?? {};
    const other = { ...asked, variables: { other: true } };
    expect(() => pageOfResult(data, other, cursor)).toThrow('The cursor is not one');
  });
});
