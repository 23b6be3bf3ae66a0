import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { callerInClass, classOf } from '../../../../src/upstream/budget/law/callers.ts';
import type { KeyBudget } from '../../../../src/upstream/budget/law/document.ts';
import { jobDueMs } from '../../../../src/upstream/budget/law/jobs.ts';
import { Reserves } from '../../../../src/upstream/budget/law/reserves.ts';
import { roomOf } from '../../../../src/upstream/budget/law/slots.ts';
import { rounds } from '../../../support/rounds.ts';
import { begun, play, requests, rulesOf, World } from '../law-world.ts';
import { classesOf } from '../world.ts';

/** The class of jobs. */
const BULK_CLASS = 'bulk';

const share = fc.constantFrom(0, 0.2, 0.4);
const shares = fc.record({ writes: share, newcomers: share });

/** Requests of people, agents and jobs, each in its lane; refreshes have no caller. */
const anyRequests = requests.chain((asked) =>
  fc
    .array(fc.constantFrom('default', 'agent', 'nightly', BULK_CLASS), {
      minLength: asked.length,
      maxLength: asked.length,
    })
    .map((names) =>
      asked.map((each, index) => {
        const name = names[index] ?? 'default';
        const caller = callerInClass(each.caller, name);
        if (each.lane === 'refresh') return each;
        if (name === BULK_CLASS) return { ...each, caller, lane: 'bulk' as const };
        const lane = each.lane === 'bulk' ? 'interactive' : each.lane;
        const hasNoWeight = name === 'agent' || name === 'nightly';
        return {
          ...each,
          caller,
          lane: hasNoWeight && lane !== 'write' ? ('bulk' as const) : lane,
        };
      }),
    ),
);

describe('Classes without weight', () => {
  const classes = classesOf({
    agent: { weight: 0, maxCallsPerMinute: 120 },
    nightly: { weight: 0 },
  });

  it('never take a slot that jobs would leave, nor more than their limit', () => {
    const any = fc
      .record({ limit: fc.integer({ min: 1, max: 8 }), reserves: shares })
      .chain(({ limit, reserves }) => {
        const rules = rulesOf(limit, { reserves, classes, jobsMinPerMinute: 60 });
        return anyRequests.map((asked) => ({ rules, asked }));
      });
    fc.assert(
      fc.property(any, ({ asked, rules }) => {
        const world = new World(rules);
        play(world, asked, ({ before, want }) => {
          const b: KeyBudget = world.change((draft) => draft);
          const ofAgents = [...b.held, ...b.answered].filter(
            ({ caller }) => caller !== undefined && classOf(caller) === 'agent',
          );
          // In a window of a second.
          expect(ofAgents.length).toBeLessThanOrEqual(2);
          if (want.lane !== 'bulk') return;
          expect(roomOf(b).jobs).toBe(1);
          // The document without the slot.
          const { jobs } = before;
          const without: KeyBudget = {
            ...b,
            held: b.held.filter(({ id }) => id !== want.id),
            ...(jobs && { jobs }),
          };
          if (!jobs) delete without.jobs;
          const { free } = roomOf(without);
          const isDue = jobDueMs(without, world.rules, world.now) === 0;
          const isLeft = new Reserves(without, world.rules, world.now).waitMs(want, free) === 0;
          expect(isDue || isLeft).toBe(true);
          expect(world.waitingIn('write')).toBeLessThan(free);
        });
      }),
      { numRuns: rounds(150) },
    );
  });

  it('take turns with jobs by class, whatever the number of their callers', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            name: fc.constantFrom('agent', 'nightly', BULK_CLASS),
            callers: fc.integer({ min: 1, max: 5 }),
          }),
          { minLength: 1, maxLength: 8 },
        ),
        (waiting) => {
          const world = begun(200, { classes: classesOf({ agent: { weight: 0 } }) });
          const turns = 6;
          for (const { callers, name } of waiting) {
            for (let n = 0; n < callers * turns; n += 1) {
              world.asks('bulk', callerInClass(`caller ${n % callers}`, name));
            }
          }
          const names = [...new Set(waiting.map(({ name }) => name))];
          const order: string[] = [];
          for (let n = 0; n < 200 && order.length < names.length * turns; n += 1) {
            world.claims();
            for (const { caller, id } of world.granted.splice(0)) {
              order.push(classOf(caller));
              world.ends(id);
            }
          }
          expect(order).toHaveLength(names.length * turns);
          for (let n = 0; n < order.length; n += names.length) {
            expect(new Set(order.slice(n, n + names.length)).size).toBe(names.length);
          }
        },
      ),
      { numRuns: rounds(60) },
    );
  });

  it('that have used up a limit leave their turns to others', () => {
    const limits = classesOf({ agent: { weight: 0, maxCallsPerMinute: 60 } });
    const world = begun(30, { classes: limits });
    for (let n = 0; n < 3; n += 1) {
      world.asks('bulk', callerInClass('a', 'agent'));
      world.asks('bulk', callerInClass('b', 'agent'));
      world.asks('bulk', callerInClass('j', BULK_CLASS));
    }
    const order: string[] = [];
    for (let n = 0; n < 20; n += 1) {
      world.claims();
      for (const { caller, id } of world.granted.splice(0)) {
        order.push(classOf(caller));
        world.ends(id);
      }
    }
    expect(order).toEqual(['agent', 'bulk', 'bulk', 'bulk']);
    expect(world.claims().granted).toEqual([]);
    world.now += 1000;
    world.claims();
    expect(world.granted.map(({ caller }) => classOf(caller))).toEqual(['agent']);
  });
});
