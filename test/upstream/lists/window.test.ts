import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { takeSteps } from '../../../src/scheduling/at-once.ts';
import type { Client } from '../../../src/upstream/client.ts';
import { decodeCursor, encodeCursor } from '../../../src/upstream/lists/cursor.ts';
import { Lists } from '../../../src/upstream/lists/pages.ts';
import { readWindow, type WindowArguments } from '../../../src/upstream/lists/window.ts';
import type { Access } from '../../../src/upstream/operation.ts';
import { Receipt } from '../../../src/upstream/receipt.ts';
import type { List, Page, Read, Row } from '../../../src/upstream/request.ts';
import { rounds } from '../../support/rounds.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

interface Habits {
  readonly maxPage: 'told' | 'zero';
  readonly total: boolean;
  readonly pastEnd: 'empty' | 'last page again';
}

const honest: Habits = {
  maxPage: 'told',
  total: true,
  pastEnd: 'empty',
};

/** A list in memory behind what a `Lists` needs of a client; `ttl` false keeps no page. */
function createSource(rows: number[], habits: Habits, { pageSize = 100, keeps = true } = {}) {
  const kept = new Map<number, Page<Row>>();
  const calls: number[] = [];
  const pageOf = (asked: number): Page<Row> => {
    const last = Math.max(1, Math.ceil(rows.length / pageSize));
    const number = habits.pastEnd === 'last page again' ? Math.min(asked, last) : asked;
    const part = rows.slice((number - 1) * pageSize, number * pageSize);
    return {
      rows: part.map((id) => ({ id })),
      total: habits.total ? rows.length : null,
      perPage: pageSize,
      currentPage: number,
      nextPage: number < last ? number + 1 : 0,
      maxPage: habits.maxPage === 'told' ? last : null,
      sent: part.length,
      distinct: true,
    };
  };
  const client = {
    async read(read: Read<Page<Row>>) {
      const number = Number(read.query?.['page']);
      const page = kept.get(number) ?? pageOf(number);
      if (!kept.has(number)) calls.push(number);
      if (keeps) kept.set(number, page);
      return page;
    },
    peek(read: Read<Page<Row>>) {
      const value = kept.get(Number(read.query?.['page']));
      return value && { entry: { value }, state: 'fresh' };
    },
    inFlight: () => false,
    hasSaved: () => false,
    prefetches: () => false,
  } as unknown as Client;
  const list: List<Row> = {
    resource: 'items',
    tags: ['rows'],
    path: '/api/rows',
    paged: true,
    decode: () => {
      throw new Error('never decoded here');
    },
  };
  const access: Access = {
    caller: {
      name: 'a',
      receipt: new Receipt(new VirtualClock()),
      maxWaitMs: 0,
      signal: new AbortController().signal,
    },
    credential: { partition: 'p', secret: 's' },
  };
  const lists = new Lists(client, pageSize);
  const window = async (args: WindowArguments) => {
    const cut = await takeSteps(readWindow({ lists, list, access }, args));
    if (!cut) throw new Error('the parent is there');
    return {
      ...cut,
      ids: cut.rows.map(({ node }) => node.id),
      cursors: cut.rows.map((r) => r.cursor),
    };
  };
  return { calls, kept, lists, list, access, window, rows };
}

const ids = (length: number) => Array.from({ length }, (_, index) => index + 1);

