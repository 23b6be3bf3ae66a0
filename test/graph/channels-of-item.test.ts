import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { planOf } from '../graphql/plan-of.ts';
import { openDoor } from '../support/door.ts';
import {
  type Connection,
  openSandbox,
  type Row,
  startWorld,
  type World,
} from '../support/gateway.ts';
import { everyRow, plain } from './rest.ts';

let sandbox: Sandbox;
let world: World;
/** The names of the channels of each item, by type and id, as the API has them. */
let truth: Map<string, string[]>;
let channelIds: number[];

beforeAll(async () => {
  sandbox = await openSandbox();
});
beforeEach(async () => {
  sandbox.reset();
  world = await startWorld({ on: sandbox });
  truth = await membership(world);
  world.forgetCalls();
});

async function membership(of: World): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  const channels = await everyRow(of, '/api/channels', 'channels');
  channelIds = channels.map(({ id }) => Number(id));
  for (const { id, name } of channels) {
    for (const item of await everyRow(of, `/api/channel/${String(id)}`, 'items')) {
      const key = `${String(item['type'])}:${String(item['id'])}`;
      found.set(key, [...(found.get(key) ?? []), String(plain(name))]);
    }
  }
  return found;
}

interface Holding {
  readonly nodes: readonly { readonly name: string }[];
  readonly complete: boolean;
}

const names = ({ nodes }: Holding): string[] => nodes.map(({ name }) => name);
const qrCodes = (args = '') =>
  `{ qrCodes(first: 500) { nodes { databaseId channels${args} { nodes { name } complete } } } }`;
type QrCodes = { qrCodes: Connection<{ databaseId: number; channels: Holding }> };
const allItems = '{ channels(first: 100) { nodes { items(first: 500) { totalCount } } } }';

describe('QrCode.channels', () => {
  it('are all channels of each code, and each channel is read once for all codes', async () => {
    const { qrCodes: codes } = await world.data<QrCodes>(qrCodes());
    expect(codes.nodes.length).toBeGreaterThan(20);
    for (const { channels, databaseId } of codes.nodes) {
      const expected = (truth.get(`qr:${databaseId}`) ?? []).toSorted();
      expect(names(channels).toSorted()).toEqual(expected);
      expect(channels.complete).toBe(true);
    }
    expect(codes.nodes.some(({ channels }) => channels.nodes.length > 0)).toBe(true);
    const reads = world.calls().filter((call) => call.startsWith('GET /api/channel/'));
    expect(new Set(reads).size).toBe(reads.length);
    expect(new Set(reads.map((call) => call.split('?')[0])).size).toBe(channelIds.length);
    world.forgetCalls();
    await world.data(qrCodes());
    expect(world.calls()).toEqual([]);
  });

  it('show an item that was assigned, in the same operation and later', async () => {
    const { qrCodes: codes } = await world.data<QrCodes>(qrCodes());
    const code = codes.nodes.find(({ channels }) => channels.nodes.length === 0);
    const id = code?.databaseId;
    const assign = `mutation {
      a: assignItemToChannel(channelId: 21, type: QR, itemId: ${id}) { ... on Channel {
        name items(first: 100) { nodes { ... on QrItem { databaseId channels { nodes { name } } } } } } }
      b: assignItemToChannel(channelId: 65, type: QR, itemId: ${id}) { ... on Channel {
        name items(first: 100) { nodes { ... on QrItem { databaseId channels { nodes { name } } } } } } } }`;
    interface Assigned {
      readonly name: string;
      readonly items: Connection<{ databaseId?: number; channels: Holding }>;
    }
    const { a, b } = await world.data<Record<'a' | 'b', Assigned>>(assign);
    const shown = ({ items }: Assigned) =>
      names(items.nodes.find(({ databaseId }) => databaseId === id)?.channels as Holding);
    expect(shown(a)).toEqual([a.name]);
    expect(shown(b).toSorted()).toEqual([a.name, b.name].toSorted());
    const later = await world.data<QrCodes>(qrCodes());
    const found = later.qrCodes.nodes.find(({ databaseId }) => databaseId === id);
    expect(names(found?.channels as Holding).toSorted()).toEqual([a.name, b.name].toSorted());
  });

  it('fail where they do not fit, and say what is possible, before any item is read', async () => {
    const small = await startWorld({ on: sandbox, env: { OPERATION_MAX_CALLS: '5' } });
    const { data, errors } = await small.ask<QrCodes>(
      '{ qrCodes(first: 2) { nodes { databaseId channels { complete } } } }',
    );
    expect(data.qrCodes.nodes).toMatchObject([{ channels: null }, { channels: null }]);
    expect(errors[0]?.message).toMatch(/items of all channels need \d+ .*"cachedOnly"/);
    expect(errors[0]?.extensions).toMatchObject({
      code: 'OPERATION_TOO_EXPENSIVE',
      needed: channelIds.length,
      limit: 5,
    });
    expect(small.calls().some((call) => call.startsWith('GET /api/channel/'))).toBe(false);
  });
});

