import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Pace } from '../../src/jobs/pace.ts';
import type { Clock } from '../../src/scheduling/clock.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { jobWorld } from './job-world.ts';

const MINUTE_MS = 60_000;

/** The largest number of requests in less than a minute. */
function mostInAMinute(times: readonly number[]): number {
  const within = (end: number) => times.filter((at) => at > end - MINUTE_MS && at <= end).length;
  return Math.max(0, ...times.map(within));
}

/** A clock that is set by hand: no timers are needed. */
function handClock() {
  let now = 0;
  const clock: Clock = { now: () => now, wall: () => 1e12 + now, after: () => () => {} };
  return {
    clock,
    pass: (ms: number): void => {
      now += ms;
    },
  };
}

it('keeps its limit and its forecast, whenever it is saved and read again', () => {
  const anyRun = fc.record({
    most: fc.integer({ min: 1, max: 80 }),
    steps: fc.integer({ min: 1, max: 60 }),
    rests: fc.array(fc.integer({ min: 0, max: 90_000 }), { maxLength: 5 }),
  });
  fc.assert(
    fc.property(anyRun, ({ most, rests, steps }) => {
      const { clock, pass } = handClock();
      const step = Math.min(5, most);
      const times: number[] = [];
      let pace = new Pace(clock, most);
      for (let done = 0; done < steps; done += 1) {
        pass(pace.waitMs(step));
        // The job ends before a step, and goes on later.
        pass(rests[done] ?? 0);
        pace = new Pace(clock, most, pace.saved);
        expect(pace.waitMs(step)).toBe(0);
        for (let calls = 0; calls < step; calls += 1) times.push(clock.now());
        pace.spent(step);
      }
      expect(mostInAMinute(times)).toBeLessThanOrEqual(most);
      const forecastMs = pace.forecastMs(steps * step);
      const since = clock.now();
      for (let done = 0; done < steps; done += 1) {
        pass(pace.waitMs(step));
        pace.spent(step);
      }
      // Requests of the same second are one entry.
      const roundsMs = 1000 * Math.ceil((steps * step) / most);
      expect(Math.abs(clock.now() - since - forecastMs)).toBeLessThanOrEqual(roundsMs);
    }),
    { numRuns: 100 },
  );
});

it.each([
  ['without a restart', false],
  ['after a restart', true],
])('is the pace of a job, and when it is ready: %s', async (_name, isRestarted) => {
  const clock = new VirtualClock();
  const world = await jobWorld({ clock });
  world.sandbox.links.clearLog();
  const since = clock.wall();
  const id = await world.exports('{ qrCodes { nodes { id statistics { clicks } } } }', {
    maxPerMinute: 60,
  });
  let job = await world.job(id);
  for (; job.rowsDone < 20; job = await world.job(id)) await clock.advance(50);
  if (isRestarted) {
    await world.restart();
    for (; job.rowsDone < 25; job = await world.job(id)) await clock.advance(50);
  }
  const promised = Date.parse(job.readyAt ?? '');
  for (; job.state !== 'DONE'; job = await world.job(id)) await clock.advance(1000);
  expect(job.callsSpent).toBeGreaterThan(60);
  expect(job.callsSpent).toBeLessThan(120);
  expect(mostInAMinute(world.sandbox.links.requests.map(({ at }) => at))).toBeLessThanOrEqual(60);
  // The first 60 are sent at once, and the others when these are a minute old.
  const minutes = (wall: number) => (wall - since) / MINUTE_MS;
  expect(minutes(promised)).toBeCloseTo(minutes(clock.wall()), 0);
});
