import { afterEach, describe, expect, it } from 'vitest';
import { POINT, type Point, SeriesWorld } from './series-world.ts';

const HOUR = 3_600_000;
const DATE = '2029-05-01 10:00:00';
const NO_CACHE = {
  'ttl.qrCodes': '0',
  staleWhileRevalidateMs: '0',
  STALE_IF_ERROR_MS: '0',
};

let world: SeriesWorld;
const start = async (env: Record<string, string> = {}): Promise<SeriesWorld> => {
  world = await SeriesWorld.start({ ...NO_CACHE, ...env });
  return world;
};
afterEach(() => world[Symbol.asyncDispose]());

/** The number of codes in the last hours, as far as it is recorded. */
async function codes(last = 4): Promise<(number | null)[]> {
  const { totalCountHistory } = await world.data<{ totalCountHistory: Point[] }>(
    `{ totalCountHistory(list: QR_CODES, step: HOUR, last: ${last}) { ${POINT} } }`,
  );
  return totalCountHistory.map(({ observed, value }) => (observed ? value : null));
}

/** Reads a list with this number of codes, and lets an hour pass. */
async function read(count: number): Promise<void> {
  world.model.qrCodes = Array.from({ length: count }, (_, index) => {
    return { id: index + 1, date: DATE, count };
  });
  await world.data('{ qrCodes { totalCount } }');
  await world.clock.advance(HOUR);
}

describe('The history of counts after a restart', () => {
  it('has what was recorded before a stop and before a kill', async () => {
    await start();
    await read(1);
    await world.restart();
    await read(2);
    await world.kill();
    await read(3);
    await world.kill();
    expect(await codes()).toEqual([1, 2, 3, null]);
    expect(world.complaints).toEqual([]);
  });

  it('is saved without keys and names', async () => {
    await start();
    await read(3);
    const saved = [...(await world.saved())].flat().join('\n');
    expect(saved).toContain('scans');
    expect(saved).not.toMatch(/links-key|market-key|code 1|owner/);
  });

  it.each([
    ['of no JSON', '#'],
    ['of another form', '[null,3]'],
  ])('lacks a count whose value is damaged, %s, and has all others', async (_, value) => {
    await start();
    await read(2);
    const keys = [...(await world.saved()).keys()];
    const damaged = keys.find((key) => key.endsWith('/scans/2'));
    await world.restart(damaged, value);
    expect(await codes(2)).toEqual([2, null]);
    const scans = `nodes { scanHistory(step: HOUR, last: 2) { value } }`;
    const { qrCodes } = await world.data<{
      qrCodes: { nodes: { scanHistory: { value: number | null }[] }[] };
    }>(`{ qrCodes { ${scans} } }`);
    expect(qrCodes.nodes.map(({ scanHistory }) => scanHistory[0]?.value)).toEqual([2, null]);
    expect(world.complaints).toEqual([
      '1 of the counts in the history of counts cannot be read: they begin again.',
    ]);
  });

  it('has no count that is too old', async () => {
    await start();
    await read(2);
    expect((await world.saved()).size).toBeGreaterThan(2);
    world.clock.jumpWall(401 * 24 * HOUR);
    await world.restart();
    expect((await world.saved()).size).toBe(0);
  });
});

describe('The size of the history', () => {
  const MOST = 100_000;

  it('is bounded, whatever is read; what is read is kept', async () => {
    await start({ historyMaxBytes: String(MOST), LINKS_PAGE_SIZE: '10' });
    const { model } = world;
    model.perPage = 500;
    const rows = 1000;
    const range = (from: number) =>
      Array.from({ length: rows }, (_, index) => {
        return { id: from + index, date: DATE, count: 1 };
      });
    for (let hour = 0; hour < 30; hour += 1) {
      model.qrCodes = range(hour * 100);
      for (const row of model.qrCodes) row.count = hour;
      await world.data('{ qrCodes(first: 500) { totalCount } }');
      await world.clock.advance(HOUR);
      const saved = [...(await world.saved())].flat().join('');
      expect(saved.length).toBeLessThanOrEqual(MOST);
      expect(saved.length).toBeGreaterThan(MOST / 10);
    }
    // The list itself is in use all the time.
    const history = await codes(31);
    expect(history.filter((value) => value !== null)).toHaveLength(30);
  });

  it('is reported once if all counts in use do not fit', async () => {
    await start({ historyMaxBytes: '20000' });
    world.model.perPage = 500;
    await read(500);
    await read(500);
    expect(world.complaints).toEqual([
      expect.stringMatching(/^The history of counts is full with \d+ counts\./),
    ]);
  });
});
