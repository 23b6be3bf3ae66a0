import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Budget } from '../../../../src/upstream/budget/budget.ts';
import { callerInClass } from '../../../../src/upstream/budget/law/callers.ts';
import type { TakenSlot } from '../../../../src/upstream/budget/shown.ts';
import { Errand, enqueueAll, keySlots, type Sent } from '../../../support/errands.ts';
import { rounds } from '../../../support/rounds.ts';
import { VirtualClock } from '../../../support/virtual-clock.ts';
import { classesOf, createWorld, windowMs } from '../world.ts';

/** The class of jobs. */
const BULK_CLASS = 'bulk';

const latencyMs = 200;
const AGENT = callerInClass('bot', 'agent');
const OTHER = callerInClass('other', 'agent');
const JOB = callerInClass('someone', BULK_CLASS);
const classes = classesOf({ agent: { weight: 0, maxCallsPerMinute: 6 } });

describe('Estimates for a class without weight', () => {
  test('are 0 while a slot is left, and never shorter than the wait if no others arrive', async () => {
    let [now, later] = [0, 0];
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          limit: fc.integer({ min: 10, max: 30 }),
          before: fc.array(
            fc.record({
              lane: fc.constantFrom('write' as const, 'interactive' as const),
              caller: fc.constantFrom('a', 'b', AGENT, OTHER, JOB),
              waitMs: fc.constantFrom(0, 0, 0, 100, 7000, 61_000),
            }),
            { maxLength: 30 },
          ),
          caller: fc.constantFrom(AGENT, OTHER),
        }),
        async ({ before, caller, limit }) => {
          const world = createWorld(limit, undefined, undefined, classes);
          await world.begin();
          const { budget, clock, errand } = world;
          for (const each of before) {
            const { lane: own, waitMs } = each;
            const lane = each.caller === JOB ? 'bulk' : budget.laneOf(own, each.caller);
            await enqueueAll(world, [errand({ lane, caller: each.caller, latencyMs })]);
            await clock.advance(waitMs);
          }
          const estimate = budget.estimate('interactive', caller);
          const available = budget.availableTo('interactive', caller);
          const isNext = budget.queued.bulk === 0 && !budget.shown.window.taken.some(isJobOut);
          const isAlone = isNext && budget.state.queued === 0;
          const [asked, count] = [clock.now(), world.log.length];
          const last = errand({ lane: 'bulk', caller, latencyMs });
          await enqueueAll(world, [last]);
          const isAtOnce = last.sent.length > 0;
          if (isAtOnce) now += 1;
          else later += 1;
          if (isAtOnce) expect(estimate).toBe(0);
          else if (world.log.length === count) expect(budget.estimateOf(last)).toBe(estimate);
          if (isAlone) expect(available > 0).toBe(isAtOnce);
          // What goes before changes what is known of others.
          if (!isNext) return;
          while (last.sent.length === 0 && (await clock.step()));
          const waitedMs = (last.sent[0]?.start ?? Number.NaN) - asked;
          // Of what is on the wire, the usual time is expected from now.
          expect(waitedMs).toBeLessThanOrEqual(estimate + (latencyMs + 5) * (before.length + 2));
        },
      ),
      { numRuns: rounds(200) },
    );
    expect(Math.min(now, later)).toBeGreaterThan(0);
  });

  /** The estimate for an agent while people use the window, with this minimum rate. */
  async function besidePeople(jobsMinPerMinute: number, waiting: number) {
    const clock = new VirtualClock().rule();
    const limits = { limit: 30, windowMs, jobsMinPerMinute, classes };
    const budget = new Budget({
      upstream: 'LINKS',
      clock,
      ...limits,
      saved: keySlots(clock, windowMs),
    });
    const world = { budget, clock, log: [] as Sent[] };
    const errands = (count: number, options: ConstructorParameters<typeof Errand>[1]) =>
      Array.from({ length: count }, () => new Errand(world, { latencyMs, ...options }));
    await enqueueAll(world, errands(300, { caller: 'a' }));
    await clock.advance(4 * windowMs);
    await enqueueAll(world, errands(1, { lane: 'bulk', caller: AGENT }));
    await clock.advance(windowMs);
    await enqueueAll(world, errands(waiting, { lane: 'bulk', caller: AGENT }));
    return budget.estimate('interactive', OTHER);
  }

  test('are those of the minimum rate while people use the window', async () => {
    const first = await besidePeople(2, 0);
    expect(first).toBeLessThanOrEqual(31_000);
    // Callers of a class take turns: only one is before it.
    expect((await besidePeople(2, 4)) - first).toBeLessThanOrEqual(31_000);
    const without = await besidePeople(0, 0);
    expect(without).toBeGreaterThanOrEqual(windowMs);
    expect(Number.isFinite(without)).toBe(true);
  });

  test('include the limit of the class, after the requests before', async () => {
    const world = createWorld(30, undefined, undefined, classes);
    await world.begin();
    const { budget, clock, errands } = world;
    const bulk = (count: number, caller: string) =>
      errands(count, { lane: 'bulk', caller, latencyMs });
    await enqueueAll(world, bulk(6, AGENT));
    await clock.advance(6 * latencyMs);
    expect(budget.availableTo('interactive', OTHER)).toBe(0);
    expect(budget.estimate('interactive', OTHER)).toBe(windowMs - 5 * latencyMs);
    await enqueueAll(world, bulk(3, AGENT));
    // The callers of the class share equally: it has had none.
    expect(budget.estimate('interactive', OTHER)).toBe(windowMs - 5 * latencyMs);
    expect(budget.estimate('interactive', AGENT)).toBe(windowMs - 2 * latencyMs);
    expect(budget.estimate('interactive', 'a')).toBe(0);
    expect(budget.shown.waiting(9).map(({ leavesInMs }) => leavesInMs)).toEqual(
      [5, 4, 3].map((n) => windowMs - n * latencyMs),
    );
    expect(budget.shown.waitingCallers).toMatchObject([
      { caller: 'bot', callerClass: 'agent', count: 3 },
    ]);
  });
});

function isJobOut({ freeInMs, owner }: TakenSlot): boolean {
  return freeInMs === null && owner === 'bulk';
}
