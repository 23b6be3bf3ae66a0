import { describe, expect, test } from 'vitest';
import { type Errand, enqueue, enqueueAll } from '../../support/errands.ts';
import { createWorld, windowMs } from './world.ts';

describe('Order', () => {
  test('lets two requests go first after a start, and the others when one is answered', async () => {
    const { errands, log, budget, clock } = createWorld();
    await enqueueAll({ budget, clock }, errands(10, { latencyMs: 400 }));
    expect(log).toHaveLength(2);
    await clock.advance(400);
    expect(log).toHaveLength(10);
  });

  test('does not let quiet callers wait behind a noisy one', async () => {
    const { errands, log, budget, clock, begin } = createWorld();
    await begin();
    const noisy = errands(100, { caller: 'noisy' });
    const quiet = Array.from({ length: 9 }, (_, n) => errands(3, { caller: `quiet ${n}` })).flat();
    for (const errand of [...noisy, ...quiet]) enqueue(budget, errand);
    await clock.advance(windowMs);
    // The noisy one got the whole first window, being alone; the quiet ones share the second with it.
    expect(quiet.every((errand) => errand.sent.length === 1)).toBe(true);
    expect(log.filter(({ errand }) => errand.caller === 'noisy')).toHaveLength(33);
  });

  test('serves readers while writes do not end', async () => {
    const { errands, budget, clock, begin } = createWorld(8);
    await begin();
    await enqueueAll({ budget, clock }, errands(400, { lane: 'write' }));
    const reads = errands(6);
    await enqueueAll({ budget, clock }, reads);
    await clock.advance(3 * windowMs);
    expect(reads.filter(({ sent }) => sent.length > 0)).toHaveLength(6);
  });

  test('keeps the last slots of a window from refreshes', async () => {
    const { errands, log, budget, clock, begin } = createWorld();
    await begin();
    await enqueueAll({ budget, clock }, errands(200, { lane: 'refresh' }));
    expect(log).toHaveLength(5);
    await clock.advance(windowMs - 1);
    expect(log).toHaveLength(28);
    expect(budget.state.remaining).toBe(2);
    await enqueueAll({ budget, clock }, errands(2));
    expect(log.filter(({ errand }) => errand.lane === 'interactive')).toHaveLength(2);
  });

  test('sends refreshes even where the limit is one', async () => {
    const { errand, budget, clock } = createWorld(1);
    const refresh = errand({ lane: 'refresh' });
    await enqueueAll({ budget, clock }, [refresh]);
    expect(refresh.sent).toHaveLength(1);
  });

  test('sends a refresh like a read once somebody waits for it, charged to them', async () => {
    const { errand, errands, budget, clock, begin } = createWorld();
    await begin();
    await enqueueAll({ budget, clock }, errands(30));
    const refresh = errand({ lane: 'refresh', caller: '' });
    await enqueueAll({ budget, clock }, [refresh, ...errands(30)]);
    budget.promote(refresh, 'b');
    expect(refresh).toMatchObject({ lane: 'interactive', caller: 'b' });
    expect(budget.estimateOf(refresh)).toBe(windowMs);
    await clock.advance(windowMs);
    expect(refresh.sent).toHaveLength(1);
  });

  test('brings a read of a noisy caller forward for a quiet one who waits for it too', async () => {
    const { errands, budget, clock, begin } = createWorld(1);
    await begin();
    const noisy = errands(9, { caller: 'noisy' });
    await enqueueAll({ budget, clock }, noisy);
    const last = noisy[8] as Errand;
    budget.promote(last, 'quiet');
    expect(budget.estimateOf(last)).toBeLessThanOrEqual(2 * windowMs + 400);
    const second = noisy[1] as Errand;
    budget.promote(second, 'another');
    expect(second.caller).toBe('noisy');
  });
});
