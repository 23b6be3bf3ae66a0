import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Lanes, type Waiting } from '../../../src/upstream/budget/lanes.ts';
import { callerInClass } from '../../../src/upstream/budget/law/callers/caller-names.ts';
import { accepted } from '../../../src/upstream/budget/law/caution.ts';
import { claimSlots } from '../../../src/upstream/budget/law/claim.ts';
import { newBudget, type Rules, type TurnLane } from '../../../src/upstream/budget/law/document.ts';
import { cancelSlot } from '../../../src/upstream/budget/law/ended.ts';
import { classesOf, windowMs } from './world.ts';

interface Named extends Waiting {
  readonly name: string;
}

/** Lanes with classes, and a budget whose law takes out of them what is next. */
class Queue {
  readonly rules: Rules;
  readonly lanes: Lanes<Named>;
  readonly #budget;
  #jobs = 0;

  constructor(weights: Readonly<Record<string, number>>) {
    const classes = classesOf(
      Object.fromEntries(Object.entries(weights).map(([name, weight]) => [name, { weight }])),
    );
    this.rules = { limit: 60, windowMs, classes };
    this.#budget = newBudget(this.rules, 0);
    accepted(this.#budget);
    this.lanes = new Lanes<Named>({ budget: this.#budget }, this.rules);
  }

  add(lane: TurnLane, caller: string, again = false): Named {
    this.#jobs += 1;
    const job = { name: `${caller} ${this.#jobs}`, lane, caller, urgency: () => 0 };
    this.lanes.add(job, again);
    return job;
  }

  /** Gives one slot, which is free again immediately. */
  next(): Named | undefined {
    const [first] = claimSlots(this.#budget, this.rules, 0, this.lanes, { free: 1 }).granted;
    if (first) cancelSlot(this.#budget, first.id);
    return first?.request;
  }
}

const weight = fc.constantFrom(0, 0.001, 0.3, 0.5, 1, 1, 3, 7, 1000);
const anyWeights = fc.record({ default: weight, a: weight, b: weight });
const anyCaller = fc
  .tuple(fc.constantFrom('one', 'two', 'three'), fc.constantFrom('default', 'a', 'b', 'unknown'))
  .map(([name, callerClass]) => callerInClass(name, callerClass));
const anyLane = fc.constantFrom<TurnLane>('write', 'interactive');
const anyJob = fc.record({
  lane: anyLane,
  caller: anyCaller,
  again: fc.integer({ max: 5, min: 0 }).map((n) => n === 0),
  fate: fc.constantFrom<'waits' | 'leaves' | 'turn'>('waits', 'waits', 'leaves', 'turn'),
});
const anyJobs = fc.array(anyJob, { maxLength: 60 });

describe('Classes of callers', () => {
  test('have the turns that their order and their positions say', () => {
    fc.assert(
      fc.property(anyWeights, anyJobs, anyLane, anyCaller, (weights, jobs, lane, caller) => {
        const queue = new Queue(weights);
        const { lanes } = queue;
        for (const each of jobs) {
          const added = queue.add(each.lane, each.caller, each.again);
          if (each.fate === 'turn') queue.next();
          if (each.fate === 'leaves') lanes.remove(added);
        }
        const ahead = lanes.ahead(lane, caller);
        const newcomer = queue.add(lane, caller);
        expect(lanes.position(newcomer)).toBe(ahead);
        const order = [...lanes.inOrder()];
        for (const [index, each] of order.entries()) expect(lanes.position(each)).toBe(index);
        for (const each of order) expect(queue.next()?.name).toBe(each.name);
        expect(queue.next()).toBeUndefined();
      }),
      { numRuns: 500 },
    );
  });
});
