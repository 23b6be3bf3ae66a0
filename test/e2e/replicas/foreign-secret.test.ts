import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { describeWith, redisServer } from '../../support/needs.ts';
import type { Replica } from '../../support/replicas/replica.ts';
import { Scene } from '../../support/replicas/scene.ts';

/** Waits until a replica says of itself what is wanted. */
async function becomes(
  replica: Replica,
  wanted: (said: {
    readonly status: number;
    readonly reasons: string;
    readonly degraded: string;
  }) => boolean,
) {
  for (;;) {
    const { body, status } = await replica.readiness();
    const names = (of: unknown) =>
      (of as readonly { readonly reason: string }[]).map(({ reason }) => reason).join();
    const said = { status, reasons: names(body['reasons']), degraded: names(body['degraded']) };
    if (wanted(said)) return said;
    await pause(20);
  }
}

async function metricOf(replica: Replica, name: string): Promise<string | undefined> {
  const text = await (await fetch(`${replica.url}/metrics`)).text();
  return new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1];
}

describeWith(redisServer, 'A replica with another secret', () => {
  describe.concurrent('', () => {
    it('stays out when Redis pauses, is emptied or restarts, and every side says so', async () => {
      await using scene = await Scene.set({ replicas: 2 });
      const { cluster, redis, upstream } = scene;
      await using stranger = cluster.stranger({
        REDIS_SECRET: 'quite-another-secret-than-theirs-is',
      });
      await stranger.listens();
      const expectKeptOut = async () => {
        expect(await becomes(stranger, ({ reasons }) => reasons === 'secret-differs')).toEqual({
          status: 503,
          reasons: 'secret-differs',
          degraded: 'secret-differs',
        });
        for (const replica of cluster.replicas) {
          await becomes(replica, ({ degraded }) => degraded === 'foreign-secret');
        }
      };
      await expectKeptOut();
      expect(await metricOf(stranger, 'gateway_redis_secret_differs')).toBe('1');
      expect(await metricOf(cluster.replica(0), 'gateway_redis_secret_differs')).toBe('0');
      expect(await metricOf(cluster.replica(0), 'gateway_redis_strangers')).toBe('1');
      await stranger.says(/other replicas use another REDIS_SECRET/);
      await cluster.replica(0).says(/A replica with another REDIS_SECRET uses the same Redis/);
      const asked = stranger.ask({
        query: '{ user(id: "1") { email } }',
        headers: { prefer: 'wait=25' },
      });
      const happenings = [
        // For longer than any lease.
        () => redis.command('DEBUG', 'SLEEP', '2'),
        () => redis.command('FLUSHALL'),
        () => redis.restart(),
      ];
      for (const happens of happenings) {
        for (let nth = 0; nth < 3; nth += 1) await happens();
        await cluster.sends();
        await expectKeptOut();
      }
      expect((await asked).errors?.[0]?.extensions?.code).toBe('BUDGET_EXHAUSTED');
      expect(upstream.requestsTo(/user\/1$/)).toEqual([]);
      await stranger.end('SIGKILL');
      for (const replica of cluster.replicas) {
        await becomes(replica, ({ degraded }) => degraded === '');
        await replica.says(/replicas with another secret gone/);
      }
    });
  });
});
