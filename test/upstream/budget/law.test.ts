import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Forecast } from '../../../src/upstream/budget/forecast.ts';
import type { Slot } from '../../../src/upstream/budget/key-budget-store.ts';
import { KeyBudgetStore } from '../../../src/upstream/budget/key-budget-store.ts';
import { cancelSlot } from '../../../src/upstream/budget/law/ended.ts';
import { clearMs, used } from '../../../src/upstream/budget/law/slots.ts';
import type { SlotRequest } from '../../../src/upstream/budget/queue.ts';
import { Queue } from '../../../src/upstream/budget/queue.ts';
import type { KeySlots } from '../../../src/upstream/budget/saved-slots.ts';
import { keySlots } from '../../support/errands.ts';
import { rounds } from '../../support/rounds.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { begun, play, requests, rulesOf, silent, World } from './law-world.ts';

/** Reserved shares, of which a low limit has none, one or two. */
const share = fc.constantFrom(0, 0.2, 0.4);
const shares = fc.record({ writes: share, newcomers: share });

/** The callers of the next slots, each of which is free again at once. */
function orderOf(world: World, count: number): string[] {
  const order: string[] = [];
  while (order.length < count) {
    world.claims();
    for (const { caller, id } of world.granted.splice(0)) {
      order.push(caller);
      world.change((b) => cancelSlot(b, id));
    }
    world.now += 20;
  }
  return order;
}

describe('The law', () => {
  it('never gives more than the limit in any window, and serves all who wait, on any schedule', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 6 }), shares, requests, (limit, reserves, asked) => {
        const world = new World(rulesOf(limit, { reserves }));
        play(world, asked);
        world.now += 3000;
        world.change(() => {});
        expect(used(world.budget)).toBe(0);
        expect(JSON.parse(JSON.stringify(world.budget))).toEqual(world.budget);
        expect(clearMs(world.budget, world.rules, world.now)).toBeNull();
      }),
      { numRuns: rounds(60) },
    );
  });

  it('gives callers turns, whatever the number of their requests', () => {
    const world = begun(1);
    for (let n = 0; n < 25; n += 1) world.asks('interactive', 'noisy');
    for (const caller of ['quiet', 'other', 'quiet']) world.asks('interactive', caller);
    expect(orderOf(world, 6)).toEqual(['noisy', 'quiet', 'other', 'noisy', 'quiet', 'noisy']);
  });

  it('gives one slot in four to reads while writes do not end, and refreshes what is left', () => {
    const world = begun(1);
    world.asks('refresh', 'f');
    for (let n = 0; n < 3; n += 1) world.asks('interactive', 'r');
    for (let n = 0; n < 7; n += 1) world.asks('write', 'w');
    expect(orderOf(world, 11).join('')).toBe('wwwrwwwrwrf');
  });

  it('lets what had its turn in vain go before all others of its lane', () => {
    const world = begun(1);
    for (const caller of ['a', 'a', 'a', 'c']) world.asks('interactive', caller);
    world.asks('interactive', 'b', true);
    expect(orderOf(world, 3)).toEqual(['b', 'a', 'c']);
  });

  it('gives a caller who begins to wait a turn after those who have had none since the latest slot', () => {
    const world = begun(1);
    for (const caller of ['first', 'first', 'second', 'second']) world.asks('interactive', caller);
    const order = orderOf(world, 1);
    world.asks('interactive', 'new');
    order.push(...orderOf(world, 4));
    expect(order).toEqual(['first', 'second', 'new', 'first', 'second']);
  });

  it('takes a request that was not sent for one that the upstream cannot have counted', () => {
    const world = begun(10);
    const [before, unsent] = [world.asks('write'), world.asks('write')];
    world.claims();
    world.change((b) => cancelSlot(b, unsent.id));
    expect(world.ends(before.id, { ...silent, remaining: 8 }).foreign).toBe(1);
  });

  it('keeps nothing of callers who wait no more, and changes nothing where it gives nothing', () => {
    const world = begun(2);
    for (let n = 0; n < 50; n += 1) {
      world.asks('interactive', `nobody ${n}`);
      world.claims();
      world.now += 2000;
      for (const { id } of world.granted.splice(0)) world.ends(id);
    }
    world.now += 2000;
    for (let n = 0; n < 2; n += 1) world.asks('write');
    world.claims();
    world.asks('write');
    world.asks('write', 'new');
    const before = JSON.stringify(world.budget);
    expect(world.claims()).toMatchObject({ granted: [] });
    expect(JSON.stringify(world.budget)).toBe(before);
  });

  it('learns once of a request that ends', () => {
    const world = begun(10);
    const want = world.asks('interactive');
    world.claims();
    const told = { ...silent, remaining: 4 };
    expect(world.ends(want.id, told)).toEqual({ foreign: 5, pauses: false });
    expect(world.ends(want.id, told)).toEqual({ foreign: 0, pauses: false });
    expect(used(world.budget)).toBe(6);
    world.change((b) => cancelSlot(b, 'never heard of'));
    expect(used(world.budget)).toBe(6);
  });

  it('is played forward on a copy, which leaves the budget as it is', () => {
    const world = begun(2);
    for (let n = 0; n < 5; n += 1) world.asks('write');
    world.claims();
    world.ends(world.granted[0]?.id ?? '');
    const before = JSON.stringify(world.budget);
    const { budget, now, rules } = world;
    const view = { budget, rules, now };
    const forecast = new Forecast(world.lanes, view);
    expect(forecast.next()?.leavesInMs).toBe(1000);
    expect(JSON.stringify(world.budget)).toBe(before);
  });
});

