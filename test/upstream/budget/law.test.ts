import * as fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type KeyJournal, newKey } from '../../../src/upstream/budget/journal/journal.ts';
import { availableMs, clearMs } from '../../../src/upstream/budget/law/availability.ts';
import type { CallerWaits, WaitingCounts } from '../../../src/upstream/budget/law/callers/turns.ts';
import {
  type ClaimResult,
  claimSlots,
  type WantedSlot,
} from '../../../src/upstream/budget/law/claim.ts';
import {
  copyOf,
  type KeyBudget,
  newBudget,
  type Rules,
} from '../../../src/upstream/budget/law/document.ts';
import { cancelSlot, endSlot, renewSlot } from '../../../src/upstream/budget/law/ended.ts';
import { onWire, purge, slotsOf, used } from '../../../src/upstream/budget/law/slots.ts';
import { MemoryStore } from '../../../src/upstream/budget/memory-store.ts';
import type { BudgetStore } from '../../../src/upstream/budget/store.ts';
import type { Feedback } from '../../../src/upstream/wire/rate-limit-headers.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const silent: Feedback = { limit: null, remaining: null, resetInMs: null };

const rulesOf = (limit: number, of: Partial<Rules> = {}): Rules => {
  return { limit, windowMs: 1000, marginMs: 0, holdMs: null, ghostMs: null, ...of };
};

/** Processes on one budget, under a time that only the test moves. */
class World {
  readonly rules: Rules;
  now = 0;
  budget: KeyBudget;
  readonly #waiting = new Map<string, WantedSlot[]>();
  readonly #since = new Map<string, number>();
  readonly dead = new Set<string>();
  /** What was granted, in this order. */
  readonly granted: { readonly want: WantedSlot; readonly owner: string; readonly at: number }[] =
    [];
  #ids = 0;

  constructor(rules: Rules) {
    this.rules = rules;
    this.budget = newBudget(rules, 0);
  }

  /** Takes a step as a store does that keeps text. */
  change<T>(step: (b: KeyBudget) => T): T {
    const draft = JSON.parse(JSON.stringify(this.budget)) as KeyBudget;
    purge(draft, this.rules, this.now);
    const result = step(draft);
    this.budget = draft;
    return result;
  }

