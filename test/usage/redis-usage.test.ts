import { expect, it } from 'vitest';
import { RedisUnavailable } from '../../src/redis/failures.ts';
import type { Script } from '../../src/redis/lua/scripts.ts';
import { createSealing } from '../../src/storage/sealing.ts';
import { MOST_ROWS } from '../../src/usage/day-usage.ts';
import { RedisUsage } from '../../src/usage/redis-usage.ts';
import { OTHERS_TOGETHER, type UsageRow } from '../../src/usage/usage-row.ts';
import { DAY_MS } from '../../src/usage/usage-store.ts';
import { describeWith, redisServer } from '../support/needs.ts';
import { replicaStage } from '../support/replica-worlds.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const sealing = createSealing('a secret of the replicas, long enough');

const row = (more: Partial<UsageRow> = {}): UsageRow => ({
  upstream: 'LINKS',
  resource: 'channels',
  callerClass: 'default',
  caller: 'web',
  operation: 'Home',
  calls: 1,
  saved: 0,
  ...more,
});

const totalOf = (rows: readonly UsageRow[]): number =>
  rows.reduce((sum, { calls }) => sum + calls, 0);

describeWith(redisServer, 'The usage in Redis', () => {
  const stage = replicaStage();
  const clock = new VirtualClock();
  const today = Math.floor(clock.wall() / DAY_MS);
  let replicas = 0;

  /** A store of a replica; `lose` says of each command whether its reply is lost. */
  function storeOf(prefix: string, lose: () => boolean = () => false): RedisUsage {
    replicas += 1;
    const run = async ({ lua }: Script, args: readonly string[]): Promise<unknown> => {
      const keys = [`{${prefix}:1}:state`, `{${prefix}:1}:tags`];
      const reply = await stage.redis.command('EVAL', lua, '2', ...keys, ...args);
      if (lose()) throw new RedisUnavailable('no reply', true);
      return reply;
    };
    return new RedisUsage({ clock, connection: { run }, sealing, replica: `r${replicas}` });
  }

  it('is the same on all replicas, and names callers to them alone', async () => {
    const [one, other] = await stage.start(2);
    await one?.ask('query SecretName { account { username } }');
    await other?.ask('query SecretName { domains(first: 1) { nodes { id } } }');
    const usage = async () => {
      const answer = await other?.ask<{ usage: { calls: number } }>('{ usage(by: []) { calls } }');
      return answer?.data.usage.calls;
    };
    await expect.poll(usage).toBe(stage.sandbox.links.requests.length);
    const [key = ''] = (await stage.redis.command('KEYS', '*:u:*')) as string[];
    const stored = JSON.stringify(await stage.redis.command('HGETALL', key));
    expect(stored).not.toContain('SecretName');
    expect(stored.length).toBeGreaterThan(100);
  });

  it('counts a request once, also if the reply to its command is lost', async () => {
    let commands = 0;
    const store = storeOf('lost', () => {
      commands += 1;
      return commands % 3 !== 0;
    });
    for (let n = 0; n < 20; n += 1) {
      store.add(today, row({ caller: `caller ${n % 5}`, saved: 2 }));
      await clock.advance(700);
    }
    await clock.advance(60_000);
    const rows = await storeOf('lost').read(today);
    expect(totalOf(rows)).toBe(20);
    expect(rows.reduce((sum, { saved }) => sum + saved, 0)).toBe(40);
    expect(rows.length).toBe(5);
  });

  it('has a bounded number of rows, in which nothing is lost', async () => {
    const stores = [storeOf('many'), storeOf('many')];
    for (let n = 0; n < 3000; n += 1) {
      stores[n % 2]?.add(today, row({ caller: `caller ${n}` }));
    }
    for (const store of stores) await store.close();
    const rows = await storeOf('many').read(today);
    expect(totalOf(rows)).toBe(3000);
    expect(rows.length).toBeLessThanOrEqual(MOST_ROWS + 10);
    expect(rows.find(({ caller }) => caller === OTHERS_TOGETHER)?.calls).toBeGreaterThan(900);
  });

  it('removes days that are not kept', async () => {
    const store = storeOf('old');
    store.add(today - 401, row());
    await store.close();
    expect(totalOf(await store.read(today - 401))).toBe(1);
    const next = storeOf('old');
    next.add(today, row());
    await next.close();
    expect(await next.read(today - 401)).toEqual([]);
    expect(totalOf(await next.read(today))).toBe(1);
  });
});
