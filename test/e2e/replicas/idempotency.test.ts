import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { describeWith, redisServer } from '../../support/needs.ts';
import { HOLD_MS, LIMIT } from '../../support/replicas/cluster.ts';
import type { ReplicaAnswer } from '../../support/replicas/replica.ts';
import { Scene, type SceneOptions } from '../../support/replicas/scene.ts';

const STATE = '{gateway:1}:state';
/** How long an upstream takes for a write, from its effect to its answer: time for something to happen. */
const SLOW_MS = 600;
/** Longer than the lease of a replica. */
const LEASE_OVER_MS = 1500;

/** A scene whose writes take their time. */
async function sceneOf(options: SceneOptions = {}): Promise<Scene> {
  const scene = await Scene.set({ replicas: 2, ...options });
  scene.upstream.conduct.delays = ({ method }) => (method === 'POST' ? [0, SLOW_MS] : [0, 0]);
  return scene;
}

const mutation = 'mutation { createChannel(input: { name: "new" }) { __typename } }';

/** Sends the mutation with a key to a replica. */
function send(
  { cluster }: Scene,
  replica: number,
  waitS = 0,
  query = mutation,
): Promise<ReplicaAnswer> {
  const headers = { 'idempotency-key': '"key"', prefer: `wait=${waitS}` };
  return cluster.ask(replica, { query, headers });
}

/** The requests of the mutation that reached the upstream. */
const requests = ({ upstream }: Scene) =>
  upstream.requests.filter(({ method }) => method === 'POST');

async function underWay(scene: Scene): Promise<void> {
  while (requests(scene).length === 0) await pause(5);
}

/** Whether Redis has the outcome of the mutation. */
async function isStored({ redis }: Scene): Promise<boolean> {
  const state = (await redis.command('HGETALL', STATE)) as Record<string, string>;
  return Object.entries(state).some(
    ([field, text]) => field.startsWith('k:') && text.startsWith('- 3 '),
  );
}

/** What became of the mutation, in the words of the gateway; the code of the error if it failed. */
function outcomeOf({ errors, extensions }: ReplicaAnswer): string | undefined {
  return errors?.[0]?.extensions?.code ?? extensions?.idempotency?.[0]?.outcome;
}

/** Asks until the answer is another than that it cannot be known now. */
async function answered(scene: Scene, replica: number): Promise<string | undefined> {
  const until = performance.now() + 4 * HOLD_MS;
  for (;;) {
    const outcome = outcomeOf(await send(scene, replica));
    if (outcome !== 'BUDGET_EXHAUSTED' && outcome !== 'IDEMPOTENCY_KEY_IN_USE') return outcome;
    if (performance.now() > until) return outcome;
    await pause(50);
  }
}

describeWith(redisServer, 'Creations with different keys on several replicas', () => {
  it('are executed one after the other if they are equal', async () => {
    await using scene = await sceneOf();
    const { cluster, upstream } = scene;
    const create = (replica: number, name: string) => {
      const query = `mutation { createChannel(input: { name: "${name}" }) { __typename } }`;
      const headers = { 'idempotency-key': `"${name}-${replica}"`, prefer: 'wait=20' };
      return cluster.ask(replica, { query, headers });
    };
    const answers = [create(0, 'same'), create(1, 'same'), create(1, 'other')];
    expect((await Promise.all(answers)).map(outcomeOf)).toEqual(Array(3).fill('EXECUTED'));
    const [first, second, third] = upstream.requestsTo(/channel.add/);
    // The other one was sent beside the first, and the equal one after it.
    expect(second?.at).toBeLessThan(first?.endedAt ?? 0);
    expect(third?.at).toBeGreaterThanOrEqual(first?.endedAt ?? Infinity);
  });
});

describeWith(
  redisServer,
  'A mutation with a key is sent once, on whichever replica it is retried',
  () => {
    it('when the replica that has sent it is killed', async () => {
      await using scene = await sceneOf();
      scene.upstream.conduct.delays = ({ method }) => (method === 'POST' ? [0, Infinity] : [0, 0]);
      send(scene, 0, 5).catch(() => undefined);
      await underWay(scene);
      await scene.cluster.replica(0).end('SIGKILL');
      // It may have had its effect, and no caller has its response.
      expect(await answered(scene, 1)).toBe('OUTCOME_UNKNOWN');
      expect(requests(scene)).toHaveLength(1);
    });

    it('when the replica that has sent it is killed after its answer, and Redis is emptied', async () => {
      await using scene = await sceneOf();
      expect(outcomeOf(await send(scene, 0, 5))).toBe('EXECUTED');
      while (!(await isStored(scene))) await pause(5);
      await scene.cluster.replica(0).end('SIGKILL');
      await scene.redis.command('FLUSHALL');
      expect(await answered(scene, 1)).toBe('REPLAYED');
      await scene.cluster.replica(0).begin();
      await scene.cluster.ready(0);
      expect(await answered(scene, 0)).toBe('REPLAYED');
      expect(requests(scene)).toHaveLength(1);
    });

    it('when a replica stands still before its request is sent, and wakes up after another has sent it', async () => {
      await using scene = await sceneOf();
      const { cluster, upstream } = scene;
      // No slot is free for a while, also none of those that are reserved for writes.
      const length = LIMIT - upstream.requests.length;
      const writes = Array.from({ length }, (_, id) =>
        cluster.ask(1, { query: `mutation { deleteUser(id: "${5000 + id}") { __typename } }` }),
      );
      await Promise.all(writes);
      const update = 'mutation { updateChannel(input: { id: "1", name: "new" }) { __typename } }';
      const first = send(scene, 0, 20, update);
      await pause(100);
      cluster.replica(0).stop();
      await pause(LEASE_OVER_MS);
      expect(outcomeOf(await send(scene, 1, 20, update))).toBe('EXECUTED');
      cluster.replica(0).continue();
      expect(outcomeOf(await first)).toBe('REPLAYED');
      expect(upstream.requests.filter(({ method }) => method === 'PUT')).toHaveLength(1);
      expect(upstream.unknown.filter((path) => !path.includes('/api/user/'))).toEqual([]);
    });

    it.each<readonly [string, (scene: Scene) => Promise<unknown>]>([
      ['is emptied', ({ redis }) => redis.command('FLUSHALL')],
      ['is killed', ({ redis }) => redis.restart()],
    ])('when Redis %s while it is under way', async (_, strike) => {
      await using scene = await sceneOf();
      const first = send(scene, 0, 5);
      await underWay(scene);
      await strike(scene);
      expect(outcomeOf(await first)).toBe('EXECUTED');
      for (const replica of [1, 0]) expect(await answered(scene, replica)).toBe('REPLAYED');
      expect(requests(scene)).toHaveLength(1);
    });

    it('when its replica is cut off from Redis while it is under way', async () => {
      await using scene = await sceneOf();
      const first = send(scene, 0, 5);
      await underWay(scene);
      scene.cluster.link(0).become('refused');
      await pause(LEASE_OVER_MS);
      // The other one cannot know, and does not send it.
      expect(await answered(scene, 1)).toBe('OUTCOME_UNKNOWN');
      expect(outcomeOf(await first)).toBe('EXECUTED');
      scene.cluster.link(0).become('open');
      while (outcomeOf(await send(scene, 1)) !== 'REPLAYED') await pause(50);
      expect(requests(scene)).toHaveLength(1);
    });
  },
);
