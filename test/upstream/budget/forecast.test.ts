import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Lane } from '../../../src/upstream/budget/law/document.ts';
import { enqueueAll } from '../../support/errands.ts';
import { rounds } from '../../support/rounds.ts';
import { createWorld, windowMs } from './world.ts';

/** What a budget takes an answer to last before it has heard any. */
const latencyMs = 200;

describe('A forecast', () => {
  test('says of each of many requests when it leaves, if nothing else is asked for', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          limit: fc.integer({ min: 1, max: 6 }),
          reserves: fc.option(
            fc.record({
              writes: fc.constantFrom(0, 0.2, 0.4),
              newcomers: fc.constantFrom(0, 0.2, 0.4),
            }),
            { nil: undefined },
          ),
          before: fc.array(
            fc.record({
              lane: fc.constantFrom<Lane>('write', 'interactive', 'refresh'),
              caller: fc.constantFrom('a', 'b', 'c'),
              waitMs: fc.constantFrom(0, 0, 100, 7000, 61_000),
            }),
            { maxLength: 25 },
          ),
          lane: fc.constantFrom<'write' | 'interactive'>('write', 'interactive'),
          caller: fc.constantFrom('a', 'b', 'd'),
          count: fc.integer({ min: 1, max: 12 }),
        }),
        async ({ limit, reserves, before, lane, caller, count }) => {
          const world = createWorld(limit, undefined, reserves);
          const { errand, errands, budget, clock } = world;
          // The first request after a start goes alone.
          await enqueueAll({ budget, clock }, [errand({ lane: 'write', latencyMs })]);
          await clock.advance(windowMs + latencyMs);
          for (const { waitMs, ...options } of before) {
            await enqueueAll({ budget, clock }, [errand({ ...options, latencyMs })]);
            await clock.advance(waitMs);
          }
          const first = budget.estimate(lane, caller);
          const asked = clock.now();
          const all = errands(count, { lane, caller, latencyMs });
          await enqueueAll({ budget, clock }, all);
          const forecast = all.map((each) => (each.sent.length > 0 ? 0 : budget.estimateOf(each)));
          expect(forecast[0]).toBe(first);
          while (all.some(({ sent }) => sent.length === 0) && (await clock.step()));
          const left = all.map(({ sent }) => (sent[0]?.start ?? Number.NaN) - asked);
          // What is on the wire is taken to be answered after the usual time from now.
          const guess = latencyMs + 5;
          for (const [n, ms] of left.entries()) {
            expect(
              Math.abs(ms - (forecast[n] ?? Number.NaN)),
              `${left.join()} as ${forecast.join()}`,
            ).toBeLessThan(guess);
          }
        },
      ),
      { numRuns: rounds(100) },
    );
  });
});
