import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir, uptime } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openJournal } from '../../../src/upstream/budget/journal/file-journal.ts';
import type { Journal, JournalEntry } from '../../../src/upstream/budget/journal/journal.ts';
import { isAlive, ownerName } from '../../../src/upstream/budget/journal/owner.ts';
import { createBudget, Errand, enqueueAll, silent } from '../../support/errands.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const WINDOW_MS = 60_000;
const TIMEOUT_MS = 10_000;
const span = { windowMs: WINDOW_MS, timeoutMs: TIMEOUT_MS };
const UNKNOWN = 'half the limit';

let folder: string;
let complaints: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'journal-'));
  complaints = [];
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const path = (): string => join(folder, 'leases.log');
const text = (): string => readFileSync(path(), 'utf8');

function open(clock: VirtualClock): Journal {
  const complain = (sentence: string): void => void complaints.push(sentence);
  return openJournal({ folder, clock, keepMs: WINDOW_MS + TIMEOUT_MS, complain });
}

/** Makes the process that wrote the file one that has ended. */
function kill(): void {
  writeFileSync(path(), text().replace(/^(leases 1 [^/]+)\/\d+\//, '$1/999999999/'));
}

/** Opens a journal that knows that nothing was spent: the process before it ran for an hour. */
function begin(clock: VirtualClock): Journal {
  const before = new VirtualClock();
  before.jumpWall(clock.wall() - before.wall() - 3_600_000);
  open(before).close();
  return open(clock);
}

/** How much longer what another process has spent counts in one that starts now. */
function recalledBy(clock: VirtualClock, key = 'a-key'): number[] | typeof UNKNOWN {
  const { recalled, unknownUntil } = open(clock).of(key, span);
  if (unknownUntil > clock.now()) return UNKNOWN;
  return recalled.map((until) => until - clock.now()).sort((a, b) => a - b);
}

/** A clock of another process, whose monotonic time says nothing to the first; `ms` later. */
async function later(clock: VirtualClock, ms: number, startedAt = 12_345): Promise<VirtualClock> {
  const other = new VirtualClock();
  await other.advance(startedAt);
  other.jumpWall(clock.wall() + ms - other.wall());
  return other;
}

const nearly = (ms: number) => expect.closeTo(ms, -1.5);

describe('The journal of leases', () => {
  test('that could not be written is complete a minute after the failure', async () => {
    const clock = new VirtualClock().rule();
    const key = begin(clock).of('a-key', span);
    // The next file cannot be made: as on a full disk, or where the folder is not writable.
    mkdirSync(`${path()}.new`);
    for (let lines = 0; lines < 2000; lines += 1) key.begin(false).cancelled();
    expect(complaints).toEqual([expect.stringContaining('is no longer writable')]);
    expect(existsSync(path())).toBe(false);
    const meanwhile = key.begin(false);
    await clock.advance(30_000);
    meanwhile.ended();
    expect(existsSync(path())).toBe(false);
    rmSync(`${path()}.new`, { recursive: true });
    await clock.advance(29_999);
    key.begin(false).cancelled();
    expect(existsSync(path())).toBe(false);
    await clock.advance(1);
    key.begin(false).ended();
    kill();
    expect(recalledBy(await later(clock, 0))).toEqual([
      nearly(WINDOW_MS - 30_000),
      nearly(WINDOW_MS),
    ]);
    expect(complaints).toHaveLength(1);
  });

  test('is left to another process that has used the folder after a failure', async () => {
    const clock = new VirtualClock().rule();
    const key = begin(clock).of('a-key', span);
    mkdirSync(`${path()}.new`);
    for (let lines = 0; lines < 2000; lines += 1) key.begin(false).cancelled();
    rmSync(`${path()}.new`, { recursive: true });
    open(await later(clock, 1000));
    kill();
    const before = text();
    await clock.advance(60_000);
    key.begin(false).ended();
    expect(text()).toBe(before);
  });

  test('passes on to the next process how long sent requests still count', async () => {
    const clock = new VirtualClock().rule();
    const key = begin(clock).of('a-key', span);
    const first = key.begin(false);
    await clock.advance(2000);
    first.ended();
    key.begin(false);
    key.begin(false).cancelled();
    await clock.advance(3000);
    kill();
    // The unanswered one may be answered until its timeout.
    const next = await later(clock, 1000);
    expect(recalledBy(next)).toEqual([
      nearly(WINDOW_MS - 4000),
      nearly(WINDOW_MS + TIMEOUT_MS - 4000),
    ]);
  });

  test('keeps keys apart', async () => {
    const clock = new VirtualClock().rule();
    begin(clock).of('a-key', span).begin(false).ended();
    kill();
    expect(recalledBy(await later(clock, 0), 'another-key')).toEqual([]);
  });

  test('counts an upload that was not answered from the start of the next process', async () => {
    const clock = new VirtualClock().rule();
    begin(clock).of('a-key', span).begin(true);
    await clock.advance(30_000);
    kill();
    expect(recalledBy(await later(clock, 1000))).toEqual([nearly(WINDOW_MS)]);
  });

  test('never lets the next process forget what counts, whatever the clocks do', async () => {
    const event = fc.record({
      afterMs: fc.nat(20_000),
      does: fc.constantFrom('begin', 'begin', 'end', 'cancel'),
      jumpMs: fc.option(fc.integer({ min: -7_200_000, max: 7_200_000 }), { freq: 6 }),
    });
    // Only forward between two processes is not told from time that passes.
    const gap = fc.record({ ms: fc.nat(90_000), backMs: fc.option(fc.nat(7_200_000)) });
    await fc.assert(
      fc.asyncProperty(
        fc.array(event, { maxLength: 30 }),
        gap,
        fc.boolean(),
        async (events, { ms, backMs }, torn) => {
          rmSync(folder, { recursive: true, force: true });
          const clock = new VirtualClock().rule();
          const key = begin(clock).of('a-key', span);
          const onWire: { entry: JournalEntry; begunAt: number }[] = [];
          const untils: number[] = [];
          for (const { afterMs, does, jumpMs } of events) {
            await clock.advance(afterMs);
            if (does === 'begin') onWire.push({ entry: key.begin(false), begunAt: clock.now() });
            const first = does === 'begin' ? undefined : onWire.shift();
            if (does === 'end') first?.entry.ended();
            if (does === 'end' && first) untils.push(clock.now() + WINDOW_MS);
            if (does === 'cancel') first?.entry.cancelled();
            // So that the file knows of it before anything else happens.
            if (jumpMs !== null) clock.jumpWall(jumpMs);
            key.begin(false).cancelled();
          }
          for (const { begunAt } of onWire) untils.push(begunAt + TIMEOUT_MS + WINDOW_MS);
          kill();
          if (torn) writeFileSync(path(), `${text()}+ 99 12`);
          const next = await later(clock, backMs === null ? ms : ms - backMs);
          const recalled = recalledBy(next);
          const truth = untils
            .map((until) => until - clock.now() - ms)
            .filter((left) => left > 0)
            .sort((a, b) => a - b);
          expect(recalled).not.toBe(UNKNOWN);
          const longest = (recalled as number[]).slice(-truth.length || undefined);
          expect(longest.length).toBeGreaterThanOrEqual(truth.length);
          truth.forEach((left, index) => expect(longest[index]).toBeGreaterThanOrEqual(left));
        },
      ),
      { numRuns: 100 },
    );
  });

  test.each([-1, -30_000, -3_600_000])(
    'takes no time to have passed where the wall clock was set back by %d ms',
    async (jumpMs) => {
      const clock = new VirtualClock().rule();
      const key = begin(clock).of('a-key', span);
      key.begin(false).ended();
      await clock.advance(10_000);
      key.begin(false);
      kill();
      const next = await later(clock, jumpMs);
      expect(recalledBy(next)).toEqual([
        nearly(WINDOW_MS - 10_000),
        nearly(WINDOW_MS + TIMEOUT_MS),
      ]);
    },
  );

  test('does not pass on a slot that was given back', async () => {
    const clock = new VirtualClock().rule();
    const key = begin(clock).of('a-key', span);
    const world = { clock, log: [] };
    const budget = createBudget(clock, 5, WINDOW_MS, key);
    const errands = [[silent], [null], [null], [silent]].map(
      (answers) => new Errand(world, { answers }),
    );
    await enqueueAll({ clock, budget }, errands);
    kill();
    expect(recalledBy(await later(clock, 0))).toHaveLength(2);
  });

  test('is not known at the first start, and where its file is damaged', async () => {
    const clock = new VirtualClock().rule();
    expect(recalledBy(clock)).toBe(UNKNOWN);
    kill();
    // A process that starts again meanwhile knows no more than it did.
    expect(recalledBy(await later(clock, WINDOW_MS - 1000))).toBe(UNKNOWN);
    kill();
    expect(recalledBy(await later(clock, WINDOW_MS))).toEqual([]);
    for (const damaged of ['', 'nonsense\n', `${text()}nonsense\n`, text().slice(3)]) {
      writeFileSync(path(), damaged);
      kill();
      expect(recalledBy(clock)).toBe(UNKNOWN);
    }
  });

  test('survives several starts within a window', async () => {
    let clock = new VirtualClock().rule();
    begin(clock).of('a-key', span).begin(false).ended();
    for (let start = 1; start <= 5; start += 1) {
      kill();
      clock = await later(clock, 10_000, start * 1_000_000);
      open(clock).of('a-key', span).begin(false).ended();
    }
    kill();
    expect(recalledBy(await later(clock, 5000))).toEqual(
      [5000, 15_000, 25_000, 35_000, 45_000, 55_000].map(nearly),
    );
  });

  test('stays with the process that has it: a second one complains and writes nothing', () => {
    const clock = new VirtualClock().rule();
    const key = begin(clock).of('a-key', span);
    const before = text();
    expect(recalledBy(clock)).toBe(UNKNOWN);
    expect(complaints).toEqual([expect.stringMatching(/^STATE_DIR .* is in use by another/)]);
    expect(text()).toBe(before);
    key.begin(false);
    expect(text()).not.toBe(before);
  });

  test.skipIf(!existsSync('/proc/self/stat'))(
    'knows its process by when that began, and not by what changes while it runs',
    () => {
      const [host, id, start] = ownerName().split('/');
      expect([host, id]).toEqual([encodeURIComponent(hostname()), String(process.pid)]);
      // In hundredths of a second since the machine began.
      expect(Math.abs(uptime() - process.uptime() - Number(start) / 100)).toBeLessThan(60);
      expect(isAlive(`${host}/${id}/${start}`)).toBe(true);
      expect(isAlive(`${host}/${id}/${Number(start) + 1}`)).toBe(false);
      expect(isAlive(`${host}/999999999/${start}`)).toBe(false);
      expect(isAlive(`another-machine/${id}/${start}`)).toBe(false);
    },
  );

  test('passes on to the next process whether a key is known', async () => {
    const isKnown = (clock: VirtualClock, key = 'a-key'): boolean =>
      open(clock).of(key, span).isKnown;
    const clock = new VirtualClock().rule();
    expect(isKnown(clock)).toBe(false);
    await clock.advance(1000);
    kill();
    // It has used the key, but may have begun within a window of another one that left no account.
    const next = await later(clock, 1000);
    open(next).of('a-key', span).begin(false).ended();
    kill();
    expect(isKnown(await later(next, 1000))).toBe(false);
    kill();
    const last = await later(next, WINDOW_MS);
    expect(isKnown(last)).toBe(true);
    kill();
    expect(isKnown(last, 'another-key')).toBe(false);
  });

  test('passes on for ten windows that others use a key, whatever else is noted', async () => {
    const clock = new VirtualClock().rule();
    const key = begin(clock).of('a-key', span);
    const seenAgo = (next: VirtualClock, name = 'a-key'): number | null => {
      const seenAt = open(next).of(name, span).coTenantSeenAt;
      kill();
      return seenAt === null ? null : next.now() - seenAt;
    };
    key.begin(false).ended();
    for (let second = 0; second < 90; second += 1) {
      key.coTenantSeen();
      await clock.advance(1000);
    }
    // Once a window is enough.
    expect(text().match(/^c a-key /gm)).toHaveLength(2);
    for (let request = 0; request < 1000; request += 1) key.begin(false).ended();
    kill();
    let next = await later(clock, 1000);
    expect(seenAgo(next)).toEqual(nearly(31_000));
    expect(seenAgo(next, 'another-key')).toBe(null);
    next = await later(next, 9 * WINDOW_MS);
    expect(seenAgo(next)).toEqual(nearly(31_000 + 9 * WINDOW_MS));
    expect(seenAgo(await later(next, 3 * WINDOW_MS))).toBe(null);
  });

  test.each([
    ['headers', { limit: 30, remaining: 10, resetInMs: 60_000 }],
    ['a refusal', { ...silent, refused: { retryAfterMs: 1000 } }],
  ])('notes that others use its key when %s show them', async (_, answer) => {
    const clock = new VirtualClock().rule();
    const budget = createBudget(clock, 30, WINDOW_MS, begin(clock).of('a-key', span));
    const own = { limit: 30, remaining: 29, resetInMs: 60_000 };
    for (const answers of [[own], [answer, silent]]) {
      expect(text()).not.toMatch(/^c /m);
      await enqueueAll({ clock, budget }, [new Errand({ clock, log: [] }, { answers })]);
    }
    expect(text()).toMatch(/^c a-key /m);
  });

  test('is small, however much is spent', async () => {
    const clock = new VirtualClock().rule();
    const key = begin(clock).of('a-key', span);
    for (let request = 0; request < 10_000; request += 1) {
      key.begin(false).ended();
      await clock.advance(2000);
    }
    expect(statSync(path()).size).toBeLessThan(100_000);
    kill();
    expect(recalledBy(await later(clock, 0))).toHaveLength(30);
  });

  test('is done without where the folder cannot be used', () => {
    const clock = new VirtualClock().rule();
    writeFileSync(join(folder, 'file'), '');
    folder = join(folder, 'file');
    expect(recalledBy(clock)).toBe(UNKNOWN);
    expect(complaints).toEqual([expect.stringContaining('cannot be used')]);
    folder = join(folder, '..');
  });

  test('lets go of a file that another process has taken over', async () => {
    const clock = new VirtualClock().rule();
    const key = begin(clock).of('a-key', span);
    kill();
    const next = open(await later(clock, 10)).of('a-key', span);
    for (let request = 0; request < 1000; request += 1) key.begin(false).ended();
    expect(complaints).toEqual([expect.stringContaining('another process uses it')]);
    next.begin(false);
    kill();
    expect((recalledBy(await later(clock, 20)) as number[]).length).toBeGreaterThan(0);
  });
});

describe('The folder of the journal', () => {
  const elsewhere = (): string => join(folder, 'of-somebody-else');

  test.each(['leases.log', 'leases.log.new'])(
    'has nothing written through a link by the name of %s',
    async (name) => {
      const clock = new VirtualClock().rule();
      writeFileSync(elsewhere(), 'precious');
      symlinkSync(elsewhere(), join(folder, name));
      const key = begin(clock).of('a-key', span);
      // More than are written before the file is made new.
      for (let request = 0; request < 1100; request += 1) {
        if (request === 500) {
          rmSync(`${path()}.new`, { force: true });
          symlinkSync(elsewhere(), `${path()}.new`);
        }
        key.begin(false).ended();
      }
      expect(readFileSync(elsewhere(), 'utf8')).toBe('precious');
      expect(lstatSync(path()).isFile()).toBe(true);
      expect(existsSync(`${path()}.new`)).toBe(false);
      expect(complaints).toEqual([]);
      kill();
      expect(recalledBy(await later(clock, 0))).toHaveLength(1100);
    },
  );

  test('may have a file left in it by a process that was killed while it wrote', () => {
    const clock = new VirtualClock().rule();
    writeFileSync(`${path()}.new`, 'half of', { mode: 0o666 });
    begin(clock);
    expect(text()).toMatch(/^leases 1 /);
    expect(statSync(path()).mode & 0o777).toBe(0o600);
  });

  test.each([
    ['a pipe', () => void execFileSync('mkfifo', [path()]), 'it is not a regular file'],
    ['a link to a device', () => symlinkSync('/dev/zero', path()), 'it is not a regular file'],
    ['a folder', () => mkdirSync(path()), 'it is not a regular file'],
    [
      'a file of 400 MB',
      () => {
        writeFileSync(path(), '');
        truncateSync(path(), 400_000_000);
      },
      'it is larger than 67108864 bytes',
    ],
  ])('is done without where the journal is %s', (_, make, why) => {
    make();
    expect(recalledBy(new VirtualClock().rule())).toBe(UNKNOWN);
    expect(complaints).toEqual([expect.stringContaining(`cannot be used (${why})`)]);
  });

  test.each(['707', '702', '770', '1777'])('is complained of where its mode is %s', (mode) => {
    chmodSync(folder, Number.parseInt(mode, 8));
    const clock = new VirtualClock().rule();
    const key = open(clock).of('a-key', span);
    expect(complaints).toEqual([
      expect.stringMatching(/^STATE_DIR .* is writable by other users.*chmod 700/),
    ]);
    // It is used all the same.
    key.begin(false).ended();
    kill();
    expect(recalledBy(clock)).toBe(UNKNOWN);
    expect(text()).toMatch(/^leases 1 /);
  });

  test.each(['755', '750', '744'])('is told where others can read it by its mode %s', (mode) => {
    chmodSync(folder, Number.parseInt(mode, 8));
    open(new VirtualClock().rule());
    expect(complaints).toEqual([
      expect.stringMatching(/^STATE_DIR .* is readable by other users.* Run: chmod 700 \//),
    ]);
  });

  test.each(['700', '711'])('is fine where its mode is %s', (mode) => {
    chmodSync(folder, Number.parseInt(mode, 8));
    begin(new VirtualClock().rule());
    expect(complaints).toEqual([]);
  });

  test('is the process’s own where it makes it, within one of everybody', () => {
    chmodSync(folder, 0o1777);
    folder = join(folder, 'own');
    begin(new VirtualClock().rule());
    expect(complaints).toEqual([]);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    folder = join(folder, '..');
  });

  test('is complained of where it belongs to somebody else', () => {
    if (process.getuid?.() === 0) chownSync(folder, 54_321, 54_321);
    else vi.spyOn(process, 'getuid').mockReturnValue(54_321);
    open(new VirtualClock().rule());
    expect(complaints).toEqual([expect.stringContaining('is writable by other users')]);
  });
});