describe('readWindow', () => {
  test('shows each row that was there all along exactly once, whatever comes and goes', async () => {
    const change = fc.record({
      kind: fc.constantFrom('insert', 'insert at the front', 'delete', 'delete shown'),
      at: fc.nat(200),
    });
    const story = fc.record({
      length: fc.integer({ min: 1, max: 80 }),
      size: fc.integer({ min: 1, max: 25 }),
      pageSize: fc.integer({ min: 6, max: 14 }),
      steps: fc.array(fc.array(change, { maxLength: 6 }), { maxLength: 12 }),
      forwards: fc.boolean(),
      // Backwards, a window has no row before its first one to go by: the total has to show it.
      total: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(story, async ({ length, size, pageSize, steps, forwards, total }) => {
        const options = { pageSize, keeps: false };
        const habits = { ...honest, total: total || !forwards };
        const { window, rows } = createSource(ids(length), habits, options);
        const stable = new Set(ids(length));
        const shown: number[] = [];
        let edge: string | undefined;
        for (let step = 0; ; step += 1) {
          const cut = await window(
            forwards ? { first: size, after: edge } : { last: size, before: edge },
          );
          if (forwards) shown.push(...cut.ids);
          else shown.unshift(...cut.ids);
          if (!(forwards ? cut.hasNextPage : cut.hasPreviousPage)) break;
          edge = (forwards ? cut.cursors.at(-1) : cut.cursors[0]) ?? edge;
          for (const [n, { kind, at }] of (steps[step] ?? []).entries()) {
            const alive = shown.filter((id) => rows.includes(id));
            const near = (forwards ? alive.at(-1) : alive[0]) ?? rows[0];
            const index = kind === 'delete' ? at % rows.length : rows.indexOf(near ?? 0);
            if (kind === 'insert') rows.splice(at % (rows.length + 1), 0, 1000 + 10 * step + n);
            else if (kind === 'insert at the front') rows.unshift(1000 + 10 * step + n);
            else for (const gone of rows.splice(Math.max(0, index), 1)) stable.delete(gone);
          }
        }
        expect(shown.filter((id) => stable.has(id))).toEqual([...stable].sort((a, b) => a - b));
      }),
      { numRuns: rounds(500) },
    );
  });

  // The first row of the last page has no neighbor before it to go by.
  test.each([
    { total: true, insertions: 0 },
    { total: true, insertions: 2 },
    { total: false, insertions: 0 },
    { total: false, insertions: 2 },
  ])('shows no row again when the whole last page is gone: %o', async ({ total, insertions }) => {
    const habits = { ...honest, total };
    const { window, rows } = createSource(ids(8), habits, { pageSize: 6, keeps: false });
    const { cursors } = await window({ first: 7 });
    rows.splice(6, 2);
    rows.unshift(...Array.from({ length: insertions }, (_, n) => 100 + n));
    const { ids: shown } = await window({ first: 7, after: cursors.at(-1) });
    expect(shown).toEqual([]);
  });

  test('reads no page beyond the other cursor', async () => {
    const { window, calls, kept } = createSource(ids(100), honest, { pageSize: 10 });
    const { cursors } = await window({ first: 100 });
    kept.clear();
    calls.length = 0;
    const { ids: part } = await window({ last: 500, after: cursors[34], before: cursors[52] });
    expect(part).toEqual(ids(52).slice(35));
    expect(calls.every((page) => page >= 4 && page <= 6)).toBe(true);
  });

  test('walks back in one step from an end that has moved far to the front', async () => {
    const { window, calls, kept, rows } = createSource(ids(100), honest, { pageSize: 10 });
    await window({ last: 1 });
    rows.length = 5;
    kept.clear();
    calls.length = 0;
    expect((await window({ last: 2 })).ids).toEqual([4, 5]);
    expect(calls).toEqual([10, 1]);
  });
});

describe('A forged cursor', () => {
  const far = async (
    window: (args: WindowArguments) => Promise<{ cursors: string[] }>,
    page: number,
    perPage: number,
  ) => {
    const [own = ''] = (await window({ first: 1 })).cursors;
    const { list } = decodeCursor(own, 'before');
    return encodeCursor({ list, page, index: 3, perPage, identity: 'nobody' });
  };

  test.each([
    ['tells how many rows there are', honest],
    ['answers with its last page again', { ...honest, pastEnd: 'last page again' as const }],
  ])('finds the end in a few calls where the upstream %s', async (_what, habits) => {
    const { calls, window } = createSource(ids(1000), habits, { pageSize: 10 });
    await window({ last: 5, before: await far(window, 900_000, 10) });
    expect(calls.length).toBeLessThanOrEqual(5);
  });

  test('makes no endless loop where numbers are not counted any more', async () => {
    const habits = { ...honest, maxPage: 'zero' as const, total: false };
    const { calls, lists, window } = createSource(ids(10), habits, { pageSize: 2 });
    const page = lists.page.bind(lists);
    lists.page = ((...parameters: Parameters<typeof page>) =>
      calls.length > 50 ? Promise.reject(new Error('50 calls')) : page(...parameters)) as never;
    const before = await far(window, 999_999_999, 999_999_999);
    await expect(window({ last: 5, before })).rejects.toThrow('50 calls');
  });
});
