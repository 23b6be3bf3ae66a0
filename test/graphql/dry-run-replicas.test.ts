import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import type { World } from '../support/gateway.ts';
import { describeWith, redisServer } from '../support/needs.ts';
import { RedisServer } from '../support/redis-server.ts';
import { startReplicas } from '../support/replica-worlds.ts';
import { planOf } from './plan-of.ts';

const worlds: World[] = [];
afterEach(() => Promise.all(worlds.splice(0).map((world) => world.close())));

const files = (name: string): string => `files(search: "${name}", first: 1) { totalCount }`;

describeWith(redisServer, 'The forecast of a budget that replicas share', () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await RedisServer.run();
  });
  afterAll(() => redis.stop());

  it('waits for slots as well', async () => {
    const env = { LINKS_RATE_LIMIT: '2', LINKS_RATE_WINDOW_MS: '600000' };
    const sandbox = { limit: { requests: 2, windowMs: 600_000 } };
    const [world] = (await startReplicas(1, redis, { env, sandbox })) as [World];
    worlds.push(world);
    const plan = async (name: string) => planOf(world, `{ a: ${files(name)} }`);
    // Until it has heard for how long Redis remembers, nothing leaves.
    while ((await plan('a')).startsInMs > 0);
    await world.data(`{ a: ${files('b')} b: ${files('c')} }`);
    let told = await plan('d');
    // What was spent is heard of with the next beat.
    while (told.startsInMs === 0) told = await plan('d');
    // What is known needs no slot.
    expect(await plan('b')).toMatchObject({ calls: 0, startsInMs: 0 });
  });
});
