import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ttlName } from '../../src/config/settings.ts';
import { type Resource, resourceNames } from '../../src/resources.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import type { OperationPlan } from '../../src/upstream/dry-run/dry-run.ts';
import { startWorld, type World } from '../support/gateway.ts';
import { QuickClock } from '../support/virtual-clock.ts';
import { operation, query } from './any-operation.ts';

/** By how many rows a page is cut in each of the installations. */
const clamps = [100, 12, 3];
const sandboxes = new Map<number, Sandbox>();

beforeAll(async () => {
  for (const maxLimit of clamps) {
    sandboxes.set(maxLimit, await startSandbox({ limit: { requests: 1_000_000 }, maxLimit }));
  }
});
afterAll(() => Promise.all([...sandboxes.values()].map((sandbox) => sandbox.close())));

type Env = Readonly<Record<string, string>>;

/** Settings that keep nothing, in any combination. */
const env = fc
  .record({
    resources: fc.oneof(
      fc.constant<Resource[]>([...resourceNames]),
      fc.subarray<Resource>([...resourceNames]),
    ),
    stale: fc.constantFrom<Env>(
      {},
      { STALE_WHILE_REVALIDATE_MS: '0' },
      { STALE_IF_ERROR_MS: '0' },
      { STALE_WHILE_REVALIDATE_MS: '0', STALE_IF_ERROR_MS: '0' },
      { CACHE_MAX_BYTES: '1000000' },
    ),
  })
  .map(({ resources, stale }) => ({
    ...stale,
    ...Object.fromEntries(resources.map((resource) => [ttlName(resource), '0'])),
  }));

async function inWorld(
  env: Env,
  clamp: number,
  before: readonly string[],
  then: (world: World) => Promise<void>,
): Promise<void> {
  const sandbox = sandboxes.get(clamp) as Sandbox;
  sandbox.reset();
  const clock = new QuickClock();
  const own = { EXPOSE_USER_API_KEYS: 'true', MAX_WAIT_MS: '600000', ...env };
  const world = await startWorld({ on: sandbox, clock, env: own });
  try {
    for (const step of before) await world.ask(step, {}, { prefer: 'wait=600' });
    // Refreshes that are on their way are none of what follows.
    for (let calls = -1; calls !== world.calls().length; ) {
      calls = world.calls().length;
      await clock.settle();
    }
    world.forgetCalls();
    await then(world);
  } finally {
    await world.close();
  }
}

async function planOf({ gateway }: World, asked: string): Promise<OperationPlan> {
  const response = await gateway.fetch(
    new Request('http://gateway/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-gateway-dry-run': '1' },
      body: JSON.stringify({ query: asked }),
    }),
  );
  const { extensions } = (await response.json()) as { extensions: { plan: OperationPlan } };
  return extensions.plan;
}

it('costs what an exact plan says where nothing is kept', { timeout: 300_000 }, async () => {
  const scene = fc.record({
    env,
    clamp: fc.constantFrom(...clamps),
    before: fc.array(operation, { maxLength: 2 }),
    asked: operation,
  });
  await fc.assert(
    fc.asyncProperty(scene, ({ env: own, clamp, before, asked }) =>
      inWorld(own, clamp, before, async (world) => {
        const { calls, exact } = await planOf(world, asked);
        const { receipt } = await world.ask(asked, {}, { prefer: 'wait=600' });
        if (exact) expect({ calls, wire: world.calls() }).toMatchObject({ calls: receipt.calls });
      }),
    ),
    { numRuns: Number(process.env['NO_TTL_RUNS'] ?? 60) },
  );
});

it('reads nothing twice for one query where nothing is kept', { timeout: 300_000 }, async () => {
  const scene = fc.record({
    env,
    clamp: fc.constantFrom(...clamps),
    before: fc.array(query, { maxLength: 1 }),
    // A secret is read by itself, also where the row that it is on was read.
    asked: query.filter((text) => !text.includes('apiKey')),
  });
  await fc.assert(
    fc.asyncProperty(scene, ({ env: own, clamp, before, asked }) =>
      inWorld(own, clamp, before, async (world) => {
        await world.ask(asked, {}, { prefer: 'wait=600' });
        const calls = world.calls();
        expect(calls).toEqual([...new Set(calls)]);
      }),
    ),
    { numRuns: Number(process.env['NO_TTL_RUNS'] ?? 60) },
  );
});

it.each([
  '{ channel(id: 21) { items { totalCount } } }',
  '{ node(id: "Q2hhbm5lbDoyMQ") { ... on Channel { items { totalCount } } } }',
  '{ a: campaigns { totalCount } b: campaigns(first: 5) { nodes { name } } }',
  '{ users { username plan { name } } plans { name } }',
  '{ qrCode(id: 301) { name statistics { clicks } } }',
])('reads each page once with every ttl 0: %s', async (asked) => {
  const own = Object.fromEntries(resourceNames.map((resource) => [ttlName(resource), '0']));
  await inWorld(own, 100, [], async (world) => {
    const plan = await planOf(world, asked);
    const { errors, receipt } = await world.ask(asked);
    const calls = world.calls();
    expect({ errors, calls: receipt.calls }).toEqual({ errors: [], calls: calls.length });
    expect(calls).toEqual([...new Set(calls)]);
    if (plan.exact) expect(receipt.calls).toBe(plan.calls);
  });
});
