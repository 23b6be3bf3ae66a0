import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts';
import type { Answer, World } from '../../support/gateway.ts';
import { describeWith, redisServer } from '../../support/needs.ts';
import { RedisServer } from '../../support/redis-server.ts';
import { startReplicas } from '../../support/replica-worlds.ts';
import { CAMPAIGNS, type Campaigns, CREATE, change, codes, names } from './unknown-writes.ts';

describeWith(redisServer, 'After a write whose outcome is unknown to one replica', () => {
  let sandbox: Sandbox;
  let redis: RedisServer;
  let worlds: World[] = [];

  beforeAll(async () => {
    sandbox = await startSandbox({ limit: { requests: 1_000_000 } });
    redis = await RedisServer.run();
  });
  afterEach(async () => {
    await Promise.all(worlds.map((world) => world.close()));
    sandbox.reset();
  });
  afterAll(async () => {
    await sandbox.close();
    await redis.end();
  });

  async function three(env: Readonly<Record<string, string>> = {}) {
    worlds = await startReplicas(3, redis, { on: sandbox, env });
    return worlds as [World, World, World];
  }

  /** What a replica answers once it knows itself connected: a slow machine can keep it from that for a moment. */
  async function served(world: World): Promise<Answer<Campaigns>> {
    for (;;) {
      const answer = await world.ask<Campaigns>(CAMPAIGNS);
      if (answer.errors.length === 0) return answer;
      await pause(50);
    }
  }

  it.each(['stale', 'refuse'])(
    'each of them serves what was read before, also one that has not read it itself: %s',
    async (outage) => {
      const [a, b, c] = await three({ REDIS_OUTAGE_READS: outage });
      const before = await names(a);
      expect(await names(b)).toEqual(before);
      sandbox.links.fault({ kind: 'error-500' });
      expect(codes(await a.ask(change(CREATE)))).toEqual(['OUTCOME_UNKNOWN']);
      for (const world of [a, b, c]) {
        const { data, receipt } = await served(world);
        expect(receipt.stale).toBe(1);
        expect(data.campaigns.nodes.map(({ name }) => name)).toEqual(before);
      }
    },
  );

  it('each of them shows the state after it as soon as it can be had', async () => {
    const [a, b, c] = await three();
    for (const world of [a, b]) await names(world);
    sandbox.links.fault({ kind: 'drop', method: 'POST', applied: true, times: 1 });
    await a.ask(change(CREATE));
    for (const world of [b, c, a]) expect(await names(world)).toContain('new');
  });

  it('none shows the state before one that was answered by another', async () => {
    const [a, b, c] = await three();
    for (const world of [a, b]) await names(world);
    sandbox.links.fault({ kind: 'drop', method: 'POST', times: 1 });
    await a.ask(change(CREATE));
    await b.data(change(CREATE));
    sandbox.links.fault({ kind: 'error-500' });
    for (const world of [a, b, c]) expect((await world.ask(CAMPAIGNS)).errors).toHaveLength(1);
  });
});
