import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { KeyBudget } from '../../../../src/upstream/budget/law/document.ts';
import { leftByRefreshes, refreshMs } from '../../../../src/upstream/budget/law/pace.ts';
import { purge, roomOf } from '../../../../src/upstream/budget/law/slots.ts';
import { rounds } from '../../../support/rounds.ts';
import { begun, play, requests, rulesOf, World } from '../law-world.ts';

const share = fc.constantFrom(0, 0.2, 0.4);
const shares = fc.record({ writes: share, newcomers: share });

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
          expect(world.waitingIn('write', 'interactive')).toBe(0);
          if (world.waitingIn('refresh') === 0) return;
          expect(refreshMs(b, world.rules, world.now)).toBeGreaterThan(0);
          expect(roomOf(b).free).toBeGreaterThanOrEqual(leftByRefreshes(b.limit));
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
          expect(world.waitingIn('write')).toBe(0);
        });
      }),
      { numRuns: rounds(80) },
    );
  });

  it('does not count their slots in the shares of callers', () => {
    const reserves = { writes: 0.1, newcomers: 0.1 };
    const [with_, without] = [begun(30, { reserves }), begun(30, { reserves })];
    for (let n = 0; n < 6; n += 1) {
      with_.asks('bulk', `bulk\nsomeone ${n}`);
      without.asks('interactive', `someone ${n}`);
      for (const world of [with_, without]) {
        world.claims();
        for (const { id } of world.granted.splice(0)) world.ends(id);
      }
    }
    for (const world of [with_, without]) {
      for (let n = 0; n < 30; n += 1) world.asks('interactive', 'burst');
      world.claims();
      purge(world.budget, world.now);
    }
    // A caller leaves all reserved slots if it has twice its share.
    const granted = (world: World) => world.granted.filter(({ caller }) => caller === 'burst');
    expect(granted(with_)).toHaveLength(19);
    expect(granted(without)).toHaveLength(18);
  });
});
