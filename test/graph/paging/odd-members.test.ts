import * as fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { rounds } from '../../support/rounds.ts';
import {
  type MadePage,
  type Members,
  OddUpstream,
  oddLists,
  pageOf,
  wellFormed,
} from './odd-lists.ts';
import { upTo } from './stand-in.ts';

let upstream: OddUpstream;

beforeAll(async () => {
  upstream = await OddUpstream.start();
});

const without = (members: Members, ...names: readonly string[]): Members => {
  return (page) =>
    Object.fromEntries(Object.entries(members(page)).filter(([name]) => !names.includes(name)));
};
const rowsOfPage: Members = (page) => ({ ...wellFormed(page), result: page.sent });

/** What installations send, the number of rows, the size of a page, and the requests that the whole list takes. */
const styles: readonly (readonly [string, Members, number, number, number])[] = [
  ['says it all', wellFormed, 23, 10, 3],
  ['counts the rows of the page', rowsOfPage, 23, 10, 3],
  ['counts the rows of the page, without maxpage', without(rowsOfPage, 'maxpage'), 23, 10, 3],
  ['counts the rows of the page, and fills the last', rowsOfPage, 20, 10, 2],
  [
    'counts the rows of the page and says nothing else',
    without(rowsOfPage, 'maxpage', 'nextpage'),
    23,
    10,
    3,
  ],
  [
    'repeats the number of the page',
    (page) => ({ ...wellFormed(page), nextpage: page.asked }),
    250,
    100,
    3,
  ],
  ['goes back', (page) => ({ ...wellFormed(page), nextpage: 1 }), 250, 100, 3],
  [
    'always sends the first number',
    (page) => ({ ...wellFormed(page), currentpage: 1 }),
    250,
    100,
    3,
  ],
  [
    'counts pages from 0',
    (page) => ({ ...wellFormed(page), currentpage: page.asked - 1 }),
    25,
    10,
    3,
  ],
  ['says nothing', () => ({}), 250, 100, 3],
  ['says nothing but sizes', ({ size }) => ({ perpage: size }), 23, 10, 3],
  ['says nothing, and fills its last page', ({ size }) => ({ perpage: size }), 20, 10, 3],
  ['says that there is one page', (page) => ({ ...wellFormed(page), maxpage: 1 }), 23, 10, 3],
  ['says that there are nine pages', (page) => ({ ...wellFormed(page), maxpage: 9 }), 23, 10, 3],
  ['counts too few', (page) => ({ ...wellFormed(page), result: 12 }), 23, 10, 3],
  ['counts too many', (page) => ({ ...wellFormed(page), result: 999 }), 23, 10, 3],
  ['counts 0', (page) => ({ ...wellFormed(page), result: 0 }), 23, 10, 3],
  [
    'sends shorter pages than it says',
    (page) => ({ ...wellFormed(page), perpage: page.limit }),
    23,
    10,
    3,
  ],
  [
    'sends shorter pages than it says, and no maxpage',
    (page) => ({ ...without(wellFormed, 'maxpage')(page), perpage: page.limit }),
    23,
    10,
    3,
  ],
];

describe('Every list', () => {
  it.each(styles)('is whole where an installation %s', async (...style) => {
    const [_, members, rows, size, fewest] = style;
    Object.assign(upstream, { rows, clamp: size, members, past: 'empty' });
    const [world, fresh] = [await upstream.world(), await upstream.world()];
    // Three of nine by turns: how a page is told makes no difference to the list.
    const turn = styles.indexOf(style) % 3;
    for (const [name, list] of Object.entries(oddLists).filter((__, at) => at % 3 === turn)) {
      const first = await pageOf(world, list, 'first: 3');
      expect(first, name).toMatchObject({ ids: [1, 2, 3], hasNextPage: true });
      // A total that is wrong in itself is not known to be before all rows are.
      if (!/too (few|many)/.test(_)) expect([rows, null], name).toContain(first.total);
      upstream.log.length = 0;
      const all = { ids: upTo(rows), total: rows, hasNextPage: false };
      expect(await pageOf(fresh, list, 'first: 500'), name).toMatchObject(all);
      expect(upstream.log.length, name).toBe(fewest);
      const order = `orderBy: {field: ${list.order}, direction: ASC}`;
      expect(await pageOf(fresh, list, `first: 1 ${order}`), name).toMatchObject({ total: rows });
      const end = await pageOf(fresh, list, 'last: 2');
      expect(end, name).toMatchObject({ ids: [rows - 1, rows] });
      expect(upstream.log.length, name).toBe(fewest);
      if (!list.typename) continue;
      const id = Buffer.from(`${list.typename}:${rows}`).toString('base64url');
      expect(await world.data(`{ node(id: "${id}") { id } }`), name).toEqual({ node: { id } });
    }
    await Promise.all([world.close(), fresh.close()]);
  });
});

