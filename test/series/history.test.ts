import { afterEach, describe, expect, it } from 'vitest';
import { POINT, type Point, SeriesWorld } from './series-world.ts';

const HOUR = 3_600_000;

let world: SeriesWorld;
const start = async (env: Record<string, string> = {}): Promise<SeriesWorld> => {
  world = await SeriesWorld.start(env);
  return world;
};
afterEach(() => world[Symbol.asyncDispose]());

const DATE = '2029-05-01 10:00:00';

const brief = (points: readonly Point[]): string[] =>
  points.map(({ at, observed, value }) => `${at} ${value}${observed ? '' : ' gap'}`);

describe('QrCode.scanHistory', () => {
  it('has a point for each step, with gaps where nothing was read', async () => {
    const { clock, model } = await start();
    model.qrCodes = [{ id: 7, date: DATE, count: 10 }];
    const history = async () => {
      const { qrCode } = await world.data<{ qrCode: { scanHistory: Point[] } }>(
        `{ qrCode(id: 7) { scanHistory(step: HOUR, last: 5) { ${POINT} } } }`,
      );
      return brief(qrCode.scanHistory);
    };
    expect(await history()).toEqual([
      '2029-12-31T20:00:00Z null gap',
      '2029-12-31T21:00:00Z null gap',
      '2029-12-31T22:00:00Z null gap',
      '2029-12-31T23:00:00Z null gap',
      '2030-01-01T00:00:00Z 10',
    ]);
    await clock.advance(3 * HOUR);
    (model.qrCodes[0] as { count: number }).count = 12;
    expect(await history()).toEqual([
      '2029-12-31T23:00:00Z null gap',
      '2030-01-01T00:00:00Z 10',
      '2030-01-01T01:00:00Z 10 gap',
      '2030-01-01T02:00:00Z 10 gap',
      '2030-01-01T03:00:00Z 12',
    ]);
  });
});
