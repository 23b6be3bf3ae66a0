import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MemoryEngine } from '../../../src/store/memory-engine.ts';
import { Store } from '../../../src/store/store.ts';
import { type SavedSlot, SavedSlots } from '../../../src/upstream/budget/saved-slots.ts';
import { createBudget, Errand, enqueueAll, silent } from '../../support/errands.ts';
import { rounds } from '../../support/rounds.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const WINDOW_MS = 60_000;
const TIMEOUT_MS = 10_000;
/** A request leaves within its timeout, and ends within another. */
const OPEN_MS = 2 * TIMEOUT_MS;
/** The clocks of the machines of two processes differ by this much at most. */
const CLOCKS_DIFFER_MS = 1000;
const span = { windowMs: WINDOW_MS, timeoutMs: TIMEOUT_MS };
const UNKNOWN = 'half the limit';
const ALL = { from: '', to: '~' };

/** What a database holds while its owners follow each other, each killed by the next. */
function database(clock: VirtualClock, knownSince = clock.wall() - 3_600_000) {
  const engine = new MemoryEngine();
  let store: Store | undefined;
  const open = async (own: VirtualClock): Promise<SavedSlots> => {
    await store?.committed();
    store = new Store({ engine, clock: own, complain: () => {}, knownSince });
    return SavedSlots.load({ store, clock: own, keepMs: WINDOW_MS });
  };
  return {
    engine,
    open,
    begin: async (key = 'a-key') => (await open(clock)).of(key, span),
    /** How much longer what others have spent counts in a process that starts now. */
    recalled: async (own: VirtualClock, key = 'a-key'): Promise<number[] | typeof UNKNOWN> => {
      const { recalled, unknownUntil } = (await open(own)).of(key, span);
      if (unknownUntil > own.now()) return UNKNOWN;
      return recalled.map(({ until }) => until - own.now()).sort((a, b) => a - b);
    },
    rows: async (): Promise<Map<string, Buffer>> => {
      await store?.committed();
      const rows = new Map<string, Buffer>();
      for await (const [row, value] of engine.read(ALL)) rows.set(row, value);
      return rows;
    },
  };
}

/** A clock of another process, whose monotonic time says nothing to the first; `ms` later. */
async function later(clock: VirtualClock, ms: number, startedAt = 12_345): Promise<VirtualClock> {
  const other = new VirtualClock();
  await other.advance(startedAt);
  other.jumpWall(clock.wall() + ms - other.wall());
  return other;
}

const nearly = (ms: number) => expect.closeTo(ms, -1.5);
/** The same for the time that a slot counts. */
const counts = (ms: number) => nearly(ms + CLOCKS_DIFFER_MS);

