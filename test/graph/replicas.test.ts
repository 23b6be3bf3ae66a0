import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import type { Connection, World, WorldOptions } from '../support/gateway.ts';
import { describeWith, redisServer } from '../support/needs.ts';
import { RedisServer } from '../support/redis-server.ts';
import { patient, startReplicas } from '../support/replica-worlds.ts';
import { StandIn, upTo } from './paging/stand-in.ts';

type Pair = readonly [World, World];

let sandbox: Sandbox;
let redis: RedisServer;
const open: World[] = [];

async function pair(options: WorldOptions = { on: sandbox }): Promise<Pair> {
  const worlds = await startReplicas(2, redis, options);
  open.push(...worlds);
  return worlds as unknown as Pair;
}

/** How many answers are in Redis. */
async function kept(): Promise<number> {
  return ((await redis.command('KEYS', '*:e:*')) as unknown[]).length;
}

const asOne = (key: string) => ({ authorization: `Bearer ${key}` });

describeWith(redisServer, 'what one replica has read', () => {
  beforeAll(async () => {
    sandbox = await startSandbox({ limit: { requests: 1_000_000 } });
    redis = await RedisServer.run();
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((world) => world.close()));
    sandbox.reset();
  });
  afterAll(async () => {
    await sandbox.close();
    await redis.end();
  });

  interface Listed {
    readonly list: { readonly nodes: readonly Record<'id' | 'databaseId', string | number>[] };
  }
  const ids = ({ list }: Listed) => JSON.stringify(list.nodes.map(({ id }) => id).slice(0, 3));
  const second = ({ list }: Listed) => list.nodes[1]?.databaseId;
  it.each<readonly [string, string, (read: Listed) => string]>([
    ['a list', 'campaigns', () => '{ campaigns { nodes { name } } }'],
    ['a row of a list', 'qrCodes', (read) => `{ qrCode(id: "${second(read)}") { name } }`],
    ['rows by their ids', 'pixels', (read) => `{ nodes(ids: ${ids(read)}) { id } }`],
    ['the end of a list', 'qrCodes', () => '{ qrCodes(last: 3) { nodes { name } } }'],
    ['a row of a whole list', 'items', (read) => `{ item(id: ${second(read)}) { name } }`],
  ])('another answers from: %s', async (_, list, next) => {
    const [a, b] = await pair();
    const before = await kept();
    const read = await a.data<Listed>(`{ list: ${list}(first: 500) { nodes { id databaseId } } }`);
    // The answer leaves together with what is kept of it, and may be here first.
    while ((await kept()) === before) await pause(1);
    const query = next(read);
    a.forgetCalls();
    const { data, errors, receipt } = await b.ask(query);
    expect(errors).toEqual([]);
    expect(receipt.calls).toBe(0);
    expect(b.calls()).toEqual([]);
    expect(data).toEqual(await a.data(query));
  });

  it('is as old on another as it is, although Redis stood still meanwhile', async () => {
    const [a, b] = await pair({ on: sandbox, protocolTimes: { ...patient, callMs: 500 } });
    const queries = ['campaigns', 'pixels', 'qrCodes', 'channels'].map(
      (list) => `{ ${list} { nodes { name } } }`,
    );
    const before = await kept();
    for (const query of queries) await a.data(query);
    const at = performance.now();
    while ((await kept()) < before + queries.length) await pause(1);
    redis.stop();
    // Longer than a connection may be silent: what was sent before and meanwhile is carried out late.
    await pause(1500);
    redis.cont();
    // It sends again, as one who knows what time it is.
    while ((await b.ask('{ account { username } }')).errors.length > 0) await pause(10);
    const asked = performance.now();
    const receipts = await Promise.all(queries.map(async (query) => (await b.ask(query)).receipt));
    const shared = receipts.filter(({ calls }) => calls === 0);
    // On a busy machine a look into Redis may take longer than it is waited for.
    expect(shared.length).toBeGreaterThan(0);
    // The answers were there at that moment; what the monotonic clocks may differ by is a thousandth.
    for (const { maxAgeMs } of shared) expect(maxAgeMs).toBeGreaterThan((asked - at) * 0.99);
  });

  it('and written is shared by a user who may do what the page about replicas says, and no more', async () => {
    const rule = /^user gateway on >PASSWORD (.*)$/m.exec(readFileSync('docs/replicas.md', 'utf8'));
    // Other tests have other prefixes.
    const rights = ['~*', '&*', ...(rule?.[1] ?? '').split(' ').slice(2)];
    await redis.command('ACL', 'SETUSER', 'narrow', 'reset', 'on', '>secret', ...rights);
    const url = redis.url.replace('redis://', 'redis://narrow:secret@');
    const [a, b] = await pair({ on: sandbox, env: { REDIS_URL: url } });
    await a.data('{ pixels { nodes { name } } }');
    await b.data(
      'mutation { createPixel(input: { type: GTM, name: "x", tag: "GTM-1" }) { __typename } }',
    );
    const query = '{ pixels { totalCount nodes { name } } }';
    expect(await b.data(query)).toEqual(await a.data(query));
  });

  it('is priced by a dry run of another, and plans are as exact as alone', async () => {
    const [a, b] = await pair();
    const query = '{ campaigns { nodes { name } } channels { nodes { items { totalCount } } } }';
    await a.data(query);
    const { text } = await b.ask(query, {}, { 'x-gateway-dry-run': '1' });
    const { plan } = JSON.parse(text).extensions;
    expect(plan).toMatchObject({ calls: 0, exact: true });
    expect(plan.saved.cache).toBeGreaterThan(1);
  });

  it('is no answer to who has another key, or the same at another place', async () => {
    const [a] = await pair();
    await a.data('{ campaigns { nodes { name } } }');
    const { links } = sandbox;
    const [other] = await startReplicas(1, redis, {
      on: sandbox,
      env: { LINKS_API_KEY: links.keys.free },
    });
    open.push(other as World);
    a.forgetCalls();
    await other?.data('{ campaigns { nodes { name } } }');
    expect(a.calls()).toHaveLength(1);
  });

  it('is not shown to a caller whose key another replica has found to be refused', async () => {
    const env = { AUTH_MODE: 'passthrough', LINKS_API_KEY: '' };
    const [a, b] = await pair({ on: sandbox, env });
    const { pro } = sandbox.links.keys;
    const query = '{ campaigns { nodes { name } } }';
    for (const world of [a, b]) expect((await world.ask(query, {}, asOne(pro))).errors).toEqual([]);
    const undo = sandbox.links.fault({
      kind: 'answer',
      rewrite: () => ({
        status: 401,
        headers: {},
        body: { error: 1, message: 'The API key has expired' },
      }),
    });
    const domains = '{ domains { nodes { id } } }';
    expect((await a.ask(domains, {}, asOne(pro))).errors).toHaveLength(1);
    const { errors } = await b.ask(query, {}, asOne(pro));
    undo();
    expect(errors.map(({ extensions }) => extensions?.code)).toEqual(['UPSTREAM_UNAUTHENTICATED']);
  });

  it('admits a key to the marketplace on another, at the cost of one call in all', async () => {
    const env = { AUTH_MODE: 'passthrough', LINKS_API_KEY: '' };
    const [a, b] = await pair({ on: sandbox, env });
    const { free } = sandbox.links.keys;
    for (const world of [a, b]) {
      const { errors } = await world.ask('{ seller { username } }', {}, asOne(free));
      expect(errors).toEqual([]);
    }
    expect(a.calls()).toHaveLength(2);
  });
});

