import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { describeWith, redisServer } from '../../support/needs.ts';
import { expectWhole } from '../../support/replicas/held.ts';
import { Press } from '../../support/replicas/press.ts';
import { sharedState } from '../../support/replicas/redis-insight.ts';
import { Scene } from '../../support/replicas/scene.ts';
import { Truth } from '../../support/replicas/truth.ts';

describeWith(redisServer, 'A replica', () => {
  describe.concurrent('', () => {
    it('that joins serves what others have read, and nothing that they have changed since', async () => {
      await using scene = await Scene.set({ replicas: 2 });
      const { cluster, upstream } = scene;
      const truth = new Truth(cluster);
      for (const noun of ['campaigns', 'channels'] as const) await truth.read(0, noun);
      // What Redis keeps of the campaigns stays there, and is older than this.
      while (!(await truth.write(0, 'campaigns', 1))) await pause(50);
      await cluster.replica(1).end('SIGKILL');
      await cluster.replica(1).begin();
      await cluster.ready(1);
      expect(await truth.read(1, 'campaigns')).toBe('right');
      expect(await truth.read(1, 'channels')).toBe('right');
      expect(upstream.requestsTo(/campaigns/)).toHaveLength(2);
      expect(upstream.requestsTo(/channels/)).toHaveLength(1);
    });

    it('that is asked to end leaves no lease, no bid and no permit behind', async () => {
      await using scene = await Scene.set();
      const { cluster, redis } = scene;
      const press = new Press(cluster, { askers: 10, writers: 1, readers: 1 }, scene.roll);
      // The replica that ends now has waiters, requests under way and a lease.
      while ((await sharedState(redis)).bidders.length < 3) await pause(5);
      const before = await sharedState(redis);
      expect(await cluster.replica(0).end('SIGTERM')).toBe(0);
      const after = await sharedState(redis);
      // The others have been asked for what they have cached by then, however soon the first has ended.
      while (press.pressed.warm === 0) await pause(5);
      await press.end();
      expect(before.alive).toHaveLength(3);
      expect(after.alive).toHaveLength(2);
      const gone = before.alive.find((id) => !after.alive.includes(id));
      expect(after.bidders).not.toContain(gone);
      expect(after.holders).not.toContain(gone);
      expectWhole(scene, press);
    });

    it('that seals with another secret sends nothing, and says why', async () => {
      await using scene = await Scene.set({ replicas: 2 });
      const { cluster, upstream } = scene;
      await using stranger = cluster.stranger({
        REDIS_SECRET: 'quite-another-secret-than-theirs-is',
      });
      await stranger.listens();
      await stranger.says(/other replicas use another REDIS_SECRET/);
      const answer = await stranger.ask({
        query: '{ user(id: "1") { email } }',
        headers: { prefer: 'wait=1' },
      });
      expect(answer.errors?.[0]?.extensions?.code).toBe('BUDGET_EXHAUSTED');
      expect(upstream.requestsTo(/user\/1$/)).toEqual([]);
      await cluster.ask(0, { query: '{ user(id: "2") { email } }' });
      expect(upstream.requestsTo(/user\/2$/)).toHaveLength(1);
    });
  });
});
