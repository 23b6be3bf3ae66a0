import { describe, expect, test } from 'vitest';
import { accepted } from '../../../src/upstream/budget/law/caution.ts';
import { claimSlots } from '../../../src/upstream/budget/law/claim.ts';
import {
  type KeyBudget,
  type Lane,
  newBudget,
  type Rules,
} from '../../../src/upstream/budget/law/document.ts';
import { cancelSlot } from '../../../src/upstream/budget/law/ended.ts';
import { Queue, type Waiting } from '../../../src/upstream/budget/queue.ts';

interface Named extends Waiting {
  readonly name: string;
}

function job(name: string, lane: Lane = 'interactive', caller = 'a', urgency = 0): Named {
  return { name, lane, caller, urgency: () => urgency };
}

const rules: Rules = { limit: 60, windowMs: 60_000 };

/** A queue, and a budget whose law takes out of them what is next. */
class Turns {
  readonly #budget: KeyBudget;
  readonly lanes: Queue<Named>;

  constructor(...jobs: Named[]) {
    this.#budget = newBudget(rules, 0);
    accepted(this.#budget);
    this.lanes = new Queue<Named>();
    for (const each of jobs) this.lanes.add(each);
  }

  /** Gives one slot, which is free again at once. */
  next(allowRefresh: boolean): Named | undefined {
    const options = { drains: !allowRefresh, most: 1 };
    const [first] = claimSlots(this.#budget, rules, 0, this.lanes, options).granted;
    if (first) cancelSlot(this.#budget, first.id);
    return first?.request;
  }

  drain(): string[] {
    const names: string[] = [];
    for (let next = this.next(true); next; next = this.next(true)) names.push(next.name);
    return names;
  }
}

describe('The queue', () => {
  test('serves writes, then reads, then refreshes', () => {
    const queue = new Turns(job('f', 'refresh'), job('r'), job('w', 'write'));
    expect(queue.drain()).toEqual(['w', 'r', 'f']);
  });

  test('gives one slot in four to reads while writes do not end', () => {
    const queue = new Turns(job('r1'), job('r2'));
    const order: string[] = [];
    for (let turn = 0; turn < 8; turn += 1) {
      queue.lanes.add(job('w', 'write'));
      order.push(queue.next(true)?.name ?? '');
    }
    expect(order).toEqual(['w', 'w', 'w', 'r1', 'w', 'w', 'w', 'r2']);
  });

  test('takes turns between callers, whatever the number of their requests', () => {
    const noisy = Array.from({ length: 100 }, (_, n) => job(`noisy ${n}`, 'interactive', 'noisy'));
    const quiet = Array.from({ length: 9 }, (_, caller) =>
      [0, 1, 2].map((n) => job(`quiet ${caller} ${n}`, 'interactive', `quiet ${caller}`)),
    ).flat();
    const order = new Turns(...noisy, ...quiet).drain();
    expect(order.findLastIndex((name) => name.startsWith('quiet'))).toBe(29);
    expect(order.filter((name) => name.startsWith('noisy 9')).at(-1)).toBe('noisy 99');
  });

  test('serves the requests of one caller in the order of their arrival', () => {
    expect(new Turns(job('1'), job('2'), job('3')).drain()).toEqual(['1', '2', '3']);
  });

  test('serves what had its turn in vain before all others of its lane, in the same order', () => {
    const queue = new Turns(job('r', 'interactive', 'b'), job('w', 'write'));
    queue.lanes.add(job('again 1'), true);
    queue.lanes.add(job('again 2'), true);
    expect(queue.drain()).toEqual(['w', 'again 1', 'again 2', 'r']);
  });

  test('serves the most urgent refresh first', () => {
    const [old, older] = [job('old', 'refresh', '', 5), job('older', 'refresh', '', 9)];
    expect(new Turns(job('new', 'refresh', '', 1), older, old).drain()).toEqual([
      'older',
      'old',
      'new',
    ]);
  });

  test('leaves the refreshes where they are when none is allowed', () => {
    const queue = new Turns(job('f', 'refresh'));
    expect(queue.next(false)).toBeUndefined();
    expect(queue.lanes.sizes.refresh).toBe(1);
  });
});
