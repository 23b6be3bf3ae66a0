import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { applyPatch } from '../../client/document.ts';
import { diff, type PatchOperation } from '../../src/live/diff.ts';

/** As it is after a walk over the wire, which knows no -0 and no `undefined`. */
function sent<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

/** The patch, once it is sure that it does what it is for and changes nothing on the way. */
function checkedDiff(before: unknown, after: unknown): PatchOperation[] {
  const held = sent(before);
  const patch = diff(before, after);
  expect(applyPatch(held, sent(patch))).toStrictEqual(after);
  expect(held).toStrictEqual(before);
  return patch;
}

const rows = (count: number, make = (n: number): unknown => ({ id: `${n}`, clicks: n })) =>
  Array.from({ length: count }, (_, n) => make(n));

const edges = (...ids: number[]) => ({
  edges: ids.map((id) => ({ cursor: `at ${id}`, node: { id, name: `row ${id}` } })),
});

describe('a patch', () => {
  const name = fc.constantFrom('id', 'node', 'name', 'edges', '__proto__', 'a/b', 'm~n', '~1', '');
  const scalar = fc.oneof(fc.nat(3), fc.constantFrom('1', 'a', '', null, true));
  const members = <T>(value: fc.Arbitrary<T>) =>
    fc
      .uniqueArray(fc.tuple(name, value), { selector: ([key]) => key, maxLength: 4 })
      .map((entries): unknown => Object.fromEntries(entries));
  const { any } = fc.letrec((tie) => ({
    any: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      scalar,
      members(tie('any')),
      fc.array(tie('any'), { maxLength: 4 }),
      fc.array(members(tie('any')), { maxLength: 5 }),
      fc.jsonValue(),
    ),
  }));
  /** Rows that are told apart by their ids, most of them. */
  const listed = fc
    .uniqueArray(fc.record({ id: fc.oneof(fc.nat(12), fc.constantFrom('1', '2')), value: any }), {
      selector: ({ id }) => id,
      maxLength: 12,
    })
    .chain((list) =>
      fc.constantFrom<unknown>(
        list,
        [...list, null],
        { edges: list.map((node, place) => ({ cursor: place, node })) },
        { edges: list.map(({ id, value }) => ({ id: value, node: { id } })) },
        list.map(({ id, value }) => ({ id: id === 1 ? 2 : id, value })),
      ),
    );

  test('makes any value of any other', () => {
    fc.assert(
      fc.property(any, any, (before, after) => void checkedDiff(sent(before), sent(after))),
      { numRuns: 700 },
    );
  });

  test('makes any list of rows of any other', () => {
    fc.assert(
      fc.property(listed, listed, (before, after) => void checkedDiff(sent(before), sent(after))),
      { numRuns: 600 },
    );
  });

  test('is empty between equal values', () => {
    fc.assert(
      fc.property(fc.oneof(any, listed), (value) => {
        expect(diff(sent(value), sent(value))).toEqual([]);
      }),
    );
  });

  test('begins every path with the one it is given', () => {
    fc.assert(
      fc.property(listed, listed, (before, after) => {
        const plain = diff(sent(before), sent(after));
        const placed = plain.map((step) => ({
          ...step,
          path: `/data${step.path}`,
          ...('from' in step && { from: `/data${step.from}` }),
        }));
        expect(diff(sent(before), sent(after), '/data')).toEqual(placed);
      }),
    );
  });
});

describe('the members of an object', () => {
  test('come, go and change by themselves', () => {
    const before = { data: { channel: { id: '1', name: 'a', 'a/b~c': 1 } }, errors: [{ n: 1 }] };
    const after = { data: { channel: { id: '1', name: 'x', views: null } } };
    expect(checkedDiff(before, after)).toEqual([
      { op: 'remove', path: '/errors' },
      { op: 'remove', path: '/data/channel/a~1b~0c' },
      { op: 'replace', path: '/data/channel/name', value: 'x' },
      { op: 'add', path: '/data/channel/views', value: null },
    ]);
  });

  test('are replaced together where none of them is left', () => {
    const before = { data: { stats: { clicks: 1, rest: { views: 1, bots: 1 } }, ok: true } };
    const after = { data: { stats: { clicks: 2, rest: { views: 2, bots: 2 } }, ok: true } };
    expect(checkedDiff(before, after)).toEqual([
      { op: 'replace', path: '/data/stats', value: after.data.stats },
    ]);
  });

  test('are left alone where they are the same, however empty', () => {
    expect(checkedDiff({ a: { b: {}, c: 1, d: 1 } }, { a: { b: {}, c: 2, d: 2 } })).toHaveLength(2);
    expect(checkedDiff({ a: { b: [], c: 1, d: 1 } }, { a: { b: [], c: 2, d: 2 } })).toHaveLength(2);
  });

  test('may be of another kind than before', () => {
    const kinds = [null, 1, '1', true, {}, [], { a: [] }, [{}]];
    for (const before of kinds) {
      for (const after of kinds.filter((kind) => kind !== before)) {
        expect(checkedDiff({ id: 1, a: before }, { id: 1, a: after })).toHaveLength(1);
      }
    }
  });
});

