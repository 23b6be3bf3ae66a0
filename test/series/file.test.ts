import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { POINT, type Point, SeriesWorld } from './series-world.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
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

describe('The file of the history of counts', () => {
  it('is for its owner alone, and holds no key and no name', async () => {
    await start();
    await read(3);
    expect(statSync(world.file).mode & 0o777).toBe(0o600);
    expect(world.saved).not.toMatch(/links-key|market-key|code 1|owner/);
  });

  it('survives a stop, and a process that ends within a line', async () => {
    await start();
    await read(1);
    await world.stop();
    await world.begin();
    await read(2);
    const text = world.saved;
    appendFileSync(world.file, text.slice(text.lastIndexOf('\n', text.length - 2) + 1, -9));
    await world.kill();
    await read(3);
    await world.kill();
    expect(await codes()).toEqual([1, 2, 3, null]);
    expect(world.complaints).toEqual([]);
  });

  it('continues with what precedes a damage, and says so', async () => {
    await start();
    await read(1);
    const before = world.saved.length;
    await read(2);
    await read(3);
    const text = world.saved;
    writeFileSync(world.file, `${text.slice(0, before + 20)}#${text.slice(before + 21)}`);
    await world.kill();
    expect(await codes()).toEqual([1, null, null, null]);
    expect(world.complaints).toEqual([
      expect.stringMatching(
        /counts\.log is damaged after \d+ of \d+ bytes.* precedes the damage\.$/,
      ),
    ]);
    await read(4);
    await world.kill();
    expect(await codes(5)).toEqual([1, null, null, 4, null]);
    expect(world.complaints).toHaveLength(1);
  });

  it.each([
    ['empty', ''],
    ['of another program', 'hello\n'],
    ['binary', '\u0000\uFFFD\uFFFD'],
    ['with a broken head', 'counts 1'],
  ])('starts again if it is %s', async (_, text) => {
    await start();
    await read(1);
    writeFileSync(world.file, text);
    await world.kill();
    expect(await codes(2)).toEqual([null, null]);
    expect(world.complaints).toEqual([expect.stringMatching(/counts\.log is damaged after 0/)]);
    await read(2);
    await world.kill();
    expect(await codes(2)).toEqual([2, null]);
  });

  it('stays as it is if it is of a newer version', async () => {
    await start();
    await read(1);
    const newer = 'counts 2\nsomething else\n';
    writeFileSync(world.file, newer);
    await world.kill();
    await read(2);
    expect(await codes(2)).toEqual([2, null]);
    expect(world.saved).toBe(newer);
    expect(world.complaints).toEqual([
      expect.stringMatching(/has version 2 of its format.*stays as it is.*in memory only\.$/),
    ]);
  });

  it('that cannot be written stops nothing, and is written when that is possible again', async () => {
    await start();
    await world.kill();
    // A folder in the place of the file that is written first.
    rmSync(world.file);
    await world.stop();
    mkdirSync(`${world.file}.new`);
    await world.begin();
    await read(1);
    await read(2);
    expect(await codes(3)).toEqual([1, 2, null]);
    expect(world.complaints).toEqual([
      expect.stringMatching(/counts\.log cannot be written .*not saved until it can be written/),
    ]);
    rmSync(`${world.file}.new`, { recursive: true });
    await world.clock.advance(2 * MINUTE);
    await world.kill();
    expect(await codes(3)).toEqual([1, 2, null]);
  });

  it('is of one process at a time', async () => {
    await start();
    await read(1);
    const { saved } = world;
    await world.begin();
    // The second has its own history, in memory.
    expect(await codes(2)).toEqual([null, null]);
    await read(2);
    expect(await codes(2)).toEqual([2, null]);
    expect(world.saved).toBe(saved);
  });
});

describe('The size of the history', () => {
  const MOST = 200_000;
  const sizes = () => readdirSync(world.folder).filter((name) => name.startsWith('counts.log'));

  it('bounds the file, whatever is read; what is read is kept', async () => {
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
      expect(readFileSync(world.file).length).toBeLessThanOrEqual(MOST);
    }
    expect(sizes()).toEqual(['counts.log']);
    // The list itself is in use all the time.
    const history = await codes(31);
    expect(history.filter((value) => value !== null)).toHaveLength(30);
  });

  it('is reported once if all counts in use do not fit', async () => {
    await start({ historyMaxBytes: '40000' });
    world.model.perPage = 500;
    await read(500);
    await read(500);
    expect(world.complaints).toEqual([
      expect.stringMatching(/^The history of counts is full with \d+ counts\./),
    ]);
  });
});
