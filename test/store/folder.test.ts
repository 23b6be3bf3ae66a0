import { fork } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';
import { beforeEach, expect, it, vi } from 'vitest';
import { systemClock } from '../../src/scheduling/clock.ts';
import { openStore } from '../../src/store/open-store.ts';
import { tempFolder } from '../support/folder.ts';
import { holdsWhatAMapHolds, owned } from './law.ts';

const WRITER = new URL('writer.ts', import.meta.url);
const KILLS = Number(process.env['STORE_KILLS'] ?? 20);

let root: string;
let folder: string;
beforeEach(() => {
  root = tempFolder();
  folder = join(root, 'store');
});

const place = () => ({ kind: 'folder', folder }) as const;

it('holds what a map would hold, in memory', () => holdsWhatAMapHolds({ kind: 'memory' }, 200));

it('holds what a map would hold, in a folder over restarts', () => holdsWhatAMapHolds(place(), 60));

it(`has each acknowledged change after ${KILLS} kills in a storm of writes`, async () => {
  const program = join(root, 'writer.cjs');
  await build({
    input: fileURLToPath(WRITER),
    platform: 'node',
    external: [/^[a-z]/],
    output: { file: program, format: 'cjs', codeSplitting: false },
    logLevel: 'silent',
  });
  const modules = fileURLToPath(new URL('../../node_modules', import.meta.url));
  let acknowledged = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    const writer = fork(program, [folder, String(acknowledged)], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: { NODE_PATH: modules },
    });
    const most = 1 + ((kill * 7) % 40);
    let seen = 0;
    const ended = once(writer, 'exit');
    writer.on('message', (n: number) => {
      acknowledged = n;
      seen += 1;
      if (seen === most) writer.kill('SIGKILL');
    });
    const [, signal] = await ended;
    expect(signal).toBe('SIGKILL');
    const { store } = await owned(place());
    const last = Number(await store.get('storm/last'));
    expect(last).toBeGreaterThanOrEqual(acknowledged);
    // Both values of a transaction, or none.
    expect(Number(await store.get('storm/twin'))).toBe(last);
    acknowledged = last;
    await store.close();
  }
});

it('has exactly one owner when several open it at once', async () => {
  for (let round = 0; round < 60; round += 1) {
    const options = {
      place: place(),
      url: 'http://127.0.0.1:1',
      clock: systemClock,
      complain: () => {},
    };
    const opened = await Promise.all([openStore(options), openStore(options), openStore(options)]);
    const owners = opened.flatMap((each) => ('owned' in each ? [each.owned] : []));
    expect(owners).toHaveLength(1);
    const [waiting] = opened.flatMap((each) => ('waiting' in each ? [each.waiting] : []));
    expect(await waiting?.owner()).toEqual(owners[0]?.owner);
    await owners[0]?.store.close();
  }
});

it('is owned by a waiting process as soon as its owner has closed it', async () => {
  const first = await owned(place());
  const options = {
    place: place(),
    url: 'http://127.0.0.1:2',
    clock: systemClock,
    complain: () => {},
  };
  const second = await openStore(options);
  if (!('waiting' in second)) throw new Error('two owners');
  expect(await second.waiting.depose()).toBe(false);
  const owning = second.waiting.own(new AbortController().signal);
  first.store.put('a', 'last words');
  await first.store.close();
  const { owner, store } = await owning;
  expect(String(await store.get('a'))).toBe('last words');
  expect(owner.url).toBe('http://127.0.0.1:2');
  await store.close();
  const third = await openStore(options);
  if (!('owned' in third)) throw new Error('it is owned by nobody');
  const fourth = await openStore(options);
  if (!('waiting' in fourth)) throw new Error('two owners');
  const reason = new Error('not any more');
  await expect(fourth.waiting.own(AbortSignal.abort(reason))).rejects.toBe(reason);
  await third.owned.store.close();
});

it('knows since when it has all changes, also of owners before', async () => {
  const { store: first } = await owned(place());
  expect(first.knownSince).toBeGreaterThan(systemClock.wall() - 60_000);
  await first.close();
  const { store: second } = await owned(place());
  expect(second.knownSince).toBe(first.knownSince);
  expect([first.hasLost, second.hasLost]).toEqual([false, false]);
  await second.close();
  // As after a process that ended while its disk was full.
  rmSync(join(folder, 'complete'));
  await new Promise((resolve) => setTimeout(resolve, 2));
  const { store: third } = await owned(place());
  expect(third.knownSince).toBeGreaterThan(first.knownSince);
  expect(third.hasLost).toBe(true);
  await third.close();
});

