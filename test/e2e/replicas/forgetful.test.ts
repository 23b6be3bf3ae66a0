import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { describeWith, redisServer } from '../../support/needs.ts';
import { Scene } from '../../support/replicas/scene.ts';

/** Scripts that are run at a Redis in a while. */
async function scriptsIn(scene: Scene, ms: number): Promise<number> {
  const run = async (): Promise<number> => {
    const stats = String(await scene.redis.command('INFO', 'commandstats'));
    const calls = [...stats.matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm)];
    return calls.reduce((sum, [, count]) => sum + Number(count), 0);
  };
  const before = await run();
  await pause(ms);
  return (await run()) - before;
}

describeWith(redisServer, 'A Redis that loses its memory again and again', () => {
  it('is asked seldom, however many ask, and is named', async () => {
    await using scene = await Scene.set();
    const { cluster, redis } = scene;
    await redis.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
    await redis.command('CONFIG', 'SET', 'maxmemory', '1mb');
    const asking = new AbortController();
    let id = 0;
    const askers = cluster.replicas.flatMap((_, replica) =>
      Array.from({ length: 8 }, async () => {
        while (!asking.signal.aborted) {
          id += 1;
          await cluster.ask(replica, { query: `{ user(id: "${id}") { email } }` }).catch(() => {});
          await pause(10);
        }
      }),
    );
    const degraded = async (replica: number): Promise<string[]> => {
      const { body } = await cluster.replica(replica).readiness();
      return (body['degraded'] as { reason: string }[]).map(({ reason }) => reason);
    };
    for (const replica of cluster.replicas.keys()) {
      while (!(await degraded(replica)).includes('redis-forgets')) await pause(20);
    }
    const scripts = await scriptsIn(scene, 3000);
    asking.abort();
    await Promise.all(askers);
    // Each of three replicas beats up to five times a second here, and does little else.
    expect(scripts).toBeLessThan(100);
    for (const replica of cluster.replicas) {
      const lines = replica.output().split('\n');
      expect(lines.filter((line) => line.includes('loses its data repeatedly'))).toHaveLength(1);
      expect(lines.filter((line) => line.includes('"level":"warn"')).length).toBeLessThan(8);
    }
    const { length } = scene.upstream.requests;
    await redis.command('CONFIG', 'SET', 'maxmemory', '0');
    const query = '{ user(id: "800000000") { email } }';
    while ((await cluster.ask(0, { query })).errors) await pause(50);
    expect(scene.upstream.requests.length).toBe(length + 1);
  });
});