/** Members of which each is told in one of the ways that do not hide the end of a list. */
const anyMembers = fc
  .record({
    result: fc.constantFrom('rows', 'rows of the page', 'none'),
    perpage: fc.constantFrom('size', 'none'),
    currentpage: fc.constantFrom('number', 'none'),
    nextpage: fc.constantFrom('null', 'repeats', 'grows', 'false', 'none'),
    maxpage: fc.constantFrom('pages', 'zero', 'none'),
    past: fc.constantFrom('empty' as const, 'last page again' as const, 'error' as const),
    asText: fc.boolean(),
  })
  // What says nothing at all of a page that the upstream cuts has no visible end.
  .map((style) => ({ ...style, members: membersOf(style) }));

function membersOf(style: Readonly<Record<string, unknown>>): Members {
  return ({ asked, number, pages, rows, sent, size }: MadePage) => {
    const next = { null: null, repeats: number, grows: asked + 1, false: false }[
      style['nextpage'] as 'null'
    ];
    const all: Record<string, unknown> = {
      result: style['result'] === 'rows' ? rows : sent,
      perpage: size,
      currentpage: number,
      nextpage: number < pages ? number + 1 : next,
      maxpage: style['maxpage'] === 'zero' ? 0 : pages,
    };
    const told = Object.entries(all).filter(([name]) => style[name] !== 'none');
    return Object.fromEntries(
      told.map(([name, value]) => [
        name,
        style['asText'] && typeof value === 'number' ? ` ${value.toLocaleString('en')} ` : value,
      ]),
    );
  };
}

/** Short pages of an unstated size, of which the last is shorter and says that one more follows. */
const growing = (maxpage: 'pages' | 'none') => {
  const said = { result: 'rows', perpage: 'none', currentpage: 'number', maxpage } as const;
  const style = { ...said, nextpage: 'grows', past: 'error', asText: false } as const;
  const sizes = { rows: 36, limit: 10, clamp: 7, step: 500 } as const;
  return { ...sizes, name: 'domains', style: { ...style, members: membersOf(style) } };
};

describe('A list', () => {
  it('shows all rows once, with at most one request more than the fewest', async () => {
    const scene = fc.record({
      rows: fc.oneof(fc.integer({ min: 0, max: 500 }), fc.constantFrom(0, 10, 20, 100, 200)),
      limit: fc.constantFrom(10, 25, 100),
      clamp: fc.constantFrom(7, 10, 1000),
      step: fc.constantFrom(500, 500, 60, 10),
      name: fc.constantFrom(...Object.keys(oddLists)),
      style: anyMembers,
    });
    await fc.assert(
      fc.asyncProperty(scene, async ({ rows, limit, clamp, step, name, style }) => {
        const size = Math.min(clamp, limit);
        // A page that is shorter than requested, and says nothing of sizes or of others, is the last.
        const { maxpage, nextpage, perpage, result } = style;
        const isMute = nextpage === 'none' && maxpage !== 'pages' && result !== 'rows';
        fc.pre(!(isMute && perpage === 'none' && size < limit));
        Object.assign(upstream, { rows, clamp, members: style.members, past: style.past });
        const world = await upstream.world({ LINKS_PAGE_SIZE: String(limit) });
        const list = oddLists[name] as (typeof oddLists)[string];
        try {
          upstream.log.length = 0;
          const ids: number[] = [];
          let after = '';
          for (let isNext = true; isNext; ) {
            const page = await pageOf(world, list, `first: ${step} ${after}`);
            ids.push(...page.ids);
            expect([rows, null]).toContain(page.total);
            if (page.ids.length === rows) expect(page.total).toBe(rows);
            isNext = page.hasNextPage;
            after = `after: "${page.endCursor}"`;
            if (isNext) expect(page.ids.length).toBeGreaterThan(0);
          }
          expect(ids).toEqual(upTo(rows));
          const fewest = Math.max(1, Math.ceil(rows / size));
          expect(upstream.log.length).toBeLessThanOrEqual(fewest + 1);
          if (maxpage === 'pages' && nextpage === 'null' && result === 'rows') {
            expect(upstream.log.length).toBe(fewest);
          }
          const order = `orderBy: {field: ${list.order}}`;
          const view = await pageOf(world, list, `first: 1 ${order}`);
          expect(view.total).toBe(rows);
          if (rows > 0 && list.typename) {
            const id = Buffer.from(`${list.typename}:${rows}`).toString('base64url');
            expect(await world.data(`{ node(id: "${id}") { id } }`)).toEqual({ node: { id } });
          }
          expect(upstream.log.length).toBeLessThanOrEqual(fewest + 1);
        } finally {
          await world.close();
        }
      }),
      { numRuns: rounds(12), examples: [[growing('pages')], [growing('none')]] },
    );
  });
});
