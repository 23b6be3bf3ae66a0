import { describe, expect, test } from 'vitest';
import { callerInClass, classOf } from '../../../src/upstream/budget/law/callers.ts';
import type { ReservedShares, TurnLane } from '../../../src/upstream/budget/law/document.ts';
import { type Errand, enqueueAll } from '../../support/errands.ts';
import { classesOf, createWorld, windowMs } from './world.ts';

const LIMIT = 30;
const TENTHS = { writes: 0.1, newcomers: 0.1 };
const NONE = { writes: 0, newcomers: 0 };
const WEIGHTS = { people: 3, agents: 1, bulk: 0.5 };
/** Callers of each class. */
const CALLERS = { people: 4, agents: 3, bulk: 2 };
type Name = keyof typeof WEIGHTS;
const names = Object.keys(WEIGHTS) as Name[];

const weighed = (weights: Readonly<Record<string, number>>) =>
  classesOf(
    Object.fromEntries(Object.entries(weights).map(([name, weight]) => [name, { weight }])),
  );

/** A budget with classes of these weights, after its first request. */
async function begun(
  weights: Readonly<Record<string, number>>,
  reserves: ReservedShares = NONE,
  limit = LIMIT,
) {
  const world = createWorld(limit, undefined, reserves, weighed(weights));
  await world.begin();
  const waiting: { readonly errand: Errand; readonly until: number }[] = [];
  /** Queues requests that leave the queue after a window. */
  const ask = async (count: number, caller: string, lane: TurnLane = 'interactive') => {
    const asked = world.errands(count, { caller, lane: world.budget.laneOf(lane, caller) });
    await enqueueAll(world, asked);
    for (const errand of asked) waiting.push({ errand, until: world.clock.now() + windowMs });
  };
  const pass = async (ms: number) => {
    await world.clock.advance(ms);
    while ((waiting[0]?.until ?? Infinity) <= world.clock.now()) {
      const { errand } = waiting.shift() ?? {};
      if (errand?.turns === 0) world.budget.cancel(errand);
    }
  };
  /** Slots by class, or of each caller, since a time. */
  const slotsBy = (nameOf: (caller: string) => string, since = 0): Map<string, number> => {
    const slots = new Map<string, number>();
    for (const { errand, start } of world.log) {
      const name = nameOf(errand.caller);
      if (start >= since) slots.set(name, (slots.get(name) ?? 0) + 1);
    }
    return slots;
  };
  return { ...world, ask, pass, slotsBy };
}

/** Shares of a total, by name. */
function sharesOf(slots: ReadonlyMap<string, number>): Map<string, number> {
  const total = [...slots.values()].reduce((sum, each) => sum + each, 0);
  return new Map([...slots].map(([name, count]) => [name, count / total]));
}

/** Jain's index: 1 if all are equal. */
function jain(values: readonly number[]): number {
  const sum = values.reduce((all, each) => all + each, 0);
  return sum ** 2 / (values.length * values.reduce((all, each) => all + each ** 2, 0));
}

const callersOf = (name: Name): string[] =>
  Array.from({ length: CALLERS[name] }, (_, n) => callerInClass(`caller ${n}`, name));

/** All classes ask for three times their share, for 40 windows. `writesOf` are the shares of writes. */
async function overload(reserves: ReservedShares, writesOf: Partial<Record<Name, number>> = {}) {
  const world = await begun(WEIGHTS, reserves);
  const weights = names.reduce((sum, name) => sum + WEIGHTS[name], 0);
  const owed = new Map<string, number>();
  const writes = new Map<string, number>();
  for (let second = 0; second < 40 * 60; second += 1) {
    for (const name of names) {
      for (const caller of callersOf(name)) {
        const perSecond = (3 * LIMIT * WEIGHTS[name]) / weights / 60 / CALLERS[name];
        const due = (owed.get(caller) ?? 0) + perSecond;
        owed.set(caller, due - Math.floor(due));
        for (let n = 0; n < Math.floor(due); n += 1) {
          const written = (writes.get(caller) ?? 0) + (writesOf[name] ?? 0);
          writes.set(caller, written >= 1 ? written - 1 : written);
          await world.ask(1, caller, written >= 1 ? 'write' : 'interactive');
        }
      }
    }
    await world.pass(1000);
  }
  return world;
}

