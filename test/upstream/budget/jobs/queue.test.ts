import { describe, expect, test } from 'vitest';
import { Budget } from '../../../../src/upstream/budget/budget.ts';
import { callerInClass } from '../../../../src/upstream/budget/law/callers.ts';
import { Errand, enqueueAll, keySlots, type Sent } from '../../../support/errands.ts';
import { VirtualClock } from '../../../support/virtual-clock.ts';
import { classesOf, createWorld, refusal, windowMs } from '../world.ts';

/** The class of jobs. */
const BULK_CLASS = 'bulk';

const latencyMs = 200;
const JOB = callerInClass('someone', BULK_CLASS);

/** A budget of ten requests, nine of which jobs have used, so that further ones wait. */
async function begun() {
  const world = createWorld(10);
  await world.begin();
  const job = (count = 1) => world.errands(count, { lane: 'bulk', caller: JOB, latencyMs });
  await enqueueAll(world, job(9));
  await world.clock.advance(9 * latencyMs);
  expect(world.log).toHaveLength(9);
  return { ...world, job };
}

describe('The lane of jobs', () => {
  test('shows what waits in it after all others, without a time', async () => {
    const world = await begun();
    const { budget, errand, job } = world;
    const ofJobs = job(2).map((each) => Object.assign(each, { isForJobs: true }));
    await enqueueAll(world, [...ofJobs, errand({ lane: 'refresh', caller: '' })]);
    expect(budget.queued.bulk).toBe(2);
    expect(budget.state.queued).toBe(3);
    expect(budget.shown.waiting(10).map(({ lane, leavesInMs }) => [lane, leavesInMs])).toEqual([
      ['refresh', null],
      ['bulk', null],
      ['bulk', null],
    ]);
    expect(budget.shown.waiting(10).at(-1)).toMatchObject({
      caller: 'someone',
      callerClass: 'bulk',
    });
    expect(budget.shown.waitingCallers).toEqual([]);
    expect(budget.shown.window.taken.map(({ owner }) => owner)).toEqual(Array(9).fill('bulk'));
  });

  test('does not count where slots can be spared', async () => {
    const world = createWorld(10);
    await world.begin();
    const paused = world.errand({ lane: 'bulk', caller: JOB, latencyMs: windowMs });
    await enqueueAll(world, [paused, world.errand({ lane: 'bulk', caller: JOB })]);
    expect(world.budget.queued.bulk).toBe(1);
    expect(world.budget.idle).toBe(true);
  });

  test('gives a read to a person who waits for it too', async () => {
    const world = await begun();
    const { budget, clock, job, log } = world;
    const [first, second] = job(2);
    await enqueueAll(world, [first as Errand, second as Errand]);
    budget.promote(second as Errand, 'mia');
    await clock.advance(0);
    // The last slot, which is left to people.
    expect(log.at(-1)?.errand).toBe(second);
    expect(second).toMatchObject({ lane: 'interactive', caller: 'mia' });
    expect(budget.availableTo('interactive', 'mia')).toBe(0);
    expect(first?.sent).toEqual([]);
    // One that is sent already is charged to its job, and goes for the person if it has to be repeated.
    const again = world.errand({ lane: 'bulk', caller: JOB, latencyMs, answers: [refusal(1000)] });
    await clock.advance(windowMs);
    await enqueueAll(world, [again]);
    await clock.advance(2000);
    budget.promote(again, 'mia');
    expect(again.lane).toBe('interactive');
  });

  test('loses a request whose caller leaves at once', async () => {
    const world = await begun();
    const { budget, clock, job, log } = world;
    const [first, second] = job(2);
    await enqueueAll(world, [first as Errand, second as Errand]);
    expect(budget.cancel(first as Errand)).toBe(true);
    expect(budget.cancel(first as Errand)).toBe(false);
    expect(budget.queued.bulk).toBe(1);
    await clock.advance(2 * windowMs);
    expect(log.map(({ errand }) => errand)).not.toContain(first);
    expect(second?.sent).toHaveLength(1);
  });

  test('is emptied when the process drains, and gives nothing afterwards', async () => {
    const world = await begun();
    const { budget, clock, job, log } = world;
    const waits = job(3);
    await enqueueAll(world, waits);
    budget.drain(10 * windowMs);
    for (const each of waits) expect(each.delays).toHaveLength(1);
    expect(budget.turnsAway(waits[0] as Errand, 0)).toBe(true);
    // Also one that does not leave, and one that comes later.
    await clock.advance(2 * windowMs);
    await enqueueAll(world, job(1));
    await clock.advance(2 * windowMs);
    expect(log).toHaveLength(9);
  });

  test('waits for a pause, and for caution as reads do', async () => {
    const world = createWorld(10);
    await world.begin();
    const { clock, errand, log } = world;
    await enqueueAll(world, [
      errand({ lane: 'bulk', caller: JOB, answers: [refusal(5000), null] }),
    ]);
    await enqueueAll(world, [errand({ lane: 'bulk', caller: JOB, latencyMs: 3000 })]);
    await enqueueAll(world, [errand({ caller: 'mia' }), errand({ lane: 'bulk', caller: JOB })]);
    expect(log).toHaveLength(1);
    await clock.advance(4999);
    expect(log).toHaveLength(1);
    await clock.advance(2001);
    // After the pause, one request is sent as a probe, and others wait for it.
    expect(log.length).toBeLessThanOrEqual(3);
    await clock.advance(windowMs);
    expect(log).toHaveLength(4);
  });

  test('obeys the limits of its class, whatever its minimum', async () => {
    const classes = classesOf({ bulk: { maxCallsPerMinute: 1 } });
    const world = createWorld(30, undefined, undefined, classes);
    await world.begin();
    const { budget, clock, errands, log } = world;
    await enqueueAll(world, errands(9, { lane: 'bulk', caller: JOB, latencyMs }));
    await clock.advance(2.5 * windowMs);
    expect(log).toHaveLength(3);
    expect(budget.quotaOf(JOB)).toMatchObject({ limit: 1, used: 1 });
    for (const [n, { start }] of log.slice(1).entries()) {
      expect(start - (log[n]?.start ?? 0)).toBeGreaterThanOrEqual(windowMs);
    }
  });

  test('has another minimum if one is configured', async () => {
    const sentIn = async (jobsMinPerMinute: number): Promise<number> => {
      const clock = new VirtualClock().rule();
      const limits = { limit: 30, windowMs, jobsMinPerMinute };
      const budget = new Budget({
        upstream: 'LINKS',
        clock,
        ...limits,
        saved: keySlots(clock, windowMs),
      });
      const log: Sent[] = [];
      const world = { budget, clock, log };
      const errands = (count: number, options: ConstructorParameters<typeof Errand>[1]) =>
        Array.from({ length: count }, () => new Errand(world, { latencyMs, ...options }));
      await enqueueAll(world, errands(30 * 12, { caller: 'a' }));
      await enqueueAll(world, errands(100, { lane: 'bulk', caller: JOB }));
      await clock.advance(10 * windowMs);
      return log.filter(({ errand: { lane } }) => lane === 'bulk').length;
    };
    expect(await sentIn(0)).toBe(0);
    expect(Math.abs((await sentIn(5)) - 50)).toBeLessThanOrEqual(4);
  });
});
