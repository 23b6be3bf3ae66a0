import { afterAll, beforeAll, describe, it } from 'vitest';
import { describeWith, redisServer } from '../../support/needs.ts';
import { type Fault, faults } from '../../support/replicas/faults.ts';
import { expectWhole, survive } from '../../support/replicas/held.ts';
import { Press } from '../../support/replicas/press.ts';
import { Scene } from '../../support/replicas/scene.ts';
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

/** What happens to replicas, one after the other; to their Redis and its links in the storm. */
const strikes: readonly (readonly [string, Strike])[] = [
  ['nothing happens', async () => {}],
  ['each of them is replaced by another, one after the other', rollOut],
  ...of('replica', 'turn', 'upstream'),
];

describeWith(redisServer, 'Replicas keep the limit and show no outdated answer', () => {
  describe.concurrent('when', () => {
    let scene: Scene;
    beforeAll(async () => {
      scene = await Scene.set({});
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
