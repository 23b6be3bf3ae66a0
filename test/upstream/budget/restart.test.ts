import { describe, expect, test } from 'vitest';
import { enqueueAll, mostAtOnce, silent } from '../../support/errands.ts';
import { createWorld, windowMs } from './world.ts';

describe('A process that starts', () => {
  const unknown = { unknownUntil: windowMs };
  const told = (remaining: number, limit = 30) => ({
    answers: [{ limit, remaining, resetInMs: 30_000 }],
  });

  test('counts what the one before has spent as long as it counts', async () => {
    const saved = { recalled: [1000, 2000, 2000, 70_000].map((until) => ({ until })) };
    const { errands, log, budget, clock } = createWorld(5, saved);
    expect(budget.state).toMatchObject({ used: 4, remaining: 1, resetInMs: 70_000 });
    await enqueueAll({ budget, clock }, errands(6));
    await clock.advance(50_000);
    expect(log.map(({ start }) => start)).toEqual([0, 1000, 2000, 2000]);
    await clock.advance(windowMs);
    expect(log.map(({ start }) => start).slice(4)).toEqual([60_000, 61_000]);
  });

  test('does not count it twice where the headers report it too', async () => {
    const saved = { recalled: Array.from({ length: 10 }, () => ({ until: 40_000 })) };
    const { errand, budget, clock } = createWorld(30, saved);
    await enqueueAll({ budget, clock }, [errand(told(19))]);
    expect(budget.state.remaining).toBe(19);
  });

  test('and does not know what was spent leaves half the limit alone for a window', async () => {
    const { errands, log, budget, clock } = createWorld(30, unknown);
    await enqueueAll({ budget, clock }, errands(100));
    await clock.advance(windowMs - 1);
    expect(log).toHaveLength(15);
    await clock.advance(10 * windowMs);
    expect(log).toHaveLength(100);
    expect(mostAtOnce(log, windowMs)).toBe(30);
  });

  test('and does not know believes the first headers that say that less is left', async () => {
    const { errand, errands, log, budget, clock } = createWorld(30, unknown);
    await enqueueAll({ budget, clock }, [errand(told(4))]);
    await enqueueAll({ budget, clock }, errands(40));
    await clock.advance(windowMs - 1);
    expect(log).toHaveLength(5);
  });

  test('and does not know leaves nothing alone once it is told what is left', async () => {
    const { errand, errands, log, budget, clock } = createWorld(30, unknown);
    expect(budget.state.remaining).toBe(15);
    await enqueueAll({ budget, clock }, [errand(told(29))]);
    expect(budget.state).toMatchObject({ used: 1, remaining: 29, resetInMs: windowMs });
    await enqueueAll({ budget, clock }, errands(40));
    expect(log).toHaveLength(30);
    await clock.advance(windowMs - 1);
    expect(log).toHaveLength(30);
  });

  test('and does not know counts all that is gone for a whole window, since it may be its own', async () => {
    const { errand, errands, log, budget, clock } = createWorld(30, unknown);
    await enqueueAll({ budget, clock }, [errand(told(20))]);
    expect(budget.state).toMatchObject({ used: 10, remaining: 20 });
    await clock.advance(30_000);
    await enqueueAll({ budget, clock }, errands(40));
    expect(log).toHaveLength(21);
    await clock.advance(windowMs - 30_001);
    expect(log).toHaveLength(21);
  });

  test('and does not know spends what is announced, and no half of it', async () => {
    const { errand, errands, log, budget, clock } = createWorld(30, unknown);
    await enqueueAll({ budget, clock }, [errand(told(9, 10)), ...errands(40)]);
    await clock.advance(windowMs - 1);
    expect(log).toHaveLength(10);
  });

  test.each([
    ['limit', { limit: 10, remaining: null, resetInMs: null }, 5],
    ['Remaining that does not count its own request', told(30).answers[0], 15],
    ['Remaining above the limit that is configured', { ...silent, remaining: 119 }, 15],
  ])('and does not know is not told enough by a %s', async (_, headers, left) => {
    const { errand, errands, log, budget, clock } = createWorld(30, unknown);
    const answers = [headers ?? silent];
    await enqueueAll({ budget, clock }, [errand({ answers }), ...errands(40, { answers })]);
    await clock.advance(windowMs - 1);
    expect(log).toHaveLength(left);
  });

  test('and does not know can spend the only request of its limit', async () => {
    const { errands, log, budget, clock } = createWorld(1, unknown);
    await enqueueAll({ budget, clock }, errands(2));
    expect(log).toHaveLength(1);
  });
});
