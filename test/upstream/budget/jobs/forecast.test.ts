import { describe, expect, test } from 'vitest';
import type { CallerClasses } from '../../../../src/auth/caller-class.ts';
import { callerInClass } from '../../../../src/upstream/budget/law/callers.ts';
import { type Errand, enqueue, enqueueAll } from '../../../support/errands.ts';
import { classesOf, createWorld, windowMs } from '../world.ts';

/** The class of jobs. */
const BULK_CLASS = 'bulk';

/** What a budget takes an answer to last before it has heard any. */
const latencyMs = 200;
const JOB = callerInClass('someone', BULK_CLASS);

/** A budget after its first request. */
async function begun(limit: number, classes?: CallerClasses) {
  const world = createWorld(limit, undefined, undefined, classes);
  const { budget, clock, errand, errands } = world;
  await enqueueAll({ budget, clock }, [errand({ lane: 'write', latencyMs })]);
  await clock.advance(windowMs + latencyMs);
  /** Queues requests of a job. */
  const job = async (count: number) => {
    const asked = errands(count, { lane: 'bulk', caller: JOB, latencyMs });
    await enqueueAll({ budget, clock }, asked);
    return asked;
  };
  return { ...world, job };
}

describe('A forecast of jobs', () => {
  test.each([1, 10, 40, 100, 600])('is right on a quiet key for %i requests', async (calls) => {
    const { budget, clock, job } = await begun(30);
    const forecastMs = budget.bulkForecastMs({ calls, callerClass: BULK_CLASS });
    const from = clock.now();
    const asked = await job(calls);
    while (asked.some(({ sent }) => !Number.isFinite(sent[0]?.end)) && (await clock.step()));
    const tookMs = Math.max(...asked.map(({ sent }) => sent[0]?.end ?? Infinity)) - from;
    expect(Math.abs(forecastMs - tookMs)).toBeLessThanOrEqual(0.05 * tookMs);
  });

  test('counts what waits already, and changes nothing', async () => {
    const { budget, job, log } = await begun(30);
    await job(60);
    const [queued, sent] = [budget.queued.bulk, log.length];
    const before = JSON.stringify(budget.state);
    expect(budget.bulkForecastMs({ calls: 20, callerClass: BULK_CLASS })).toBeLessThan(windowMs);
    expect(budget.bulkForecastMs({ calls: 60, callerClass: BULK_CLASS })).toBeGreaterThan(windowMs);
    expect([budget.queued.bulk, log.length]).toEqual([queued, sent]);
    expect(JSON.stringify(budget.state)).toBe(before);
  });

  test('begins after a time in which nothing is sent', async () => {
    const { budget } = await begun(30);
    expect(budget.bulkForecastMs({ calls: 1, callerClass: BULK_CLASS })).toBe(latencyMs);
    expect(budget.bulkForecastMs({ calls: 1, callerClass: BULK_CLASS }, 5000)).toBe(
      5000 + latencyMs,
    );
  });

  test.each([2, 6])('is right while people use the window: %i requests', async (calls) => {
    const { budget, clock, errands, job } = await begun(30);
    await enqueueAll({ budget, clock }, errands(120, { caller: 'a', latencyMs }));
    const forecastMs = budget.bulkForecastMs({ calls, callerClass: BULK_CLASS });
    const asked = await job(calls);
    const from = clock.now();
    while (asked.some(({ sent }) => !Number.isFinite(sent[0]?.end)) && (await clock.step()));
    const tookMs = Math.max(...asked.map(({ sent }) => sent[0]?.end ?? Infinity)) - from;
    expect(tookMs).toBeGreaterThan(windowMs / 3);
    expect(Math.abs(forecastMs - tookMs)).toBeLessThanOrEqual(0.05 * tookMs);
  });

  test.each([10, 100])('expects that people go on as before: %i requests', async (calls) => {
    const { budget, clock, errand, errands, job } = await begun(30);
    /** 18 reads per window, until some windows have passed, or the requests have their responses. */
    const people = async (windows: number, asked: readonly Errand[] = []): Promise<void> => {
      const until = clock.now() + windows * windowMs;
      const isOver = (): boolean =>
        asked.length > 0 && asked.every(({ sent }) => Number.isFinite(sent[0]?.end));
      for (let n = 0; clock.now() < until && !isOver(); n += 1) {
        enqueue(budget, errand({ caller: `caller ${n % 10}`, latencyMs }));
        await clock.advance(windowMs / 18);
      }
    };
    await people(2);
    const before = errands(300, { lane: 'bulk', caller: JOB, latencyMs });
    for (const each of before) enqueue(budget, each);
    await people(7);
    for (const each of before) budget.cancel(each);
    const from = clock.now();
    const forecastMs = budget.bulkForecastMs({ calls, callerClass: BULK_CLASS });
    const asked = await job(calls);
    await people(40, asked);
    const tookMs = Math.max(...asked.map(({ sent }) => sent[0]?.end ?? Infinity)) - from;
    expect(Math.abs(forecastMs - tookMs)).toBeLessThanOrEqual(0.2 * tookMs);
  });

  test('is right for a high limit, of which people use half', async () => {
    const { budget, clock, errands, job } = await begun(600);
    await enqueueAll({ budget, clock }, errands(300, { caller: 'a', latencyMs }));
    await clock.advance(windowMs / 2);
    const from = clock.now();
    const forecastMs = budget.bulkForecastMs({ calls: 1000, callerClass: BULK_CLASS });
    const asked = await job(1000);
    while (asked.some(({ sent }) => !Number.isFinite(sent[0]?.end)) && (await clock.step()));
    const tookMs = Math.max(...asked.map(({ sent }) => sent[0]?.end ?? Infinity)) - from;
    expect(Math.abs(forecastMs - tookMs)).toBeLessThanOrEqual(0.05 * tookMs);
  });

  test('expects that other classes in their lane go on as before', async () => {
    const classes = classesOf({ agent: { weight: 0, maxCallsPerMinute: 15 } });
    const { budget, clock, errands, job } = await begun(30, classes);
    const agent = callerInClass('bot', 'agent');
    const agents = () => errands(300, { lane: 'bulk', caller: agent, latencyMs });
    const before = agents();
    await enqueueAll({ budget, clock }, before);
    await clock.advance(4 * windowMs);
    for (const each of before) budget.cancel(each);
    const from = clock.now();
    const forecastMs = budget.bulkForecastMs({ calls: 60, callerClass: BULK_CLASS });
    await enqueueAll({ budget, clock }, agents());
    const asked = await job(60);
    while (asked.some(({ sent }) => !Number.isFinite(sent[0]?.end)) && (await clock.step()));
    const tookMs = Math.max(...asked.map(({ sent }) => sent[0]?.end ?? Infinity)) - from;
    // Alone, a job would take half of that time.
    expect(tookMs).toBeGreaterThan(3 * windowMs);
    expect(Math.abs(forecastMs - tookMs)).toBeLessThanOrEqual(0.1 * tookMs);
  });
});
