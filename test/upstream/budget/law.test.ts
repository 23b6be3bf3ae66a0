import * as fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type KeyJournal, newKey } from '../../../src/upstream/budget/journal/journal.ts';
import { availableMs, clearMs } from '../../../src/upstream/budget/law/availability.ts';
import { claimSlots, type WantedSlot } from '../../../src/upstream/budget/law/claim.ts';
import { copyOf } from '../../../src/upstream/budget/law/document.ts';
import { cancelSlot, endSlot, renewSlot } from '../../../src/upstream/budget/law/ended.ts';
import { purge, roomOf, slotsOf, used } from '../../../src/upstream/budget/law/slots.ts';
import { MemoryStore } from '../../../src/upstream/budget/memory-store.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { begun, play, requests, rulesOf, silent, World } from './law-world.ts';

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

/** Reserved shares, of which a low limit has none, one or two. */
const share = fc.constantFrom(0, 0.2, 0.4);
const shares = fc.record({ writes: share, newcomers: share });

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
      { numRuns: 60 },
    );
  });

  it('gives callers of all processes turns, whatever the number of their requests', () => {
    const world = begun(1);
    for (let n = 0; n < 20; n += 1) world.asks('one', 'interactive', 'noisy');
    for (let n = 0; n < 5; n += 1) world.asks('two', 'interactive', 'noisy');
    world.asks('two', 'interactive', 'quiet');
    world.asks('one', 'interactive', 'other');
    world.asks('two', 'interactive', 'quiet');
    const order: string[] = [];
    while (order.length < 8) {
      for (const owner of ['one', 'two']) world.claims(owner);
      for (const { want } of world.granted.splice(0)) {
        order.push(want.caller);
        world.change((b) => cancelSlot(b, want.id));
      }
    }
    expect(order.slice(0, 6).sort()).toEqual(
      ['noisy', 'noisy', 'other', 'quiet', 'quiet', 'noisy'].sort(),
    );
    expect(order.slice(0, 3).sort()).toEqual(['noisy', 'other', 'quiet']);
  });

  it('gives one slot in four to reads while writes do not end, and refreshes what is left', () => {
    const world = begun(1);
    world.asks('one', 'refresh');
    for (let n = 0; n < 3; n += 1) world.asks('two', 'interactive');
    for (let n = 0; n < 7; n += 1) world.asks('one', 'write');
    const order: string[] = [];
    while (order.length < 11) {
      for (const owner of ['one', 'two']) world.claims(owner);
      for (const { want } of world.granted.splice(0)) {
        order.push(want.lane.charAt(0));
        world.change((b) => cancelSlot(b, want.id));
      }
      world.now += 20;
    }
    expect(order.join('')).toBe('wwwiwwwiwir');
  });

  it('lets what had its turn in vain go before all others of its lane', () => {
    const world = begun(1);
    const wants = ['a', 'b'].map((caller) => ({
      id: caller,
      lane: 'interactive' as const,
      caller,
    }));
    const waits = { write: [], refreshes: 0, oldestMs: 0, bulk: [] };
    const claimed = world.change((b) =>
      claimSlots(b, world.rules, world.now, wants, {
        owner: 'one',
        ...roomOf(b, () => true),
        free: 1,
        waits: {
          ...waits,
          interactive: [
            ['a', 3, 0],
            ['b', 1, null],
          ],
        },
        bids: [{ ...waits, interactive: [['c', 1, 0]] }],
      }),
    );
    expect(claimed).toMatchObject({ granted: [false, true], why: 'window' });
  });

  it('gives a caller who begins to wait a turn after those who had theirs before, and before those after', () => {
    const world = begun(1);
    world.asks('one', 'interactive', 'first');
    world.asks('one', 'interactive', 'first');
    world.asks('one', 'interactive', 'second');
    world.asks('one', 'interactive', 'second');
    const order: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      if (n === 1) world.asks('two', 'interactive', 'new');
      for (const owner of ['one', 'two']) world.claims(owner);
      for (const { want } of world.granted.splice(0)) {
        order.push(want.caller);
        world.change((b) => cancelSlot(b, want.id));
      }
    }
    expect(order).toEqual(['first', 'second', 'first', 'new', 'second']);
  });

  it('takes a request that was not sent for one that the upstream cannot have counted', () => {
    const world = begun(10);
    const [before, unsent] = [world.asks('one', 'write'), world.asks('one', 'write')];
    world.claims('one');
    world.change((b) => cancelSlot(b, unsent.id));
    expect(world.ends(before.id, { ...silent, remaining: 8 }).foreign).toBe(1);
  });

  it('keeps nothing of callers who wait no more, and changes nothing where it gives nothing', () => {
    const world = begun(2);
    for (let n = 0; n < 50; n += 1) {
      world.asks('one', 'interactive', `nobody ${n}`);
      world.claims('one');
      world.now += 2000;
      for (const { want } of world.granted.splice(0)) world.ends(want.id);
    }
    expect(world.budget.turns.served).toEqual({ write: {}, interactive: {} });
    world.now += 2000;
    for (let n = 0; n < 2; n += 1) world.asks('one', 'write');
    world.claims('one');
    world.asks('one', 'write');
    world.asks('two', 'write', 'new');
    const before = JSON.stringify(world.budget);
    expect(world.claims('one')).toMatchObject({ granted: [false], why: 'window' });
    expect(world.claims('two')).toMatchObject({ granted: [false], why: 'window' });
    expect(JSON.stringify(world.budget)).toBe(before);
  });

  it('learns once of a request that ends, and counts one that it does not know', () => {
    const world = begun(10);
    const { id } = world.asks('one', 'interactive');
    world.claims('one');
    const told = { ...silent, remaining: 4 };
    expect(world.ends(id, told)).toEqual({ foreign: 5, pauses: false });
    expect(world.ends(id, told)).toEqual({ foreign: 0, pauses: false });
    expect(used(world.budget)).toBe(6);
    world.ends('unknown', { ...silent, refused: { retryAfterMs: 900 } }, 'two', 400);
    expect(world.budget.answered.map(({ until }) => until - world.now)).toEqual([600, 1000]);
    expect(world.budget.pause.until).toBeNull();
    world.change((b) => cancelSlot(b, 'never heard of'));
    expect(used(world.budget)).toBe(7);
  });

  it('keeps the latest slot of a process that ends without a word, a few at most', () => {
    const world = begun(8, { holdMs: 500, ghostMs: 9000, marginMs: 50 });
    for (const owner of ['one', 'two', 'three']) {
      for (let n = 0; n < 2; n += 1) world.asks(owner, 'interactive', owner);
      for (let n = 0; n < 3; n += 1) world.claims('one');
    }
    for (let n = 0; n < 3; n += 1) for (const owner of ['two', 'three']) world.claims(owner);
    expect(used(world.budget)).toBe(6);
    world.now += 500;
    world.change(() => {});
    expect(slotsOf(world.budget, world.rules, world.now)).toMatchObject([
      { owner: 'three', count: 1, until: world.now + 8500, isOut: false },
    ]);
    const [ghost] = world.budget.held;
    expect(clearMs(world.budget, world.rules, world.now)).toBe(8500);
    // It was only stopped.
    world.ends(ghost?.id ?? '', silent, ghost?.owner);
    expect(clearMs(world.budget, world.rules, world.now)).toBe(1050);
    const lengthy = world.asks('one', 'write', 'a', { lengthy: true });
    world.claims('one');
    for (let n = 0; n < 9; n += 1) {
      world.now += 400;
      world.change((b) => renewSlot(b, world.rules, world.now, lengthy.id, 'one'));
    }
    expect(used(world.budget)).toBe(1);
    world.change((b) => cancelSlot(b, lengthy.id));
    world.change((b) => renewSlot(b, world.rules, world.now, lengthy.id, 'one'));
    expect(world.budget.held).toMatchObject([{ id: lengthy.id, lengthy: true }]);
  });

  it('starts over with a limit that was changed', () => {
    const world = begun(4);
    const { id } = world.asks('one', 'write');
    world.claims('one');
    world.ends(id, { ...silent, limit: 9 });
    expect(world.budget.limit).toBe(9);
    world.change((b) => purge(b, rulesOf(5), world.now));
    expect(world.budget).toMatchObject({ limit: 5, configured: 5 });
  });

  it('is played forward on a copy, which leaves the budget as it is', () => {
    const world = begun(2);
    for (let n = 0; n < 5; n += 1) world.asks('one', 'write');
    world.claims('one');
    world.ends(world.granted[0]?.want.id ?? '');
    const before = JSON.stringify(world.budget);
    const { budget, now, rules } = world;
    const view = { budget, rules, now, heldMs: 0, bids: [], isAlive: () => true };
    const played = new World(world.rules);
    played.now = world.now;
    played.budget = copyOf(world.budget);
    for (let n = 0; n < 3; n += 1) played.asks('one', 'write');
    played.now += availableMs(view, 0);
    played.claims('one');
    expect(played.granted).toHaveLength(1);
    expect(played.now - world.now).toBe(1000);
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
        ended: () => void lines.push('ended'),
        cancelled: () => void lines.push('cancelled'),
      };
    };
    const coTenantSeen = () => void lines.push('a co-tenant');
    const before = {
      recalled: [400, 900],
      unknownUntil: 300,
      isKnown: false,
      coTenantSeenAt: null,
    };
    const journal = { ...before, begin, coTenantSeen };
    const store = new MemoryStore({ upstream: 'LINKS', clock, limit: 8, windowMs: 1000, journal });
    const known = (of: MemoryStore): number => used(of.view.budget);
    expect(known(store)).toBe(2 + 4);
    await clock.advance(400);
    expect(known(store)).toBe(1);
    const claims = (id: string, of: Partial<WantedSlot> = {}): boolean | undefined =>
      store.change((b, now) =>
        claimSlots(b, store.rules, now, [{ id, lane: 'write', caller: 'a', ...of }], {
          owner: '',
          ...roomOf(b, () => true),
          waits: { write: [['a', 1, 0]], interactive: [], refreshes: 0, oldestMs: 0, bulk: [] },
          bids: [],
        }),
      ).granted[0];
    expect(claims('first')).toBe(true);
    expect(claims('upload', { lengthy: true })).toBe(true);
    expect(lines).toEqual(['begins', 'begins, lengthy']);
    store.change((b) => cancelSlot(b, 'upload'));
    store.change((b, now) =>
      endSlot(b, store.rules, now, { id: 'first', owner: '', feedback: silent }),
    );
    expect(lines.slice(2)).toEqual(['cancelled', 'ended']);
    claims('second');
    const feedback = { ...silent, refused: { retryAfterMs: 1 } };
    store.change((b, now) => endSlot(b, store.rules, now, { id: 'second', owner: '', feedback }));
    expect(lines.slice(5).toSorted()).toEqual(['a co-tenant', 'ended']);
  });

  it('begins with what the process before has noted of the key', () => {
    const clock = new VirtualClock().rule();
    const of = (journal: Partial<KeyJournal>) =>
      new MemoryStore({
        upstream: 'LINKS',
        clock,
        limit: 8,
        windowMs: 1000,
        journal: { ...newKey, ...journal },
      }).budget.caution;
    expect(of({})).toMatchObject({ blind: true, coTenantAt: null });
    expect(of({ isKnown: true, coTenantSeenAt: -5 })).toMatchObject({
      blind: false,
      coTenantAt: -5,
    });
  });
});
