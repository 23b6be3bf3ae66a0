import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { resources } from '../../src/resources.ts';
import { rounds } from '../support/rounds.ts';
import { operation } from './any-operation.ts';
import { clampedWorlds, clamps } from './clamped-worlds.ts';
import { planOf } from './plan-of.ts';

const inWorld = clampedWorlds();

interface Scene {
  readonly clamp: (typeof clamps)[number];
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

const TTL = 60_000;
/** One for all, so that all entries are at ages between 0 and 5 times of it. */
const ttls = Object.fromEntries(Object.keys(resources).map((name) => [`ttl.${name}`, String(TTL)]));
/** Operations, each after a time in shares of the ttl. */
const story = fc.record({
  clamp: fc.constantFrom(...clamps),
  steps: fc.array(
    fc.tuple(
      fc.oneof(
        fc.constant(0),
        fc.constantFrom(0.85, 0.95, 2),
        fc.double({ min: 0, max: 5, noNaN: true }),
      ),
      operation,
    ),
    { minLength: 10, maxLength: 10 },
  ),
});

it('a plan that says it is exact is what the operation costs, at any age of the entries', async () => {
  await fc.assert(
    fc.asyncProperty(story, ({ clamp, steps }) =>
      inWorld({ clamp, before: [], env: ttls }, async (world) => {
        for (const [age, asked] of steps) {
          await world.clock.advance(Math.round(age * TTL));
          await world.rests();
          world.forgetCalls();
          const { calls, exact, saved } = await planOf(world, asked);
          expect(world.calls()).toEqual([]);
          const { receipt } = await world.ask(asked, {}, { prefer: 'wait=600' });
          await world.rests();
          const sent = world.calls();
          // Nothing is sent that is on no receipt.
          expect({ asked, sent: sent.length }).toEqual({
            asked,
            sent: receipt.calls + receipt.refreshes,
          });
          if (exact) expect({ asked, calls, saved, sent }).toMatchObject({ calls: receipt.calls });
        }
      }),
    ),
    { numRuns: rounds(3) },
  );
});

it('a plan that says it is exact is what the operation costs, whatever was asked before', async () => {
  await fc.assert(
    fc.asyncProperty(scene, ({ clamp, before, asked }) =>
      inWorld({ clamp, before }, async (world) => {
        const { calls, exact } = await planOf(world, asked);
        expect(world.calls()).toEqual([]);
        const { receipt } = await world.ask(asked, {}, { prefer: 'wait=600' });
        await world.rests();
        expect(world.calls()).toHaveLength(receipt.calls + receipt.refreshes);
        if (exact) expect({ calls, wire: world.calls() }).toMatchObject({ calls: receipt.calls });
      }),
    ),
    { numRuns: rounds(10), examples: found },
  );
});

it('a plan that never commits itself would be no use', async () => {
  const said = { exact: 0, inexact: 0 };
  // Always the same ones: of 20 by chance, none or a half can be exact.
  for (const { clamp, before, asked } of fc.sample(scene, { seed: 1, numRuns: 20 })) {
    await inWorld({ clamp, before }, async (world) => {
      const { exact } = await planOf(world, asked);
      said[exact ? 'exact' : 'inexact'] += 1;
    });
  }
  expect(said.exact).toBeGreaterThan(said.inexact / 4);
});