describe('a list whose rows have ids', () => {
  test.each([0, 50, 100])('takes one step for a row inserted at %i', (place) => {
    const row = { id: 'new', clicks: 0 };
    const after = rows(100).toSpliced(place, 0, row);
    expect(checkedDiff(rows(100), after)).toEqual([{ op: 'add', path: `/${place}`, value: row }]);
  });

  test.each([
    [0, 99],
    [99, 0],
    [20, 60],
  ])('takes one step for a row moved from %i to %i', (from, to) => {
    const [row] = rows(100).slice(from);
    const after = rows(100).toSpliced(from, 1).toSpliced(to, 0, row);
    expect(checkedDiff(rows(100), after)).toEqual([
      { op: 'move', from: `/${from}`, path: `/${to}` },
    ]);
  });

  test('takes one step for each row removed and each member changed', () => {
    const after = rows(100, (n) => ({ id: `${n}`, clicks: n === 70 ? -1 : n })).toSpliced(30, 2);
    expect(checkedDiff(rows(100), after)).toEqual([
      { op: 'remove', path: '/31' },
      { op: 'remove', path: '/30' },
      { op: 'replace', path: '/68/clicks', value: -1 },
    ]);
  });

  test('knows a row by its node', () => {
    const { edges: added } = edges(4);
    expect(checkedDiff(edges(1, 2, 3), edges(4, 1, 2, 3))).toEqual([
      { op: 'add', path: '/edges/0', value: added[0] },
    ]);
    const sameId = (...ids: number[]) => ({
      edges: edges(...ids).edges.map((edge) => ({ id: 'same', ...edge })),
    });
    const [before, after] = [sameId(1, 2), sameId(2, 1)];
    expect(checkedDiff(before, after)).toEqual([
      { op: 'move', from: '/edges/1', path: '/edges/0' },
    ]);
  });

  test('takes the number 1 and the text "1" for two', () => {
    const before = [{ id: 1 }, { id: '1' }];
    expect(checkedDiff(before, before.toReversed())).toHaveLength(1);
  });

  test('of which no row is left is replaced', () => {
    const after = { id: 1, rows: rows(20, (n) => ({ id: `other ${n}` })) };
    expect(checkedDiff({ id: 1, rows: rows(20) }, after)).toEqual([
      { op: 'replace', path: '/rows', value: after.rows },
    ]);
  });

  test('moves no row that can stay, in whatever order 500 come', () => {
    const order = fc.shuffledSubarray(rows(500), { minLength: 500 });
    fc.assert(
      fc.property(order, (after) => {
        const patch = checkedDiff(rows(500), after);
        expect(patch.every(({ op }) => op === 'move')).toBe(true);
        const places = after.map((row) => Number((row as { id: string }).id));
        expect(patch).toHaveLength(500 - lengthOfRise(places));
      }),
      { numRuns: 10 },
    );
  });

  /** In the plainest way: for each number, the longest rise that ends with it. */
  function lengthOfRise(numbers: readonly number[]): number {
    const lengths: number[] = [];
    for (const [index, number] of numbers.entries()) {
      const shorter = lengths.filter((_, before) => (numbers[before] ?? number) < number);
      lengths[index] = Math.max(0, ...shorter) + 1;
    }
    return Math.max(...lengths);
  }
});

describe('a list whose rows have no ids, or the same', () => {
  test.each<[string, (n: number) => unknown]>([
    ['no ids', (n) => ({ name: `row ${n}` })],
    ['an id twice', (n) => ({ id: n % 50, name: `row ${n}` })],
    ['a row that is null', (n) => (n === 70 ? null : { id: n })],
    ['scalars', (n) => `row ${n}`],
  ])('takes one step for a row that comes or goes: %s', (_, make) => {
    const list = rows(100, make);
    const longer = list.toSpliced(40, 0, { id: 'new' });
    expect(checkedDiff(list, longer)).toEqual([{ op: 'add', path: '/40', value: { id: 'new' } }]);
    expect(checkedDiff(longer, list)).toEqual([{ op: 'remove', path: '/40' }]);
  });

  test('is compared place by place where it changed', () => {
    const before = [{ a: 1, b: 1 }, { a: 2, b: 2 }, null];
    const after = [{ a: 1, b: 1 }, { a: 2, b: 3 }, null];
    expect(checkedDiff(before, after)).toEqual([{ op: 'replace', path: '/1/b', value: 3 }]);
    const ends = { list: ['a', 'b', 'c', 'd'] };
    expect(checkedDiff(ends, { list: ['a', 'x', 'y', 'd'] })).toHaveLength(2);
  });

  test('takes no member of a prototype for one of its own', () => {
    expect(checkedDiff([JSON.parse('{"__proto__":{}}')], [{ x: 1 }])).toHaveLength(1);
  });
});

describe('what is patched', () => {
  test('keeps every part that no step touches', () => {
    const before = { data: { a: { list: rows(3) }, b: { c: {} } } };
    const after = sent(before);
    after.data.a.list.push({ id: 'new' });
    const patched = applyPatch(before, diff(before, after)) as typeof before;
    expect(patched).toStrictEqual(after);
    expect(patched.data.b).toBe(before.data.b);
    expect(patched.data.a.list[0]).toBe(before.data.a.list[0]);
    expect(patched.data.a).not.toBe(before.data.a);
  });

  test('takes a row at the end of a list, and refuses a path that leads nowhere', () => {
    expect(applyPatch([1], [{ op: 'add', path: '/-', value: 2 }])).toEqual([1, 2]);
    expect(() => applyPatch({}, [{ op: 'replace', path: '/a/b/c', value: 2 }])).toThrow(TypeError);
  });

  test('can make a member of any name, and nothing of any prototype', () => {
    const patch = [{ op: 'add', path: '/__proto__', value: { polluted: true } }] as const;
    const patched = applyPatch({}, patch) as Record<string, unknown>;
    expect(Object.keys(patched)).toEqual(['__proto__']);
    expect(patched['polluted']).toBeUndefined();
    applyPatch({}, [{ op: 'add', path: '/__proto__/polluted', value: true }]);
    applyPatch({}, [{ op: 'add', path: '/constructor/prototype/polluted', value: true }]);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});
