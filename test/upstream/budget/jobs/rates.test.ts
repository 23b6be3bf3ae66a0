import { describe, expect, test } from 'vitest';
import { callerInClass } from '../../../../src/upstream/budget/law/callers.ts';
import type { Lane, ReservedShares } from '../../../../src/upstream/budget/law/document.ts';
import { type Errand, enqueue, enqueueAll, mostAtOnce } from '../../../support/errands.ts';
import { createWorld, windowMs } from '../world.ts';

/** The class of jobs. */
const BULK_CLASS = 'bulk';

const LIMIT = 30;
const TENTHS = { writes: 0.1, newcomers: 0.1 };
const latencyMs = 200;
const JOB = callerInClass('someone', BULK_CLASS);
const MAX_WAIT_MS = 10_000;

/** Numbers from 0 to 1 that look random. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Requests that are queued at times, and how long each has waited. */
async function begun(reserves?: ReservedShares) {
  const world = createWorld(LIMIT, undefined, reserves);
  await world.begin();
  const { budget, clock, errand } = world;
  const from = clock.now();
  const asked: { readonly errand: Errand; readonly at: number }[] = [];
  const ask = (lane: Lane, caller = 'a', count = 1): void => {
    for (let n = 0; n < count; n += 1) {
      const each = errand({ lane, caller, latencyMs });
      asked.push({ errand: each, at: clock.now() });
      enqueue(budget, each);
    }
  };
  /** More requests of a job than any window has slots for. */
  const job = (windows: number): void => ask('bulk', JOB, LIMIT * windows);
  /** Reads of ten callers at these times. */
  const people = async (times: readonly number[]): Promise<void> => {
    for (const [n, at] of times.entries()) {
      await clock.advance(from + at - clock.now());
      ask('interactive', `caller ${n % 10}`);
    }
  };
  /** Requests per window of a lane, from one window to another. */
  const perWindow = (lane: Lane, since: number, until: number): number => {
    const isSent = ({ errand: { lane: own }, start }: (typeof world.log)[number]): boolean =>
      own === lane && start >= from + since * windowMs && start < from + until * windowMs;
    return world.log.filter(isSent).length / (until - since);
  };
  /** How long the reads since a window have waited. */
  const waits = (since: number): number[] =>
    asked
      .filter(({ at, errand: { lane } }) => lane === 'interactive' && at >= from + since * windowMs)
      .map(({ at, errand: { sent } }) => (sent[0]?.start ?? Infinity) - at);
  return { ...world, ask, job, people, perWindow, waits };
}

/** What all but 5 % are at most. */
function p95(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(0.95 * values.length)] ?? 0;
}

const RATE = (0.6 * LIMIT) / windowMs;

/** Times of reads until the end of some windows, at an even pace. */
const evenly = (windows: number): number[] =>
  Array.from({ length: RATE * windows * windowMs }, (_, n) => 500 + n / RATE);

/** The same at random, each independent of the others. */
function atRandom(windows: number, seed: number): number[] {
  const random = seeded(seed);
  const times: number[] = [];
  for (let at = 0; at < windows * windowMs; ) {
    at += -Math.log(1 - random()) / RATE;
    times.push(at);
  }
  return times;
}

