import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { rounds } from '../support/rounds.ts';
import { operation } from './any-operation.ts';
import { clampedWorlds, clamps } from './clamped-worlds.ts';
import { planOf } from './plan-of.ts';

const inWorld = clampedWorlds();

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

/** Scenes that were wrong once. */
const found: [Scene][] = [
  [{ clamp: 100, before: [], asked: '{ qrCode(id: 440) { channels { complete } } }' }],
  [
    {
      clamp: 100,
      before: ['{ channel(id: 1) { name } }'],
      asked: '{ domains { nodes { files { totalCount } } } }',
    },
  ],
];

it('a plan that says it is exact is what the operation costs, whatever was asked before', async () => {
  await fc.assert(
    fc.asyncProperty(scene, ({ clamp, before, asked }) =>
      inWorld({ clamp, before }, async (world) => {
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
    { numRuns: rounds(20), examples: found },
  );
});

it('a plan that never commits itself would be no use', async () => {
  const said = { exact: 0, inexact: 0 };
  // Always the same ones: of 60 by chance, a tenth or a third can be exact.
  for (const { clamp, before, asked } of fc.sample(scene, { seed: 1, numRuns: 40 })) {
    await inWorld({ clamp, before }, async (world) => {
      const { exact } = await planOf(world, asked);
      said[exact ? 'exact' : 'inexact'] += 1;
    });
  }
  expect(said.exact).toBeGreaterThan(said.inexact / 4);
});
