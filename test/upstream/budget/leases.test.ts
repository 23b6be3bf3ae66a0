import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  createBudget,
  Errand,
  enqueue,
  enqueueAll,
  mostAtOnce,
  type Sent,
  silent,
} from '../../support/errands.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { createWorld, refusal, windowMs } from './world.ts';

/** A clock whose timers fire up to a millisecond too soon, as those of the machine do. */
class EarlyClock extends VirtualClock {
  override after(ms: number, task: () => void): () => void {
    return super.after(Math.max(0, ms - 0.75), task);
  }
}

describe('A lease', () => {
  test('that was not used is not taken for a request that the upstream has counted', async () => {
    const { errand, errands, budget, clock, begin } = createWorld();
    await begin();
    await enqueueAll({ budget, clock }, errands(10, { answers: [null] }));
    // One of ours and ten of others: they would pass for ours if those that did not leave counted.
    await enqueueAll({ budget, clock }, [
      errand({ answers: [{ limit: 30, remaining: 19, resetInMs: 60_000 }] }),
    ]);
    expect(budget.state).toMatchObject({ used: 11, remaining: 19 });
  });

  test('is told from those of others by all that left before its answer, and by no more', async () => {
    const { errand, budget, clock, begin } = createWorld();
    await begin();
    const told = (remaining: number) => ({
      answers: [{ limit: 30, remaining, resetInMs: 60_000 }],
      latencyMs: 1000,
    });
    // The first request shows that others use the key, so that it is heard that the next do.
    await enqueueAll({ budget, clock }, [errand(told(29))]);
    await clock.advance(1000);
    // Three of ours have left by the first answer, and five of others.
    await enqueueAll({ budget, clock }, [
      errand(told(22)),
      errand({ latencyMs: 2000 }),
      errand({ latencyMs: 2000 }),
    ]);
    await clock.advance(2000);
    expect(budget.state).toMatchObject({ used: 4 + 4, remaining: 22 });
    // All that is over is not counted again.
    await clock.advance(2 * windowMs);
    await enqueueAll({ budget, clock }, [errand(told(25))]);
    await clock.advance(1000);
    expect(budget.state).toMatchObject({ used: 1 + 4, remaining: 25 });
  });

  test('counts a whole window, although timers fire too soon', async () => {
    const schedule = fc.array(
      fc.record({ atMs: fc.nat(150_000), latencyMs: fc.double({ min: 0, max: 900, noNaN: true }) }),
      { minLength: 4, maxLength: 30 },
    );
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 4 }), schedule, async (limit, arrivals) => {
        const clock = new EarlyClock().rule();
        const log: Sent[] = [];
        const budget = createBudget(clock, limit, windowMs);
        for (const { atMs, latencyMs } of arrivals) {
          const errand = new Errand({ clock, log }, { latencyMs });
          clock.after(atMs, () => enqueue(budget, errand));
        }
        await clock.advance(3_600_000);
        expect(log).toHaveLength(arrivals.length);
        expect(mostAtOnce(log, windowMs)).toBeLessThanOrEqual(limit);
      }),
      { numRuns: 150 },
    );
  });

  test('is free again once a pause has begun after its claim and before it leaves', async () => {
    const { errand, errands, log, budget, clock, begin } = createWorld(3);
    await begin();
    const held = errands(2);
    const refused = errand({
      answers: [
        () => {
          // Claimed before the budget learns of the refusal, in the same turn, and not sent yet.
          queueMicrotask(() => {
            for (const each of held) enqueue(budget, each);
          });
          return refusal(1000);
        },
        silent,
      ],
    });
    await enqueueAll({ budget, clock }, [refused]);
    expect(held.map(({ sent }) => sent.length)).toEqual([0, 0]);
    expect(budget.state).toMatchObject({ used: 1, queued: 3, remaining: 0 });
    expect(budget.shown.window.taken.map(({ freeInMs }) => freeInMs)).toEqual([windowMs]);
    await clock.advance(1000);
    // The refused one counts, so that two go in this window and the third in the next.
    expect(log).toHaveLength(3);
    await clock.advance(windowMs);
    expect(log).toHaveLength(4);
    expect(mostAtOnce(log, windowMs)).toBe(3);
  });

  test.each([-3_600_000, 3_600_000])(
    'ends a window after its answer, although the wall clock jumps by %d ms',
    async (jumpMs) => {
      const { errands, log, budget, clock, begin } = createWorld(2);
      await begin();
      await enqueueAll({ budget, clock }, errands(6, { latencyMs: 1000 }));
      await clock.advance(500);
      clock.jumpWall(jumpMs);
      await clock.advance(500);
      clock.jumpWall(jumpMs);
      expect(budget.state).toMatchObject({ used: 2, resetInMs: windowMs });
      await clock.advance(windowMs - 1);
      expect(log).toHaveLength(2);
      await clock.advance(1);
      expect(log).toHaveLength(4);
    },
  );
});

describe('The reserve', () => {
  const shares = [1, 2, 3, 7, 8, 15, 22, 23, 30, 60].map((limit) => {
    const kept = limit === 1 ? 0 : Math.max(1, Math.round(limit / 15));
    return [limit, kept] as const;
  });

  test.each(shares)('of a limit of %d are %d slots that no refresh takes', async (limit, kept) => {
    const { errands, log, budget, clock, begin } = createWorld(limit);
    await begin();
    expect(budget.refreshesPerWindow).toBe(Math.max(1, limit - kept));
    await enqueueAll({ budget, clock }, errands(3 * limit, { lane: 'refresh' }));
    await clock.advance(windowMs - 1);
    expect(log).toHaveLength(limit - kept);
    expect(budget.state.remaining).toBe(kept);
    const readers = errands(kept);
    await enqueueAll({ budget, clock }, readers);
    expect(readers.map(({ sent }) => sent.length)).toEqual(readers.map(() => 1));
    expect(mostAtOnce(log, windowMs)).toBe(limit);
  });

  test.each(shares)('of a limit of %d, %d slots, is not to spare', async (limit, kept) => {
    const { errand, budget, clock, begin } = createWorld(limit);
    await begin();
    for (let free = limit; free > 0; free -= 1) {
      expect(budget.idle, `${free} free`).toBe(free > kept);
      await enqueueAll({ budget, clock }, [errand()]);
    }
    expect(budget.idle).toBe(false);
  });
});