it('loses itself when its folder is removed, and writes to no other', async () => {
  const complaints: string[] = [];
  const { store } = await owned(place(), (sentence) => complaints.push(sentence));
  rmSync(folder, { recursive: true });
  store.put('a', '1');
  await expect(store.committed()).rejects.toMatchObject({ fault: 'LOST' });
  store.put('a', '2');
  await expect(store.committed()).rejects.toMatchObject({ fault: 'LOST' });
  expect(complaints).toEqual([expect.stringContaining('removed or replaced')]);
  await store.close();
  const { store: next } = await owned(place());
  expect(await next.get('a')).toBeNull();
  await next.close();
});

it('sets a damaged database aside and says where it is', async () => {
  const { store } = await owned(place());
  store.put('a', '1');
  await store.close();
  for (const name of readdirSync(folder)) {
    if (name.startsWith('MANIFEST')) writeFileSync(join(folder, name), 'rubbish');
  }
  truncateSync(join(folder, 'CURRENT'), 3);
  const complaints: string[] = [];
  const { store: next } = await owned(place(), (sentence) => complaints.push(sentence));
  expect(await next.get('a')).toBeNull();
  expect(complaints).toEqual([expect.stringContaining('damaged')]);
  expect(readdirSync(root)).toHaveLength(2);
  await next.close();
  const { store: later } = await owned(place());
  expect([next.hasLost, later.hasLost]).toEqual([true, true]);
  await later.close();
});

it('refuses a store of a newer version, and lets go of it', async () => {
  const { store } = await owned(place());
  store.put('meta/store', '{"version":99,"knownSince":0}');
  await store.close();
  for (const _ of [1, 2]) {
    await expect(owned(place())).rejects.toMatchObject({
      fault: 'NEWER',
      message: expect.stringContaining('version 99'),
    });
  }
});

it('is readable by its user only', async () => {
  const { store } = await owned(place());
  expect(statSync(folder).mode & 0o077).toBe(0);
  expect(statSync(join(folder, 'owner.json')).mode & 0o077).toBe(0);
  await store.close();
});

it.each([
  ['707', 'writable'],
  ['702', 'writable'],
  ['770', 'writable'],
  ['1777', 'writable'],
  ['755', 'readable'],
  ['750', 'readable'],
  ['744', 'readable'],
  ['711', null],
  ['700', null],
])('warns of a STATE_DIR of mode %s if it is %s by other users', async (mode, danger) => {
  chmodSync(root, Number.parseInt(mode, 8));
  const complaints: string[] = [];
  const { store } = await owned(place(), (sentence) => complaints.push(sentence));
  const warning = `STATE_DIR ${root} is ${danger} by other users`;
  const advice = `Run: chmod 700 ${root} `;
  expect(complaints.map((each) => each.startsWith(warning) && each.includes(advice))).toEqual(
    danger === null ? [] : [true],
  );
  await store.close();
});

it('warns of a STATE_DIR that belongs to another user', async () => {
  if (process.getuid?.() === 0) chownSync(root, 54_321, 54_321);
  else vi.spyOn(process, 'getuid').mockReturnValue(54_321);
  const complaints: string[] = [];
  const { store } = await owned(place(), (sentence) => complaints.push(sentence));
  expect(complaints).toEqual([expect.stringContaining('is writable by other users')]);
  await store.close();
});

it('makes a STATE_DIR for its user only', async () => {
  chmodSync(root, 0o1777);
  const complaints: string[] = [];
  const made = { kind: 'folder', folder: join(root, 'own', 'store') } as const;
  const { store } = await owned(made, (sentence) => complaints.push(sentence));
  expect(complaints).toEqual([]);
  expect(statSync(join(root, 'own')).mode & 0o777).toBe(0o700);
  await store.close();
});

it('says why a folder cannot be used', async () => {
  writeFileSync(join(root, 'file'), '');
  await expect(
    owned({ kind: 'folder', folder: join(root, 'file', 'store') }),
  ).rejects.toMatchObject({
    fault: 'UNAVAILABLE',
    message: expect.stringContaining('ENOTDIR'),
  });
});
