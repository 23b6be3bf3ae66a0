import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Lane } from '../../../src/upstream/budget/law/document.ts';
import { enqueueAll, silent } from '../../support/errands.ts';
import { createWorld, refusal, windowMs } from './world.ts';

/** What a budget takes an answer to last before it has heard any. */
const latencyMs = 200;
const RUNS = 300;

describe('Estimates', () => {
  test('are right when nothing else arrives', async () => {
    let misses = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          limit: fc.integer({ min: 1, max: 5 }),
          before: fc.array(
            fc.record({
              lane: fc.constantFrom<Lane>('write', 'interactive'),
              caller: fc.constantFrom('a', 'b', 'c'),
              waitMs: fc.constantFrom(0, 0, 100, 7000, 61_000),
            }),
            { maxLength: 25 },
          ),
          pauseMs: fc.option(fc.integer({ min: 1, max: 90_000 })),
          lane: fc.constantFrom<'write' | 'interactive'>('write', 'interactive'),
          caller: fc.constantFrom('a', 'b', 'd'),
        }),
        async ({ limit, before, pauseMs, lane, caller }) => {
          const { errand, budget, clock, begin } = createWorld(limit);
          await begin();
          if (pauseMs !== null) {
            await enqueueAll({ budget, clock }, [
              errand({ latencyMs, answers: [refusal(pauseMs), silent] }),
            ]);
            await clock.advance(latencyMs);
          }
          for (const { waitMs, ...options } of before) {
            await enqueueAll({ budget, clock }, [errand({ ...options, latencyMs })]);
            await clock.advance(waitMs);
          }
          const estimate = budget.estimate(lane, caller);
          const asked = clock.now();
          const last = errand({ lane, caller, latencyMs });
          await enqueueAll({ budget, clock }, [last]);
          if (last.turns === 0) expect(budget.estimateOf(last)).toBe(estimate);
          while (last.sent.length === 0 && (await clock.step()));
          const guess = 400 * (before.length + 2);
          const isMissed = Math.abs((last.sent[0]?.start ?? 0) - asked - estimate) >= guess;
          if (isMissed && pauseMs !== null) misses += 1;
          else expect(isMissed).toBe(false);
        },
      ),
      { numRuns: RUNS },
    );
    // After a refusal, a request that waits for a response can lose its slot to a write, by a millisecond.
    expect(misses).toBeLessThan(0.02 * RUNS);
  });

  test('are 0 while slots are free', async () => {
    const { budget, clock, errands, begin } = createWorld();
    await begin();
    expect(budget.estimate('interactive', 'a')).toBe(0);
    await enqueueAll({ budget, clock }, errands(30));
    expect(budget.estimate('interactive', 'a')).toBe(windowMs);
  });

  test.each([2, 20])('reckon with one answer to wait for at a start, behind %i', async (count) => {
    const { budget, clock, errands } = createWorld();
    await enqueueAll({ budget, clock }, errands(count, { latencyMs: 200 }));
    expect(budget.estimate('interactive', 'a')).toBe(200);
  });

  test('are 0 at a start for the second request, which goes beside the first', async () => {
    const { budget, clock, errand } = createWorld();
    await enqueueAll({ budget, clock }, [errand({ latencyMs: 200 })]);
    expect(budget.estimate('interactive', 'a')).toBe(0);
  });
});