describe('ChannelEntry.channels', () => {
  it('are all channels of each item, of any type', async () => {
    const { channels } = await world.data<{
      channels: Connection<{ items: Connection<Row & { channels: Holding }> }>;
    }>(
      `{ channels(first: 50) { nodes { items(first: 15) { nodes { ... on ChannelEntry {
        type databaseId channels { nodes { name } complete } } } } } } }`,
    );
    const items = channels.nodes.flatMap((each) => each.items.nodes);
    expect(new Set(items.map(({ type }) => type))).toEqual(new Set(['LINKS', 'BIO', 'QR']));
    for (const { type, databaseId, channels: holding } of items) {
      const key = `${String(type).toLowerCase()}:${String(databaseId)}`;
      expect(names(holding).toSorted(), key).toEqual(truth.get(key)?.toSorted());
    }
  });
});

describe('The argument cachedOnly', () => {
  const cachedOnly = qrCodes('(cachedOnly: true)');

  it('sends nothing for channels, and says that the result is incomplete', async () => {
    const { qrCodes: codes } = await world.data<QrCodes>(cachedOnly);
    for (const { channels } of codes.nodes)
      expect(channels).toEqual({ nodes: [], complete: false });
    expect(world.calls().every((call) => call.startsWith('GET /api/qr?'))).toBe(true);
  });

  it('finds what is cached of some channels, and all of all once everything is', async () => {
    const [first, second] = channelIds;
    await world.data('{ channels(first: 500) { totalCount } qrCodes(first: 500) { totalCount } }');
    await world.data(`{ a: channel(id: ${first}) { items(first: 500) { totalCount } }
      b: channel(id: ${second}) { items(first: 500) { totalCount } } }`);
    world.forgetCalls();
    const some = await world.data<QrCodes>(cachedOnly);
    await world.data(allItems);
    world.forgetCalls();
    const all = await world.data<QrCodes>(cachedOnly);
    expect(world.calls()).toEqual([]);
    for (const [n, { channels, databaseId }] of all.qrCodes.nodes.entries()) {
      expect(names(channels).toSorted()).toEqual((truth.get(`qr:${databaseId}`) ?? []).toSorted());
      expect(channels.complete).toBe(true);
      const part = some.qrCodes.nodes[n]?.channels as Holding;
      expect(part.complete).toBe(false);
      expect(names(channels)).toEqual(expect.arrayContaining(names(part)));
    }
    const count = (of: QrCodes) =>
      of.qrCodes.nodes.flatMap(({ channels }) => channels.nodes).length;
    expect(count(some)).toBeLessThan(count(all));
  });

  it('answers alike from memory, and otherwise as soon as the cache has more', async () => {
    const door = await openDoor({ AUTH_MODE: 'none' });
    const ask = async () => (await door.ask(cachedOnly, null)).data;
    await door.ask('{ qrCodes(first: 500) { totalCount } }', null);
    const cold = await ask();
    for (let n = 0; n < 4; n += 1) expect(await ask()).toEqual(cold);
    await door.ask(allItems, null);
    const warm = await ask();
    expect(warm).not.toEqual(cold);
    for (let n = 0; n < 4; n += 1) expect(await ask()).toEqual(warm);
  });

  it('keeps nothing fresh that is used for it alone, however often it is asked', async () => {
    const door = await openDoor({ AUTH_MODE: 'none' }, { on: sandbox });
    await door.ask(allItems, null);
    sandbox.links.clearLog();
    for (let n = 0; n < 40; n += 1) {
      await door.clock.advance(1700);
      await door.ask('{ qrCode(id: 440) { channels(cachedOnly: true) { complete } } }', null);
    }
    const paths = sandbox.links.requests.map(({ path }) => path);
    expect(paths.filter((path) => path.startsWith('/api/channel'))).toEqual([]);
  });

  it('knows that a part of the items of a channel is not all of them', async () => {
    const other = await openSandbox({ maxLimit: 12 });
    const short = await startWorld({ on: other });
    await short.data('{ channels(first: 100) { nodes { items(first: 5) { totalCount } } } }');
    await short.data('{ qrCodes(first: 100) { totalCount } }');
    const query = qrCodes('(cachedOnly: true)');
    const part = await short.data<QrCodes>(query);
    expect(part.qrCodes.nodes.every(({ channels }) => !channels.complete)).toBe(true);
    await short.data(allItems);
    const all = await short.data<QrCodes>(query);
    expect(all.qrCodes.nodes.every(({ channels }) => channels.complete)).toBe(true);
    await short.close();
    await other.close();
  });

  it('is priced exactly, and so are channels that are all cached', async () => {
    expect(await planOf(world, cachedOnly.replace('500', '3'))).toMatchObject({
      calls: 1,
      exact: false,
    });
    expect((await planOf(world, qrCodes())).exact).toBe(false);
    await world.data(allItems);
    await world.data('{ qrCodes(first: 500) { totalCount } }');
    expect(await planOf(world, qrCodes())).toMatchObject({ calls: 0, exact: true });
    expect(await planOf(world, cachedOnly)).toMatchObject({ calls: 0, exact: true });
  });
});

