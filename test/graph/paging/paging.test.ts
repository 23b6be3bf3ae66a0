import * as fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Fault } from '../../../src/sandbox/sandbox.ts';
import {
  type Connection,
  PLENTY,
  type Row,
  startWorld,
  type World,
} from '../../support/gateway.ts';
import { rounds } from '../../support/rounds.ts';
import { everyRow } from '../rest.ts';

/** A list as it is asked for here, and where the upstream has it. */
interface ListCase {
  readonly title: string;
  /** An operation over a window of it, with what is to be selected of that. */
  readonly query: (selection: string) => string;
  /** What names a row. */
  readonly row: string;
  readonly path: string;
  readonly key: string;
}

const VARIABLES = '$first: Int, $after: String, $last: Int, $before: String';
const WINDOW = 'first: $first, after: $after, last: $last, before: $before';

const flat = (field: string, path: string, key: string): ListCase => ({
  title: field,
  query: (selection) => `query (${VARIABLES}) { list: ${field}(${WINDOW}) { ${selection} } }`,
  row: 'databaseId',
  path,
  key,
});

const lists: readonly ListCase[] = [
  flat('channels', '/api/channels', 'channels'),
  flat('qrCodes', '/api/qr', 'qrs'),
  flat('files', '/api/files', 'list'),
];

/** The channel with the most items: more than one page of the usual size. */
async function largestChannel(world: World): Promise<ListCase> {
  const channels = await everyRow(world, '/api/channels', 'channels');
  const archive = channels.find(({ name }) => name === 'Archive');
  const id = String(archive?.['id']);
  return {
    title: 'Channel.items',
    query: (selection) =>
      `query (${VARIABLES}) { channel(id: ${id}) { list: items(${WINDOW}) { ${selection} } } }`,
    row: '... on ChannelEntry { type databaseId }',
    path: `/api/channel/${id}`,
    key: 'items',
  };
}

type List = Connection<{ readonly databaseId: number; readonly type?: string }>;

/** Reads a list to its end, or to its beginning, through windows of `size` rows. */
async function walk(
  world: World,
  { query, row }: ListCase,
  size: number,
  direction: 'forwards' | 'backwards',
): Promise<string[]> {
  const forwards = direction === 'forwards';
  const seen: string[] = [];
  let cursor: string | null = null;
  for (let step = 0; step < 1000; step += 1) {
    const window: object = forwards
      ? { first: size, after: cursor }
      : { last: size, before: cursor };
    const data: { list?: List; channel?: { list: List } } = await world.data(
      query(
        `edges { cursor node { ${row} } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }`,
      ),
      { ...window },
    );
    const list = data.list ?? data.channel?.list;
    if (!list) throw new Error('there is no list');
    const { edges, pageInfo } = list;
    expect(edges.length).toBeLessThanOrEqual(size);
    expect(pageInfo.startCursor).toBe(edges[0]?.cursor ?? null);
    expect(pageInfo.endCursor).toBe(edges.at(-1)?.cursor ?? null);
    // That there is something on the side one came from is known; on the first side there is nothing.
    expect(forwards ? pageInfo.hasPreviousPage : pageInfo.hasNextPage).toBe(cursor !== null);
    const rows = edges.map(({ node }) => `${node.type ?? ''}${node.databaseId}`);
    if (forwards) seen.push(...rows);
    else seen.unshift(...rows);
    const more = forwards ? pageInfo.hasNextPage : pageInfo.hasPreviousPage;
    if (!more) return seen;
    cursor = forwards ? pageInfo.endCursor : pageInfo.startCursor;
    if (cursor === null) throw new Error('an empty window says that more follows');
  }
  throw new Error('the list has no end');
}

async function expected(world: World, { path, key }: ListCase): Promise<string[]> {
  const rows = await everyRow(world, path, key);
  return rows.map(
    ({ type, id }) => `${key === 'items' ? String(type).toUpperCase() : ''}${String(id)}`,
  );
}

const directions = fc.constantFrom('forwards' as const, 'backwards' as const);