describe('Jobs', () => {
  test.each([undefined, TENTHS])('use a quiet key: reserves %j', async (reserves) => {
    const { clock, job, log, perWindow } = await begun(reserves);
    job(11);
    await clock.advance(10 * windowMs);
    expect(perWindow('bulk', 0, 10)).toBeGreaterThanOrEqual(0.9 * LIMIT);
    expect(perWindow('bulk', 2, 10)).toBeGreaterThanOrEqual(0.95 * LIMIT);
    expect(mostAtOnce(log, windowMs)).toBeLessThan(LIMIT);
    // One at a time.
    const sent = log.toSorted((one, other) => one.start - other.start);
    for (const [n, { end }] of sent.slice(0, -1).entries()) {
      expect(sent[n + 1]?.start).toBeGreaterThanOrEqual(end);
    }
  });

  /** People for 60 windows, with a job after the first five: their waits, and the share of the other slots that it gets. */
  async function beside(times: readonly number[], hasJob = true) {
    const world = await begun();
    await world.people(times.filter((at) => at < 5 * windowMs));
    if (hasJob) world.job(60);
    await world.people(times.filter((at) => at >= 5 * windowMs));
    expect(mostAtOnce(world.log, windowMs)).toBeLessThanOrEqual(LIMIT);
    const left = LIMIT - world.perWindow('interactive', 15, 60);
    return { waits: world.waits(15), share: world.perWindow('bulk', 15, 60) / left };
  }

  /** The share of reads that are sent while their callers wait. */
  const goodput = (waits: readonly number[]): number =>
    waits.filter((ms) => ms <= MAX_WAIT_MS).length / waits.length;

  test('use what people at an even pace leave from the third window on', async () => {
    const world = await begun(TENTHS);
    await world.people(evenly(1));
    world.job(20);
    await world.people(evenly(12).slice(evenly(1).length));
    expect(p95(world.waits(1))).toBe(0);
    const left = LIMIT - world.perWindow('interactive', 3, 12);
    expect(world.perWindow('bulk', 3, 12) / left).toBeGreaterThanOrEqual(0.8);
  });

  test('do not delay people who use 60 % of the limit at an even pace', async () => {
    const { share, waits } = await beside(evenly(60));
    expect(p95(waits)).toBe(0);
    expect(goodput(waits)).toBe(1);
    expect(share).toBeGreaterThanOrEqual(0.9);
  });

  test('do not delay people who use 60 % of the limit at random', async () => {
    const seeds = [7, 8, 9, 10];
    const runs = [];
    for (const seed of seeds) runs.push(await beside(atRandom(60, seed)));
    const without = [];
    for (const seed of seeds) without.push(...(await beside(atRandom(60, seed), false)).waits);
    const waits = runs.flatMap((run) => run.waits);
    expect(p95(without)).toBe(0);
    expect(p95(waits)).toBeLessThan(100);
    expect(goodput(waits)).toBeGreaterThanOrEqual(0.99 * goodput(without));
    // Free slots for reads at random are slots that jobs do not get.
    const share = runs.reduce((sum, run) => sum + run.share, 0) / runs.length;
    expect(share).toBeGreaterThanOrEqual(0.45);
  });

  test('get their minimum while refreshes use the window', async () => {
    const { ask, clock, job, perWindow } = await begun();
    ask('refresh', '', 20 * LIMIT);
    job(20);
    await clock.advance(20 * windowMs);
    expect(perWindow('bulk', 4, 20)).toBeCloseTo(2, 0);
    expect(perWindow('refresh', 4, 20)).toBeCloseTo(LIMIT - 2 - 2, 0);
  });

  test.each([undefined, TENTHS])(
    'get their minimum while people use the window: reserves %j',
    async (reserves) => {
      const { ask, clock, job, log, perWindow } = await begun(reserves);
      for (let caller = 0; caller < 10; caller += 1) ask('interactive', `caller ${caller}`, 60);
      job(20);
      await clock.advance(16 * windowMs);
      expect(perWindow('bulk', 1, 16)).toBeGreaterThanOrEqual(1.9);
      expect(perWindow('bulk', 1, 16)).toBeLessThanOrEqual(2.1);
      expect(perWindow('interactive', 1, 16)).toBeGreaterThanOrEqual(LIMIT - 3.5);
      expect(mostAtOnce(log, windowMs)).toBeLessThanOrEqual(LIMIT);
    },
  );

  test('have had their minimum if as many slots were left before', async () => {
    const { ask, clock, job, perWindow } = await begun();
    job(20);
    await clock.advance(windowMs / 2);
    for (let caller = 0; caller < 10; caller += 1) ask('interactive', `caller ${caller}`, 60);
    await clock.advance(14 * windowMs);
    // The first window has enough for five.
    expect(perWindow('bulk', 0, 1)).toBeGreaterThan(20);
    expect(perWindow('bulk', 1, 5)).toBeLessThan(0.5);
    expect(perWindow('bulk', 6, 14)).toBeGreaterThanOrEqual(1.9);
  });

  test('wait for writes, whatever their minimum', async () => {
    const { ask, clock, job, perWindow } = await begun();
    ask('write', 'a', 4 * LIMIT);
    job(1);
    await clock.advance(4 * windowMs);
    expect(perWindow('bulk', 0, 4)).toBe(0);
    expect(perWindow('write', 0, 4)).toBe(LIMIT);
    await clock.advance(windowMs);
    expect(perWindow('bulk', 4, 5)).toBeGreaterThan(0);
  });

  test('of several callers take turns', async () => {
    const { ask, clock, log } = await begun();
    ask('bulk', callerInClass('one', BULK_CLASS), 20);
    ask('bulk', callerInClass('two', BULK_CLASS), 3);
    await clock.advance(latencyMs * 8);
    const callers = log.slice(0, 8).map(({ errand }) => errand.caller.slice(-3));
    expect(callers.join()).toBe('one,two,one,two,one,two,one,one');
  });

  test('leave their slots to what a request that needs another slot repeats', async () => {
    const { budget, clock, errand, job, log } = await begun();
    const silentAgain = { limit: null, remaining: null, resetInMs: null, again: true } as const;
    const again = errand({
      lane: 'bulk',
      caller: JOB,
      latencyMs,
      answers: [silentAgain, silentAgain],
    });
    await enqueueAll({ budget, clock }, [again]);
    job(1);
    await clock.advance(3 * latencyMs);
    expect(log.slice(0, 3).map((sent) => sent.errand === again)).toEqual([true, true, true]);
  });
});
