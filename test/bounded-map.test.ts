import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BoundedMap } from '../src/bounded-map.ts';

/** The same in the plainest way: a list of entries, the one used last first. */
class Model {
  entries: (readonly [key: string, value: number])[] = [];
  readonly #max: number;
  readonly #heaviest: number;

  constructor(max: number, maxShare: number) {
    this.#max = max;
    this.#heaviest = max * maxShare;
  }

  get weight(): number {
    return this.entries.reduce((sum, [, value]) => sum + weightOf(value), 0);
  }

  peek(key: string): number | undefined {
    return this.entries.find(([each]) => each === key)?.[1];
  }

  get(key: string): number | undefined {
    const value = this.peek(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  set(key: string, value: number): void {
    this.delete(key);
    if (weightOf(value) <= this.#heaviest) this.entries.unshift([key, value]);
    while (this.weight > this.#max) this.entries.pop();
  }

  delete(key: string): boolean {
    const before = this.entries.length;
    this.entries = this.entries.filter(([each]) => each !== key);
    return this.entries.length < before;
  }
}

const weightOf = (value: number) => Math.max(1, value);

describe('BoundedMap', () => {
  test('is a list of what was used last, cut where it gets too heavy', () => {
    const step = fc.record({
      method: fc.constantFrom('get', 'peek', 'set', 'delete'),
      key: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
      value: fc.nat(12),
    });
    const bound = fc.record({
      max: fc.integer({ min: 1, max: 30 }),
      maxShare: fc.constantFrom(1, 1 / 2, 1 / 8),
    });
    fc.assert(
      fc.property(bound, fc.array(step, { maxLength: 60 }), ({ max, maxShare }, steps) => {
        const map = new BoundedMap<number>({ max, maxShare, weigh: (_, value) => value });
        const model = new Model(max, maxShare);
        for (const { method, key, value } of steps) {
          if (method === 'set') {
            map.set(key, value);
            model.set(key, value);
          } else {
            expect(map[method](key)).toBe(model[method](key));
          }
          expect([...map.values()]).toEqual(model.entries.map(([, held]) => held));
          expect([map.size, map.weight]).toEqual([model.entries.length, model.weight]);
          expect(map.weight).toBeLessThanOrEqual(max);
        }
      }),
    );
  });

  test('counts its entries where nothing is said of their weight', () => {
    const map = new BoundedMap<string>({ max: 2 });
    for (const key of ['a', 'b', 'c']) map.set(key, key);
    expect([...map.values()]).toEqual(['c', 'b']);
  });

  test('takes what weighs its whole share, and nothing heavier', () => {
    const map = new BoundedMap<string>({ max: 80, maxShare: 1 / 8, weigh: (text) => text.length });
    map.set('x'.repeat(10), 'light enough');
    map.set('x'.repeat(11), 'too heavy');
    expect([...map.values()]).toEqual(['light enough']);
  });

  test('forgets what a key had when its new value is too heavy', () => {
    const map = new BoundedMap<number>({ max: 10, weigh: (_, value) => value });
    map.set('a', 1);
    map.set('b', 1);
    map.set('a', 11);
    expect(map.get('a')).toBeUndefined();
    expect([...map.values()]).toEqual([1]);
  });

  test('reports every removed key, and none that has a new value', () => {
    const gone: string[] = [];
    const map = new BoundedMap<number>({ max: 3, onForget: (key) => void gone.push(key) });
    for (const key of ['a', 'b', 'c']) map.set(key, 1);
    map.set('a', 2);
    expect(gone).toEqual([]);
    map.set('d', 1);
    map.delete('c');
    expect(gone).toEqual(['b', 'c']);
  });

  test('forgets what it is told to, and keeps the rest', () => {
    const map = new BoundedMap<number>({ max: 10 });
    for (let n = 0; n < 6; n += 1) map.set(`key ${n}`, n);
    map.forget((key, value) => key !== 'key 1' && value % 2 === 1);
    expect([...map.values()]).toEqual([4, 2, 1, 0]);
  });
});
