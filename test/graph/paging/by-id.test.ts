import * as fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { startWorld, type World } from '../../support/gateway.ts';
import { StandIn, upTo } from './stand-in.ts';

/** Rows of each list, on pages of ten. */
const ROWS = 45;
const PAGES = 5;

describe('A read by id while pages of its list arrive', () => {
  let upstream: StandIn;

  beforeAll(async () => {
    upstream = await StandIn.start();
    upstream.channels = upTo(ROWS);
    upstream.qrs = upTo(ROWS);
  });

  /** Runs with a gateway that has read nothing yet. */
  async function cold<T>(run: (world: World) => Promise<T>): Promise<T> {
    const env = { LINKS_BASE_URL: upstream.baseUrl, LINKS_PAGE_SIZE: '10' };
    const world = await startWorld({ only: 'links', env });
    upstream.log.length = 0;
    try {
      return await run(world);
    } finally {
      await world.close();
    }
  }

  it('finds a row of a page that came while it waited for another', async () => {
    upstream.delay = (_, page) => (page === 2 ? 60 : 0);
    const data = await cold((world) =>
      world.data('{ channels(first: 25) { nodes { databaseId } } channel(id: "25") { name } }'),
    );
    expect(data).toMatchObject({ channel: { name: 'Channel 25' } });
    expect(upstream.log).toHaveLength(3);
  });

  it('finds a row of a page that came meanwhile without a read of its own', async () => {
    upstream.delay = (_, page) => (page === 2 ? 60 : 0);
    const data = await cold((world) =>
      world.data('{ qrCodes(first: 25) { nodes { databaseId } } qrCode(id: "25") { name } }'),
    );
    expect(data).toMatchObject({ qrCode: { name: 'Code 25' } });
    expect(upstream.log.filter((path) => path === '/api/qr/25').length).toBeLessThanOrEqual(1);
  });

  const node = (typename: string) => (id: number) =>
    Buffer.from(`${typename}:${id}`).toString('base64url');

  /** Finds rows after windows of their list were read, with the requests that this takes. */
  async function found(typename: 'Channel' | 'QrCode', before: readonly string[], rows: number[]) {
    upstream.delay = () => 0;
    return cold(async (world) => {
      const list = typename === 'Channel' ? 'channels' : 'qrCodes';
      for (const window of before) await world.data(`{ ${list}(${window}) { totalCount } }`);
      upstream.log.length = 0;
      const { data, errors } = await world.ask<{ nodes: ({ databaseId: number } | null)[] }>(
        `query ($ids: [ID!]!) { nodes(ids: $ids) { ... on ${typename} { databaseId } } }`,
        { ids: rows.map(node(typename)) },
      );
      const calls = upstream.log.map((path) => path.replace(/^\/api\/\w+/, ''));
      return { calls, errors, ids: data.nodes.map((row) => row?.databaseId ?? null) };
    });
  }

  it.each([
    ['1 row of a list of unknown length', [], [3], ['/3']],
    ['2 rows of a list of unknown length that are on page 1', [], [3, 4], [' 1']],
    ['2 rows of which one is further on', [], [3, 40], [' 1', '/40']],
    ['1 row with 4 pages to read', ['first: 1'], [40], ['/40']],
    ['a row of each page', ['first: 1'], [12, 22, 32, 42], ['/12', '/22', '/32', '/42']],
    ['5 rows with 4 pages to read', ['first: 1'], [12, 13, 14, 15, 16], [' 2']],
    ['2 rows with 1 page to read', ['first: 40'], [41, 42], [' 5']],
    ['1 row with 1 page to read', ['first: 40'], [41], ['/41']],
    ['1 row that no page holds', ['first: 45'], [99], ['/99']],
    ['a row of a cached page and one of none', ['first: 1'], [3, 40], ['/40']],
  ])('reads %s as cheaply as is known', async (_, before, rows, calls) => {
    const ids = rows.map((id) => (id <= ROWS ? id : null));
    const by = await found('QrCode', before, rows);
    expect({ ...by, calls: by.calls.toSorted() }).toEqual({ calls, errors: [], ids });
  });

  it('scans the pages of a list without single reads, as far as it must', async () => {
    for (const [rows, calls] of [
      [[15], [' 1', ' 2']],
      [[99], [' 1', ' 2', ' 3', ' 4', ' 5']],
    ] as const) {
      const ids = rows.map((id) => (id <= ROWS ? id : null));
      expect(await found('Channel', [], [...rows])).toEqual({ calls, errors: [], ids });
    }
  });

  it('gives each id its own error, and the others their rows', async () => {
    upstream.broken = '/api/qr/30';
    const { errors, ids } = await found('QrCode', ['first: 1'], [3, 20, 30]);
    upstream.broken = null;
    expect(ids).toEqual([3, 20, null]);
    expect(errors).toMatchObject([{ path: ['nodes', 2] }]);
  });

  const read = fc.oneof(
    fc.record({
      kind: fc.constant('list' as const),
      list: fc.constantFrom('channels', 'qrCodes'),
      first: fc.integer({ min: 1, max: ROWS }),
    }),
    fc.record({
      kind: fc.constant('row' as const),
      field: fc.constantFrom('channel', 'qrCode'),
      id: fc.integer({ min: 1, max: ROWS + 2 }),
    }),
  );

  it('finds every row that exists, and reads no page twice, whatever the order of the answers', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(read, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 4 }),
        fc.array(fc.integer({ min: 0, max: 4 }), { minLength: PAGES + 1, maxLength: PAGES + 1 }),
        async (operations, delays) => {
          upstream.delay = (_, page) => (delays[page] ?? 0) * 8;
          await cold(async (world) => {
            await Promise.all(
              operations.map(async (reads) => {
                const fields = reads.map((each, index) =>
                  each.kind === 'list'
                    ? `r${index}: ${each.list}(first: ${each.first}) { nodes { databaseId } }`
                    : `r${index}: ${each.field}(id: "${each.id}") { databaseId name }`,
                );
                const data = await world.data(`{ ${fields.join(' ')} }`);
                for (const [index, each] of reads.entries()) {
                  const expected =
                    each.kind === 'list'
                      ? { nodes: upTo(each.first).map((databaseId) => ({ databaseId })) }
                      : each.id <= ROWS
                        ? {
                            databaseId: each.id,
                            name: `${each.field === 'channel' ? 'Channel' : 'Code'} ${each.id}`,
                          }
                        : null;
                  expect(data[`r${index}`]).toEqual(expected);
                }
              }),
            );
            expect(new Set(upstream.log).size).toBe(upstream.log.length);
          });
        },
      ),
      { numRuns: 25 },
    );
  });
});
