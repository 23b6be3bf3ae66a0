import { setImmediate } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { createDigest } from '../../src/digest.ts';
import { type JobLease, JobLeases } from '../../src/jobs/job-leases.ts';
import { RedisRowLocks } from '../../src/upstream/idempotency/shared/redis-row-locks.ts';
import { describeWith, redisServer } from '../support/needs.ts';
import { clearUp } from '../support/redis-connection.ts';
import { knownActors } from '../support/script-stage.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { contentOf, folderAt, removeScratch, scratch } from './storage/job-stage.ts';

afterEach(async () => {
  await clearUp();
  removeScratch();
});

const times = { callMs: 500, leaseMs: 1000, beatMs: 300 };

/** Two replicas on one Redis. Their leases there last until `goodbye`, or a second without a beat. */
async function stageOf() {
  const clock = new VirtualClock();
  const { actors, server } = await knownActors('a', 'b');
  const replicas = actors.map((actor) => {
    const replica = { id: actor.id, call: actor.call, leased: true };
    const rowLocks = new RedisRowLocks({ replica, clock, times, digest: createDigest('secret') });
    return {
      actor,
      replica,
      leases: new JobLeases({ clock, locks: { rowLocks, shared: { replica, times, rowLocks } } }),
    };
  });
  const [a, b] = replicas;
  if (!a || !b) throw new Error('two replicas');
  /** Lets time pass until something is known. */
  async function settled<T>(result: Promise<T>): Promise<T> {
    const ended = new AbortController();
    const settle = (): void => ended.abort();
    result.then(settle, settle);
    while (!ended.signal.aborted) {
      await a?.actor.beat();
      await clock.advance(100);
      await setImmediate();
    }
    return result;
  }
  const taken = ({ leases }: typeof a, id = '1') => settled(leases.take(id));
  /** Lets time pass until a lease is lost. */
  async function whenLost({ lost }: JobLease): Promise<void> {
    for (let waits = 0; !lost.aborted; waits += 1) {
      if (waits > 5000) throw new Error('the lease is not lost');
      await clock.advance(100);
      await setImmediate();
    }
  }
  return { a, b, clock, server, settled, taken, whenLost };
}

describeWith(redisServer, 'the lease of a job', () => {
  it('is of one process at a time, and of each job', async () => {
    const { a, b, taken } = await stageOf();
    expect(await taken(a)).not.toBeNull();
    expect([await taken(b), await taken(a)]).toEqual([null, null]);
    expect(await taken(b, '2')).not.toBeNull();
    a.leases.release('1');
    expect(await taken(b)).not.toBeNull();
    expect(await taken(a)).toBeNull();
    b.leases.release('1');
    expect(await taken(b)).not.toBeNull();
  });

  it('lasts as long as its process beats', async () => {
    const { a, b, clock, server, taken } = await stageOf();
    const lease = await taken(a);
    for (let count = 0; count < 5; count += 1) {
      await a.actor.beat();
      await clock.advance(times.leaseMs);
      await server.command('PING');
    }
    expect(lease?.lost.aborted).toBe(false);
    expect(await taken(b)).toBeNull();
  });

  it('can be taken when its process is gone, which learns that when it comes back', async () => {
    const { a, b, taken, whenLost } = await stageOf();
    const lease = await taken(a);
    await a.actor.goodbye();
    const next = await b.leases.take('1');
    expect(next).not.toBeNull();
    await a.actor.beat();
    if (lease) await whenLost(lease);
    // It is not released with the lost one.
    a.leases.release('1');
    expect(await taken(a)).toBeNull();
    expect(next?.lost.aborted).toBe(false);
    b.leases.release('1');
    expect(await taken(a)).not.toBeNull();
  });

  it('is kept over a loss of the data of Redis that no other process uses', async () => {
    const { a, b, clock, server, taken } = await stageOf();
    const lease = await taken(a);
    // The replica learns of it by its lease.
    await server.command('FLUSHALL');
    await clock.advance(times.leaseMs);
    await expect
      .poll(async () => String(await server.command('HGET', '{gateway:1}:state', '!')))
      .toContain('x:job 1');
    await a.actor.beat();
    await b.actor.beat();
    expect(lease?.lost.aborted).toBe(false);
    expect(await taken(b)).toBeNull();
  });

  it('is lost when another process has taken it after such a loss', async () => {
    const { a, b, server, taken, whenLost } = await stageOf();
    const lease = await taken(a);
    await server.command('FLUSHALL');
    await b.actor.beat();
    await b.actor.swap();
    expect(await taken(b)).not.toBeNull();
    if (lease) await whenLost(lease);
  });

  it('is lost when Redis is away for longer than the lease of the replica', async () => {
    const { a, clock, server, taken, whenLost } = await stageOf();
    const lease = await taken(a);
    await server.kill();
    await clock.advance(times.leaseMs);
    await setImmediate();
    expect(lease?.lost.aborted).toBe(false);
    a.replica.leased = false;
    if (lease) await whenLost(lease);
    expect(await a.leases.take('1')).toBeNull();
  });

  it('lets its process claim the job, whose former owner saves nothing any more', async () => {
    const { a, b, taken } = await stageOf();
    const root = scratch();
    const [first, second] = [
      folderAt(root, { isShared: true }),
      folderAt(root, { isShared: true }),
    ];
    await first.create('1', { mark: 'new' });
    await taken(a);
    const files = await first.claim('1');
    await files?.append('1\n');
    await files?.checkpoint({ mark: 'one' });
    await files?.append('lost\n');
    // It is suspended here, for longer than its lease.
    await a.actor.goodbye();
    expect(await b.leases.take('1')).not.toBeNull();
    const next = await second.claim('1');
    if (!next) throw new Error('there is no job');
    await next.append('2\n');
    await next.checkpoint({ mark: 'two' });
    await expect(files?.checkpoint({ mark: 'stale' })).rejects.toThrow(/another process/);
    expect(next.fence).toBeGreaterThan(files?.fence ?? 0);
    expect(await contentOf(next)).toEqual({ mark: 'two', data: '1\n2\n', seen: [] });
  });
});