describe.each([
  ['an upstream that gives the pages it is asked for', 100],
  ['an upstream that gives 20 rows at most', 20],
])('Paging over %s', (_title, maxLimit) => {
  let world: World;
  let cases: readonly ListCase[];

  beforeAll(async () => {
    world = await startWorld({ sandbox: { limit: { requests: PLENTY }, maxLimit } });
    cases = [...lists, await largestChannel(world)];
  });

  it.each(['channels', 'qrCodes', 'files', 'Channel.items'])(
    'visits every row of %s once, in order, in either direction, with any size of window',
    async (title) => {
      const list = cases.find((each) => each.title === title) as ListCase;
      const rows = await expected(world, list);
      expect(rows.length).toBeGreaterThan(title === 'Channel.items' ? 100 : 20);
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: 1, max: 150 }), directions, async (size, direction) => {
          expect(await walk(world, list, size, direction)).toEqual(rows);
        }),
        {
          numRuns: rounds(5),
          examples: [
            [1, 'forwards'],
            [3, 'backwards'],
            [20, 'backwards'],
            [100, 'forwards'],
          ],
        },
      );
    },
  );

  it('visits every row of items once, in order, in either direction, with any size of window', async () => {
    const { items } = await world.market<{ items: Row[] }>('/api/items/all');
    const list = flat('items', '', '');
    const rows = items.map(({ id }) => String(id));
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 60 }), directions, async (size, direction) => {
        expect(await walk(world, list, size, direction)).toEqual(rows);
      }),
      {
        numRuns: rounds(3),
        examples: [
          [1, 'forwards'],
          [3, 'backwards'],
        ],
      },
    );
  });

  it('cuts the same window wherever it begins and ends, with any page size of the gateway', async () => {
    const list = cases[3] as ListCase;
    const rows = await expected(world, list);
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 130 }),
        fc.nat({ max: rows.length - 2 }),
        fc.nat({ max: rows.length }),
        fc.boolean(),
        async (pageSize, start, length, forwards) => {
          const end = Math.min(rows.length - 1, start + 1 + length);
          const other = await startWorld({
            on: world.sandbox,
            env: { LINKS_PAGE_SIZE: String(pageSize) },
          });
          const all = await other.data<{ channel: { list: List } }>(
            list.query('edges { cursor }'),
            { first: 500 },
          );
          const cursor = (index: number) => all.channel.list.edges[index]?.cursor ?? '';
          // Cursors are good on every gateway, however it pages: this one has read nothing yet.
          const fresh = await startWorld({ on: world.sandbox });
          const { channel } = await fresh.data<{ channel: { list: List } }>(
            list.query(`nodes { ${list.row} }`),
            { [forwards ? 'first' : 'last']: 500, after: cursor(start), before: cursor(end) },
          );
          expect(channel.list.nodes.map(({ type, databaseId }) => `${type}${databaseId}`)).toEqual(
            rows.slice(start + 1, end),
          );
          await Promise.all([other.close(), fresh.close()]);
        },
      ),
      { numRuns: rounds(3) },
    );
  });
});

/** The paging members and rows of a list answer, wherever they stand in it. */
interface Members extends Record<string, unknown> {
  result: unknown;
  perpage: unknown;
  currentpage: unknown;
  nextpage: unknown;
  maxpage: unknown;
}

type Rewrite = Extract<Fault, { kind: 'answer' }>['rewrite'];
type Body = Record<string, unknown> & { data?: Members };

function rewriteMembers(edit: (members: Members, body: Body) => unknown): Rewrite {
  return (answer) => {
    const body = answer.body as Body;
    edit(body.data ?? (body as Members), body);
    return answer;
  };
}

describe('Paging over an upstream that', () => {
  let world: World;
  const channels = lists[0] as ListCase;

  beforeAll(async () => {
    world = await startWorld({ sandbox: { limit: { requests: PLENTY }, maxLimit: 9 } });
  });

  it('sends rows without an id leaves those out and visits every other once', async () => {
    const rows = await expected(world, channels);
    const kept = rows.filter((_, index) => index % 3 !== 1);
    const restore = world.sandbox.links.fault({
      kind: 'answer',
      path: channels.path,
      rewrite: rewriteMembers((members) => {
        for (const row of members['channels'] as { id: number | null }[]) {
          if (rows.indexOf(String(row.id)) % 3 === 1) row.id = null;
        }
      }),
    });
    for (const direction of ['forwards', 'backwards'] as const) {
      for (const size of [1, 5, 50]) {
        const fresh = await startWorld({ on: world.sandbox });
        expect(await walk(fresh, channels, size, direction)).toEqual(kept);
        await fresh.close();
      }
    }
    restore();
  });
});
