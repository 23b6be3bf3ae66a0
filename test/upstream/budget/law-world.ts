import * as fc from 'fast-check';
import { expect } from 'vitest';
import {
  type ClaimOptions,
  type ClaimResult,
  claimSlots,
} from '../../../src/upstream/budget/law/claim.ts';
import {
  type KeyBudget,
  type Lane,
  newBudget,
  type Rules,
} from '../../../src/upstream/budget/law/document.ts';
import { cancelSlot, endSlot } from '../../../src/upstream/budget/law/ended.ts';
import { purge } from '../../../src/upstream/budget/law/slots.ts';
import { Queue, type Waiting } from '../../../src/upstream/budget/queue.ts';
import type { Feedback } from '../../../src/upstream/wire/rate-limit-headers.ts';

/** An answer without rate-limit headers. */
export const silent: Feedback = { limit: null, remaining: null, resetInMs: null };

/** Rules with a window of a second. */
export const rulesOf = (limit: number, of: Partial<Rules> = {}): Rules => {
  return { limit, windowMs: 1000, ...of };
};

/** A request for a slot. */
export interface Want extends Waiting {
  /** Of its slot; empty while it waits. */
  id: string;
}

/** Requests that wait for slots of one budget, under a time that only the test moves. */
export class World {
  readonly rules: Rules;
  now = 0;
  budget: KeyBudget;
  readonly lanes: Queue<Want>;
  /** What was granted, in this order. */
  readonly granted: Want[] = [];

  constructor(rules: Rules) {
    this.rules = rules;
    this.budget = newBudget(rules, 0);
    this.lanes = new Queue<Want>(rules);
  }

  /** Takes a step as a store does that keeps text. */
  change<T>(step: (b: KeyBudget) => T): T {
    this.budget = JSON.parse(JSON.stringify(this.budget)) as KeyBudget;
    purge(this.budget, this.now);
    return step(this.budget);
  }

  asks(lane: Lane, caller = 'a', again = false): Want {
    const want = { id: '', lane, caller, urgency: () => 0 };
    this.lanes.add(want, again);
    return want;
  }

  /** How many requests wait in some lanes. */
  waitingIn(...lanes: readonly Lane[]): number {
    return lanes.reduce((sum, lane) => sum + this.lanes.sizes[lane], 0);
  }

  claims(options?: ClaimOptions): ClaimResult<Want> {
    const claimed = this.change((b) => claimSlots(b, this.rules, this.now, this.lanes, options));
    for (const { id, request } of claimed.granted) {
      request.id = id;
      this.granted.push(request);
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
  readonly want: Want;
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
  const how = new Map<Want, (typeof coming)[number]>();
  const onWire: { readonly want: Want; readonly at: number }[] = [];
  for (let steps = 0; steps < 40_000; steps += 1) {
    for (const next = coming; next[0] && next[0].atMs <= world.now; ) {
      const each = next.shift();
      if (each) how.set(world.asks(each.lane, each.caller), each);
    }
    for (const end of onWire.filter(({ at }) => at <= world.now)) {
      onWire.splice(onWire.indexOf(end), 1);
      const { id } = end.want;
      const { refusedMs, ...each } = how.get(end.want) ?? fail(id);
      const count = counts[Number(id)];
      if (!each.sent) {
        world.change((b) => cancelSlot(b, id));
        if (count) count.to = count.from;
        continue;
      }
      const refused = refusedMs === null ? {} : { refused: { retryAfterMs: refusedMs } };
      const { limit: told, remaining } = each;
      world.ends(id, { limit: told, remaining, resetInMs: 300, ...refused });
      if (count) count.to = world.now + 1000;
    }
    const before = world.granted.length;
    const document = JSON.parse(JSON.stringify(world.budget)) as KeyBudget;
    world.claims();
    const { pause } = world.budget;
    for (const want of world.granted.slice(before)) {
      expect(world.now).toBeGreaterThanOrEqual(pause.until ?? 0);
      onGrant({ want, before: document });
      const latencyMs = how.get(want)?.latencyMs ?? 0;
      onWire.push({ want, at: world.now + latencyMs });
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
