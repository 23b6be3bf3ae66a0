import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { World } from '../../../support/gateway.ts';
import { rounds } from '../../../support/rounds.ts';
import {
  anyView,
  type Code,
  CodeList,
  plainly,
  sortValue,
  UNCACHED,
  type ViewArguments,
  values,
  windowOf,
} from './code-list.ts';

const withIds = (rows: readonly Omit<Code, 'id'>[]): Code[] =>
  rows.map((row, n) => ({ id: n + 1, ...row }));

/** A change that somebody else makes. */
const change = fc.oneof(
  fc.record({ kind: fc.constant('insert' as const), at: fc.nat(80), row: values }),
  fc.record({ kind: fc.constant('delete' as const), at: fc.nat(80) }),
  fc.record({
    kind: fc.constantFrom('set' as const, 'set shown' as const),
    at: fc.nat(80),
    row: values,
  }),
);
type Change = typeof change extends fc.Arbitrary<infer C> ? C : never;

let made = 10_000;

/** Changes rows, those shown last among them, and returns the ids of those that are no longer what they were. */
function apply(
  list: CodeList,
  changes: readonly Change[],
  shown: readonly number[] = [],
): number[] {
  return changes.flatMap((each) => {
    const { rows } = list;
    const last = rows.findIndex(({ id: own }) => own === shown[each.at % 3]);
    const any = rows.length > 0 ? each.at % rows.length : 0;
    const at = each.kind === 'set shown' && last >= 0 ? last : any;
    const id = rows[at]?.id;
    if (each.kind === 'insert') {
      made += 1;
      rows.splice(at, 0, { id: made, ...each.row });
      return [];
    }
    if (id === undefined) return [];
    if (each.kind === 'delete') rows.splice(at, 1);
    else rows[at] = { id, ...each.row };
    return [id];
  });
}

