import { describe, expect, test } from 'vitest';
import { type Errand, enqueue, enqueueAll, silent } from '../../support/errands.ts';
import { createWorld, refusal, windowMs } from './world.ts';

describe('A refusal', () => {
  test('pauses everything until it lifts, and then one request goes alone, and two after it', async () => {
    const { errand, errands, log, budget, clock, begin } = createWorld();
    await begin();
    const refused = errand({ caller: 'z', answers: [refusal(7000), silent], latencyMs: 100 });
    await enqueueAll({ budget, clock }, [refused]);
    await clock.advance(100);
    expect(budget.state).toMatchObject({ remaining: 0, resetInMs: windowMs });
    await enqueueAll({ budget, clock }, errands(5, { latencyMs: 100 }));
    await clock.advance(6999);
    expect(log).toHaveLength(1);
    await clock.advance(1);
    // The refused one goes before those that wait, although its caller came later.
    expect(log.map((sent) => sent.errand)).toEqual([refused, refused]);
    await clock.advance(100);
    expect(log).toHaveLength(4);
  });

  test('puts a refused write back before the other writes', async () => {
    const { errand, log, budget, clock, begin } = createWorld();
    await begin();
    const refused = errand({ lane: 'write', answers: [refusal(500), silent] });
    const other = errand({ lane: 'write', caller: 'b' });
    await enqueueAll({ budget, clock }, [refused]);
    await enqueueAll({ budget, clock }, [other]);
    await clock.advance(500);
    expect(log.map((sent) => sent.errand)).toEqual([refused, refused, other]);
  });

  test('counts once for all requests that were on the wire together', async () => {
    const { errands, log, budget, clock, begin } = createWorld();
    await begin();
    const together = errands(8, { answers: [refusal(null), silent], latencyMs: 50 });
    await enqueueAll({ budget, clock }, together);
    await clock.advance(50);
    expect(log).toHaveLength(8);
    // The first pause is a second, not one doubled eight times.
    await clock.advance(1000);
    expect(log).toHaveLength(9);
  });

  test('is not forgotten over the good answer of a request that left before it', async () => {
    const { errand, errands, log, budget, clock, begin } = createWorld();
    await begin();
    await enqueueAll({ budget, clock }, [
      errand({ answers: [refusal(5000), silent], latencyMs: 100 }),
      errand({ latencyMs: 2000 }),
    ]);
    await clock.advance(100);
    await enqueueAll({ budget, clock }, errands(9, { latencyMs: 100 }));
    await clock.advance(5000);
    expect(log).toHaveLength(3);
  });

  test('holds back requests that have their turn already but have not left', async () => {
    const { errand, budget, clock, begin } = createWorld();
    await begin();
    const held = errand();
    const refused = errand({
      answers: [
        () => {
          // Has its turn in the turn of the event loop in which the budget learns of the refusal.
          queueMicrotask(() => enqueue(budget, held));
          return refusal(1000);
        },
        silent,
      ],
    });
    await enqueueAll({ budget, clock }, [refused]);
    expect(held.turns).toBe(1);
    expect(held.sent).toHaveLength(0);
    await clock.advance(1000);
    expect(held.sent).toHaveLength(1);
  });

  test('pauses longer each time in a row, even if the upstream asks for less', async () => {
    const { errand, log, budget, clock, begin } = createWorld();
    await begin();
    await enqueueAll({ budget, clock }, [errand({ answers: [refusal(0)] })]);
    await clock.advance(60_000);
    expect(log.map(({ start }) => start - (log[0]?.start ?? 0))).toEqual([
      0, 1, 2001, 6001, 14_001, 30_001,
    ]);
  });

  test.each([3_600_000, 60_000_000])(
    'that asks for %d ms pauses for three windows, and then one request finds out',
    async (askedMs) => {
      const { errand, log, budget, clock, begin } = createWorld();
      await begin();
      await enqueueAll({ budget, clock }, [errand({ answers: [refusal(askedMs), silent] })]);
      await clock.advance(3 * windowMs - 1);
      expect(log).toHaveLength(1);
      expect(budget.pausedMs).toBe(1);
      await clock.advance(1);
      expect(log).toHaveLength(2);
    },
  );

  test('informs waiting requests how long it takes now', async () => {
    const { errand, errands, budget, clock, begin } = createWorld(2);
    await begin();
    const [first, second] = errands(2, { latencyMs: 100, answers: [refusal(5000), silent] });
    await enqueueAll({ budget, clock }, [first as Errand, second as Errand]);
    const waiting = errand();
    await enqueueAll({ budget, clock }, [waiting]);
    await clock.advance(100);
    expect(waiting.delays.at(-1)).toBeGreaterThanOrEqual(5000);
  });
});
