import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CallerClass } from '../../../src/auth/caller-class.ts';
import { callerInClass } from '../../../src/upstream/budget/law/callers.ts';
import type { Lane } from '../../../src/upstream/budget/law/document.ts';
import { enqueueAll, mostAtOnce } from '../../support/errands.ts';
import { classesOf, createWorld, refusal, windowMs } from './world.ts';

const LIMIT = 30;
const TENTHS = { writes: 0.1, newcomers: 0.1 };
const [mia, bot] = [callerInClass('mia', 'people'), callerInClass('bot', 'agents')];
const other = callerInClass('other', 'agents');

/** A budget with a class of agents, after its first request. */
async function begun(agents: Partial<CallerClass>, limit = LIMIT, reserves = TENTHS) {
  const world = createWorld(limit, undefined, reserves, classesOf({ people: {}, agents }));
  await world.begin();
  const ask = async (
    count: number,
    caller: string,
    options: Parameters<typeof world.errand>[0] = {},
  ) => {
    const asked = world.errands(count, { caller, ...options });
    await enqueueAll(world, asked);
    return asked;
  };
  const sentBy = (...callers: string[]) =>
    world.log.filter(({ errand }) => callers.includes(errand.caller));
  return { ...world, ask, sentBy };
}

describe('A quota', () => {
  test('holds in every window, for all callers of the class together', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 12 }),
        fc.array(
          fc.record({
            waitMs: fc.nat(20_000),
            caller: fc.constantFrom(mia, bot, other),
            lane: fc.constantFrom<Lane>('write', 'interactive', 'refresh'),
            count: fc.integer({ min: 1, max: 8 }),
            latencyMs: fc.nat(3000),
            refused: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
          }),
          { maxLength: 30 },
        ),
        async (maxCallsPerMinute, asked) => {
          const world = await begun({ maxCallsPerMinute });
          for (const { caller, count, lane, latencyMs, refused, waitMs } of asked) {
            const answers = refused ? { answers: [refusal(5000), refusal(null)] } : {};
            await world.ask(count, caller, { lane, latencyMs, ...answers });
            await world.clock.advance(waitMs);
          }
          const charged = world.log.filter(
            ({ errand }) => errand.lane !== 'refresh' && errand.caller !== mia,
          );
          expect(mostAtOnce(charged, windowMs)).toBeLessThanOrEqual(maxCallsPerMinute);
        },
      ),
      { numRuns: 60 },
    );
  });

  test('is used entirely, and leaves the others theirs', async () => {
    const { ask, clock, sentBy } = await begun({ maxCallsPerMinute: 8 });
    for (let second = 0; second < 10 * 60; second += 1) {
      await ask(1, second % 2 ? bot : other);
      if (second % 4 === 0) {
        const [asked] = await ask(1, mia);
        expect(asked?.sent, `at ${second} s`).toHaveLength(1);
      }
      await clock.advance(1000);
    }
    const end = clock.now();
    expect(sentBy(bot, other).filter(({ start }) => start < end)).toHaveLength(80);
    expect(Math.abs(sentBy(bot).length - sentBy(other).length)).toBeLessThanOrEqual(1);
  });

  test('of 0 lets nothing through', async () => {
    const { ask, budget, clock, log } = await begun({ maxCallsPerMinute: 0 });
    await ask(3, bot);
    await clock.advance(5 * windowMs);
    expect(log).toEqual([]);
    expect(budget.availableTo('interactive', bot)).toBe(0);
    expect(budget.quotaOf(bot)).toMatchObject({ limit: 0, used: 0 });
  });

  test('is part of the estimates, of its own requests only', async () => {
    const { ask, budget, clock } = await begun({ maxCallsPerMinute: 4, weight: 1000 });
    await ask(4, bot);
    await clock.advance(10_000);
    const late = await ask(6, other);
    const first = windowMs - 10_000;
    // The slots of the first round are in use until their answers have come, which are taken to last a little.
    const second = expect.closeTo(first + windowMs, -2.5);
    expect(budget.estimate('interactive', other)).toEqual(second);
    expect(budget.estimate('interactive', bot)).toBe(first);
    expect(late.map((each) => budget.estimateOf(each))).toEqual([
      ...Array(4).fill(first),
      ...Array(2).fill(second),
    ]);
    expect(budget.availableTo('interactive', bot)).toBe(0);
    // The window is full: the agents that wait for their quota are not before others, despite their weight.
    await ask(40, mia);
    const behind = budget.estimate('interactive', callerInClass('new', 'people'));
    expect(behind).toBeLessThanOrEqual(windowMs);
    await clock.advance(50_000);
    expect(late.filter(({ sent }) => sent.length > 0)).toHaveLength(4);
  });

  test('does not delay a request that is sent again longer than the others of its class', async () => {
    const { ask, budget } = await begun({ maxCallsPerMinute: 4 });
    const [again] = await ask(1, bot, { answers: [refusal(1000)] });
    for (let n = 0; n < 9; n += 1) await ask(1, callerInClass(`bot ${n}`, 'agents'));
    expect(again?.sent).toHaveLength(1);
    expect(again && budget.estimateOf(again)).toBe(1000);
    expect(budget.estimate('interactive', other)).toBeGreaterThan(windowMs / 2);
  });
});