describe('BrandedDomain.files', () => {
  it('are the files whose short URL is on the domain, at the pages of all files', async () => {
    const files = await everyRow(world, '/api/files', 'list');
    const domains = await everyRow(world, '/api/domains', 'domains');
    const [domain] = domains as [Row];
    const moved = new Set(files.slice(3, 8).map(({ id }) => id));
    sandbox.links.fault({
      kind: 'answer',
      path: '/api/files',
      rewrite: (answer) => {
        const { list } = answer.body as { list: Record<string, unknown>[] };
        for (const row of list) {
          if (moved.has(row['id']))
            row['shorturl'] = `${String(domain['domain'])}/f/${String(row['id'])}`;
        }
        return answer;
      },
    });
    world.forgetCalls();
    const { domains: found } = await world.data<{
      domains: Connection<{ databaseId: number; files: Connection<{ databaseId: number }> }>;
    }>(
      '{ domains(first: 500) { nodes { databaseId files { totalCount nodes { databaseId } } } } }',
    );
    const reads = world.calls().filter((call) => call.startsWith('GET /api/files'));
    expect(reads).toHaveLength(Math.ceil(files.length / 100));
    const ofDomain = found.nodes.find(({ databaseId }) => databaseId === domain['id'])?.files;
    expect(new Set(ofDomain?.nodes.map(({ databaseId }) => databaseId))).toEqual(moved);
    expect(ofDomain?.totalCount).toBe(moved.size);
    const others = found.nodes.filter(({ databaseId }) => databaseId !== domain['id']);
    expect(others.every(({ files: own }) => own.totalCount === 0)).toBe(true);
  });
});
