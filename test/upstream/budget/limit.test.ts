import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Lane } from '../../../src/upstream/budget/law/document.ts';
import {
  type Brings,
  type Errand,
  enqueue,
  enqueueAll,
  mostAtOnce,
} from '../../support/errands.ts';
import { rounds } from '../../support/rounds.ts';
import { createWorld, windowMs } from './world.ts';

const lanes = fc.constantFrom<Lane>('write', 'interactive', 'interactive', 'refresh');
const schedules = fc.record({
  limit: fc.integer({ min: 1, max: 6 }),
  arrivals: fc.array(
    fc.record({
      atMs: fc.oneof(fc.integer({ min: 0, max: 2000 }), fc.integer({ min: 0, max: 200_000 })),
      lane: lanes,
      caller: fc.constantFrom('a', 'b', 'c'),
      latencyMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 15_000 })),
      cancelAfterMs: fc.option(fc.integer({ min: 0, max: 90_000 }), { freq: 4 }),
      first: fc.oneof(
        { weight: 6, arbitrary: fc.constant<'answer'>('answer') },
        { weight: 1, arbitrary: fc.constant<'nothing'>('nothing') },
        { weight: 1, arbitrary: fc.constant<'again'>('again') },
        { weight: 1, arbitrary: fc.record({ retryAfterMs: fc.option(fc.nat(30_000)) }) },
      ),
      remaining: fc.option(fc.integer({ min: 0, max: 6 }), { freq: 3 }),
      resetInMs: fc.option(fc.nat(60_000)),
      wallJumpMs: fc.option(fc.integer({ min: -7_200_000, max: 7_200_000 }), { freq: 8 }),
    }),
    { maxLength: 24 },
  ),
});

describe('The law of the limit', () => {
  test('holds in every sliding window, and everything not cancelled is sent, on any schedule', async () => {
    await fc.assert(
      fc.asyncProperty(schedules, async ({ limit, arrivals }) => {
        const world = createWorld(limit);
        const { clock, log, budget } = world;
        const wanted: { errand: Errand; times: number }[] = [];
        const cancelled: Errand[] = [];
        for (const arrival of arrivals) {
          const { remaining, resetInMs, first } = arrival;
          const told = { limit: null, remaining, resetInMs };
          const answers: Brings[] = [told];
          if (first === 'nothing') answers[0] = null;
          else if (first === 'again') answers.unshift({ ...told, again: true });
          else if (first !== 'answer') answers.unshift({ ...told, refused: first });
          const errand = world.errand({ ...arrival, answers });
          clock.after(arrival.atMs, () => {
            if (arrival.wallJumpMs !== null) clock.jumpWall(arrival.wallJumpMs);
            enqueue(budget, errand);
          });
          if (arrival.cancelAfterMs === null) {
            wanted.push({ errand, times: first === 'nothing' ? 0 : answers.length });
            continue;
          }
          clock.after(arrival.atMs + arrival.cancelAfterMs, () => {
            if (!budget.cancel(errand)) return;
            cancelled.push(errand);
            const turns = errand.turns;
            clock.after(600_000, () => expect(errand.turns).toBe(turns));
          });
        }
        await clock.advance(200_000);
        for (let hour = 0; hour < 6 && budget.state.queued > 0; hour += 1) {
          await clock.advance(3_600_000);
        }
        await clock.advance(700_000);
        expect(mostAtOnce(log, windowMs)).toBeLessThanOrEqual(limit);
        for (const { errand, times } of wanted) {
          expect(errand.turns).toBeGreaterThan(0);
          expect(errand.sent).toHaveLength(times);
        }
        expect(budget.state).toEqual({
          limit,
          used: 0,
          remaining: limit,
          queued: 0,
          resetInMs: null,
          upstreamResetInMs: null,
        });
        expect(budget.estimate('write', '')).toBe(0);
      }),
      { numRuns: rounds(400) },
    );
  });

  test('is broken by a limiter with fixed windows, which the same check finds', () => {
    const log: { start: number; end: number }[] = [];
    const counts = new Map<number, number>();
    for (let now = 59_000; now < 61_000; now += 10) {
      const window = Math.floor(now / windowMs);
      const count = counts.get(window) ?? 0;
      if (count === 30) continue;
      counts.set(window, count + 1);
      log.push({ start: now, end: now });
    }
    expect(mostAtOnce(log, windowMs)).toBe(60);
  });

  test('lets the limit leave in one window of any traffic, and no fewer', async () => {
    const { errands, log, begin, clock, ...world } = createWorld();
    await begin();
    await enqueueAll({ ...world, clock }, errands(100, { latencyMs: 300 }));
    await clock.advance(60_299);
    expect(log).toHaveLength(30);
    await clock.advance(1);
    expect(log).toHaveLength(60);
  });

  test('costs nothing for a turn that was not needed any more', async () => {
    const { errands, budget, clock, begin } = createWorld();
    await begin();
    await enqueueAll({ budget, clock }, errands(40, { answers: [null] }));
    expect(budget.state).toMatchObject({ used: 0, remaining: 30, queued: 0 });
  });
});
