import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { enqueueAll } from '../../support/errands.ts';
import { createWorld, windowMs } from './world.ts';

const LIMIT = 30;
const TENTHS = { writes: 0.1, newcomers: 0.1 };

/** A budget of 30 requests with three slots for writes and three for newcomers, after its first request. */
async function begun(limit = LIMIT, reserves = TENTHS) {
  const world = createWorld(limit, undefined, reserves);
  await world.begin();
  const ask = async (count: number, options: Parameters<typeof world.errand>[0]) => {
    const asked = world.errands(count, options);
    await enqueueAll(world, asked);
    return asked;
  };
  const sentBy = (caller: string): number =>
    world.log.filter(({ errand }) => errand.caller === caller).length;
  return { ...world, ask, sentBy };
}

describe('Reserves', () => {
  test('let a burst of one caller take what is not reserved', async () => {
    const { ask, budget, clock, sentBy } = await begun();
    await ask(100, { caller: 'burst' });
    expect(sentBy('burst')).toBe(24);
    expect(budget.state.remaining).toBe(6);
    expect(budget.availableTo('interactive', 'burst')).toBe(0);
    expect(budget.availableTo('interactive', 'other')).toBe(6);
    await ask(9, { caller: 'burst', lane: 'write' });
    expect(sentBy('burst')).toBe(27);
    await ask(5, { caller: 'other' });
    expect(sentBy('other')).toBe(3);
    await clock.advance(windowMs);
    // The next window has slots for all who waited, and the burst leaves the same ones free again.
    expect(sentBy('other')).toBe(5);
    expect(budget.state.remaining).toBe(6);
  });

  test('estimate when a caller has its turn, which the others do not wait for', async () => {
    const { ask, budget, clock } = await begun();
    await ask(24, { caller: 'burst' });
    expect(budget.estimate('interactive', 'burst')).toBeGreaterThan(windowMs - 15_000);
    expect(budget.estimate('interactive', 'other')).toBe(0);
    expect(budget.estimate('write', 'burst')).toBe(0);
    const [late] = await ask(1, { caller: 'burst' });
    await clock.advance(windowMs - 20_000);
    expect(late?.sent).toEqual([]);
    await clock.advance(30_000);
    expect(late?.sent).toHaveLength(1);
  });

  test('do not bind callers within their turn', async () => {
    const { ask, log } = await begun();
    for (let caller = 0; caller < 10; caller += 1) await ask(3, { caller: `caller ${caller}` });
    expect(log).toHaveLength(LIMIT);
  });

  test('are lent while slots that replace them become free soon', async () => {
    const { ask, clock, log } = await begun();
    for (let second = 0; second < 360; second += 1) {
      await ask(1, { caller: 'constant' });
      await clock.advance(1000);
    }
    // One caller that always waits uses the limit of five windows up to 3 %, after the first.
    const before = log.filter(({ start }) => start < 2 * windowMs).length;
    expect(log.length - before).toBeGreaterThanOrEqual(0.97 * 5 * LIMIT);
  });

  test('hold nothing back where the limit is low, or they are off', async () => {
    const low = await begun(9);
    await low.ask(20, { caller: 'burst' });
    expect(low.log).toHaveLength(9);
    const off = await begun(LIMIT, { writes: 0, newcomers: 0 });
    await off.ask(50, { caller: 'burst' });
    expect(off.log).toHaveLength(LIMIT);
  });

  test('hold of 4,000,000,000 requests, and of a limit that the upstream announces', async () => {
    const { ask, budget, errand, clock } = await begun();
    const answers = [{ limit: 4_000_000_000, remaining: 3_999_999_999, resetInMs: null }];
    await enqueueAll({ budget, clock }, [errand({ answers })]);
    await ask(50, { caller: 'burst' });
    expect(budget.availableTo('interactive', 'burst')).toBe(3_200_000_000 - 51);
  });

  test('leave a slot to every newcomer, whatever one caller does', async () => {
    const moments = fc.array(fc.nat(4 * windowMs), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(moments, fc.array(fc.nat(40), { maxLength: 20 }), async (at, bursts) => {
        const { ask, clock } = await begun();
        const arrivals = [...new Set(at)].sort((one, other) => one - other);
        const asks = bursts.map((count, index) => ({ count, at: 12_000 * index }));
        for (let second = 0; second <= 4 * 60; second += 1) {
          for (const { count } of asks.filter((each) => Math.floor(each.at / 1000) === second)) {
            await ask(count, { caller: 'greedy', lane: second % 2 ? 'write' : 'interactive' });
          }
          for (const moment of arrivals.filter((each) => Math.floor(each / 1000) === second)) {
            const [first] = await ask(1, { caller: `newcomer ${moment}` });
            // A lent slot is replaced within a quarter of the window.
            const near = arrivals.filter((each) => Math.abs(each - moment) < windowMs / 4 + 1000);
            if (near.length === 1) expect(first?.sent, `at ${second} s`).toHaveLength(1);
          }
          await clock.advance(1000);
        }
      }),
      { numRuns: 20, endOnFailure: true },
    );
  });
});
