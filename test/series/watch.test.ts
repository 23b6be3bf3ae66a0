import { afterEach, describe, expect, it } from 'vitest';
import type { ModelAccounts } from './model-accounts.ts';
import { POINT, type Point, SeriesWorld } from './series-world.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

let world: SeriesWorld;
afterEach(() => world[Symbol.asyncDispose]());

function fill(model: ModelAccounts, codes: number): void {
  model.qrCodes = Array.from({ length: codes }, (_, index) => {
    return { id: index + 1, date: '2029-05-01 10:00:00', count: index };
  });
}

const requestsOf = (model: ModelAccounts): string[] => {
  return model.requests.map((request) => request.replace('limit=10&', ''));
};

const qrCodeCount = async (): Promise<boolean[]> => {
  const { totalCountHistory } = await world.data<{ totalCountHistory: Point[] }>(
    `{ totalCountHistory(list: QR_CODES, step: DAY, last: 3) { ${POINT} } }`,
  );
  return totalCountHistory.map(({ observed }) => observed);
};

describe('HISTORY_WATCH', () => {
  it('reads each page once a day, in its last hours, and nothing that clients read', async () => {
    world = await SeriesWorld.startInMemory({ HISTORY_WATCH: 'qrCodes, seller' });
    const { clock, model } = world;
    fill(model, 25);
    await clock.advance(17 * HOUR);
    await world.data('{ qrCodes(first: 5) { nodes { name } } }');
    expect(requestsOf(model)).toEqual(['GET /api/qr?page=1']);
    await clock.advance(6 * HOUR);
    const seller = 'GET /api/account/details';
    expect(requestsOf(model).toSorted()).toEqual(
      ['GET /api/qr?page=1', 'GET /api/qr?page=2', 'GET /api/qr?page=3', seller].toSorted(),
    );
    await clock.advance(18 * HOUR);
    expect(model.requests).toHaveLength(4);
    await clock.advance(2 * HOUR);
    expect(model.requests).toHaveLength(8);
    expect(await qrCodeCount()).toEqual([false, true, true]);
  });

  it('gives up for the day after five failures in a row', async () => {
    world = await SeriesWorld.startInMemory({ HISTORY_WATCH: 'qrCodes' });
    const { clock, model } = world;
    fill(model, 5);
    model.fails = true;
    await clock.advance(24 * HOUR);
    expect(model.requests).toHaveLength(5);
    model.fails = false;
    await clock.advance(20 * HOUR);
    expect(model.requests).toHaveLength(6);
  });

  it('leaves slots to readers, and its reads last', async () => {
    world = await SeriesWorld.startInMemory({ HISTORY_WATCH: 'qrCodes', LINKS_RATE_LIMIT: '10' });
    const { clock, model } = world;
    fill(model, 300);
    await clock.advance(18 * HOUR - 1);
    for (let minute = 0; minute < 10; minute += 1) {
      const before = model.requests.length;
      await clock.advance(MINUTE);
      expect(model.requests.length - before).toBeLessThan(10);
      const { extensions } = await world.ask(`{ qrCode(id: ${1000 + minute}) { scans } }`);
      expect(extensions.upstream).toMatchObject({ calls: 1, waitedMs: 0 });
    }
    expect(new Set(requestsOf(model)).size).toBe(40);
  });

  it('does not read a list again after a restart on the same day', async () => {
    world = await SeriesWorld.start({ HISTORY_WATCH: 'qrCodes' });
    const { clock, model } = world;
    fill(model, 12);
    await clock.advance(18 * HOUR);
    // The disk and the answers take their time, in which a clock that jumps would let requests time out.
    const isSaved = async () => {
      await clock.advance(100);
      return [...(await world.saved()).keys()].some((key) => key.startsWith('counts-read/'));
    };
    await expect.poll(isSaved).toBe(true);
    expect(model.requests).toHaveLength(2);
    await world.kill();
    await clock.advance(HOUR);
    expect(model.requests).toHaveLength(2);
  });
});
