import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import type { OperationPlan } from '../../src/upstream/dry-run/dry-run.ts';
import { startWorld, type World } from '../support/gateway.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { operation } from './any-operation.ts';

/** By how many rows a page is cut in each of the installations. */
const clamps = [100, 12, 3];
const sandboxes = new Map<number, Sandbox>();

beforeAll(async () => {
  for (const maxLimit of clamps) {
    sandboxes.set(maxLimit, await startSandbox({ limit: { requests: 1_000_000 }, maxLimit }));
  }
});
afterAll(() => Promise.all([...sandboxes.values()].map((sandbox) => sandbox.close())));

interface Scene {
  readonly clamp: number;
  readonly before: readonly (string | number)[];
  readonly asked: string;
}

/** Milliseconds stand for time that passes. */
const scene = fc.record<Scene>({
  clamp: fc.constantFrom(...clamps),
  before: fc.array(
    fc.oneof(
      { weight: 5, arbitrary: operation },
      { weight: 1, arbitrary: fc.constantFrom(1000, 61_000, 200_000) },
    ),
    { maxLength: 4 },
  ),
  asked: operation,
});

/** Rests by events of the machine and not by its time. */
class QuickClock extends VirtualClock {
  override async settle(): Promise<void> {
    for (let n = 0; n < 12; n += 1) {
      await new Promise<void>((resolve) => {
        setImmediate(resolve);
      });
    }
  }
}

async function planOf(world: World, asked: string): Promise<OperationPlan> {
  const response = await world.gateway.fetch(
    new Request('http://gateway/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-gateway-dry-run': '1' },
      body: JSON.stringify({ query: asked }),
    }),
  );
  const { data, extensions } = (await response.json()) as {
    data: unknown;
    extensions: { plan: OperationPlan };
  };
  expect(data).toBeNull();
  return extensions.plan;
}

/** A world in which something was asked before, and nothing is under way. */
async function inWorldAfter(
  { clamp, before }: Pick<Scene, 'clamp' | 'before'>,
  then: (world: World) => Promise<void>,
): Promise<void> {
  const sandbox = sandboxes.get(clamp) as Sandbox;
  sandbox.reset();
  const clock = new QuickClock();
  const env = { EXPOSE_USER_API_KEYS: 'true', MAX_WAIT_MS: '600000' };
  const world = await startWorld({ on: sandbox, clock, env });
  try {
    for (const step of before) {
      if (typeof step === 'number') await clock.advance(step);
      else await world.ask(step, {}, { prefer: 'wait=600' });
    }
    // Refreshes that are on their way are none of what follows. What is sent after them arrives after them, unless a
    // connection has to be opened first.
    for (let before = -1; before !== world.calls().length; ) {
      before = world.calls().length;
      for (let trip = 0; trip < 3; trip += 1) {
        await clock.settle();
        await world.links('/api/account');
      }
    }
    world.forgetCalls();
    await then(world);
  } finally {
    await world.close();
  }
}

it('a plan that says it is exact is what the operation costs, whatever was asked before', async () => {
  await fc.assert(
    fc.asyncProperty(scene, ({ clamp, before, asked }) =>
      inWorldAfter({ clamp, before }, async (world) => {
        const { calls, exact } = await planOf(world, asked);
        expect(world.calls()).toEqual([]);
        const { receipt } = await world.ask(asked, {}, { prefer: 'wait=600' });
        if (!exact) return;
        expect({ calls, wire: world.calls() }).toMatchObject({ calls: receipt.calls });
        // What is refreshed behind the readers' backs is no cost of theirs.
        const refreshes = before.some((step) => typeof step === 'number');
        if (!refreshes) expect(world.calls()).toHaveLength(calls);
      }),
    ),
    { numRuns: Number(process.env['DRY_RUNS'] ?? 60) },
  );
}, 300_000);

it('a plan that never commits itself would be no use', async () => {
  const said = { exact: 0, inexact: 0 };
  // Always the same ones: of 60 by chance, a tenth or a third can be exact.
  for (const { clamp, before, asked } of fc.sample(scene, { seed: 1, numRuns: 40 })) {
    await inWorldAfter({ clamp, before }, async (world) => {
      const { exact } = await planOf(world, asked);
      said[exact ? 'exact' : 'inexact'] += 1;
    });
  }
  expect(said.exact).toBeGreaterThan(said.inexact / 4);
}, 300_000);