describe('A view of a list', () => {
  let list: CodeList;
  let uncached: World;

  beforeAll(async () => {
    list = await CodeList.start();
    uncached = await list.world({ LINKS_PAGE_SIZE: '1000', ...UNCACHED });
  });
  afterAll(async () => {
    await list[Symbol.asyncDispose]();
  });

  const anyPart = fc.oneof(
    fc.record({ first: fc.integer({ min: 0, max: 30 }) }),
    fc.record({ last: fc.integer({ min: 0, max: 30 }) }),
    fc.record({ offset: fc.nat(70), first: fc.integer({ min: 0, max: 30 }) }),
    fc.record({ offset: fc.constantFrom(0, 1, 10, 4_000_000, 2_000_000_000) }),
  );
  type Part = { readonly first?: number; readonly last?: number; readonly offset?: number };

  const cut = (all: readonly Code[], { first, last, offset = 0 }: Part) => {
    const from = last === undefined ? Math.min(offset, all.length) : Math.max(0, all.length - last);
    const to = last === undefined ? Math.min(all.length, from + (first ?? 20)) : all.length;
    return {
      ids: all.slice(from, to).map(({ id }) => id),
      total: all.length,
      hasNextPage: to < all.length,
      hasPreviousPage: from > 0,
    };
  };

  const scene = fc.record({
    rows: fc.array(values, { maxLength: 60, size: 'max' }),
    clamp: fc.constantFrom(3, 10, 1000),
    tells: fc.boolean(),
    steps: fc.array(
      fc.record({
        changes: fc.array(change, { maxLength: 4 }),
        view: anyView,
        part: anyPart,
      }),
      { minLength: 5, maxLength: 10 },
    ),
  });

  it('is the whole list, plainly filtered and sorted, whatever changes', async () => {
    let windows = 0;
    await fc.assert(
      fc.asyncProperty(scene, async ({ rows, clamp, tells, steps }) => {
        Object.assign(list, { rows: withIds(rows), clamp, tells });
        for (const { changes, view, part } of steps) {
          apply(list, changes);
          const found = await windowOf(uncached, { ...view, ...part });
          const { total, ...expected } = cut(plainly(list.rows, view), part);
          expect(found, JSON.stringify({ view, part })).toMatchObject(expected);
          const { from, to } = view.createdAt ?? {};
          const isPlain = !view.search?.trim() && !view.orderBy && !from && !to;
          if (tells || !isPlain) expect(found.total).toBe(total);
          windows += 1;
        }
      }),
      { numRuns: rounds(12) },
    );
    expect(windows).toBeGreaterThanOrEqual(rounds(12) * 5);
  });

  it('is so from cached pages too, with rows that are deleted through the gateway', async () => {
    await fc.assert(
      fc.asyncProperty(scene, async ({ rows, clamp, tells, steps }) => {
        Object.assign(list, { rows: withIds(rows), clamp, tells });
        const world = await list.world({ LINKS_PAGE_SIZE: '10' });
        try {
          for (const { changes, view, part } of steps) {
            for (const { at } of changes.slice(0, 1)) {
              const row = list.rows[at % Math.max(1, list.rows.length)];
              if (!row) continue;
              await world.data('mutation ($id: ID!) { deleteQrCode(id: $id) { __typename } }', {
                id: String(row.id),
              });
            }
            const { total: _, ...expected } = cut(plainly(list.rows, view), part);
            expect(await windowOf(world, { ...view, ...part })).toMatchObject(expected);
          }
        } finally {
          await world.close();
        }
      }),
      { numRuns: rounds(4) },
    );
  });

  const walk = fc.record({
    rows: fc.array(values, { minLength: 1, maxLength: 60, size: 'max' }),
    clamp: fc.constantFrom(3, 10, 1000),
    view: anyView,
    size: fc.integer({ min: 1, max: 12 }),
    forwards: fc.boolean(),
    steps: fc.array(fc.array(change, { maxLength: 5, size: 'max' }), {
      maxLength: 12,
      size: 'max',
    }),
  });

  it('is paged through with each row once, in order', async () => {
    await fc.assert(
      fc.asyncProperty(walk, async ({ rows, clamp, view, size, forwards }) => {
        Object.assign(list, { rows: withIds(rows), clamp, tells: true });
        const shown = await pageThrough(view, { size, forwards });
        expect(shown).toEqual(plainly(list.rows, view).map(({ id }) => id));
      }),
      { numRuns: rounds(8) },
    );
  });

  const busyWalk = walk.chain((one) =>
    fc.record({
      one: fc.constant(one),
      // More rows than are sorted in one piece.
      length: fc.oneof({ arbitrary: fc.constant(one.rows.length), weight: 9 }, fc.constant(2100)),
      /** Number of values that rows have, if they are not all different. */
      values: fc.option(fc.integer({ min: 1, max: 6 })),
    }),
  );

  it('is paged through while rows come, go and change: no row that stays is lost, none shown twice', async () => {
    await fc.assert(
      fc.asyncProperty(busyWalk, async ({ one, length, values: most }) => {
        const { rows, clamp, forwards, steps, ...rest } = one;
        const isLong = length > rows.length;
        const size = isLong ? 40 * one.size : one.size;
        const field = rest.view.orderBy?.field === 'ID' ? 'ID' : 'SCANS';
        const view = { ...rest.view, orderBy: { ...rest.view.orderBy, field } } as ViewArguments;
        const valued = (each: Change): Change => {
          if (!('row' in each) || field === 'ID') return each;
          const scans = most === null ? (made += 1) : each.at % most;
          return { ...each, row: { ...each.row, scans } };
        };
        const all = Array.from({ length }, (_, n) => ({
          ...(rows[n % rows.length] as Omit<Code, 'id'>),
          id: n + 1,
          scans: most === null ? ((n + 1) * 7919) % 10_007 : ((n + 1) * 7919) % most,
        }));
        Object.assign(list, { rows: all, clamp: isLong ? 1000 : clamp, tells: true });
        const stable = new Set(plainly(list.rows, view).map(({ id }) => id));
        const shown = await pageThrough(view, { size, forwards }, (step, last) => {
          const before = new Map(list.rows.map((row) => [row.id, row]));
          for (const id of apply(list, (steps[step] ?? []).map(valued), last)) {
            const [was, is] = [before.get(id), list.rows.find((row) => row.id === id)];
            const stays =
              was &&
              is &&
              plainly([is], view).length > 0 &&
              sortValue(was, field) === sortValue(is, field);
            if (!stays) stable.delete(id);
          }
        });
        const left = plainly(list.rows, view).filter(({ id }) => stable.has(id));
        expect(shown.filter((id) => stable.has(id))).toEqual(left.map(({ id }) => id));
      }),
      { numRuns: rounds(16) },
    );
  });

  /** All rows that the windows of a walk show, in the order of the list. */
  async function pageThrough(
    view: ViewArguments,
    { size, forwards }: { readonly size: number; readonly forwards: boolean },
    between: (step: number, last: readonly number[]) => void = () => {},
  ): Promise<number[]> {
    const shown: number[] = [];
    let cursor: string | null = null;
    for (let step = 0; step < 100; step += 1) {
      const part: object = forwards
        ? { first: size, after: cursor }
        : { last: size, before: cursor };
      const found = await windowOf(uncached, { ...view, ...part });
      if (forwards) shown.push(...found.ids);
      else shown.unshift(...found.ids);
      if (!(forwards ? found.hasNextPage : found.hasPreviousPage)) return shown;
      cursor = forwards ? found.endCursor : found.startCursor;
      between(step, forwards ? shown.slice(-3).toReversed() : shown.slice(0, 3));
    }
    throw new Error('a walk without an end');
  }
});
