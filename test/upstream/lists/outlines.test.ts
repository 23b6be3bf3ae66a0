import { describe, expect, test } from 'vitest';
import type { Client } from '../../../src/upstream/client.ts';
import { Outlines } from '../../../src/upstream/lists/outlines.ts';
import { Lists } from '../../../src/upstream/lists/pages.ts';
import type { Access } from '../../../src/upstream/operation.ts';
import { Receipt } from '../../../src/upstream/receipt.ts';
import type { List, Page, Read, Row } from '../../../src/upstream/request.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const access: Access = {
  caller: {
    name: 'someone',
    receipt: new Receipt(new VirtualClock()),
    maxWaitMs: 0,
    signal: new AbortController().signal,
  },
  credential: { partition: 'p', secret: 'secret' },
};

function listOf(query?: Record<string, string>): List<Row> {
  return {
    resource: 'files',
    tags: ['files'],
    path: '/api/files',
    ...(query ? { query } : {}),
    paged: true,
    decode: () => {
      throw new Error('not decoded here');
    },
  };
}

/** Lists of three pages, on an upstream that can be out of order. */
function createLists() {
  const state = { works: true };
  const outlines = new Outlines();
  const client = {
    async read(read: Read<unknown>): Promise<Page<Row>> {
      await Promise.resolve();
      if (!state.works) throw new Error('no');
      const number = Number(read.query?.['page']);
      const rows = number > 3 ? [] : [{ id: number }];
      const paging = { perPage: 1, currentPage: number, nextPage: null, maxPage: 3 };
      return { rows, total: 3, sent: rows.length, ...paging };
    },
    peek: () => undefined,
    inFlight: () => false,
  };
  const lists = new Lists(client as unknown as Client, 1, outlines);
  const askedFor = (list = listOf()) => [...lists.outline(list, access).asked];
  return { lists, outlines, state, askedFor };
}

describe('What is remembered of lists', () => {
  test('is a bounded number of pages, even of those under way, and the first ones stay', async () => {
    const { askedFor, lists } = createLists();
    await lists.page(listOf(), 1, access);
    const read = async (n: number) => lists.page(listOf(), n, access);
    const reads = Array.from({ length: 5000 }, (_, n) => read(5000 - n));
    expect(askedFor()).toContain(1);
    expect(askedFor().length).toBeLessThanOrEqual(500);
    await Promise.all(reads);
    expect(askedFor().every((number) => number <= 3)).toBe(true);
  });

  test('is nothing of lists whose filters are long', async () => {
    const { lists, outlines } = createLists();
    await lists.page(listOf({ name: 'x'.repeat(1_000_000) }), 1, access);
    expect(outlines.in('p')).toEqual([]);
    await lists.page(listOf({ name: 'x' }), 1, access);
    expect(outlines.in('p')).toHaveLength(1);
  });

  test('is at most a number of lists, whatever filters come', async () => {
    const { lists, outlines } = createLists();
    for (let n = 0; n < 10_000; n += 1) await lists.page(listOf({ name: String(n) }), 1, access);
    expect(outlines.in('p').length).toBeLessThanOrEqual(2000);
  });
});
