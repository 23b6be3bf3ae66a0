import * as fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { decodeCursor } from '../../../src/upstream/lists/cursor.ts';
import { type Connection, startWorld, type World } from '../../support/gateway.ts';
import { rounds } from '../../support/rounds.ts';
import { StandIn, upTo } from './stand-in.ts';

type Channels = { readonly channels: Connection<{ readonly databaseId: number }> };

const WINDOW = `query ($first: Int, $after: String, $last: Int, $before: String) {
  channels(first: $first, after: $after, last: $last, before: $before) {
    nodes { databaseId } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  }
}`;

/** Nothing is cached: whatever somebody else changes is seen at once. */
const UNCACHED = {
  'ttl.channels': '0',
  staleWhileRevalidateMs: '0',
  STALE_IF_ERROR_MS: '0',
};

describe('Paging while rows come and go', () => {
  let upstream: StandIn;

  beforeAll(async () => {
    upstream = await StandIn.start();
  });

  async function withWorld(
    rows: number[],
    env: Record<string, string>,
    run: (world: World) => Promise<void>,
  ): Promise<void> {
    upstream.channels = rows;
    const world = await startWorld({
      only: 'links',
      env: { LINKS_BASE_URL: upstream.baseUrl, LINKS_PAGE_SIZE: '10', ...env },
    });
    upstream.log.length = 0;
    try {
      await run(world);
    } finally {
      await world.close();
    }
  }

  async function window(world: World, args: Record<string, unknown>) {
    const { channels } = await world.data<Channels>(WINDOW, args);
    return { ids: channels.nodes.map(({ databaseId }) => databaseId), ...channels.pageInfo };
  }

  async function remove(world: World, ids: readonly number[]): Promise<void> {
    for (const id of ids) {
      await world.data('mutation ($id: ID!) { deleteChannel(id: $id) { __typename } }', {
        id: String(id),
      });
    }
  }

  it.each([
    ['the last two', [9, 10]],
    ['the first two', [1, 2]],
    ['all', upTo(10)],
    ['all but the first', upTo(10).slice(1)],
  ])('goes on behind what was shown when %s of a page are deleted', async (_, gone) => {
    await withWorld(upTo(35), {}, async (world) => {
      const { endCursor } = await window(world, { first: 10 });
      await remove(world, gone);
      upstream.log.length = 0;
      const { ids } = await window(world, { first: 10, after: endCursor });
      expect(ids).toEqual(upTo(20).slice(10));
      expect(upstream.log.length).toBeLessThanOrEqual(2);
    });
  });

  it.each([1, 3, 10, 25])('shows no row twice when %i are made at the front', async (count) => {
    await withWorld(upTo(35), UNCACHED, async (world) => {
      const { endCursor } = await window(world, { first: 10 });
      upstream.channels.unshift(...upTo(count).map((n) => 1000 + n));
      upstream.log.length = 0;
      const { ids } = await window(world, { first: 5, after: endCursor });
      expect(ids).toEqual([11, 12, 13, 14, 15]);
      expect(upstream.log.length).toBeLessThanOrEqual(count < 10 ? 2 : 3);
    });
  });

  it('takes no further call for a row that was deleted among others of its page', async () => {
    await withWorld(upTo(35), UNCACHED, async (world) => {
      const { endCursor } = await window(world, { first: 15 });
      upstream.channels = upstream.channels.filter((id) => id !== 15);
      upstream.log.length = 0;
      const { ids } = await window(world, { first: 3, after: endCursor });
      expect(ids).toEqual([16, 17, 18]);
      expect(upstream.log).toEqual(['/api/channels 2']);
    });
  });

  /** The rows that a cursor names: its own, and those around it on its page. */
  const namedBy = (cursor: string): number[] => {
    const { identity, before = [], behind = [] } = decodeCursor(cursor, 'after');
    return [identity, ...before, ...behind].map(Number);
  };

  const change = fc.oneof(
    fc.record({ kind: fc.constant('insert' as const), at: fc.nat(80) }),
    fc.record({ kind: fc.constant('delete' as const), at: fc.nat(80) }),
    fc.record({
      kind: fc.constant('delete shown' as const),
      count: fc.integer({ min: 1, max: 5 }),
    }),
  );
  const story = fc.record({
    length: fc.integer({ min: 1, max: 60 }),
    size: fc.integer({ min: 4, max: 25 }),
    pageSize: fc.integer({ min: 6, max: 12 }),
    steps: fc.array(fc.array(change, { maxLength: 5 }), { maxLength: 6 }),
    where: fc.constantFrom('here', 'elsewhere', 'elsewhere, behind cached pages'),
    forwards: fc.boolean(),
  });

  /** The row of a cursor is deleted, and more rows behind it than a page has. */
  const wholePageBeforeTheCursor = {
    length: 56,
    size: 21,
    pageSize: 7,
    steps: [
      [
        { kind: 'delete shown' as const, count: 1 },
        { kind: 'delete' as const, at: 35 },
        { kind: 'delete shown' as const, count: 1 },
        { kind: 'delete shown' as const, count: 5 },
      ],
    ],
    where: 'here' as const,
    forwards: false,
  };

  /** A row moves to a page that was read twice before because of the changes before that. */
  const pageOutdatedAgain = {
    length: 39,
    size: 8,
    pageSize: 7,
    steps: [
      [
        { kind: 'delete shown' as const, count: 4 },
        { kind: 'delete shown' as const, count: 3 },
      ],
      [{ kind: 'delete shown' as const, count: 3 }],
      [],
      [
        { kind: 'delete shown' as const, count: 1 },
        { kind: 'delete' as const, at: 0 },
      ],
    ],
    where: 'elsewhere, behind cached pages' as const,
    forwards: true,
  };

  it('shows each row that was there all along exactly once, whatever is changed and where', async () => {
    await fc.assert(
      fc.asyncProperty(story, async ({ length, size, pageSize, steps, where, forwards }) => {
        const elsewhere = where !== 'here';
        const cached = where !== 'elsewhere';
        const env = { LINKS_PAGE_SIZE: String(pageSize), ...(cached ? {} : UNCACHED) };
        await withWorld(upTo(length), env, async (world) => {
          const shown: number[] = [];
          const stable = new Set(upTo(length));
          /** The rows that the latest cursor names, its own among them. */
          let named: readonly number[] = [];
          const drop = async (ids: readonly number[]) => {
            // Without any of them its place is a guess, which shows rows again rather than none.
            if (!named.some((id) => upstream.channels.includes(id) && !ids.includes(id))) return;
            for (const id of ids) stable.delete(id);
            if (elsewhere) upstream.channels = upstream.channels.filter((id) => !ids.includes(id));
            else await remove(world, ids);
          };
          let cursor: string | null = null;
          for (let step = 0; ; step += 1) {
            const cut = await window(
              world,
              forwards ? { first: size, after: cursor } : { last: size, before: cursor },
            );
            if (forwards) shown.push(...cut.ids);
            else shown.unshift(...cut.ids);
            if (!(forwards ? cut.hasNextPage : cut.hasPreviousPage)) break;
            cursor = forwards ? cut.endCursor : cut.startCursor;
            named = cursor === null ? [] : namedBy(cursor);
            for (const [n, each] of (steps[step] ?? []).entries()) {
              const rows = upstream.channels;
              if (each.kind === 'insert' && elsewhere) {
                // Behind cached pages, one that came for one that went cannot be noticed.
                if (cached) continue;
                rows.splice(each.at % (rows.length + 1), 0, 1000 + 10 * step + n);
              } else if (each.kind === 'insert') {
                const query = `mutation { createChannel(input: { name: "a" }) { __typename } }`;
                await world.data(query);
              } else if (each.kind === 'delete' && rows.length > 0) {
                await drop([rows[each.at % rows.length] as number]);
              } else if (each.kind === 'delete shown') {
                const alive = shown.filter((id) => rows.includes(id));
                await drop(forwards ? alive.slice(-each.count) : alive.slice(0, each.count));
              }
            }
          }
          const order = shown.filter((id) => stable.has(id));
          expect(order).toEqual([...stable].sort((a, b) => a - b));
        });
      }),
      {
        numRuns: rounds(8),
        examples: [[wholePageBeforeTheCursor], [pageOutdatedAgain]],
      },
    );
  });
});
