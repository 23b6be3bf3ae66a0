import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Lane, Lanes, type Waiting } from '../../../src/upstream/budget/lanes.ts';

interface Named extends Waiting {
  readonly name: string;
}

function job(name: string, lane: Lane = 'interactive', caller = 'a', urgency = 0): Named {
  return { name, lane, caller, urgency: () => urgency };
}

function drain(lanes: Lanes<Named>): string[] {
  const names: string[] = [];
  for (let next = lanes.next(true); next; next = lanes.next(true)) names.push(next.name);
  return names;
}

function filled(...jobs: Named[]): Lanes<Named> {
  const lanes = new Lanes<Named>();
  for (const each of jobs) lanes.add(each);
  return lanes;
}

describe('Lanes', () => {
  test('serves writes, then reads, then refreshes', () => {
    const lanes = filled(job('f', 'refresh'), job('r'), job('w', 'write'));
    expect(drain(lanes)).toEqual(['w', 'r', 'f']);
  });

  test('gives one slot in four to reads while writes do not end', () => {
    const lanes = filled(job('r1'), job('r2'));
    const order: string[] = [];
    for (let turn = 0; turn < 8; turn += 1) {
      lanes.add(job('w', 'write'));
      order.push(lanes.next(true)?.name ?? '');
    }
    expect(order).toEqual(['w', 'w', 'w', 'r1', 'w', 'w', 'w', 'r2']);
  });

  test('takes turns between callers, whatever the number of their requests', () => {
    const noisy = Array.from({ length: 100 }, (_, n) => job(`noisy ${n}`, 'interactive', 'noisy'));
    const quiet = Array.from({ length: 9 }, (_, caller) =>
      [0, 1, 2].map((n) => job(`quiet ${caller} ${n}`, 'interactive', `quiet ${caller}`)),
    ).flat();
    const order = drain(filled(...noisy, ...quiet));
    expect(order.findLastIndex((name) => name.startsWith('quiet'))).toBe(29);
    expect(order.filter((name) => name.startsWith('noisy 9')).at(-1)).toBe('noisy 99');
  });

  test('serves the requests of one caller in the order of their arrival', () => {
    expect(drain(filled(job('1'), job('2'), job('3')))).toEqual(['1', '2', '3']);
  });

  test('serves what had its turn in vain before all others of its lane, in the same order', () => {
    const lanes = filled(job('r', 'interactive', 'b'), job('w', 'write'));
    lanes.addFirst(job('again 1'));
    lanes.addFirst(job('again 2'));
    expect(drain(lanes)).toEqual(['w', 'again 1', 'again 2', 'r']);
  });

  test('serves the most urgent refresh first', () => {
    const [old, older] = [job('old', 'refresh', '', 5), job('older', 'refresh', '', 9)];
    expect(drain(filled(job('new', 'refresh', '', 1), older, old))).toEqual([
      'older',
      'old',
      'new',
    ]);
  });

  test('leaves the refreshes where they are when none is allowed', () => {
    const lanes = filled(job('f', 'refresh'));
    expect(lanes.next(false)).toBeUndefined();
    expect(lanes.size('refresh')).toBe(1);
  });

  const anyJob = fc.record({
    lane: fc.constantFrom<Lane>('write', 'interactive', 'refresh'),
    caller: fc.constantFrom('a', 'b', 'c'),
    first: fc.boolean(),
    taken: fc.boolean(),
    removed: fc.boolean(),
  });

  test('says beforehand in which order it serves, and what a newcomer finds before it', () => {
    fc.assert(
      fc.property(
        fc.array(anyJob, { maxLength: 40 }),
        fc.constantFrom<'write' | 'interactive'>('write', 'interactive'),
        fc.constantFrom('a', 'b', 'c', 'd'),
        (jobs, lane, caller) => {
          const lanes = new Lanes<Named>();
          jobs.forEach((each, n) => {
            const added = job(String(n), each.lane, each.caller);
            if (each.first) lanes.addFirst(added);
            else lanes.add(added);
            if (each.taken) lanes.next(true);
            if (each.removed) lanes.remove(added);
          });
          const order = [...lanes.inOrder()];
          for (const [index, each] of order.entries()) expect(lanes.position(each)).toBe(index);
          expect(lanes.size('write') + lanes.size('interactive')).toBe(order.length);
          const ahead = lanes.ahead(lane, caller);
          const newcomer = job('new', lane, caller);
          lanes.add(newcomer);
          expect(lanes.position(newcomer)).toBe(ahead);
          const served = [...lanes.inOrder()];
          for (const each of served) expect(lanes.next(false)).toBe(each);
          expect(lanes.next(false)).toBeUndefined();
        },
      ),
    );
  });
});
