import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts';
import { keysAreNew } from '../../../src/upstream/budget/journal/journal.ts';
import { type Answer, PLENTY, startWorld, type World } from '../../support/gateway.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const TTL = 60_000;
const NAMES = '{ channels(first: 5) { nodes { id name } } }';
const OTHERS = '{ campaigns(first: 1) { nodes { id } } }';
const NAME = 'query ($id: ID!) { channel(id: $id) { name } }';
const RENAME =
  'mutation ($id: ID!, $name: String!) { updateChannel(input: { id: $id, name: $name }) { ... on Channel { id } } }';

interface Names {
  readonly channels: { readonly nodes: readonly { readonly id: string; readonly name: string }[] };
}

let sandbox: Sandbox;
let folder: string;
let clock: VirtualClock;
/** Whether the latest process can write its leases, and thus may write to the folder. */
let isOwned: boolean;
/** The log of the latest process. */
let log: Record<string, unknown>[];

beforeEach(async () => {
  clock = new VirtualClock();
  sandbox = await startSandbox({ limit: { requests: PLENTY } });
  folder = newFolder();
  onTestFinished(() => sandbox.close());
});

function newFolder(): string {
  const made = mkdtempSync(join(tmpdir(), 'cache-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** A process on the folder. */
async function start(env: Readonly<Record<string, string>> = {}): Promise<World> {
  isOwned = true;
  const own = folder;
  const lines: Record<string, unknown>[] = [];
  log = lines;
  const world = await startWorld({
    on: sandbox,
    clock,
    log: { write: (line) => lines.push(JSON.parse(line)) },
    journal: {
      ...keysAreNew,
      get folder() {
        return isOwned ? own : null;
      },
    },
    env: { 'ttl.channels': String(TTL), shutdownGraceMs: '0', ...env },
  });
  onTestFinished(async () => {
    const closed = world.close();
    // Until requests without a response have timed out.
    await clock.advance(120_000);
    await closed;
  });
  return world;
}

/** Kills the process: the next one gets what it has left on the disk, and it no longer changes that. */
async function kill(): Promise<void> {
  await clock.settle();
  const left = newFolder();
  cpSync(folder, left, { recursive: true });
  folder = left;
}

/** Kills the process and starts another. */
async function restart(env?: Readonly<Record<string, string>>): Promise<World> {
  await kill();
  sandbox.links.clearLog();
  return start(env);
}

const file = (): string => join(folder, 'cache.log');
const said = (): string[] => log.map(({ msg }) => String(msg));

describe('the cache in STATE_DIR', () => {
  it('keeps what is fresh fresh, without a request', async () => {
    const before = await (await start()).ask<Names>(NAMES);
    expect(before.receipt.calls).toBe(1);
    await clock.advance(20_000);
    const world = await restart();
    const after = await world.ask<Names>(NAMES);
    expect(after.data).toEqual(before.data);
    expect(after.receipt).toMatchObject({ calls: 0, stale: 0, maxAgeMs: 20_000 });
    expect(world.calls()).toEqual([]);
    expect(log).toContainEqual(expect.objectContaining({ msg: 'cache loaded', entries: 1 }));
  });

  it('reports the age of what is stale, and refreshes it', async () => {
    const before = await (await start()).ask<Names>(NAMES);
    await kill();
    await clock.advance(TTL + 10_000);
    const world = await restart();
    const after = await world.ask<Names>(NAMES);
    expect(after.data).toEqual(before.data);
    expect(after.receipt).toMatchObject({ calls: 0, stale: 1, maxAgeMs: TTL + 10_000 });
    await clock.settle();
    expect(world.calls()).toHaveLength(1);
  });

  it('has the responses of several restarts', async () => {
    await (await start()).ask(NAMES);
    await (await restart()).ask(OTHERS);
    const world = await restart();
    await world.data(NAMES);
    await world.data(OTHERS);
    expect(world.calls()).toEqual([]);
  });

  it('is complete after a shutdown', async () => {
    const world = await start();
    await world.data(NAMES);
    await world.close();
    const next = await start();
    sandbox.links.clearLog();
    await next.data(NAMES);
    expect(next.calls()).toEqual([]);
  });

  it('shows no state from before an answered write', async () => {
    const world = await start();
    const { channels } = await world.data<Names>(NAMES);
    const { id } = channels.nodes[0] as { id: string };
    await world.data(NAME, { id });
    await world.data(RENAME, { id, name: 'Renamed' });
    const next = await restart();
    sandbox.links.fault({ kind: 'error-500', times: 1 });
    const { data, errors } = await next.ask(NAME, { id });
    expect(data).toEqual({ channel: null });
    expect(errors).toHaveLength(1);
    await clock.advance(10_000);
    expect(await next.data(NAME, { id })).toEqual({ channel: { name: 'Renamed' } });
    const again = await next.data<Names>(NAMES);
    expect(again.channels.nodes.find((each) => each.id === id)?.name).toBe('Renamed');
  });

  it('asks again after a write that was killed under way, if anything newer can be had', async () => {
    const world = await start();
    const { channels } = await world.data<Names>(NAMES);
    const { id } = channels.nodes[0] as { id: string };
    await world.data(OTHERS);
    sandbox.links.fault({ kind: 'hang', method: 'PUT', path: '/api/channel/*', applied: true });
    void world.ask(RENAME, { id, name: 'Renamed' });
    await expect.poll(() => world.calls().at(-1)).toContain('update');
    const next = await restart();
    expect(await next.data(NAME, { id })).toEqual({ channel: { name: 'Renamed' } });
    expect(next.calls()).toHaveLength(1);
    await next.data(OTHERS);
    const third = await restart();
    await third.data(NAME, { id });
    expect(third.calls()).toEqual([]);
  });

  it('forgets what a rejected key has read', async () => {
    const env = { AUTH_MODE: 'passthrough', LINKS_API_KEY: '' };
    const caller = { authorization: `Bearer ${sandbox.links.key}` };
    const world = await start(env);
    await world.ask(NAMES, {}, caller);
    const kept = await restart(env);
    expect((await kept.ask(NAMES, {}, caller)).receipt.calls).toBe(0);
    sandbox.links.fault({ kind: 'bad-key', times: 1 });
    await kept.ask(OTHERS, {}, caller);
    const next = await restart(env);
    expect((await next.ask(NAMES, {}, caller)).receipt.calls).toBe(1);
  });

  it('reveals neither data nor keys', async () => {
    const world = await start();
    const { channels } = await world.data<Names>(NAMES);
    await kill();
    const text = readFileSync(file(), 'utf8');
    expect(text).toContain('\ne ');
    expect(text).not.toContain(sandbox.links.key);
    for (const { name } of channels.nodes) expect(text).not.toContain(name);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
  });

  it('stays within its size, and keeps the latest responses', async () => {
    const small = { cacheFileMaxBytes: '400000', 'ttl.channels': '1' };
    const world = await start(small);
    let appended = 0;
    while (appended < 1_000_000) {
      await world.data(NAMES);
      await clock.advance(10);
      appended += statSync(file()).size;
    }
    await kill();
    expect(statSync(file()).size).toBeLessThan(500_000);
    const next = await restart();
    expect((await next.ask(NAMES)).receipt).toMatchObject({ calls: 0, maxAgeMs: 10 });
  });

  const cold = async (env?: Readonly<Record<string, string>>): Promise<string[]> => {
    const world = await start(env);
    sandbox.links.clearLog();
    await world.data(NAMES);
    expect(world.calls()).toHaveLength(1);
    return said();
  };

  it.each([
    ['is damaged', (text: string) => text.replace('\ne ', '\n? ')],
    ['has another version', (text: string) => text.replace('cache 1 ', 'cache 2 ')],
    ['is empty', () => ''],
    ['is not text', () => '\u0000\uffff'.repeat(10_000)],
  ])('starts empty if the file %s, and says so', async (_, spoil) => {
    await (await start()).data(NAMES);
    await kill();
    writeFileSync(file(), spoil(readFileSync(file(), 'utf8')));
    expect(await cold()).toContainEqual(
      expect.stringContaining('cache.log is damaged or has another version'),
    );
  });

  it('starts without one entry that is damaged', async () => {
    await (await start()).data(NAMES);
    await kill();
    const spoilt = readFileSync(file(), 'utf8').replace(/(?<=\ne \S+ \S+ \d+ \d+ \S{40})./, '/');
    writeFileSync(file(), spoilt);
    await cold();
  });

  it('ignores a line that was not completed', async () => {
    await (await start()).data(NAMES);
    await kill();
    appendFileSync(file(), 'e half a li');
    const world = await restart();
    await world.data(OTHERS);
    const next = await restart();
    await next.data(NAMES);
    expect(next.calls()).toEqual([]);
  });

  it.each([
    ['another key', { LINKS_API_KEY: 'another-key-of-the-same-account' }],
    ['another time zone', { LINKS_TIMEZONE: 'Asia/Tokyo' }],
  ])('starts empty with %s, and says so', async (_, env) => {
    await (await start()).data(NAMES);
    const world = await restart(env);
    await world.ask(NAMES);
    expect(world.calls()).toHaveLength(1);
    expect(said()).toContainEqual(
      expect.stringContaining('another API key, base URL or time zone'),
    );
  });

  it('starts empty if the clock was set back, and says so', async () => {
    await (await start()).data(NAMES);
    await kill();
    clock.jumpWall(-1000);
    expect(await cold()).toContainEqual(expect.stringContaining('clock was set back'));
  });

  it('starts empty if the machine was restarted while it was in use, and says so', async () => {
    await (await start()).data(NAMES);
    await kill();
    writeFileSync(file(), readFileSync(file(), 'utf8').replace(/^p \S+/m, 'p another-start'));
    expect(await cold()).toContainEqual(expect.stringContaining('the machine was restarted'));
  });

  it('removes a file that it cannot continue, and writes another later', async () => {
    const world = await start();
    await world.data(NAMES);
    isOwned = false;
    await world.data(OTHERS);
    await clock.settle();
    expect(existsSync(file())).toBe(false);
    expect(said()).toContainEqual(expect.stringContaining('cache.log cannot be written'));
    isOwned = true;
    await clock.advance(61_000);
    await world.data(OTHERS);
    await expect.poll(() => existsSync(file())).toBe(true);
    const next = await restart();
    await next.data(OTHERS);
    expect(next.calls()).toEqual([]);
  });

  it('never shows an older state than reported, nor one from before an answered write', async () => {
    let count = 0;
    const id = fc.nat({ max: 2 });
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ kind: fc.constant('read'), id }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('list'), id }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('write'), id }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('lost'), id }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('kill'), id }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('wait'), id }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 20 }), async (steps) => {
        folder = newFolder();
        let world = await start();
        const { nodes } = (await world.data<Names>(NAMES)).channels;
        const ids = nodes.slice(0, 3).map((each) => each.id);
        /** The names of each, and since when it has had them. */
        const names = new Map(nodes.map((each) => [each.id, [{ at: -Infinity, name: each.name }]]));
        const check = (
          of: string,
          name: string,
          { maxAgeMs }: Answer<unknown>['receipt'],
        ): void => {
          const all = names.get(of) ?? [];
          const at = all.findIndex((each) => each.name === name);
          const until = all[at + 1]?.at ?? Infinity;
          expect(at).toBeGreaterThanOrEqual(0);
          expect(until).toBeGreaterThanOrEqual(clock.now() - maxAgeMs);
          expect(at).toBeGreaterThanOrEqual(answered.get(of) ?? 0);
        };
        /** The latest answered write of each. */
        const answered = new Map<string, number>();
        for (const { kind, id: which } of steps) {
          const of = ids[which] as string;
          if (kind === 'read') {
            const { data, receipt } = await world.ask<{ channel: { name: string } }>(NAME, {
              id: of,
            });
            check(of, data.channel.name, receipt);
          } else if (kind === 'list') {
            const { data, receipt } = await world.ask<Names>(NAMES);
            for (const each of data.channels.nodes) check(each.id, each.name, receipt);
          } else if (kind === 'write' || kind === 'lost') {
            count += 1;
            const name = `${kind} ${count}`;
            if (kind === 'lost') {
              sandbox.links.fault({ kind: 'drop', method: 'PUT', times: 1, applied: true });
            }
            const all = names.get(of) ?? [];
            all.push({ at: clock.now(), name });
            const { errors } = await world.ask(RENAME, { id: of, name });
            // The next writer of the row waits until this one can have no effect any more.
            if (errors.length > 0) await clock.advance(6000);
            if (errors.length === 0) answered.set(of, all.length - 1);
          } else if (kind === 'kill') world = await restart();
          else await clock.advance(TTL / 2);
        }
        await kill();
      }),
      // Each run starts several processes, so a failure is shown as found instead of shrunk.
      { numRuns: 8, endOnFailure: true },
    );
  });
});
