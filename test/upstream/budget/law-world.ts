import * as fc from 'fast-check';
import { expect } from 'vitest';
import type { CallerWaits, WaitingCounts } from '../../../src/upstream/budget/law/callers/turns.ts';
import {
  type ClaimResult,
  claimSlots,
  type WantedSlot,
} from '../../../src/upstream/budget/law/claim.ts';
import {
  type KeyBudget,
  newBudget,
  type Rules,
} from '../../../src/upstream/budget/law/document.ts';
import { cancelSlot, endSlot } from '../../../src/upstream/budget/law/ended.ts';
import { purge, roomOf } from '../../../src/upstream/budget/law/slots.ts';
import type { Feedback } from '../../../src/upstream/wire/rate-limit-headers.ts';
import { bulkWaits } from '../../support/errands.ts';

/** An answer without rate-limit headers. */
export const silent: Feedback = { limit: null, remaining: null, resetInMs: null };

/** Rules with a window of a second. */
export const rulesOf = (limit: number, of: Partial<Rules> = {}): Rules => {
  return { limit, windowMs: 1000, marginMs: 0, holdMs: null, ghostMs: null, ...of };
};

/** Processes on one budget, under a time that only the test moves. */
export class World {
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
    const bulk = bulkWaits(this.waitingOf(owner));
    return { write, interactive, refreshes, oldestMs: refreshes, bulk };
  }

  claims(owner: string): ClaimResult {
    const others = [...this.#waiting.keys()].filter((each) => each !== owner);
    const wants = this.waitingOf(owner);
    const claimed = this.change((b) =>
      claimSlots(b, this.rules, this.now, wants, {
        owner,
        ...roomOf(b, (each) => !this.dead.has(each)),
        waits: this.#waitsOf(owner),
        bids: others.filter((each) => !this.dead.has(each)).map((each) => this.#waitsOf(each)),
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
export function begun(limit: number, of?: Partial<Rules>): World {
  const world = new World(rulesOf(limit, of));
  const first = world.asks('one', 'write');
  world.claims('one');
  world.ends(first.id);
  world.now = 5000;
  world.granted.length = 0;
  return world;
}

/** Requests of three processes, in any lane, with what they bring. */
export const requests = fc.array(
  fc.record({
    atMs: fc.nat(6000),
    owner: fc.constantFrom('one', 'two', 'three'),
    lane: fc.constantFrom(
      'write' as const,
      'interactive' as const,
      'refresh' as const,
      'bulk' as const,
    ),
    caller: fc.constantFrom<string>('a', 'b', '__proto__'),
    latencyMs: fc.nat(400),
    sent: fc.boolean(),
    remaining: fc.option(fc.nat(6), { freq: 4 }),
    limit: fc.option(fc.integer({ min: 1, max: 6 }), { freq: 6 }),
    refusedMs: fc.option(fc.option(fc.nat(900)), { freq: 8 }),
  }),
  { minLength: 1, maxLength: 30 },
);

const owners = ['one', 'two', 'three'] as const;

/** A grant as a run sees it. */
interface Grant {
  readonly want: WantedSlot;
  readonly owner: string;
  /** The document before the claim that gave it. */
  readonly before: KeyBudget;
}

/** Plays requests until all are done: each of them must be sent, and no window has more than the limit. */
export function play(
  world: World,
  asked: typeof requests extends fc.Arbitrary<infer T> ? T : never,
  onGrant: (grant: Grant) => void = () => {},
): void {
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
    for (const owner of owners) {
      const before = world.granted.length;
      const document = JSON.parse(JSON.stringify(world.budget)) as KeyBudget;
      world.claims(owner);
      const { pause } = world.budget;
      for (const { want } of world.granted.slice(before)) {
        expect(world.now).toBeGreaterThanOrEqual(pause.until ?? 0);
        onGrant({ want, owner, before: document });
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
}

function fail(id: string): never {
  throw new Error(`${id} was not asked for`);
}