  asks(
    owner: string,
    lane: WantedSlot['lane'],
    caller = 'a',
    of: Partial<WantedSlot> = {},
  ): WantedSlot {
    this.#ids += 1;
    const want = { id: String(this.#ids), lane, caller, ...of };
    this.#waiting.set(owner, [...this.waitingOf(owner), want]);
    const place = `${owner} ${lane} ${caller}`;
    if (!this.#since.has(place)) this.#since.set(place, this.budget.turns.seq);
    return want;
  }

  waitingOf(owner: string): readonly WantedSlot[] {
    return this.#waiting.get(owner) ?? [];
  }

  #waitsOf(owner: string): WaitingCounts {
    const waits = (lane: WantedSlot['lane']): CallerWaits[] => {
      const wants = this.waitingOf(owner).filter((want) => want.lane === lane);
      return [...new Set(wants.map(({ caller }) => caller))].map((caller) => {
        const count = wants.filter((want) => want.caller === caller).length;
        return [caller, count, this.#since.get(`${owner} ${lane} ${caller}`) ?? 0];
      });
    };
    const refreshes = this.waitingOf(owner).filter(({ lane }) => lane === 'refresh').length;
    const [write, interactive] = [waits('write'), waits('interactive')];
    return { write, interactive, refreshes, oldestMs: refreshes };
  }

  claims(owner: string): ClaimResult {
    const others = [...this.#waiting.keys()].filter((each) => each !== owner);
    const wants = this.waitingOf(owner);
    const claimed = this.change((b) =>
      claimSlots(b, this.rules, this.now, wants, {
        owner,
        free: b.limit - used(b),
        waits: this.#waitsOf(owner),
        bids: others.filter((each) => !this.dead.has(each)).map((each) => this.#waitsOf(each)),
        wire: onWire(b, (each) => !this.dead.has(each)),
      }),
    );
    for (const [at, want] of wants.entries()) {
      if (claimed.granted[at]) this.granted.push({ want, owner, at: this.now });
    }
    this.#waiting.set(
      owner,
      wants.filter((_, at) => !claimed.granted[at]),
    );
    for (const { caller, lane } of wants) {
      const stays = this.waitingOf(owner).some((each) => {
        return each.caller === caller && each.lane === lane;
      });
      if (!stays) this.#since.delete(`${owner} ${lane} ${caller}`);
    }
    return claimed;
  }

  ends(id: string, feedback: Feedback = silent, owner = 'one', agoMs = 0) {
    return this.change((b) => {
      return endSlot(b, this.rules, this.now, { id, owner, feedback, agoMs });
    });
  }
}

/** A world in which the first answer has come, so that no probe is needed, and all slots are free. */
function begun(limit: number, of?: Partial<Rules>): World {
  const world = new World(rulesOf(limit, of));
  const first = world.asks('one', 'write');
  world.claims('one');
  world.ends(first.id);
  world.now = 5000;
  world.granted.length = 0;
  return world;
}

const requests = fc.array(
  fc.record({
    atMs: fc.nat(6000),
    owner: fc.constantFrom('one', 'two', 'three'),
    lane: fc.constantFrom('write' as const, 'interactive' as const, 'refresh' as const),
    caller: fc.constantFrom('a', 'b', '__proto__'),
    latencyMs: fc.nat(400),
    sent: fc.boolean(),
    remaining: fc.option(fc.nat(6), { freq: 4 }),
    limit: fc.option(fc.integer({ min: 1, max: 6 }), { freq: 6 }),
    refusedMs: fc.option(fc.option(fc.nat(900)), { freq: 8 }),
  }),
  { minLength: 1, maxLength: 30 },
);

/** Reserved shares, of which a low limit has none, one or two. */
const share = fc.constantFrom(0, 0.2, 0.4);
const shares = fc.record({ writes: share, newcomers: share });

describe('The law', () => {
  it('never gives more than the limit in any window, and serves all who wait, on any schedule', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 6 }), shares, requests, (limit, reserves, asked) => {
        const world = new World(rulesOf(limit, { reserves }));
        const counts: { readonly from: number; to: number }[] = [];
        const coming = asked.map((each) => ({ ...each })).sort((a, b) => a.atMs - b.atMs);
        const how = new Map<string, (typeof coming)[number]>();
        const onWire: { readonly id: string; readonly owner: string; readonly at: number }[] = [];
        for (let steps = 0; steps < 40_000; steps += 1) {
          for (const next = coming; next[0] && next[0].atMs <= world.now; ) {
            const each = next.shift();
            if (each) how.set(world.asks(each.owner, each.lane, each.caller).id, each);
          }
          for (const end of onWire.filter(({ at }) => at <= world.now)) {
            onWire.splice(onWire.indexOf(end), 1);
            const { refusedMs, ...each } = how.get(end.id) ?? fail(end.id);
            const count = counts[Number(end.id)];
            if (!each.sent) {
              world.change((b) => cancelSlot(b, end.id));
              if (count) count.to = count.from;
              continue;
            }
            const refused = refusedMs === null ? {} : { refused: { retryAfterMs: refusedMs } };
            const { limit: told, remaining } = each;
            world.ends(end.id, { limit: told, remaining, resetInMs: 300, ...refused }, end.owner);
            if (count) count.to = world.now + 1000;
          }
          for (const owner of ['one', 'two', 'three']) {
            const before = world.granted.length;
            world.claims(owner);
            const { pause } = world.budget;
            for (const { want } of world.granted.slice(before)) {
              expect(world.now).toBeGreaterThanOrEqual(pause.until ?? 0);
              const latencyMs = how.get(want.id)?.latencyMs ?? 0;
              onWire.push({ id: want.id, owner, at: world.now + latencyMs });
              counts[Number(want.id)] = { from: world.now, to: Infinity };
              const now = counts.filter(({ to }) => to > world.now).length;
              expect(now).toBeLessThanOrEqual(world.budget.limit);
            }
          }
          if (coming.length + onWire.length === 0 && how.size === world.granted.length) break;
          world.now += 20;
        }
        expect(world.granted).toHaveLength(asked.length);
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
    const waits = { write: [], refreshes: 0, oldestMs: 0 };
    const claimed = world.change((b) =>
      claimSlots(b, world.rules, world.now, wants, {
        owner: 'one',
        free: 1,
        waits: {
          ...waits,
          interactive: [
            ['a', 3, 0],
            ['b', 1, null],
          ],
        },
        bids: [{ ...waits, interactive: [['c', 1, 0]] }],
        wire: onWire(b, () => true),
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
    const known = (of: BudgetStore): number => used(of.view.budget);
    expect(known(store)).toBe(2 + 4);
    await clock.advance(400);
    expect(known(store)).toBe(1);
    const claims = (id: string, of: Partial<WantedSlot> = {}): boolean | undefined =>
      store.change((b, now) =>
        claimSlots(b, store.rules, now, [{ id, lane: 'write', caller: 'a', ...of }], {
          owner: '',
          free: b.limit - used(b),
          waits: { write: [['a', 1, 0]], interactive: [], refreshes: 0, oldestMs: 0 },
          bids: [],
          wire: onWire(b, () => true),
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

function fail(id: string): never {
  throw new Error(`${id} was not asked for`);
}
