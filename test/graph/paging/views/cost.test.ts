import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { OperationPlan } from '../../../../src/upstream/dry-run/dry-run.ts';
import { planOf } from '../../../graphql/plan-of.ts';
import type { World } from '../../../support/gateway.ts';
import { CodeList } from './code-list.ts';

const SEARCH = '{ qrCodes(search: "code 7") { totalCount nodes { name } } }';
const SORTED =
  '{ qrCodes(orderBy: { field: SCANS, direction: DESC }, last: 3) { nodes { scans } } }';
const FIRST = '{ qrCodes(first: 1) { nodes { id } } }';

describe('What a view of 1000 QR codes costs', () => {
  let list: CodeList;
  let world: World;

  beforeAll(async () => {
    list = await CodeList.start();
  });
  afterAll(() => list[Symbol.asyncDispose]());
  beforeEach(() => {
    list.rows = Array.from({ length: 1000 }, (_, n) => ({
      id: n + 1,
      name: `Code ${n + 1}`,
      scans: (n * 7919) % 1009,
      date: '2026-01-01 12:00:00',
    }));
    Object.assign(list, { clamp: 1000, tells: true });
  });

  async function open(env: Readonly<Record<string, string>> = {}): Promise<void> {
    world = await list.world(env);
    list.log.length = 0;
  }

  /** The pages that an operation reads, in their order, and what a dry run said before. */
  async function pagesOf(query: string): Promise<{ pages: number[]; plan: OperationPlan }> {
    const plan = await planOf(world, query);
    expect(list.log).toEqual([]);
    const { errors, receipt, text } = await world.ask(query);
    expect(errors, text).toEqual([]);
    const pages = list.log.toSorted((a, b) => a - b);
    list.log.length = 0;
    expect(receipt.calls).toBe(pages.length);
    if (plan.exact) expect(plan.calls).toBe(pages.length);
    return { pages, plan };
  }

  const upTo = (last: number) => Array.from({ length: last }, (_, n) => n + 1);

  it('is each page once, and nothing while they are cached', async () => {
    await open();
    expect((await pagesOf(SEARCH)).pages).toEqual(upTo(10));
    for (const query of [SEARCH, SORTED, '{ qrCodes(search: "3", offset: 40) { totalCount } }']) {
      const { pages, plan } = await pagesOf(query);
      expect(pages).toEqual([]);
      expect(plan).toMatchObject({ exact: true, calls: 0 });
    }
  });

  it('is exact in a dry run once the first page is cached, and includes no page twice', async () => {
    await open();
    await pagesOf(FIRST);
    await pagesOf('{ qrCodes(offset: 300, first: 10) { nodes { id } } }');
    const both = `{ a: ${SEARCH.slice(2, -2)} b: ${SORTED.slice(2, -2)} }`;
    const { pages, plan } = await pagesOf(both);
    expect(pages).toEqual([2, 3, 5, 6, 7, 8, 9, 10]);
    expect(plan).toMatchObject({ exact: true, calls: 8, fits: true });
  });

  it('is a guess in a dry run of a list that was never read', async () => {
    await open();
    expect(await planOf(world, SEARCH)).toMatchObject({ exact: false, calls: 1 });
  });

  it('is as many pages as the list had in a dry run after a write', async () => {
    await open();
    await pagesOf(SEARCH);
    await world.data('mutation { deleteQrCode(id: 5) { __typename } }');
    const { pages, plan } = await pagesOf(SEARCH);
    expect(plan).toMatchObject({ exact: false, calls: 10 });
    expect(pages).toEqual(upTo(10));
  });

  it.each([
    ['cold', [], 1],
    ['with a cached first page', [FIRST], 0],
  ])('is refused %s if it is more than an operation may spend', async (_, before, calls) => {
    await open({ OPERATION_MAX_CALLS: '8' });
    for (const query of before) await pagesOf(query);
    const plan = await planOf(world, SEARCH);
    const { errors, receipt, data } = await world.ask(SEARCH);
    expect(list.log).toHaveLength(calls);
    expect(receipt.calls).toBe(calls);
    expect(data).toEqual({ qrCodes: null });
    expect(errors).toHaveLength(1);
    expect(errors[0]?.extensions).toEqual({
      code: 'OPERATION_TOO_EXPENSIVE',
      upstream: 'LINKS',
      limit: 8,
      needed: 9,
      left: 8 - calls,
    });
    expect(errors[0]?.message).toMatch(
      /^Needs 9 upstream requests; .+ reads all pages of a list\./,
    );
    if (calls === 0) expect(plan).toMatchObject({ calls: 9, fits: false });
    // As the message says, pages that are cached cost nothing.
    await world.data('{ qrCodes(first: 500) { totalCount } }');
    expect((await world.ask(SEARCH)).errors).toEqual([]);
  });

  it('is refused for more pages than are read for any view', async () => {
    list.clamp = 1;
    list.rows = upTo(1001).map((id) => ({ id, name: null, scans: 0, date: null }));
    await open();
    const { errors } = await world.ask(SEARCH);
    expect(errors[0]?.extensions).toMatchObject({ code: 'OPERATION_TOO_EXPENSIVE', needed: 1000 });
    expect(list.log).toEqual([1]);
  });

  it.each([
    ['within a page', 'offset: 720, first: 20', [8]],
    ['over two pages', 'offset: 790, first: 20', [8, 9]],
    ['at the end', 'offset: 990', [10]],
    ['at the start', 'offset: 0, first: 5', [1]],
  ])('is for a jump only the pages of its window: %s', async (_, window, pages) => {
    await open();
    const query = `{ qrCodes(${window}) { nodes { id } pageInfo { hasNextPage } } }`;
    expect((await pagesOf(query)).pages).toEqual(pages);
    expect((await pagesOf(query)).pages).toEqual([]);
    await world.close();
    await open();
    await pagesOf(FIRST);
    const { plan, ...next } = await pagesOf(query);
    expect(next.pages).toEqual(pages.filter((page) => page !== 1));
    if (pages.length === 1) expect(plan.exact).toBe(true);
  });

  it('finds the page of a jump where the upstream has smaller pages than requested', async () => {
    list.clamp = 30;
    await open();
    const ids = async (offset: number) => {
      const { qrCodes } = await world.data<{ qrCodes: { nodes: { databaseId: number }[] } }>(
        `{ qrCodes(offset: ${offset}, first: 2) { nodes { databaseId } } }`,
      );
      return qrCodes.nodes.map(({ databaseId }) => databaseId);
    };
    expect(await ids(700)).toEqual([701, 702]);
    expect(list.log).toEqual([8, 24]);
    expect(await ids(305)).toEqual([306, 307]);
    expect(list.log).toEqual([8, 24, 11]);
  });

  it('is nothing for a jump past the end that is cached', async () => {
    await open();
    await pagesOf('{ qrCodes(last: 5) { nodes { id } } }');
    expect(await pagesOf('{ qrCodes(offset: 2000000000) { nodes { id } } }')).toMatchObject({
      pages: [],
      plan: { exact: true },
    });
  });

  it('does not depend on jumps far past the end of a list whose length is unknown', async () => {
    list.rows = list.rows.slice(0, 25);
    list.tells = false;
    await open({ LINKS_PAGE_SIZE: '10' });
    await pagesOf('{ qrCodes(offset: 2000000000) { nodes { id } } }');
    const { errors } = await world.ask(SEARCH);
    expect(errors).toEqual([]);
    expect(list.log.toSorted((a, b) => a - b)).toEqual([2, 3]);
  });

  it('is bounded in rows that one operation examines', async () => {
    list.rows = upTo(20_000).map((id) => ({ id, name: 'a', scans: 0, date: null }));
    await open({ LINKS_PAGE_SIZE: '1000' });
    await pagesOf(SEARCH);
    const codesOf = async (count: number) => {
      const views = Array.from(
        { length: count },
        (_, n) => `a${n}: qrCodes(search: "${count} ${n}", first: 0) { totalCount }`,
      );
      const { errors } = await world.ask(`{ ${views.join(' ')} }`);
      return errors.map(({ extensions }) => extensions?.code);
    };
    expect(await codesOf(50)).toEqual([]);
    expect(new Set(await codesOf(60))).toEqual(new Set(['OPERATION_TOO_EXPENSIVE']));
  });
});
