import { expect, it } from 'vitest';
import { RunPace } from '../../src/live/run-pace.ts';
import type { Clock } from '../../src/scheduling/clock.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

/** Time that passes with and without work. */
class WorkClock implements Clock {
  readonly rests = new VirtualClock();
  workedMs = 0;

  wall(): number {
    return this.rests.wall();
  }

  now(): number {
    return this.rests.now() + this.workedMs;
  }

  after(ms: number, task: () => void): () => void {
    return this.rests.after(ms, task);
  }
}

it('leaves half of the processor to others once there is much to run', async () => {
  const clock = new WorkClock();
  const pace = new RunPace(clock, (begin) => begin());
  for (let n = 0; n < 100; n += 1)
    pace.begin({
      callers: () => ['one'],
      isFirst: () => false,
      work: () => void (clock.workedMs += 40),
    });
  await clock.rests.advance(1000);
  const tookMs = clock.now();
  expect(clock.workedMs).toBeGreaterThan(0.4 * tookMs);
  // Beside the half: what is done before the first rest, and one piece that is not cut in two.
  expect(clock.workedMs).toBeLessThanOrEqual(0.5 * tookMs + 100 + 40);
});

it('lets a caller who has had little run wait for one run of the others at most', async () => {
  const clock = new WorkClock();
  const pace = new RunPace(clock, (begin) => begin());
  const ran: string[] = [];
  const run = (callers: readonly string[], ms: number) => ({
    callers: () => callers,
    isFirst: () => false,
    work: () => {
      clock.workedMs += ms;
      ran.push(callers.join());
    },
  });
  for (let n = 0; n < 36; n += 1) pace.begin(run(['greedy'], 60));
  await clock.rests.advance(500);
  const begun = ran.length;
  expect(begun).toBeGreaterThan(2);
  expect(begun).toBeLessThan(20);
  const since = clock.now();
  pace.begin(run(['other'], 1));
  pace.begin(run(['greedy', 'third'], 1));
  while (ran.length < begun + 2) await clock.rests.step();
  expect(ran.slice(begun)).toEqual(expect.arrayContaining(['other', 'greedy,third']));
  expect(clock.now() - since).toBeLessThan(200);
  await clock.rests.advance(10_000);
  expect(ran).toHaveLength(38);
});

it('begins a few first runs of a caller at a time, and those of others beside them', async () => {
  const clock = new VirtualClock();
  const pace = new RunPace(clock, (begin) => begin());
  const under = { greedy: 0, other: 0 };
  const run = (caller: 'greedy' | 'other') => ({
    callers: () => [caller],
    isFirst: () => true,
    work: () => {
      under[caller] += 1;
      return new Promise<void>(() => {});
    },
  });
  for (let n = 0; n < 100; n += 1) pace.begin(run('greedy'));
  for (let turn = 0; turn < 20; turn += 1) await clock.settle();
  expect(under.greedy).toBe(6);
  pace.begin(run('other'));
  await clock.settle();
  expect(under.other).toBe(1);
  // What hangs makes room in the end.
  await clock.advance(20_000);
  for (let turn = 0; turn < 20; turn += 1) await clock.settle();
  expect(under.greedy).toBe(100);
});
