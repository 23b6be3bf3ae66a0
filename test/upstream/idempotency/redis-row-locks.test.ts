import { afterEach, expect, it } from 'vitest';
import { createDigest } from '../../../src/digest.ts';
import { systemClock } from '../../../src/scheduling/clock.ts';
import { RedisRowLocks } from '../../../src/upstream/idempotency/shared/redis-row-locks.ts';
import { describeWith, redisServer } from '../../support/needs.ts';
import { clearUp } from '../../support/redis-connection.ts';
import { scriptStage } from '../../support/script-stage.ts';

afterEach(clearUp);

const ROW = 'LINKS:own channel:42';
const STATE = '{gateway:1}:state';
const patient = { patienceMs: 60_000, signal: new AbortController().signal };
const hasty = { ...patient, patienceMs: 0 };
const write = { ms: 60_000, tags: ['t'], row: ROW };

async function stageOf(...names: readonly string[]) {
  const stage = await scriptStage();
  const replicas = [];
  for (const name of names) {
    const actor = stage.actor(name);
    await actor.beat();
    await actor.swap();
    const times = { beatMs: 20, leaseMs: 50 };
    const locks = new RedisRowLocks({
      replica: actor,
      clock: systemClock,
      times,
      digest: createDigest('secret'),
    });
    replicas.push({ actor, locks });
  }
  const [a, b] = replicas;
  if (!a || !b) throw new Error('two replicas');
  const entries = async () =>
    Object.keys(JSON.parse(((await stage.server.command('HGET', STATE, '!')) as string) ?? '{}'));
  return { stage, server: stage.server, a, b, entries };
}

describeWith(redisServer, 'the locks of rows', () => {
  it('exclude the writers of all replicas, one after the other', async () => {
    const { a, b, entries } = await stageOf('a', 'b');
    let inside = 0;
    const order: string[] = [];
    const enter = async (name: string, { locks }: typeof a): Promise<void> => {
      const lock = await locks.exclude(ROW, patient);
      inside += 1;
      expect(inside).toBe(1);
      order.push(name);
      await new Promise(setImmediate);
      inside -= 1;
      lock?.release();
    };
    const names = ['a', 'a', 'b', 'b', 'a', 'b'];
    await Promise.all(names.map((name) => enter(name, name === 'a' ? a : b)));
    expect(order.toSorted()).toEqual(names.toSorted());
    await expect.poll(entries).toEqual([]);
  });

  it('wait for writes in flight on other replicas, as long as the writer has time', async () => {
    const { a, b, entries } = await stageOf('a', 'b');
    await b.actor.swap({ text: 'one', intents: { add: { w: write } } });
    expect(await a.locks.exclude(ROW, hasty)).toBeNull();
    await expect.poll(entries).toEqual(['w']);
    const locking = a.locks.exclude(ROW, patient);
    await b.actor.touched(['t'], 'w');
    const lock = await locking;
    expect(await b.actor.swap({ intents: { add: { v: write } } })).toMatchObject({
      excluded: ['v'],
    });
    expect(lock?.id).toMatch(/^a\./);
    lock?.release();
    lock?.release();
  });

  it('are given up by a writer that hangs up', async () => {
    const { a, b, entries } = await stageOf('a', 'b');
    const held = await b.locks.exclude(ROW, patient);
    const hanging = new AbortController();
    const locking = a.locks.exclude(ROW, { patienceMs: 60_000, signal: hanging.signal });
    hanging.abort();
    expect(await locking).toBeNull();
    expect(await entries()).toEqual([`x:${ROW}`]);
    held?.release();
  });

  it('end with the lease of their replica', async () => {
    const { a, b } = await stageOf('a', 'b');
    const lost = await a.locks.exclude(ROW, patient);
    await a.actor.goodbye();
    expect(await b.locks.exclude(ROW, patient)).not.toBeNull();
    await a.actor.beat();
    await a.actor.swap();
    const own = { w: { ...write, lock: lost?.id ?? '' } };
    expect(await a.actor.swap({ intents: { add: own } })).toMatchObject({ lost: ['w'] });
  });

  it('are released when Redis is reachable again', async () => {
    const { a, b, server } = await stageOf('a', 'b');
    const lock = await a.locks.exclude(ROW, patient);
    server.stop();
    lock?.release();
    server.cont();
    expect(await b.locks.exclude(ROW, patient)).not.toBeNull();
    await server.kill();
    expect(await b.locks.exclude(`${ROW}1`, hasty)).toBeNull();
  });

  it('cost plain writers nothing', async () => {
    const { a } = await stageOf('a', 'b');
    const { call } = a.actor;
    let calls = 0;
    a.actor.call = (...args) => {
      calls += 1;
      return call(...args);
    };
    const lock = a.locks.enter(ROW, patient);
    expect(lock).not.toBeInstanceOf(Promise);
    expect(calls).toBe(0);
  });
});
