import { describe, expect, test } from 'vitest';
import { enqueueAll, mostAtOnce } from '../../support/errands.ts';
import { createWorld, windowMs } from './world.ts';

describe('What the headers say', () => {
  const told = (
    remaining: number,
    resetInMs: number | null = null,
    limit: number | null = null,
  ) => ({
    answers: [{ limit, remaining, resetInMs }],
  });

  test('blocks until the upstream starts again when others have spent the rest', async () => {
    const { errand, errands, log, budget, clock } = createWorld();
    await enqueueAll({ budget, clock }, [errand(told(29, 60_000))]);
    await clock.advance(windowMs);
    log.length = 0;
    await enqueueAll({ budget, clock }, [errand(told(0, 20_000))]);
    expect(budget.state).toMatchObject({ remaining: 0, used: 30 });
    await enqueueAll({ budget, clock }, errands(5));
    await clock.advance(19_999);
    expect(log).toHaveLength(1);
    await clock.advance(1);
    expect(log).toHaveLength(6);
  });

  test('counts what was gone at the start for a whole window, since it may be our own', async () => {
    const { errand, errands, log, budget, clock } = createWorld();
    await enqueueAll({ budget, clock }, [errand(told(9, 1000))]);
    expect(budget.state.remaining).toBe(9);
    await enqueueAll({ budget, clock }, [errand(told(8, 1000)), ...errands(40)]);
    expect(log).toHaveLength(10);
    await clock.advance(windowMs - 1);
    expect(log).toHaveLength(10);
    await clock.advance(1);
    expect(log.length).toBeGreaterThan(10);
  });

  test('does not take what was gone at the start for somebody else on the key', async () => {
    const { errand, errands, log, budget, clock } = createWorld();
    await enqueueAll({ budget, clock }, [errand(told(20, 30_000))]);
    await enqueueAll({ budget, clock }, [errand(told(19, 30_000))]);
    await enqueueAll({ budget, clock }, errands(9, { latencyMs: 5000 }));
    expect(log).toHaveLength(11);
  });

  test('sends a few at a time while others use the key, and more with each good answer', async () => {
    const { errand, errands, log, budget, clock, begin } = createWorld();
    await begin();
    await enqueueAll({ budget, clock }, [errand(told(28, 60_000))]);
    await enqueueAll({ budget, clock }, [errand(told(20, 60_000))]);
    await clock.advance(1000);
    log.length = 0;
    await enqueueAll({ budget, clock }, errands(30, { latencyMs: 500 }));
    expect(log).toHaveLength(2);
    await clock.advance(500);
    expect(log).toHaveLength(2 + 4);
    await clock.advance(500);
    // Of the fourteen that are left then, not more than half.
    expect(log).toHaveLength(2 + 4 + 7);
  });

  test('leaves half of what is left to others who use the key', async () => {
    const { errand, errands, log, budget, clock, begin } = createWorld();
    await begin();
    await enqueueAll({ budget, clock }, [errand(told(28, 60_000))]);
    await enqueueAll({ budget, clock }, [errand(told(3, 60_000))]);
    log.length = 0;
    await enqueueAll({ budget, clock }, errands(9, { latencyMs: 500 }));
    expect(log).toHaveLength(2);
    await clock.advance(500);
    expect(log).toHaveLength(3);
    await clock.advance(10_000);
    expect(log).toHaveLength(3);
  });

  test('reads nothing into the headers of requests that were on the wire together', async () => {
    const { errand, log, budget, clock, begin } = createWorld();
    await begin();
    const burst = Array.from({ length: 20 }, () => errand({ latencyMs: 700, ...told(10, 60_000) }));
    await enqueueAll({ budget, clock }, burst);
    await clock.advance(700);
    expect(log).toHaveLength(20);
    expect(budget.state).toMatchObject({ used: 20, remaining: 10 });
  });

  test('notices in the middle of a burst that others spend the same key', async () => {
    const { errand, log, budget, clock, begin } = createWorld();
    await begin();
    const burst = Array.from({ length: 10 }, () => errand({ latencyMs: 700, ...told(12, 60_000) }));
    await enqueueAll({ budget, clock }, burst);
    await clock.advance(700);
    expect(log).toHaveLength(10);
    expect(budget.state.remaining).toBe(12);
  });

  test('never spends more because of a Remaining that says more', async () => {
    const { errands, log, budget, clock, begin } = createWorld();
    await begin();
    await enqueueAll({ budget, clock }, errands(100, told(30, 0)));
    expect(log).toHaveLength(30);
    await clock.advance(windowMs - 1);
    expect(log).toHaveLength(30);
  });

  test('follows the Limit up and down', async () => {
    const { errand, errands, log, budget, clock } = createWorld();
    await enqueueAll({ budget, clock }, [errand(told(49, null, 50)), ...errands(100)]);
    expect(log).toHaveLength(50);
    await clock.advance(windowMs);
    expect(log).toHaveLength(100);
    await clock.advance(windowMs);
    log.length = 0;
    await enqueueAll({ budget, clock }, [errand(told(9, null, 10)), ...errands(100)]);
    expect(budget.state).toMatchObject({ limit: 10, remaining: 0 });
    const before = log.length;
    await clock.advance(windowMs);
    expect(log.length).toBeLessThanOrEqual(before + 10);
    await clock.advance(10 * windowMs);
    expect(log.slice(before).length).toBe(101 - before);
    expect(mostAtOnce(log.slice(before), windowMs)).toBeLessThanOrEqual(10);
  });

  test('changes nothing where headers are absent', async () => {
    const { errands, budget, clock, begin } = createWorld();
    await begin();
    await enqueueAll({ budget, clock }, errands(7));
    expect(budget.state).toEqual({
      limit: 30,
      used: 7,
      remaining: 23,
      queued: 0,
      resetInMs: windowMs,
      upstreamResetInMs: null,
    });
    expect(budget.estimate('write', '')).toBe(0);
  });
});
