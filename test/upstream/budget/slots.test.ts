import { describe, expect, test } from 'vitest';
import { SlotLimiter } from '../../../src/upstream/budget/slot-limiter.ts';
import { enqueue, enqueueAll, mostAtOnce, silent } from '../../support/errands.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { createWorld, windowMs } from './world.ts';

/** Lets promises come to rest, and no timer. */
async function microtasks(): Promise<void> {
  for (let turn = 0; turn < 40; turn += 1) await Promise.resolve();
}

describe('Requests that find slots free', () => {
  test('leave in the turn in which they ask, ten at once', async () => {
    const { errands, log, budget, begin } = createWorld();
    await begin();
    for (const errand of errands(10, { latencyMs: 1000 })) enqueue(budget, errand);
    expect(budget.state).toMatchObject({ used: 10, remaining: 20, queued: 0 });
    await microtasks();
    expect(log).toHaveLength(10);
  });

  test('leave in the millisecond in which slots come back', async () => {
    const { errands, log, budget, clock, begin } = createWorld(10);
    await begin();
    await enqueueAll({ budget, clock }, errands(25));
    for (const left of [10, 20, 25]) {
      await clock.advance(windowMs - 1);
      expect(log).toHaveLength(left);
      await clock.advance(1);
    }
  });

  test('leave at once after others gave theirs back', async () => {
    const { errands, log, budget, clock, begin } = createWorld(3);
    await begin();
    await enqueueAll({ budget, clock }, errands(20, { answers: [null] }));
    await enqueueAll({ budget, clock }, errands(3));
    expect(log).toHaveLength(3);
    expect(budget.state).toMatchObject({ used: 3, queued: 0 });
  });
});

describe('A wall clock that is set back', () => {
  test.each([-1, -3_600_000, -90 * 24 * 3_600_000])('by %d ms keeps no slot', async (jumpMs) => {
    const { errands, log, budget, clock, begin } = createWorld(4);
    await begin();
    await enqueueAll({ budget, clock }, errands(2));
    clock.jumpWall(jumpMs);
    await enqueueAll({ budget, clock }, errands(40));
    expect(log).toHaveLength(4);
    for (let window = 1; window <= 9; window += 1) {
      await clock.advance(windowMs);
      expect(log).toHaveLength(Math.min(42, 4 + 4 * window));
    }
    await clock.advance(2 * windowMs);
    expect(log).toHaveLength(42);
    expect(mostAtOnce(log, windowMs)).toBe(4);
    expect(budget.state).toMatchObject({ used: 0, remaining: 4, resetInMs: null });
  });
});

describe('A slot that never ends', () => {
  test('is one less for all others, and keeps no other request waiting', async () => {
    const { errand, errands, log, budget, clock, begin } = createWorld(3);
    await begin();
    await enqueueAll({ budget, clock }, [errand({ latencyMs: Number.MAX_SAFE_INTEGER })]);
    await enqueueAll({ budget, clock }, errands(8));
    for (let window = 0; window < 4; window += 1) {
      expect(log).toHaveLength(3 + 2 * window);
      expect(budget.state).toMatchObject({ used: 3, queued: 6 - 2 * window });
      await clock.advance(windowMs);
    }
    expect(log).toHaveLength(9);
    expect(budget.state).toMatchObject({ used: 1, remaining: 2 });
  });
});

describe('A limit that changes', () => {
  const announces = (limit: number) => ({
    answers: [{ ...silent, limit, remaining: Math.max(0, limit - 1) }],
  });

  test('upwards is used as soon as it is announced', async () => {
    const { errand, errands, log, budget, clock, begin } = createWorld(2);
    await begin();
    await enqueueAll({ budget, clock }, [errand(announces(6)), ...errands(9)]);
    expect(log).toHaveLength(6);
    expect(budget.state).toMatchObject({ limit: 6, used: 6, queued: 4 });
    await clock.advance(windowMs);
    expect(log).toHaveLength(10);
  });

  test('downwards lets nothing leave until fewer count, whatever waits in the limiter', async () => {
    const { errand, errands, log, budget, clock, begin } = createWorld(6);
    await begin();
    await enqueueAll({ budget, clock }, [errand(announces(2)), ...errands(5)]);
    expect(budget.state).toMatchObject({ limit: 2, used: 2, remaining: 0 });
    const before = log.length;
    await enqueueAll({ budget, clock }, errands(4));
    expect(log).toHaveLength(before);
    await clock.advance(windowMs);
    expect(log).toHaveLength(before + 2);
    await clock.advance(windowMs);
    expect(log).toHaveLength(before + 4);
  });

  test('of a limiter goes up and down while jobs wait in it', async () => {
    const clock = new VirtualClock().rule();
    const limiter = new SlotLimiter(2);
    const taken = [1, 2, 3, 4].map(() => limiter.take());
    expect(limiter.taken).toBe(4);
    await clock.advance(0);
    limiter.limit = 5;
    expect(limiter.taken).toBe(4);
    limiter.limit = 1;
    // Half of them run, the others were never started.
    for (const release of taken) {
      release();
      const left = limiter.taken;
      await clock.advance(0);
      expect(limiter.taken).toBe(left);
    }
    expect(limiter.taken).toBe(0);
  });

  test('can be as large as it likes', () => {
    const limiter = new SlotLimiter(4e9);
    const release = limiter.take();
    expect(limiter.taken).toBe(1);
    limiter.limit = 10;
    expect(limiter.taken).toBe(1);
    release();
    expect(limiter.taken).toBe(0);
  });
});
