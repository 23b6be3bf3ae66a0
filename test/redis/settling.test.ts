import { afterEach, expect, it } from 'vitest';
import { Replica } from '../../src/redis/replica.ts';
import { Settling } from '../../src/redis/settling.ts';
import { protocolTimes } from '../../src/redis/times.ts';
import { systemClock } from '../../src/scheduling/clock.ts';
import { describeWith, redisServer } from '../support/needs.ts';
import { clearUp, connected, redis } from '../support/redis-connection.ts';

afterEach(clearUp);

/** A replica on a Redis that can be taken away, and what it reports about writes. */
async function stage() {
  const server = await redis();
  const { connection, hears, observed } = connected([server.url], { callMs: 1000 });
  const times = { ...protocolTimes([2000]), beatMs: 50 };
  const how: string[] = [];
  const replica: Replica = new Replica({
    id: 'me',
    fingerprint: 'print',
    channel: '{test:1}:ch',
    chance: () => 0,
    clock: systemClock,
    holdMs: 1000,
    times,
    connection,
    watched: () => [],
    listeners: {
      touched: () => {},
      newEpoch: () => void settling.retell(),
      acked: () => {},
      ended: () => {},
      recorded: () => {},
      beaten: () => {},
      refused: () => {},
      tried: () => {},
    },
  });
  const settling: Settling = new Settling({
    replica,
    clock: systemClock,
    times,
    giveUpMs: 60_000,
    settled: (each) => how.push(each),
  });
  await hears(/^up$/);
  replica.beat();
  while (!replica.leased) await new Promise(setImmediate);
  const told = (): number => observed.filter(([name]) => name === 'touched').length;
  const end = async (): Promise<void> => {
    await replica.close([]);
    settling.close();
  };
  return { server, settling, replica, hears, how, told, end, observed };
}

describeWith(redisServer, 'writes that Redis could not be told of', () => {
  it('are told in one command once it is back, however many they are', async () => {
    const { end, hears, how, server, settling, told } = await stage();
    await server.kill();
    await hears(/^down /);
    const numbers: number[] = [];
    const writes = Array.from({ length: 500 }, (_, n) =>
      settling.settle([`tag ${n}`, 'all'], `permit ${n}`, (number) => numbers.push(number)),
    );
    const before = told();
    await server.start();
    await hears(/^up$/);
    settling.again();
    await Promise.all(writes);
    expect(how).toHaveLength(500);
    expect(numbers).toHaveLength(500);
    // One for all, and one because Redis had forgotten what it was told before: each twice where it has no script.
    expect(told() - before).toBeLessThanOrEqual(4);
    expect(await server.command('ZCARD', '{test:1}:tags')).toBe(501);
    await end();
  });

  it('are told to each memory that Redis has, and not again to one that knows', async () => {
    const { end, hears, replica, server, settling, told } = await stage();
    await settling.settle(['t'], undefined, () => {});
    const { epoch } = replica;
    const before = told();
    await server.restart();
    await hears(/^up$/);
    replica.beat();
    while ((await server.command('ZSCORE', '{test:1}:tags', 't')) === null) {
      await new Promise(setImmediate);
    }
    expect(replica.epoch).not.toBe(epoch);
    expect(told() - before).toBeLessThanOrEqual(2);
    await end();
  });
});