describe('The memory store', () => {
  it('writes each slot down before its request leaves, and how it ends', async () => {
    const clock = new VirtualClock().rule();
    const lines: string[] = [];
    const begin = (lengthy: boolean) => {
      lines.push(lengthy ? 'begins, lengthy' : 'begins');
      return {
        leaveBy: Infinity,
        ended: () => void lines.push('ended'),
        cancelled: () => void lines.push('cancelled'),
      };
    };
    const coTenantSeen = () => void lines.push('a co-tenant');
    const before = {
      recalled: [{ until: 400 }, { until: 900 }],
      unknownUntil: 300,
      isKnown: false,
      coTenantSeenAt: null,
    };
    const saved = { ...before, begin, coTenantSeen, saved: () => undefined };
    const store = new KeyBudgetStore({ upstream: 'LINKS', clock, limit: 8, windowMs: 1000, saved });
    const known = (of: KeyBudgetStore): number => used(of.view.budget);
    expect(known(store)).toBe(2 + 4);
    await clock.advance(400);
    expect(known(store)).toBe(1);
    const lanes = new Queue<SlotRequest>();
    const claims = (lengthy = false): Slot | undefined => {
      const request = { resource: 'channels', operation: null, waitedMs: 0, accepts: () => true };
      lanes.add({ ...request, lane: 'write', caller: 'a', lengthy, urgency: () => 0 });
      return store.claim(lanes, false, () => undefined).taken[0]?.slot;
    };
    const [first, upload] = [claims(), claims(true)];
    expect(lines).toEqual(['begins', 'begins, lengthy']);
    upload?.release();
    first?.end(silent);
    expect(lines.slice(2)).toEqual(['cancelled', 'ended']);
    claims()?.end({ ...silent, refused: { retryAfterMs: 1 } });
    expect(lines.slice(5).toSorted()).toEqual(['a co-tenant', 'ended']);
  });

  it('begins with what the process before has noted of the key', () => {
    const clock = new VirtualClock().rule();
    const of = (given?: Partial<KeySlots>) =>
      new KeyBudgetStore({
        upstream: 'LINKS',
        clock,
        limit: 8,
        windowMs: 1000,
        saved: keySlots(clock, 1000, given),
      }).budget.caution;
    expect(of()).toMatchObject({ blind: true, coTenantAt: null });
    expect(of({ isKnown: true, coTenantSeenAt: -5 })).toMatchObject({
      blind: false,
      coTenantAt: -5,
    });
  });
});