interface Items {
  readonly channel: { readonly items: Connection<{ readonly databaseId: number }> };
}

describeWith(redisServer, 'a channel of several pages that an item has left on one replica', () => {
  let upstream: StandIn;

  beforeAll(async () => {
    upstream = await StandIn.start();
    redis = await RedisServer.run();
  });
  afterEach(() => Promise.all(open.splice(0).map((world) => world.close())));
  afterAll(async () => {
    await upstream[Symbol.asyncDispose]();
    await redis.end();
  });

  const windows = ['last: 4', 'first: 4', 'first: 25', 'first: 14'];
  const items = async (world: World, window: string) => {
    const { channel } = await world.data<Items>(
      `{ channel(id: "1") { items(${window}) { totalCount nodes { ... on ChannelEntry { databaseId } } } } }`,
    );
    return {
      totalCount: channel.items.totalCount,
      ids: channel.items.nodes.map(({ databaseId }) => databaseId),
    };
  };

  const cases = [3, 10, 11, 25].flatMap((id) => [true, false].map((tells) => [id, tells] as const));
  it.each(cases)(
    'has one less on another, from number %i on; it reports a total: %s',
    async (id, tells) => {
      upstream.tells = (rows) => (tells ? rows : undefined);
      // Known from the rows too, once all pages were read.
      const totalCount = tells ? 24 : expect.toSatisfy((n) => n === null || n === 24);
      upstream.channels = upTo(3);
      upstream.qrs = upTo(60);
      upstream.items.set(
        1,
        upTo(25).map((each) => ({ type: 'qr' as const, id: each })),
      );
      const env = { LINKS_BASE_URL: upstream.baseUrl, LINKS_PAGE_SIZE: '10' };
      const [a, b, c] = (await startReplicas(3, redis, { only: 'links', env })) as [
        World,
        World,
        World,
      ];
      open.push(a, b, c);
      // Who makes the change has not read the channel, and does not know what else it touches.
      await items(b, 'first: 500');
      const { channel } = await b.data<Items>(
        '{ channel(id: "1") { items(first: 12) { edges { cursor } } } }',
      );
      const after = `first: 4, after: "${channel.items.edges.at(-1)?.cursor}"`;
      await a.data(`mutation { deleteQrCode(id: "${id}") { __typename } }`);
      upstream.log.length = 0;
      const left = upTo(25).filter((each) => each !== id);
      // One has nothing of its own: it must not take what others have put aside before.
      expect(await items(c, after)).toMatchObject({ totalCount });
      const expected = [left.slice(-4), left.slice(0, 4), left, left.slice(0, 14)];
      for (const world of [b, c, a]) {
        for (const [at, window] of windows.entries()) {
          expect(await items(world, window)).toEqual({ totalCount, ids: expected[at] });
        }
      }
      // Each page was read once more, by the caller that wanted it first.
      const pages = ['/api/channel/1 1', '/api/channel/1 2', '/api/channel/1 3'];
      expect(upstream.log.toSorted()).toEqual(pages);
    },
  );
});
