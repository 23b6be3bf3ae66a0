import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts';
import { type Connection, PLENTY, startWorld, type World } from '../../support/gateway.ts';
import { rounds } from '../../support/rounds.ts';

/** By how many rows a page is cut in each of the installations. */
const clamps = [100, 12, 3];
const sandboxes = new Map<number, Sandbox>();

beforeAll(async () => {
  for (const maxLimit of clamps) {
    sandboxes.set(maxLimit, await startSandbox({ limit: { requests: PLENTY }, maxLimit }));
  }
});
afterAll(() => Promise.all([...sandboxes.values()].map((sandbox) => sandbox.close())));

function selection(node: string): string {
  return `{ edges { cursor node { ${node} } } pageInfo { startCursor endCursor } }`;
}

/** Lists of every kind, each around a window of it. */
const lists: readonly ((window: string) => string)[] = [
  (window) => `{ list: channels${window} ${selection('id')} }`,
  (window) => `{ list: qrCodes${window} ${selection('id')} }`,
  (window) => `{ list: files${window} ${selection('id')} }`,
  (window) =>
    `{ parent: channel(id: 21) { list: items${window} ${selection('... on ChannelEntry { type databaseId }')} } }`,
  (window) => `{ list: items${window} ${selection('id')} }`,
];

interface Step {
  readonly side: 'first' | 'last';
  readonly count: number;
  /** From which of the cursors that are known by then, about. */
  readonly from: number | null;
}

const step: fc.Arbitrary<Step> = fc.record({
  side: fc.constantFrom('first' as const, 'first' as const, 'last' as const),
  count: fc.constantFrom(1, 2, 3, 4, 7, 12, 13, 25, 40, 101),
  from: fc.option(fc.nat(1000)),
});

/** Takes windows one after the other, and notes the cursors of each row. */
async function cursorsOf(
  world: World,
  list: (window: string) => string,
  steps: readonly Step[],
): Promise<Map<string, Set<string>>> {
  const found = new Map<string, Set<string>>();
  for (const { side, count, from } of steps) {
    const known = [...found.values()].flatMap((cursors) => [...cursors]);
    const start = from === null ? undefined : known[from % Math.max(1, known.length)];
    const after = start ? `, ${side === 'first' ? 'after' : 'before'}: "${start}"` : '';
    const data = await world.data<{ list?: Connection<unknown>; parent?: never }>(
      list(`(${side}: ${count}${after})`),
    );
    const window = data.list ?? (data.parent as never as typeof data)?.list;
    for (const { cursor, node } of window?.edges ?? []) {
      const name = JSON.stringify(node);
      found.set(name, (found.get(name) ?? new Set()).add(cursor));
    }
    expect(window?.pageInfo).toEqual({
      startCursor: window?.edges[0]?.cursor ?? null,
      endCursor: window?.edges.at(-1)?.cursor ?? null,
    });
  }
  return found;
}

describe('A cursor', () => {
  it('is the same for the same state of a list, whatever was read before', async () => {
    const scene = fc.record({
      clamp: fc.constantFrom(...clamps),
      list: fc.constantFrom(...lists),
      plays: fc.array(fc.array(step, { minLength: 1, maxLength: 5 }), {
        minLength: 2,
        maxLength: 2,
      }),
      ttl: fc.constantFrom('0', '60000'),
    });
    await fc.assert(
      fc.asyncProperty(scene, async ({ clamp, list, plays, ttl }) => {
        const cursors = new Map<string, string>();
        for (const steps of plays) {
          const env = { 'ttl.channels': ttl, 'ttl.qrCodes': ttl, 'ttl.channelItems': ttl };
          const world = await startWorld({ on: sandboxes.get(clamp) as Sandbox, env });
          try {
            for (const [id, found] of await cursorsOf(world, list, steps)) {
              for (const cursor of found) {
                expect(cursors.get(id) ?? cursor).toBe(cursor);
                cursors.set(id, cursor);
              }
            }
          } finally {
            await world.close();
          }
        }
      }),
      { numRuns: rounds(15) },
    );
  });

  it('leaves the ETag of a window to the state of the list', async () => {
    const on = sandboxes.get(12) as Sandbox;
    const totals = '{ channels { totalCount } pixels { totalCount } domains { totalCount } }';
    const counting = await startWorld({ on });
    const lists = Object.entries(
      await counting.data<Record<string, { totalCount: number }>>(totals),
    );
    await counting.close();
    const [list, { totalCount }] = lists.find(([, { totalCount: n }]) => n > 15 && n <= 24) ?? [
      'none has two pages',
      { totalCount: 0 },
    ];
    // It begins behind the edge of the second page; the first is read only where the end is not known.
    const query = `{ ${list}(last: ${totalCount - 13}) { pageInfo { startCursor } nodes { id } } }`;
    const etagAfter = async (...before: string[]) => {
      const world = await startWorld({ on });
      for (const each of before) await world.data(each);
      const url = `http://gateway/graphql?${new URLSearchParams({ query })}`;
      const { headers } = await world.gateway.fetch(new Request(url));
      await world.close();
      return headers.get('etag');
    };
    const alone = await etagAfter();
    expect(alone).toMatch(/^W\//);
    for (const window of ['first: 3', 'first: 20', 'last: 2', 'first: 500']) {
      expect(await etagAfter(`{ ${list}(${window}) { nodes { id } } }`)).toBe(alone);
    }
  });
});
