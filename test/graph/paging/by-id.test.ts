import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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
  afterAll(() => upstream[Symbol.asyncDispose]());

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
