import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { WantedSlot } from '../../../../src/upstream/budget/law/claim.ts';
import { type KeyBudget, leftByRefreshes } from '../../../../src/upstream/budget/law/document.ts';
import { refreshMs } from '../../../../src/upstream/budget/law/pace.ts';
import { purge, roomOf } from '../../../../src/upstream/budget/law/slots.ts';
import { rounds } from '../../../support/rounds.ts';
import { begun, play, requests, rulesOf, World } from '../law-world.ts';

const share = fc.constantFrom(0, 0.2, 0.4);
const shares = fc.record({ writes: share, newcomers: share });
const owners = ['one', 'two', 'three'];

const isOf =
  (...lanes: WantedSlot['lane'][]) =>
  ({ lane }: WantedSlot): boolean =>
    lanes.includes(lane);

/** What still waits of some lanes, in all processes. */
const waiting = (world: World, ...lanes: WantedSlot['lane'][]): number =>
  owners.flatMap((owner) => world.waitingOf(owner)).filter(isOf(...lanes)).length;

const jobsOut = ({ held }: KeyBudget): number => held.filter(({ bulk }) => bulk).length;

describe('The law of jobs', () => {
  it('gives them one slot at a time, which no other request that waits could use', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), shares, requests, (limit, reserves, asked) => {
        const world = new World(rulesOf(limit, { reserves }));
        play(world, asked, ({ want }) => {
          if (want.lane !== 'bulk') return;
          const b = world.change((draft) => draft);
          expect(jobsOut(b)).toBe(1);
          // Others can have slots left, which they have not claimed yet.
          const { free } = roomOf(b, () => true);
          expect(waiting(world, 'write', 'interactive')).toBeLessThanOrEqual(free);
          if (waiting(world, 'refresh') === 0) return;
          expect(refreshMs(b, world.rules, world.now)).toBeGreaterThan(0);
          expect(free).toBeGreaterThanOrEqual(leftByRefreshes(b.limit));
        });
      }),
      { numRuns: rounds(80) },
    );
  });

  it('gives them their minimum before reads and refreshes, but never before a write', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), requests, (limit, asked) => {
        // In a window of a second: 6 requests at most, or a quarter of the limit. Without reserves, since a job that is
        // due takes the slot that a write leaves to others.
        const world = new World(rulesOf(limit, { jobsMinPerMinute: 360 }));
        play(world, asked, ({ want }) => {
          if (want.lane !== 'bulk') return;
          const b = world.change((draft) => draft);
          expect(jobsOut(b)).toBe(1);
          expect(waiting(world, 'write')).toBeLessThanOrEqual(roomOf(b, () => true).free);
        });
      }),
      { numRuns: rounds(80) },
    );
  });

  it('counts only jobs of processes that live as under way', () => {
    const world = begun(10);
    world.asks('one', 'bulk');
    world.claims('one');
    world.asks('two', 'bulk');
    expect(world.claims('two')).toMatchObject({ granted: [false], why: 'turn', waitMs: 250 });
    world.dead.add('one');
    expect(world.claims('two')).toMatchObject({ granted: [true] });
  });

  it('lets the jobs of processes take turns', () => {
    const world = begun(20);
    for (let n = 0; n < 4; n += 1) for (const owner of ['one', 'two']) world.asks(owner, 'bulk');
    const order: string[] = [];
    for (let n = 0; n < 40 && order.length < 8; n += 1) {
      // The first one claims again at once, whenever its job has ended.
      for (const owner of ['one', 'two']) world.claims(owner);
      for (const { owner, want } of world.granted.splice(0)) {
        order.push(owner);
        world.ends(want.id, undefined, owner);
      }
    }
    expect(order.join()).toBe('one,two,one,two,one,two,one,two');
  });

  it('keeps a slot for the job of another process whose turn is due', () => {
    const world = begun(4, { jobsMinPerMinute: 60 });
    world.asks('two', 'bulk', 'job');
    for (let n = 0; n < 9; n += 1) world.asks('one', 'interactive');
    const { granted, waitMs, why } = world.claims('one');
    expect(granted.filter(Boolean)).toHaveLength(3);
    expect([why, waitMs]).toEqual(['turn', 20]);
    expect(world.claims('two').granted).toEqual([true]);
  });

  it('claims seldom for jobs while it is the turn of others', () => {
    const world = begun(2);
    world.asks('two', 'interactive');
    world.asks('two', 'interactive');
    world.asks('one', 'bulk');
    expect(world.claims('one')).toMatchObject({ granted: [false], waitMs: 250 });
  });

  it('does not count their slots in the shares of callers, nor in their turns', () => {
    const reserves = { writes: 0.1, newcomers: 0.1 };
    const [with_, without] = [begun(30, { reserves }), begun(30, { reserves })];
    for (let n = 0; n < 6; n += 1) {
      with_.asks('one', 'bulk', 'bulk\nsomeone');
      without.asks('one', 'interactive', 'someone');
      for (const world of [with_, without]) {
        world.claims('one');
        for (const { want } of world.granted.splice(0)) world.ends(want.id);
      }
    }
    const { served, writesInARow, classes } = with_.budget.turns;
    expect({ served, writesInARow, classes }).toEqual({
      served: { write: {}, interactive: {} },
      writesInARow: 0,
      classes: undefined,
    });
    for (const world of [with_, without]) {
      for (let n = 0; n < 30; n += 1) world.asks('one', 'interactive', 'burst');
      world.claims('one');
      purge(world.budget, world.rules, world.now);
    }
    // One caller may have all slots that are not reserved; two callers share them.
    const granted = (world: World) => world.granted.filter(({ want }) => want.caller === 'burst');
    expect(granted(with_)).toHaveLength(24);
    expect(granted(without)).toHaveLength(18);
  });
});
