import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { type BusyGateway, busyGateway } from '../support/busy-gateway.ts';
import { consoleState } from '../support/console-viewer.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const MINUTE = 60_000;

let folder: string;
let file: string;
let clock: VirtualClock;
let opened: BusyGateway[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'history-'));
  file = join(folder, 'history.json');
  clock = new VirtualClock();
  opened = [];
});
afterEach(async () => {
  await Promise.all(opened.map((busy) => busy.close()));
  rmSync(folder, { recursive: true });
});

async function start(): Promise<BusyGateway> {
  const env = { STATE_DIR: folder, TTL_ACCOUNT_MS: '0', SHUTDOWN_GRACE_MS: '0' };
  const busy = await busyGateway(env, { clock });
  opened.push(busy);
  return busy;
}

async function read(busy: BusyGateway, name = 'Home'): Promise<void> {
  await busy.ask(`query ${name} { account { username } }`);
}

async function look({ url }: BusyGateway) {
  await clock.advance(200);
  const state = await consoleState(url);
  const [links] = state.upstreams;
  if (!links) throw new Error('There is no upstream.');
  return { ...state, sent: links.history.interactive, lastStepAt: links.history.lastStepAt };
}

const sum = (counts: readonly number[]): number => counts.reduce((all, each) => all + each, 0);

const complaints = (busy: BusyGateway): string[] =>
  busy
    .lines()
    .filter(({ level }) => level === 'warn')
    .map(({ msg }) => String(msg))
    .filter((msg) => msg.includes('history.json'));

describe('The past of the console', () => {
  it('begins with the process', async () => {
    const busy = await start();
    await read(busy);
    await clock.advance(12_000);
    const { past, sent } = await look(busy);
    expect(sent).toEqual([1, 0, 0]);
    expect(past.operations.ended).toEqual([1, 0, 0]);
    expect(past.starts).toEqual([
      { version: manifest.version, at: clock.wall() - 12_200, downSince: null },
    ]);
    expect(past.lastStart).toBeNull();
  });

  it('survives a restart, and says whether the start made it worse', async () => {
    const first = await start();
    for (let n = 0; n < 4; n += 1) {
      await read(first);
      await clock.advance(10 * MINUTE);
    }
    await first.close();
    const stopped = clock.wall();
    await clock.advance(MINUTE);
    const second = await start();
    const started = clock.wall();
    await clock.advance(MINUTE + 20_000);
    second.sandbox.links.fault({ kind: 'error-500' });
    await read(second);
    const { past, sent, lastStepAt } = await look(second);
    expect(sum(sent)).toBe(5);
    // The steps are where they were, to a step.
    const ages = sent.flatMap((times, index) =>
      times > 0 ? [(clock.wall() - lastStepAt) / 1000 + 5 * (sent.length - 1 - index)] : [],
    );
    const spent = [0, 10, 20, 30].map((minutes) => (42 - minutes) * 60 + 20.2);
    for (const [index, age] of [...spent, 0].entries()) {
      expect(Math.abs((ages[index] ?? NaN) - age), `request ${index}`).toBeLessThan(10);
    }
    expect(past.starts).toEqual([
      { version: manifest.version, at: stopped - 40 * MINUTE, downSince: null },
      { version: manifest.version, at: started, downSince: stopped },
    ]);
    expect(past.lastStart).toEqual({
      version: manifest.version,
      at: started,
      before: { ended: 4, failed: 0 },
      since: { ended: 1, failed: 1 },
    });
  });

  it('survives a process that ends without a word, but for its last minute', async () => {
    const first = await start();
    await read(first);
    await clock.advance(MINUTE);
    await read(first);
    const written = readFileSync(file, 'utf8');
    await first.close();
    writeFileSync(file, written);
    const second = await start();
    expect(sum((await look(second)).sent)).toBe(1);
  });

  it('is forgotten after an hour', async () => {
    const first = await start();
    await read(first);
    await first.close();
    await clock.advance(61 * MINUTE);
    const { past, sent } = await look(await start());
    expect(sum(sent)).toBe(0);
    expect(past.starts).toHaveLength(1);
    expect(past.lastStart).toBeNull();
  });

  it('is in order after the wall clock was set back', async () => {
    const first = await start();
    await read(first);
    await first.close();
    clock.jumpWall(-3 * 60 * MINUTE);
    const second = await start();
    await read(second);
    const { past, sent } = await look(second);
    expect(sent).toEqual([1, 1]);
    expect(past.starts.map(({ at }) => at)).toEqual([clock.wall() - 200, clock.wall() - 200]);
  });

  it.each([
    ['no JSON', '{"format":1'],
    ['of another format', '{"format":2}'],
    ['of other members', '{"format":1,"at":0,"lastStepAt":0,"starts":[],"sends":{}}'],
    ['null', 'null'],
    ['huge', 'x'.repeat(2 * 1024 * 1024 + 1)],
    ['binary', '\u0000\uFFFD'],
  ])('starts empty from a file that is %s, with a line in the log', async (_, text) => {
    writeFileSync(file, text);
    const busy = await start();
    await read(busy);
    expect(sum((await look(busy)).sent)).toBe(1);
    expect(complaints(busy)).toEqual([
      expect.stringMatching(/history\.json cannot be used .*starts without the history/),
    ]);
    await busy.close();
    const next = await start();
    expect([sum((await look(next)).sent), complaints(next)]).toEqual([1, []]);
  });

  it('takes no column that is none: too long, of another length, below 0, no number', async () => {
    const first = await start();
    await first.close();
    const saved = JSON.parse(readFileSync(file, 'utf8'));
    const zeros = Array.from({ length: 721 }, () => 0);
    for (const ended of [zeros, [0, 0], [-1], ['1'], [0.5], [2 ** 32], { length: 1 }]) {
      const text = { ...saved, operations: { ended, failed: [0] } };
      writeFileSync(file, JSON.stringify(text));
      const busy = await start();
      expect(complaints(busy), JSON.stringify(ended)).toHaveLength(1);
      await busy.close();
    }
  });

  it('stops neither the gateway nor its end where it cannot be written, and says so once', async () => {
    // A folder in the place of the file that is written first.
    mkdirSync(join(`${file}.new`, 'in-the-way'), { recursive: true });
    const busy = await start();
    for (let minute = 0; minute < 3; minute += 1) {
      await read(busy);
      await clock.advance(MINUTE);
    }
    expect((await look(busy)).sent.length).toBeGreaterThan(36);
    await busy.close();
    expect(complaints(busy)).toEqual([
      expect.stringMatching(/history\.json cannot be written .*lost at the next restart/),
    ]);
  });

  it('is small, for the owner alone, and names no caller', async () => {
    const busy = await start();
    for (let n = 0; n < 200; n += 1) {
      await busy.ask('query Secret { plans { name } }');
      await clock.advance(20_000);
    }
    await busy.close();
    const { mode, size } = statSync(file);
    expect(mode & 0o777).toBe(0o600);
    expect(size).toBeLessThan(40_000);
    expect(readFileSync(file, 'utf8')).not.toMatch(/127\.0\.0\.1|Secret/);
  });

  it('of a second process in the same folder is its own', async () => {
    const first = await start();
    await read(first);
    const second = await start();
    await read(second);
    await second.close();
    await first.close();
    expect(sum((await look(await start())).sent)).toBe(1);
  });
});