describe('The saved slots', () => {
  test('say to the next owner how long sent requests still count', async () => {
    const clock = new VirtualClock().rule();
    const { begin, recalled } = database(clock);
    const key = await begin();
    const first = key.begin(false);
    await clock.advance(2000);
    first.ended();
    key.begin(false);
    key.begin(false).cancelled();
    await clock.advance(3000);
    const next = await later(clock, 1000);
    expect(await recalled(next)).toEqual([
      counts(WINDOW_MS - 4000),
      counts(WINDOW_MS + OPEN_MS - 4000),
    ]);
    expect(await recalled(next, 'another-key')).toEqual([]);
  });

  test('count an upload that was not answered from the start of the next owner', async () => {
    const clock = new VirtualClock().rule();
    const { begin, recalled } = database(clock);
    (await begin()).begin(true);
    await clock.advance(30_000);
    expect(await recalled(await later(clock, 1000))).toEqual([counts(WINDOW_MS)]);
  });

  test('let a request leave only for as long as its row is sure to count', async () => {
    const clock = new VirtualClock().rule();
    const { leaveBy } = (await database(clock).begin()).begin(false);
    expect(leaveBy - clock.now()).toBe(TIMEOUT_MS);
  });

  test('never let the next owner forget what counts, whatever the clocks do', async () => {
    const event = fc.record({
      afterMs: fc.nat(20_000),
      does: fc.constantFrom('begin', 'begin', 'end', 'cancel'),
      jumpMs: fc.option(fc.integer({ min: -7_200_000, max: 7_200_000 }), { freq: 6 }),
    });
    // Further ahead between two processes is not told from time that passes.
    const gap = fc.record({
      ms: fc.nat(90_000),
      backMs: fc.option(fc.nat(7_200_000)),
      aheadMs: fc.nat(CLOCKS_DIFFER_MS),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 30 }), gap, async (events, between) => {
        const { aheadMs, backMs, ms } = between;
        const clock = new VirtualClock().rule();
        const { begin, recalled } = database(clock);
        const key = await begin();
        const onWire: { slot: SavedSlot; begunAt: number }[] = [];
        const untils: number[] = [];
        for (const { afterMs, does, jumpMs } of events) {
          await clock.advance(afterMs);
          if (does === 'begin') onWire.push({ slot: key.begin(false), begunAt: clock.now() });
          const first = does === 'begin' ? undefined : onWire.shift();
          if (does === 'end') first?.slot.ended();
          if (does === 'end' && first) untils.push(clock.now() + WINDOW_MS);
          if (does === 'cancel') first?.slot.cancelled();
          // So that the store knows of it before anything else happens.
          if (jumpMs !== null) clock.jumpWall(jumpMs);
          key.begin(false).cancelled();
        }
        for (const { begunAt } of onWire) untils.push(begunAt + OPEN_MS + WINDOW_MS);
        const next = await later(clock, ms + (backMs === null ? aheadMs : -backMs));
        const found = await recalled(next);
        const truth = untils
          .map((until) => until - clock.now() - ms)
          .filter((left) => left > 0)
          .sort((a, b) => a - b);
        expect(found).not.toBe(UNKNOWN);
        const longest = (found as number[]).slice(-truth.length || undefined);
        expect(longest.length).toBeGreaterThanOrEqual(truth.length);
        truth.forEach((left, index) => expect(longest[index]).toBeGreaterThanOrEqual(left));
      }),
      { numRuns: rounds(100) },
    );
  });

  test.each([-1, -30_000, -3_600_000])(
    'take no time to have passed where the wall clock was set back by %d ms',
    async (jumpMs) => {
      const clock = new VirtualClock().rule();
      const { begin, recalled } = database(clock, clock.wall() - 7_200_000);
      const key = await begin();
      key.begin(false).ended();
      await clock.advance(10_000);
      key.begin(false);
      expect(await recalled(await later(clock, jumpMs))).toEqual([
        counts(WINDOW_MS - 10_000),
        counts(WINDOW_MS + OPEN_MS),
      ]);
    },
  );

  test('do not include a slot that was given back', async () => {
    const clock = new VirtualClock().rule();
    const { begin, recalled } = database(clock);
    const world = { clock, log: [] };
    const budget = createBudget(clock, 5, WINDOW_MS, await begin());
    const errands = [[silent], [null], [null], [silent]].map(
      (answers) => new Errand(world, { answers }),
    );
    await enqueueAll({ clock, budget }, errands);
    expect(await recalled(await later(clock, 0))).toHaveLength(2);
  });

  test('are not known within a window of what the store does not know', async () => {
    const clock = new VirtualClock().rule();
    const { recalled } = database(clock, clock.wall());
    expect(await recalled(clock)).toBe(UNKNOWN);
    // A process that starts again meanwhile knows no more than it did.
    expect(await recalled(await later(clock, WINDOW_MS - 1000))).toBe(UNKNOWN);
    expect(await recalled(await later(clock, WINDOW_MS))).toEqual([]);
  });

  test('are not known sooner because the wall clock jumped while the process ran', async () => {
    const clock = new VirtualClock().rule();
    const { begin, recalled } = database(clock, clock.wall());
    const key = await begin();
    await clock.advance(10_000);
    clock.jumpWall(3_600_000);
    key.begin(false).ended();
    expect(await recalled(await later(clock, 1000))).toBe(UNKNOWN);
  });

  test.each(['slot-clock', 'slot/a-key/1'])(
    'count from the start where %s is damaged',
    async (row) => {
      const clock = new VirtualClock().rule();
      const { begin, engine, recalled, rows } = database(clock);
      (await begin()).begin(false).ended();
      await clock.advance(30_000);
      await rows();
      await engine.write({ cleared: [], values: new Map([[row, Buffer.from('nonsense')]]) });
      expect(await recalled(await later(clock, 0))).toEqual([counts(WINDOW_MS)]);
    },
  );

  test('survive several starts within a window', async () => {
    let clock = new VirtualClock().rule();
    const { begin, open, recalled } = database(clock);
    (await begin()).begin(false).ended();
    for (let start = 1; start <= 5; start += 1) {
      clock = await later(clock, 10_000, start * 1_000_000);
      (await open(clock)).of('a-key', span).begin(false).ended();
    }
    expect(await recalled(await later(clock, 5000))).toEqual(
      [5000, 15_000, 25_000, 35_000, 45_000, 55_000].map(counts),
    );
  });

  test('say to the next owner whether a key is known', async () => {
    const clock = new VirtualClock().rule();
    const { open } = database(clock, clock.wall());
    const isKnown = async (own: VirtualClock, key = 'a-key'): Promise<boolean> =>
      (await open(own)).of(key, span).isKnown;
    expect(await isKnown(clock)).toBe(false);
    await clock.advance(1000);
    // It has used the key, but may have begun within a window of another one that left no account.
    const next = await later(clock, 1000);
    (await open(next)).of('a-key', span).begin(false).ended();
    expect(await isKnown(await later(next, 1000))).toBe(false);
    const last = await later(next, WINDOW_MS);
    expect(await isKnown(last)).toBe(true);
    expect(await isKnown(last, 'another-key')).toBe(false);
  });

  test('say for ten windows that others use a key', async () => {
    const clock = new VirtualClock().rule();
    const { begin, open, rows } = database(clock);
    const key = await begin();
    const seenAgo = async (next: VirtualClock, name = 'a-key'): Promise<number | null> => {
      const seenAt = (await open(next)).of(name, span).coTenantSeenAt;
      return seenAt === null ? null : next.now() - seenAt;
    };
    for (let second = 0; second < 90; second += 1) {
      key.coTenantSeen();
      await clock.advance(1000);
    }
    let next = await later(clock, 1000);
    // Once a window is enough.
    expect(await seenAgo(next)).toEqual(nearly(31_000));
    expect(await seenAgo(next, 'another-key')).toBe(null);
    next = await later(next, 9 * WINDOW_MS);
    expect(await seenAgo(next)).toEqual(nearly(31_000 + 9 * WINDOW_MS));
    next = await later(next, WINDOW_MS);
    (await open(next)).of('another-key', span).coTenantSeen();
    expect([...(await rows()).keys()]).toEqual(['co-tenant/another-key', 'slot-clock']);
  });

  test.each([
    ['headers', { limit: 30, remaining: 10, resetInMs: 60_000 }],
    ['a refusal', { ...silent, refused: { retryAfterMs: 1000 } }],
  ])('note that others use the key when %s show them', async (_, answer) => {
    const clock = new VirtualClock().rule();
    const { begin, rows } = database(clock);
    const budget = createBudget(clock, 30, WINDOW_MS, await begin());
    const own = { limit: 30, remaining: 29, resetInMs: 60_000 };
    for (const answers of [[own], [answer, silent]]) {
      expect((await rows()).has('co-tenant/a-key')).toBe(false);
      await enqueueAll({ clock, budget }, [new Errand({ clock, log: [] }, { answers })]);
    }
    expect((await rows()).has('co-tenant/a-key')).toBe(true);
  });

  test('are few, however much is spent', async () => {
    const clock = new VirtualClock().rule();
    const { begin, recalled, rows } = database(clock);
    const key = await begin();
    for (let request = 0; request < 10_000; request += 1) {
      key.begin(false).ended();
      await clock.advance(2000);
    }
    expect((await rows()).size).toBeLessThan(40);
    expect(await recalled(await later(clock, 0))).toHaveLength(30);
  });
});
