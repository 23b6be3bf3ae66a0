import { it } from 'vitest';
import { describeWith, redisServer } from '../../support/needs.ts';
import { expectWhole } from '../../support/replicas/held.ts';
import { Press } from '../../support/replicas/press.ts';
import { Scene } from '../../support/replicas/scene.ts';
import { storm } from '../../support/replicas/storm.ts';

/** `REPLICAS_SECONDS=600` for the long form; `REPLICAS_SEED` to have another storm, or the same again. */
const seconds = Number(process.env['REPLICAS_SECONDS'] ?? 120);
const seed = Number(process.env['REPLICAS_SEED'] ?? Date.now() % 1_000_000);

describeWith(redisServer, 'Replicas in a storm of faults', () => {
  it(`keep the limit and show no outdated answer (seed ${seed})`, {
    timeout: (seconds + 120) * 1000,
  }, async () => {
    await using scene = await Scene.set({
      seed,
      follower: true,
      envOf: (index) => ({ WALL_CLOCK_OFFSET_MS: String((index - 1) * 3_600_000) }),
    });
    const press = new Press(scene.cluster, { askers: 8, writers: 2, readers: 1 }, scene.roll);
    const events = await storm(scene, seconds * 1000);
    await press.end();
    expectWhole(scene, press, { events });
  });
});
