import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { describeWith, redisServer } from '../../support/needs.ts';
import { LIMIT, WINDOW_MS } from '../../support/replicas/cluster.ts';
import { faults } from '../../support/replicas/faults.ts';
import { expectWhole } from '../../support/replicas/held.ts';
import { Press } from '../../support/replicas/press.ts';
import { Scene, type SceneOptions } from '../../support/replicas/scene.ts';

/** Presses a scene before, during and for two windows after something that happens to it. */
async function survive(
  options: SceneOptions,
  strike: (scene: Scene) => Promise<void>,
): Promise<void> {
  await using scene = await Scene.set(options);
  const { requests } = scene.upstream;
  const press = new Press(scene.cluster, { askers: 12, writers: 1, readers: 2 }, scene.roll);
  await pause(WINDOW_MS);
  await strike(scene);
  const then = requests.length;
  while (requests.length === then) await pause(20);
  await pause(2 * WINDOW_MS);
  await press.end();
  expectWhole(scene, press);
  // Who sends nothing breaks no limit either.
  expect(requests.length - then, scene.story()).toBeGreaterThan(LIMIT);
}

describeWith(redisServer, 'Replicas keep the limit and show no outdated answer', () => {
  describe.concurrent('when', () => {
    it('nothing happens', () => survive({}, async () => undefined));

    it.each(faults.map((fault) => [fault.name, fault] as const))('%s', (_, fault) =>
      survive({ follower: fault.failover ?? false }, fault.strike),
    );

    it('Redis is killed and comes back with what it wrote down', () =>
      survive({ appendOnly: true }, async ({ redis, roll }) => {
        await redis.kill();
        await pause(roll(1000));
        await redis.start();
      }));

    it('their wall clocks are hours apart', () =>
      survive(
        { envOf: (index) => ({ WALL_CLOCK_OFFSET_MS: String((index - 1) * 3_600_000) }) },
        async () => undefined,
      ));
  });
});
