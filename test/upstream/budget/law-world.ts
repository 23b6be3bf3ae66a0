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
  return { limit, windowMs: 1000, ...of };
};

/** Requests that wait for slots of one budget, under a time that only the test moves. */
export class World {
  readonly rules: Rules;
  now = 0;
  budget: KeyBudget;
  /** What waits, in the order in which it was asked for. */
  waiting: readonly WantedSlot[] = [];
  readonly #since = new Map<string, number>();
  /** What was granted, in this order. */
  readonly granted: WantedSlot[] = [];
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

  asks(lane: WantedSlot['lane'], caller = 'a'): WantedSlot {
    this.#ids += 1;
    const want = { id: String(this.#ids), lane, caller };
    this.waiting = [...this.waiting, want];
    const place = `${lane} ${caller}`;
    if (!this.#since.has(place)) this.#since.set(place, this.budget.turns.seq);
    return want;
  }

  /** What still waits of some lanes. */
  waitingIn(...lanes: readonly WantedSlot['lane'][]): number {
    return this.waiting.filter(({ lane }) => lanes.includes(lane)).length;
  }

  get #waits(): WaitingCounts {
    const waits = (lane: WantedSlot['lane']): CallerWaits[] => {
      const wants = this.waiting.filter((want) => want.lane === lane);
      return [...new Set(wants.map(({ caller }) => caller))].map((caller) => {
        const count = wants.filter((want) => want.caller === caller).length;
        return [caller, count, this.#since.get(`${lane} ${caller}`) ?? 0];
      });
    };
    const refreshes = this.waitingIn('refresh');
    const [write, interactive] = [waits('write'), waits('interactive')];
    return { write, interactive, refreshes, bulk: bulkWaits(this.waiting) };
  }

  claims(): ClaimResult {
    const wants = this.waiting;
    const waits = this.#waits;
    const claimed = this.change((b) =>
      claimSlots(b, this.rules, this.now, wants, { ...roomOf(b), waits }),
    );
    this.granted.push(...wants.filter((_, at) => claimed.granted[at]));
    this.waiting = wants.filter((_, at) => !claimed.granted[at]);
    for (const { caller, lane } of wants) {
      const stays = this.waiting.some((each) => each.caller === caller && each.lane === lane);
      if (!stays) this.#since.delete(`${lane} ${caller}`);
    }
    return claimed;
  }

  ends(id: string, feedback: Feedback = silent) {
    return this.change((b) => endSlot(b, this.rules, this.now, { id, feedback }));
  }
}

/** A world in which the first answer has come, so that no probe is needed, and all slots are free. */
export function begun(limit: number, of?: Partial<Rules>): World {
  const world = new World(rulesOf(limit, of));
  const first = world.asks('write');
  world.claims();
  world.ends(first.id);
  world.now = 5000;
  world.granted.length = 0;
  return world;
}

/** Requests in any lane, with what they bring. */
export const requests = fc.array(
  fc.record({
    atMs: fc.nat(6000),
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

/** A grant as a run sees it. */
interface Grant {
  readonly want: WantedSlot;
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
  const onWire: { readonly id: string; readonly at: number }[] = [];
  for (let steps = 0; steps < 40_000; steps += 1) {
    for (const next = coming; next[0] && next[0].atMs <= world.now; ) {
      const each = next.shift();
      if (each) how.set(world.asks(each.lane, each.caller).id, each);
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
      world.ends(end.id, { limit: told, remaining, resetInMs: 300, ...refused });
      if (count) count.to = world.now + 1000;
    }
    const before = world.granted.length;
    const document = JSON.parse(JSON.stringify(world.budget)) as KeyBudget;
    world.claims();
    const { pause } = world.budget;
    for (const want of world.granted.slice(before)) {
      expect(world.now).toBeGreaterThanOrEqual(pause.until ?? 0);
      onGrant({ want, before: document });
      const latencyMs = how.get(want.id)?.latencyMs ?? 0;
      onWire.push({ id: want.id, at: world.now + latencyMs });
      counts[Number(want.id)] = { from: world.now, to: Infinity };
      const now = counts.filter(({ to }) => to > world.now).length;
      expect(now).toBeLessThanOrEqual(world.budget.limit);
    }
    if (coming.length + onWire.length === 0 && how.size === world.granted.length) break;
    world.now += 20;
  }
  expect(world.granted).toHaveLength(asked.length);
}

function fail(id: string): never {
  throw new Error(`${id} was not asked for`);
}
