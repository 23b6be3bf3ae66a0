import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { describeWith, redisServer } from '../../support/needs.ts';
import { type Fault, faults } from '../../support/replicas/faults.ts';
import { expectWhole, survive } from '../../support/replicas/held.ts';
import { Press } from '../../support/replicas/press.ts';
import { Scene, type SceneOptions } from '../../support/replicas/scene.ts';
import { storm } from '../../support/replicas/storm.ts';

/** `REPLICAS_SECONDS=600` for the long form; `REPLICAS_SEED` to have another storm, or the same again. */
const seconds = Number(process.env['REPLICAS_SECONDS'] ?? 20);
const seed = Number(process.env['REPLICAS_SEED'] ?? Date.now() % 1_000_000);

type Strike = (scene: Scene) => Promise<void>;

const of = (...parties: readonly Fault['party'][]): (readonly [string, Strike])[] =>
  faults
    .filter(({ party }) => parties.includes(party))
    .map(({ name, strike }) => [name, strike] as const);

const hoursApart = (index: number) => ({
  WALL_CLOCK_OFFSET_MS: String((index - 1) * 3_600_000),
});

async function rollOut({ cluster }: Scene): Promise<void> {
  for (const index of cluster.replicas.keys()) {
    await cluster.replica(index).end('SIGTERM');
    await cluster.replica(index).begin();
    await cluster.ready(index);
  }
}

/** What the old ones sent is carried out before anything that the new ones send, and long after it was sent. */
async function replaceFrozen({ cluster, redis }: Scene): Promise<void> {
  redis.stop();
  await pause(200);
  for (const index of cluster.replicas.keys()) await cluster.replica(index).end('SIGKILL');
  await Promise.all([...cluster.replicas.keys()].map((index) => cluster.replica(index).begin()));
  redis.cont();
}

/** Two halves of them take half of the time, since all stages are played at once and mostly wait. */
const ofRedis = of('redis');

/** What happens to which replicas, one after the other. */
const stages: readonly (readonly [string, SceneOptions, readonly (readonly [string, Strike])[]])[] =
  [
    [
      'are hit themselves',
      {},
      [
        ['nothing happens', async () => {}],
        ['each of them is replaced by another, one after the other', rollOut],
        ...of('replica', 'turn', 'upstream'),
      ],
    ],
    ['lose their Redis', { follower: true }, ofRedis.filter((_, index) => index % 2 === 0)],
    ['lose it in other ways', { follower: true }, ofRedis.filter((_, index) => index % 2 === 1)],
    [
      'are cut off',
      { appendOnly: true, envOf: hoursApart },
      [
        ['their wall clocks are hours apart', async () => {}],
        [
          'Redis is killed and comes back with what it wrote down',
          async ({ redis, roll }) => {
            await redis.kill();
            await pause(roll(1000));
            await redis.start();
          },
        ],
        ['each of them is replaced by another while Redis is frozen', replaceFrozen],
        ...of('link'),
      ],
    ],
  ];

describeWith(redisServer, 'Replicas keep the limit and show no outdated answer', () => {
  describe.concurrent.each(stages)('where they %s, when', (_, options, strikes) => {
    let scene: Scene;
    beforeAll(async () => {
      scene = await Scene.set(options);
    });
    afterAll(() => scene[Symbol.asyncDispose]());

    // One after the other on the same replicas: what one leaves behind is what the next begins with.
    it.sequential.each(strikes)('%s', (_name, strike) => survive(scene, strike));
  });

  describe.concurrent('where everything happens at random, up to three things at a time', () => {
    it(
      `for ${seconds} seconds (seed ${seed})`,
      async () => {
        await using scene = await Scene.set({ seed, follower: true, envOf: hoursApart });
        const press = new Press(scene.cluster, { askers: 8, writers: 2, readers: 1 }, scene.roll);
        const events = await storm(scene, seconds * 1000);
        await press.end();
        expectWhole(scene, press, { events });
      },
      (seconds + 120) * 1000,
    );
  });
});
