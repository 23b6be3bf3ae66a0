import { describe, expect, it } from 'vitest';
import type { CountedRow, Shown } from './model-accounts.ts';
import { POINT, type Point, SeriesWorld } from './series-world.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const DAYS = 4;
const KILLS = 3;

/** Numbers that are equal in each run. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** The points that a history must have, by what the API has shown. */
function truth(shown: readonly Shown[], now: number, stepMs: number, last: number): Point[] {
  const current = Math.floor(now / stepMs);
  return Array.from({ length: last }, (_, index) => {
    const step = current - last + 1 + index;
    const known = shown.filter(({ wallMs }) => wallMs < (step + 1) * stepMs);
    const latest = known.at(-1);
    return {
      at: new Date(step * stepMs).toISOString().replace('.000Z', 'Z'),
      value: latest?.value ?? null,
      observed: latest !== undefined && latest.wallMs >= step * stepMs,
    };
  });
}

/** What an hour brings: other programs change rows, and clients read some of them. */
const reads = [
  '{ qrCodes(first: 25) { totalCount nodes { scans } } }',
  '{ qrCodes(last: 3) { nodes { name } } }',
  '{ qrCode(id: 3) { scans statistics { clicks } } }',
  '{ qrCode(id: 11) { scans } }',
  '{ files { nodes { downloads } } }',
  '{ files(search: "file") { nodes { downloads } } }',
  '{ seller { balance } }',
];

const step = (days: boolean): string => (days ? 'step: DAY, last: 400' : 'step: HOUR, last: 720');

interface Histories {
  readonly qrCodes: { readonly nodes: readonly { databaseId: number; scanHistory: Point[] }[] };
  readonly files: { readonly nodes: readonly { databaseId: number; downloadHistory: Point[] }[] };
  readonly seller: { readonly balanceHistory: Point[] };
  readonly codes: Point[];
  readonly fileCount: Point[];
}

/** Lives through some days. Each request that the API receives is on the receipt of a read of rows. */
async function live(world: SeriesWorld): Promise<void> {
  const random = randomFrom(26);
  const { clock, model } = world;
  const rows = (count: number): CountedRow[] =>
    Array.from({ length: count }, (_, index) => {
      return { id: index + 1, date: `2029-05-01 10:00:${10 + index}`, count: random(50) };
    });
  model.qrCodes = rows(23);
  model.files = rows(8);
  const killHours = new Set<number>();
  while (killHours.size < KILLS) killHours.add(random(DAYS * 24));
  let calls = 0;
  /** The clock moves when something is read: each move takes milliseconds. */
  let aheadMs = 0;
  const ask = async (query: string): Promise<number> => {
    await clock.advance(aheadMs);
    aheadMs = 0;
    const { errors, extensions } = await world.ask(query);
    expect(errors).toBeUndefined();
    return extensions.upstream.calls;
  };
  for (let hour = 0; hour < DAYS * 24; hour += 1) {
    for (const row of [...model.qrCodes, ...model.files]) {
      if (random(4) === 0) row.count += random(9);
    }
    if (random(3) === 0) model.balance = Math.round(100 * model.balance + random(5000)) / 100;
    const minutes = random(50);
    aheadMs += minutes * MINUTE;
    for (let count = random(3); count > 0; count -= 1) {
      calls += await ask(reads[random(reads.length)] as string);
    }
    if (killHours.has(hour)) await world.kill();
    if (hour % 10 === 0) {
      const history = `{ totalCountHistory(list: QR_CODES) { ${POINT} } }`;
      expect(await ask(history)).toBe(0);
    }
    aheadMs += HOUR - minutes * MINUTE;
  }
  await clock.advance(aheadMs);
  expect(model.requests).toHaveLength(calls);
}

/** Each read reaches the API, and no background request does. */
const NO_CACHE = {
  'ttl.qrCodes': '0',
  'ttl.qrStatistics': '0',
  'ttl.files': '0',
  'ttl.seller': '0',
  staleWhileRevalidateMs: '0',
  STALE_IF_ERROR_MS: '0',
  OPERATION_MAX_NODES: '1000000',
};

describe('Days of history', () => {
  it('with kills have at each point what the API has shown, and cost no request', async () => {
    await using world = await SeriesWorld.start(NO_CACHE);
    await live(world);
    const { clock, model } = world;
    for (const isDays of [false, true]) {
      const now = clock.wall();
      const span = step(isDays);
      const shown = [...model.shown];
      const { data, extensions } = await world.ask<Histories>(`{
        codes: totalCountHistory(list: QR_CODES, ${span}) { ${POINT} }
        fileCount: totalCountHistory(list: FILES, ${span}) { ${POINT} }
      }`);
      expect(extensions.upstream.calls).toBe(0);
      const expected = (count: string, all = shown): Point[] => {
        const [stepMs, last] = isDays ? [DAY, 400] : [HOUR, 720];
        return truth(
          all.filter((each) => each.count === count),
          now,
          stepMs,
          last,
        );
      };
      expect(data.codes).toEqual(expected('total qrCodes'));
      expect(data.fileCount).toEqual(expected('total files'));
      const rows = await world.data<Histories>(`{
        qrCodes(first: 100) { nodes { databaseId scanHistory(${span}) { ${POINT} } } }
        files(first: 100) { nodes { databaseId downloadHistory(${span}) { ${POINT} } } }
        seller { balanceHistory(${span}) { ${POINT} } }
      }`);
      for (const { databaseId, scanHistory } of rows.qrCodes.nodes) {
        expect(scanHistory, `code ${databaseId}`).toEqual(
          expected(`scans ${databaseId}`, model.shown),
        );
      }
      for (const { databaseId, downloadHistory } of rows.files.nodes) {
        expect(downloadHistory).toEqual(expected(`downloads ${databaseId}`, model.shown));
      }
      expect(rows.seller.balanceHistory).toEqual(expected('balance', model.shown));
      expect(rows.qrCodes.nodes).toHaveLength(23);
      expect(rows.files.nodes).toHaveLength(8);
    }
    expect(world.complaints).toEqual([]);
  });
});
