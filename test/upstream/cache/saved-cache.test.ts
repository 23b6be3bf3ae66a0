import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import type { Store } from '../../../src/store/store.ts';
import { tempFolder } from '../../support/folder.ts';
import { type Answer, openSandbox, startWorld, type World } from '../../support/gateway.ts';
import { openFolder } from '../../support/store.ts';
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
/** The store of the latest process. */
let store: Store;
/** The log of the latest process. */
let log: Record<string, unknown>[];

beforeEach(async () => {
  clock = new VirtualClock();
  sandbox = await openSandbox();
  folder = newFolder();
});

function newFolder(): string {
  const made = tempFolder();
  return made;
}

/** A process on the folder. */
async function start(env: Readonly<Record<string, string>> = {}): Promise<World> {
  const lines: Record<string, unknown>[] = [];
  log = lines;
  store = await openFolder(folder, clock);
  const world = await startWorld({
    on: sandbox,
    clock,
    log: { write: (line) => lines.push(JSON.parse(line)) },
    store,
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
  await store.committed();
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

/** The rows of the killed process, by their names. */
async function rows(kind = ''): Promise<Map<string, Buffer>> {
  const left = await openFolder(folder, clock);
  const found = new Map<string, Buffer>();
  const range = { from: `cache/${kind}`, to: `cache/${kind}~` };
  for await (const [row, value] of left.read(range)) found.set(row, value);
  await left.close();
  return found;
}

/** Changes rows of the killed process. */
async function spoil(change: (left: Store) => void): Promise<void> {
  const left = await openFolder(folder, clock);
  change(left);
  await left.close();
}

describe('the cache in the store', () => {
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
    await expect.poll(() => world.calls()).toHaveLength(1);
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
    const { name = '' } = channels.nodes[0] ?? {};
    expect((await rows('entry/')).size).toBe(1);
    for (const file of readdirSync(folder)) {
      const bytes = readFileSync(join(folder, file), 'latin1');
      expect(bytes).not.toContain(sandbox.links.key);
      expect(bytes).not.toContain(name);
    }
  });

  it('stays within its size, and keeps the latest responses', async () => {
    const small = { cacheFileMaxBytes: '20000' };
    const world = await start(small);
    const { channels } = await world.data<Names>('{ channels(first: 60) { nodes { id name } } }');
    for (const { id } of channels.nodes) {
      await clock.advance(10);
      await world.data(`{ channel(id: "${id}") { items(first: 20) { totalCount } } }`);
    }
    await kill();
    let bytes = 0;
    for (const value of (await rows('entry/')).values()) bytes += value.length;
    expect(bytes).toBeGreaterThan(10_000);
    expect(bytes).toBeLessThan(20_000);
    const next = await restart(small);
    const last = channels.nodes.at(-1)?.id;
    await next.data(`{ channel(id: "${last}") { items(first: 20) { totalCount } } }`);
    expect(next.calls()).toEqual([]);
  });

  it('removes what has expired', async () => {
    await (await start()).data(NAMES);
    await kill();
    await clock.advance(30 * 86_400_000);
    await restart();
    await kill();
    expect((await rows('entry/')).size).toBe(0);
  });

  it('forgets no write however often the same is made', async () => {
    const world = await start();
    const { channels } = await world.data<Names>(NAMES);
    const { id } = channels.nodes[0] as { id: string };
    await world.data(RENAME, { id, name: 'One' });
    await kill();
    const { size } = await rows('touched/');
    const next = await start();
    for (const name of ['Two', 'Three', 'Four']) await next.data(RENAME, { id, name });
    await kill();
    expect((await rows('touched/')).size).toBe(size);
    expect((await rows('send/')).size).toBe(0);
    const third = await restart();
    expect(await third.data(NAME, { id })).toEqual({ channel: { name: 'Four' } });
  });

  const cold = async (): Promise<void> => {
    const world = await restart();
    await world.data(NAMES);
    expect(world.calls()).toHaveLength(1);
  };

  it.each([
    ['damaged', (value: Buffer) => value.fill(value[50] === 1 ? 2 : 1, 50, 51)],
    ['empty', () => Buffer.alloc(0)],
    ['those of another', (_: Buffer, other: Buffer) => other],
  ])('starts without entries that are %s', async (_, change) => {
    const world = await start();
    await world.data(NAMES);
    await world.data(OTHERS);
    await kill();
    const entries = [...(await rows('entry/'))];
    await spoil((left) => {
      for (const [at, [row, value]] of entries.entries()) {
        left.put(row, change(value, (entries[1 - at] as [string, Buffer])[1]));
      }
    });
    await cold();
  });

  it('starts empty if writes are damaged', async () => {
    const world = await start();
    const { channels } = await world.data<Names>(NAMES);
    await world.data(RENAME, { id: channels.nodes[1]?.id, name: 'Renamed' });
    await world.data(NAMES);
    await kill();
    const [row = ''] = (await rows('touched/')).keys();
    await spoil((left) => left.put(row, Buffer.alloc(40)));
    await cold();
  });

  it.each([
    ['another key', { LINKS_API_KEY: 'another-key-of-the-same-account' }],
    ['another time zone', { LINKS_TIMEZONE: 'Asia/Tokyo' }],
  ])('starts empty with %s', async (_, env) => {
    await (await start()).data(NAMES);
    const world = await restart(env);
    await world.ask(NAMES);
    expect(world.calls()).toHaveLength(1);
  });

  it('starts empty if the clock was set back, and says so', async () => {
    await (await start()).data(NAMES);
    await kill();
    clock.jumpWall(-1000);
    await cold();
    expect(log.map(({ msg }) => msg)).toContainEqual(expect.stringContaining('clock was set back'));
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
