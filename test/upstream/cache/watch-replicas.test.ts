import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { endpointsOf } from '../../../src/config/endpoints.ts';
import { EventStream } from '../../../src/observe/event-stream.ts';
import { Replicas } from '../../../src/replicas.ts';
import { perResource } from '../../../src/resources.ts';
import { systemClock } from '../../../src/scheduling/clock.ts';
import { Cache } from '../../../src/upstream/cache/cache.ts';
import { Client } from '../../../src/upstream/client.ts';
import { Reader } from '../../../src/upstream/reader.ts';
import { Receipt } from '../../../src/upstream/receipt.ts';
import { configOf } from '../../support/config.ts';
import { describeWith, redisServer } from '../../support/needs.ts';
import { noLists } from '../../support/no-lists.ts';
import { RedisServer } from '../../support/redis-server.ts';
import { rememberForAnHour } from '../../support/replica-worlds.ts';
import { ScriptedUpstream, scriptedApi } from '../../support/scripted-upstream.ts';
import { watched } from '../../support/watched.ts';
import { read, write } from './watch-world.ts';

const credential = { partition: 'p', secret: 'the-key-of-all' };
const prefix = 'watched';

/** One of several clients on one Redis, in real time. */
function startReplica(redis: RedisServer, upstream: ScriptedUpstream) {
  const clock = systemClock;
  const config = configOf({
    AUTH_MODE: 'none',
    LINKS_BASE_URL: upstream.baseUrl,
    LINKS_API_KEY: credential.secret,
    LINKS_RATE_LIMIT: '100',
    LINKS_RATE_WINDOW_MS: '1000',
    LINKS_TIMEOUT_MS: '5000',
    REDIS_SECRET: 'a-secret-that-all-the-replicas-know',
    REDIS_URL: redis.url,
    REDIS_PREFIX: prefix,
  });
  if (!config.redis) throw new Error('there is no Redis in the configuration');
  const endpoints = endpointsOf(config, null);
  const replicas = new Replicas({
    clock,
    config,
    endpoints,
    events: new EventStream(),
    redis: config.redis,
  });
  const cache = new Cache({ clock, maxBytes: 1_000_000, generations: replicas.generations });
  const client = new Client({
    ...replicas.sharing('LINKS'),
    api: scriptedApi,
    baseUrl: upstream.baseUrl,
    cache,
    clock,
    digest: replicas.digest,
    dispatcher: upstream.dispatcher,
    freshness: perResource(() => ({
      ttlMs: 1000,
      staleWhileRevalidateMs: 60_000,
      staleIfErrorMs: 0,
    })),
    rateLimit: 100,
    rateWindowMs: 1000,
    timeoutMs: 5000,
    timeZone: 'UTC',
  });
  const reader = new Reader(client);
  replicas.start();
  const access = () => ({
    caller: {
      name: 'someone',
      receipt: new Receipt(clock),
      maxWaitMs: 10_000,
      signal: new AbortController().signal,
    },
    credential,
  });
  return {
    replicas,
    ask: async (name: string) => reader.read(read(name), { ...access(), mode: watched }),
    send: async (...tags: string[]) => reader.write(write(...tags), access(), noLists),
    watch: (name: string, changed: (change: string) => void) =>
      client.cached.watch(client.cached.keyed(read(name), credential), changed, () => ['someone']),
  };
}

describeWith(redisServer, 'What is watched on two replicas', () => {
  let redis: RedisServer;
  let upstream: ScriptedUpstream;
  let pair: readonly ReturnType<typeof startReplica>[];
  const ends: (() => void)[] = [];

  beforeAll(async () => {
    redis = await RedisServer.run();
    upstream = await ScriptedUpstream.start();
    pair = [startReplica(redis, upstream), startReplica(redis, upstream)];
    await rememberForAnHour(redis, prefix);
  });
  afterEach(() => {
    for (const end of ends.splice(0)) end();
  });
  afterAll(async () => {
    for (const { replicas } of pair) await replicas.close();
    await upstream[Symbol.asyncDispose]();
    await redis.end();
  });

  /** Watches a thing on both, until `enough` of what both were told. */
  async function watchBoth(name: string, enough: (told: readonly string[][]) => boolean) {
    const told: string[][] = [[], []];
    await new Promise<void>((resolve) => {
      for (const [n, { watch }] of pair.entries()) {
        const watched = watch(name, (change) => {
          told[n]?.push(change);
          if (enough(told)) resolve();
        });
        ends.push(() => watched.end());
      }
    });
    return told;
  }

  it('is read again by one of them, and renewed on both', async () => {
    const [a, b] = pair;
    await a?.ask('thing');
    await b?.ask('thing');
    upstream.log.length = 0;
    const told = await watchBoth('thing', (all) => all.every(({ length }) => length >= 3));
    for (const end of ends.splice(0)) end();
    expect(new Set(told.flat())).toEqual(new Set(['renewed']));
    const most = Math.max(...told.map(({ length }) => length));
    expect(upstream.log.length).toBe(most);
  });

  it('is touched on both by a write of one', async () => {
    const [a, b] = pair;
    await a?.ask('other');
    await b?.ask('other');
    const both = watchBoth('other', (all) => all.every((each) => each.includes('touched')));
    await a?.send('row of other');
    const told = await both;
    // Once at first, and here again when a read can succeed again.
    expect(told.map(([first]) => first)).toEqual(['touched', 'touched']);
    expect(told.flat().filter((change) => change === 'touched').length).toBeLessThanOrEqual(3);
  });

  it('may be wrong, as both are told, when what all remember is lost', async () => {
    const [a, b] = pair;
    await a?.ask('third');
    await b?.ask('third');
    const both = watchBoth('third', (all) => all.every((each) => each.includes('touched')));
    await redis.command('FLUSHALL');
    expect(await both).toHaveLength(2);
  });
});
