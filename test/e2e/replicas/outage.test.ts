import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { describeWith, redisServer } from '../../support/needs.ts';
import { HOLD_MS, WINDOW_MS } from '../../support/replicas/cluster.ts';
import type { ReplicaAnswer } from '../../support/replicas/replica.ts';
import { Scene } from '../../support/replicas/scene.ts';
import { Truth } from '../../support/replicas/truth.ts';

interface Degraded {
  readonly reason: string;
  readonly retryAfterMs?: number;
}

/** What a replica does without. */
async function degraded({ cluster }: Scene, replica: number) {
  const { status, body } = await cluster.replica(replica).readiness();
  return { status, reasons: (body['degraded'] ?? []) as readonly Degraded[] };
}

/** Waits until a replica says of itself that it is so. */
async function becomes(scene: Scene, replica: number, reason: string): Promise<Degraded> {
  for (;;) {
    const { reasons } = await degraded(scene, replica);
    const found = reasons.find((each) => each.reason === reason);
    if (found) return found;
    await pause(10);
  }
}

function codeOf({ errors }: ReplicaAnswer): string | undefined {
  return errors?.[0]?.extensions?.code;
}

describeWith(redisServer, 'Without Redis', () => {
  describe.concurrent('', () => {
    it('replicas serve what they have, say that it is stale, and send nothing until it remembers', async () => {
      await using scene = await Scene.set({ replicas: 2 });
      const { cluster, redis, upstream } = scene;
      const truth = new Truth(cluster);
      for (const replica of [0, 1]) expect(await truth.read(replica, 'campaigns')).toBe('right');
      await redis.kill();
      for (const replica of [0, 1]) {
        await becomes(scene, replica, 'redis-unreachable');
        expect((await degraded(scene, replica)).status).toBe(200);
        expect(await truth.read(replica, 'campaigns')).toBe('stale');
      }
      const { length } = upstream.requests;
      const unread = await cluster.ask(0, { query: '{ user(id: "1") { email } }' });
      expect(codeOf(unread)).toBe('BUDGET_EXHAUSTED');
      expect(unread.errors?.[0]?.extensions?.retryAfterMs).toBeGreaterThan(0);
      await redis.start();
      const { retryAfterMs } = await becomes(scene, 1, 'quarantine');
      expect(retryAfterMs).toBeGreaterThan(0);
      expect(retryAfterMs).toBeLessThanOrEqual(HOLD_MS);
      expect(upstream.requests).toHaveLength(length);
      await cluster.sends();
      for (const replica of [0, 1]) {
        while ((await degraded(scene, replica)).reasons.length > 0) await pause(20);
        expect(await truth.read(replica, 'campaigns')).toBe('right');
      }
    });

    it('a replica that is cut off alone may show what others have changed, as stale and no other way', async () => {
      await using scene = await Scene.set({ replicas: 2 });
      const { cluster } = scene;
      const truth = new Truth(cluster);
      for (const replica of [0, 1]) expect(await truth.read(replica, 'campaigns')).toBe('right');
      cluster.link(1).become('silent');
      expect(await truth.write(0, 'campaigns', 1)).toBe(true);
      expect(await truth.read(1, 'campaigns')).toBe('stale');
      expect(truth.tally.outdated).toEqual([]);
      expect(truth.tally.outdatedStale).toHaveLength(1);
      cluster.link(1).become('open');
      while ((await degraded(scene, 1)).reasons.length > 0) await pause(20);
      expect(await truth.read(1, 'campaigns')).toBe('right');
    });

    it('replicas that shall refuse show nothing outdated and take no traffic', async () => {
      await using scene = await Scene.set({
        replicas: 2,
        env: { REDIS_OUTAGE_READS: 'refuse' },
      });
      const { cluster } = scene;
      const truth = new Truth(cluster);
      for (const replica of [0, 1]) expect(await truth.read(replica, 'campaigns')).toBe('right');
      cluster.link(1).become('silent');
      expect(await truth.write(0, 'campaigns', 1)).toBe(true);
      expect(await truth.read(1, 'campaigns')).toBe('failed');
      expect(Object.keys(truth.tally.codes)).toEqual(['BUDGET_EXHAUSTED']);
      expect((await degraded(scene, 1)).status).toBe(503);
      cluster.link(1).become('open');
      await cluster.ready(1);
      await pause(WINDOW_MS / 4);
      expect(await truth.read(1, 'campaigns')).toBe('right');
    });
  });
});