describe('Classes of callers', () => {
  const third = { people: 0.3, agents: 0.3, bulk: 0.3 };
  test.each([
    ['reads', NONE, {}, 0.02],
    ['reads with reserves', TENTHS, {}, 0.02],
    ['writes too', NONE, third, 0.02],
    ['writes too with reserves', TENTHS, third, 0.02],
    ['more writes in one class', NONE, { people: 0.1, agents: 0.3 }, 0.02],
    ['nothing but writes in one class', NONE, { agents: 1 }, 0.02],
    // The writes of any class use the slots that are reserved for writes.
    ['more writes in one class, with reserves', TENTHS, { people: 0.1, agents: 0.3 }, 0.03],
  ])('share slots by weight under three times the limit: %s', async (_, reserves, writes, off) => {
    const { log, slotsBy } = await overload(reserves, writes);
    const after = 3 * windowMs;
    const shares = sharesOf(slotsBy(classOf, after));
    const slots = slotsBy((caller) => caller, after);
    for (const name of names) {
      const share = shares.get(name) ?? 0;
      expect(Math.abs(share - WEIGHTS[name] / 4.5), name).toBeLessThanOrEqual(off);
      const ofCallers = callersOf(name).map((caller) => slots.get(caller) ?? 0);
      expect(jain(ofCallers), name).toBeGreaterThanOrEqual(0.98);
    }
    const windows = log.filter(({ start }) => start >= after).length / LIMIT / 37;
    expect(windows).toBeGreaterThanOrEqual(reserves === NONE ? 1 : 0.95);
  });

  test('without weight get only what the others leave', async () => {
    const { ask, clock, pass, slotsBy } = await begun({ people: 1, spare: 0, rest: 0 });
    const begin = clock.now();
    for (let second = 0; second < 20 * 60; second += 1) {
      await ask(1, callerInClass('a', 'spare'));
      await ask(1, callerInClass('b', 'rest'));
      // For five windows twice the limit, then a third of it.
      if (second < 300 || second % 6 === 0) await ask(1, callerInClass('c', 'people'));
      await pass(1000);
    }
    const between = (from: number, to: number) => {
      const [all, later] = [from, to].map((window) => slotsBy(classOf, begin + window * windowMs));
      return (name: string) => (all?.get(name) ?? 0) - (later?.get(name) ?? 0);
    };
    // They share the minimum rate, two requests per minute, and then most of what is left.
    const early = between(1, 5);
    expect(early('people')).toBeGreaterThanOrEqual(4 * (LIMIT - 2) - 1);
    expect(early('spare') + early('rest')).toBeLessThanOrEqual(4 * 2 + 1);
    expect(Math.abs(early('spare') - early('rest'))).toBeLessThanOrEqual(1);
    const late = between(17, 20);
    expect(late('people')).toBe(LIMIT);
    expect(late('spare') + late('rest')).toBeGreaterThanOrEqual(0.9 * 2 * LIMIT);
    expect(Math.abs(late('spare') - late('rest'))).toBeLessThanOrEqual(1);
  });

  test('without weight do not delay people at an even pace, however many of them read', async () => {
    const { ask, budget, log, pass } = await begun({ agent: 0 }, TENTHS);
    let waited = 0;
    for (let second = 0; second < 12 * 60; second += 1) {
      for (let n = 0; n < 10; n += 1) await ask(1, callerInClass(`bot ${n}`, 'agent'));
      if (second % 3 === 0) await ask(1, `person ${second % 5}`);
      if (second >= 2 * 60) waited += budget.queued.interactive;
      await pass(1000);
    }
    expect(waited).toBe(0);
    // They use what people leave, at most one of ten more than another.
    const slots = Array.from({ length: 10 }, (_, n) => `bot ${n}`).map(
      (name) => log.filter(({ errand }) => errand.caller === callerInClass(name, 'agent')).length,
    );
    expect(slots.reduce((sum, each) => sum + each, 0)).toBeGreaterThanOrEqual(0.8 * 12 * 10);
    expect(Math.max(...slots) - Math.min(...slots)).toBeLessThanOrEqual(2);
  });

  test('without weight write in turns after the writes of others', async () => {
    const { ask, clock, log } = await begun({ people: 1, spare: 0 });
    await ask(LIMIT, callerInClass('a', 'people'));
    await ask(3, callerInClass('b', 'spare'), 'write');
    await ask(3, callerInClass('c', 'people'), 'write');
    await ask(3, callerInClass('b', 'spare'));
    await clock.advance(2 * windowMs);
    const order = log.slice(LIMIT).map(({ errand }) => `${classOf(errand.caller)} ${errand.lane}`);
    expect(order.slice(0, 6)).toEqual([
      ...Array<string>(3).fill('people write'),
      ...Array<string>(3).fill('spare write'),
    ]);
    expect(order.slice(6)).toEqual(Array(3).fill('spare bulk'));
  });

  test('do not catch up on slots that they did not need', async () => {
    const { ask, clock, slotsBy } = await begun({ people: 1, agents: 1 });
    const [people, agents] = [callerInClass('a', 'people'), callerInClass('a', 'agents')];
    await ask(10 * LIMIT, agents);
    await clock.advance(4 * windowMs);
    const before = clock.now();
    await ask(10 * LIMIT, people);
    await clock.advance(4 * windowMs);
    const slots = slotsBy(classOf, before + 1);
    expect(slots.get('people')).toBe(2 * LIMIT);
    expect(slots.get('agents')).toBe(2 * LIMIT);
  });

  test.each(['people', 'bulk'])('alone use the whole window: %s', async (name) => {
    const { ask, log, pass } = await begun(WEIGHTS, TENTHS);
    for (let second = 0; second < 6 * 60; second += 1) {
      await ask(1, callerInClass('constant', name));
      await pass(1000);
    }
    const after = log.filter(({ start }) => start >= 2 * windowMs);
    expect(after.length).toBeGreaterThanOrEqual(0.97 * 5 * LIMIT);
  });

  test('have turns of their own for callers of equal names', async () => {
    const { ask, clock, slotsBy } = await begun({ people: 1, agents: 1 }, NONE, 6);
    await ask(6, 'mia');
    for (const name of ['people', 'agents', 'default']) await ask(20, callerInClass('mia', name));
    await clock.advance(3 * windowMs);
    const slots = slotsBy((caller) => caller, windowMs + 1);
    expect([...slots.keys()].sort()).toEqual(['agents\nmia', 'mia', 'people\nmia']);
    for (const count of slots.values()) expect(Math.abs(count - 6)).toBeLessThanOrEqual(1);
  });
});
