import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Resource, resourceNames } from '../../src/resources.ts';
import { rounds } from '../support/rounds.ts';
import { operation, query } from './any-operation.ts';
import { clampedWorlds, clamps } from './clamped-worlds.ts';
import { planOf } from './plan-of.ts';

const inWorld = clampedWorlds();

type Env = Readonly<Record<string, string>>;

const nothingKept: Env = Object.fromEntries(
  resourceNames.map((resource) => [`ttl.${resource}`, '0']),
);

const env = fc
  .record({
    resources: fc.oneof(
      fc.constant<Resource[]>([...resourceNames]),
      fc.subarray<Resource>([...resourceNames]),
    ),
    stale: fc.constantFrom<Env>(
      {},
      { staleWhileRevalidateMs: '0' },
      { STALE_IF_ERROR_MS: '0' },
      { staleWhileRevalidateMs: '0', STALE_IF_ERROR_MS: '0' },
      { CACHE_MAX_BYTES: '1000000' },
    ),
  })
  .map(({ resources, stale }) => ({
    ...stale,
    ...Object.fromEntries(resources.map((resource) => [`ttl.${resource}`, '0'])),
  }));

it('costs what an exact plan says where nothing is kept', async () => {
  const scene = fc.record({
    env,
    clamp: fc.constantFrom(...clamps),
    before: fc.array(operation, { maxLength: 2 }),
    asked: operation,
  });
  await fc.assert(
    fc.asyncProperty(scene, ({ asked, ...stage }) =>
      inWorld(stage, async (world) => {
        const { calls, exact } = await planOf(world, asked);
        const { receipt } = await world.ask(asked, {}, { prefer: 'wait=600' });
        if (exact) expect({ calls, wire: world.calls() }).toMatchObject({ calls: receipt.calls });
      }),
    ),
    { numRuns: rounds(10) },
  );
});

/** Longer than a window: it comes to codes again that it has read, while the budget has no slot to spare. */
const long = `{
  qrCodes(first: 3) { nodes { statistics { clicks } } }
  channels(first: 120) { nodes { items(first: 5) { nodes {
    ... on QrItem { qrCode { name statistics { clicks } } }
  } } } }
}`;

it('reads nothing twice for one query where nothing is kept', async () => {
  const scene = fc.record({
    env,
    clamp: fc.constantFrom(...clamps),
    before: fc.array(query, { maxLength: 1 }),
    // A secret is read by itself, also where the row that it is on was read.
    asked: query.filter((text) => !text.includes('apiKey')),
  });
  await fc.assert(
    fc.asyncProperty(scene, ({ asked, ...stage }) =>
      inWorld(stage, async (world) => {
        await world.ask(asked, {}, { prefer: 'wait=600' });
        const calls = world.calls();
        expect(calls).toEqual([...new Set(calls)]);
      }),
    ),
    { numRuns: rounds(10), examples: [[{ env: nothingKept, clamp: 12, before: [], asked: long }]] },
  );
});

it.each([
  '{ channel(id: 21) { items { totalCount } } }',
  '{ node(id: "Q2hhbm5lbDoyMQ") { ... on Channel { items { totalCount } } } }',
  '{ a: campaigns { totalCount } b: campaigns(first: 5) { nodes { name } } }',
  '{ users { username plan { name } } plans { name } }',
  '{ qrCode(id: 301) { name statistics { clicks } } }',
])('reads each page once with every ttl 0: %s', async (asked) => {
  await inWorld({ clamp: 100, before: [], env: nothingKept }, async (world) => {
    const plan = await planOf(world, asked);
    const { errors, receipt } = await world.ask(asked);
    const calls = world.calls();
    expect({ errors, calls: receipt.calls }).toEqual({ errors: [], calls: calls.length });
    expect(calls).toEqual([...new Set(calls)]);
    if (plan.exact) expect(receipt.calls).toBe(plan.calls);
  });
});
