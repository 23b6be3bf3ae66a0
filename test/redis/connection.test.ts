import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import {
  type ConnectionEvents,
  RedisConnection,
  type RedisConnectionOptions,
} from '../../src/redis/connection.ts';
import { RedisRefused, RedisUnavailable } from '../../src/redis/failures.ts';
import { script } from '../../src/redis/script.ts';
import { makeCertificate } from '../support/certificate.ts';
import { describeWith, redisServer } from '../support/needs.ts';
import { RedisServer } from '../support/redis-server.ts';

const echo = script('echo', 'return {KEYS[1], ARGV[1]}');
const count = script('count', "return redis.call('INCR', KEYS[1])");
const value = script('value', "return redis.call('GET', ARGV[1])");

const leftovers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const clear of leftovers.splice(0).toReversed()) await clear();
});

async function redis(options?: Parameters<typeof RedisServer.run>[0]): Promise<RedisServer> {
  const server = await RedisServer.run(options);
  leftovers.push(() => server.end());
  return server;
}

/** A server that does with its connections as it is told. Resolves with its port. */
async function serve(take: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    take(socket);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  leftovers.push(async () => server.close());
  return (server.address() as AddressInfo).port;
}

/** A started connection, all that it tells, and a way to wait for it. */
function connected(urls: readonly string[], options: Partial<RedisConnectionOptions> = {}) {
  const told: string[] = [];
  const observed: [string, boolean][] = [];
  const waiting = new Set<() => void>();
  const tell = (text: string): void => {
    told.push(text);
    for (const look of waiting) look();
  };
  const events: ConnectionEvents = {
    up: () => tell('up'),
    down: (reason) => tell(`down ${reason}`),
    message: (text) => tell(`message ${text}`),
  };
  const connection = new RedisConnection({
    urls,
    sentinelName: null,
    clock: systemClock,
    callMs: 2000,
    keys: ['{test:1}:state', '{test:1}:tags'],
    channel: '{test:1}:ch',
    replyObserver: (name, _, ok) => observed.push([name, ok]),
    events,
    ...options,
  });
  leftovers.push(() => connection.close());
  connection.start();
  /** Resolves when something that matches was told since the last call. */
  let seen = 0;
  const hears = (pattern: RegExp): Promise<string> =>
    new Promise((resolve) => {
      const look = (): void => {
        const index = told.findIndex((text, at) => at >= seen && pattern.test(text));
        if (index < 0) return;
        seen = index + 1;
        waiting.delete(look);
        resolve(told[index] ?? '');
      };
      waiting.add(look);
      look();
    });
  return { connection, told, observed, hears };
}

describeWith(redisServer, 'a connection to Redis', () => {
  it('runs a script with the keys, before Redis knows it and after', async () => {
    const server = await redis();
    const { connection, hears, observed } = connected([server.url]);
    await hears(/up/);
    expect(await connection.run(echo, ['a'])).toEqual(['{test:1}:state', 'a']);
    expect(await connection.run(echo, ['b'])).toEqual(['{test:1}:state', 'b']);
    await server.command('SCRIPT', 'FLUSH');
    expect(await connection.run(echo, ['c'])).toEqual(['{test:1}:state', 'c']);
    expect(observed).toEqual([
      ['echo', false],
      ['echo', true],
      ['echo', true],
      ['echo', false],
      ['echo', true],
    ]);
  });

  it('passes on what Redis refuses, without a doubt', async () => {
    const server = await redis();
    const { connection, hears } = connected([server.url]);
    await hears(/up/);
    const failure = connection.run(script('fails', "return redis.call('NONSENSE')"), []);
    await expect(failure).rejects.toThrow(RedisRefused);
    await expect(failure).rejects.toThrow(/Unknown Redis command/i);
    expect(connection.isUp).toBe(true);
  });

  it('writes and reads bytes, in the order of the calls', async () => {
    const server = await redis();
    const { connection, hears } = connected([server.url]);
    await hears(/up/);
    await connection.run(value, ['{test:1}:e:a']);
    const bytes = Buffer.from([0, 255, 13, 10, 128]);
    connection.write('{test:1}:e:a', Buffer.from('before'), 60_000);
    const seen = connection.run(value, ['{test:1}:e:a']);
    connection.write('{test:1}:e:a', bytes, 60_000.7);
    expect(await connection.read(['{test:1}:e:a', '{test:1}:e:none'])).toEqual([bytes, null]);
    expect(await seen).toBe('before');
    expect(await connection.read([])).toEqual([]);
    expect(Number(await server.command('PTTL', '{test:1}:e:a'))).toBeGreaterThan(0);
  });

  it('hears the channel, also after it had to connect again', async () => {
    const server = await redis();
    const { hears } = connected([server.url]);
    await hears(/up/);
    await server.command('PUBLISH', '{test:1}:ch', 'first');
    await hears(/message first/);
    await server.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await hears(/up/);
    await server.command('PUBLISH', '{test:1}:ch', 'second');
    await hears(/message second/);
  });

  it('waits for a Redis that is not there, and says so once for each reason', async () => {
    const server = await RedisServer.create();
    leftovers.push(() => server.end());
    const { connection, hears, told, observed } = connected([server.url]);
    expect(await hears(/down/)).toBe(`down 127.0.0.1:${server.port}: ECONNREFUSED`);
    expect(connection.isUp).toBe(false);
    const failure = connection.run(count, []);
    await expect(failure).rejects.toThrow(RedisUnavailable);
    await expect(failure).rejects.toMatchObject({ doubtful: false });
    connection.write('{test:1}:e:a', Buffer.from('lost'), 1000);
    await server.start();
    await hears(/up/);
    expect(told.filter((text) => text.startsWith('down'))).toHaveLength(1);
    expect(observed).toEqual([]);
    expect(await connection.run(count, [])).toBe(1);
    expect(await connection.read(['{test:1}:e:a'])).toEqual([null]);
  });

  it('goes on trying, and does not repeat a reason', async () => {
    let calls = 0;
    let enough = (): void => {};
    const fifth = new Promise<void>((resolve) => {
      enough = resolve;
    });
    const port = await serve((socket) => {
      calls += 1;
      if (calls === 5) enough();
      socket.destroy();
    });
    const { told } = connected([`redis://127.0.0.1:${port}`]);
    await fifth;
    expect(told).toEqual([expect.stringMatching(/^down 127\.0\.0\.1:\d+: /)]);
  });

  it('is made anew when Redis is killed, and doubts what was under way', async () => {
    const server = await redis();
    const { connection, hears } = connected([server.url]);
    await hears(/up/);
    server.stop();
    const failure = connection.run(count, []);
    const checked = expect(failure).rejects.toMatchObject({ doubtful: true });
    await server.kill();
    await checked;
    await hears(/down/);
    await server.start();
    await hears(/up/);
    expect(await connection.run(count, [])).toBe(1);
  });

  it('doubts what has no reply in time, ends a silent connection, and sends nothing twice', async () => {
    const server = await redis();
    const { connection, hears, observed } = connected([server.url], { callMs: 100 });
    await hears(/up/);
    expect(await connection.run(count, [])).toBe(1);
    observed.length = 0;
    server.stop();
    await expect(connection.run(count, [])).rejects.toMatchObject({ doubtful: true });
    expect(connection.isUp).toBe(true);
    expect(await hears(/down/)).toBe('down no reply in 200 ms');
    await expect(connection.run(count, [])).rejects.toMatchObject({ doubtful: false });
    expect(observed).toEqual([['count', false]]);
    server.cont();
    await hears(/up/);
    // Carried out once, late.
    expect(await connection.run(count, [])).toBe(3);
  });

  it('keeps a connection that answers late', async () => {
    const server = await redis();
    const { connection, hears, told } = connected([server.url], { callMs: 1000 });
    await hears(/up/);
    await connection.run(count, []);
    server.stop();
    const late = connection.run(count, []);
    await expect(late).rejects.toMatchObject({ doubtful: true });
    server.cont();
    expect(await connection.run(count, [])).toBe(3);
    expect(told).toEqual(['up']);
  });

  it('gives up on a server that takes the connection and says nothing', async () => {
    const port = await serve(() => {});
    const { hears } = connected([`redis://127.0.0.1:${port}`], { callMs: 100 });
    expect(await hears(/down/)).toBe(`down 127.0.0.1:${port}: no answer in 1000 ms`);
  });

  it('gives up on a machine that does not even take the connection', async () => {
    const server = await redis({ args: ['--tcp-backlog', '1'] });
    server.stop();
    // More than the system keeps for a process that does not take them.
    const others = Array.from({ length: 8 }, () => connect(server.port, '127.0.0.1'));
    leftovers.push(async () => others.forEach((socket) => socket.destroy()));
    await once(others[0] as Socket, 'connect');
    const { hears } = connected([server.url], { callMs: 100 });
    expect(await hears(/down/)).toBe(`down 127.0.0.1:${server.port}: no answer in 1000 ms`);
  });

  it('brings its password, and never tells it', async () => {
    const server = await redis({ password: 'correct-horse' });
    const good = connected([server.url]);
    await good.hears(/up/);
    const bad = connected([server.url.replace('correct', 'wrong')]);
    expect(await bad.hears(/down/)).toMatch(/WRONGPASS/);
    const none = connected([server.url.replace(':correct-horse@', '')]);
    expect(await none.hears(/down/)).toMatch(/NOAUTH/);
    for (const { told } of [good, bad, none]) expect(told.join()).not.toContain('horse');
  });

  it.each([
    // Redis cuts what it repeats.
    'unknown command `HELLO`, with args beginning with: `3`, `AUTH`, `default`, `correct-h',
    'what do you mean by correct-horse?',
  ])('hides a password that a server repeats: %s', async (words) => {
    const port = await serve((socket) => {
      socket.on('data', () => socket.write(`-ERR ${words}\r\n`));
    });
    const { hears } = connected([`redis://:correct-horse@127.0.0.1:${port}`]);
    const reason = await hears(/down/);
    expect(reason).toContain(words.slice(0, 15));
    expect(reason).not.toContain('correct');
  });

  it('uses the database of the URL', async () => {
    const server = await redis();
    const { connection, hears } = connected([`${server.url}/3`]);
    await hears(/up/);
    await connection.run(count, []);
    expect(await server.command('INFO', 'keyspace')).toMatch(/db3:keys=1/);
  });

  it('does not talk in clear to a server that nobody vouches for', async () => {
    const certificate = makeCertificate();
    leftovers.push(async () => certificate.remove());
    const server = await redis({ tls: certificate });
    expect(await server.command('PING')).toBe('PONG');
    const { hears } = connected([server.url]);
    expect(await hears(/down/)).toMatch(/DEPTH_ZERO_SELF_SIGNED_CERT/);
  });

  it('asks the Sentinels for the master, and believes only a master', async () => {
    const master = await redis({ password: 'correct-horse' });
    const watches = { name: 'main', port: master.port };
    const missing = await RedisServer.create();
    const sentinel = await redis({ watches });
    const urls = [missing.url.replace('://', '://:correct-horse@'), sentinel.url];
    const { connection, hears } = connected(urls, { sentinelName: 'main' });
    await hears(/up/);
    await connection.run(count, []);
    expect(await master.command('GET', '{test:1}:state')).toBe('1');

    const unknown = connected(urls, { sentinelName: 'other' });
    expect(await unknown.hears(/down/)).toContain('knows no master called other');

    // The master becomes a replica and keeps its connections: writes are refused, and so is the server.
    await master.command('REPLICAOF', '127.0.0.1', String(missing.port));
    await expect(connection.run(count, [])).rejects.toThrow(/READONLY/);
    await hears(/down READONLY/);
    await hears(/down .*is not a master/);
    await master.command('REPLICAOF', 'NO', 'ONE');
    await hears(/up/);
  });

  it('gives a Sentinel the password that it wants, its own or else that of Redis', async () => {
    const master = await redis({ password: 'correct-horse' });
    const watches = { name: 'main', port: master.port };
    const alike = await redis({ watches, password: 'correct-horse' });
    const apart = await redis({ watches, password: 'battery-staple' });
    const bare = alike.url.replace(':correct-horse@', '');
    const missing = await RedisServer.create();
    leftovers.push(() => missing.end());
    const first = missing.url.replace('://', '://:correct-horse@');
    for (const url of [alike.url, bare, apart.url]) {
      const { hears } = connected([first, url], { sentinelName: 'main' });
      await hears(/up/);
    }
  });

  it('waits for replies when it closes, and leaves nothing open', async () => {
    const server = await redis();
    const { connection, hears, told } = connected([server.url]);
    await hears(/up/);
    await connection.run(count, []);
    connection.write('{test:1}:e:a', Buffer.from('kept'), 60_000);
    const last = connection.run(count, []);
    await connection.close();
    expect(await last).toBe(2);
    expect(await server.command('GET', '{test:1}:e:a')).toBe('kept');
    await expect(connection.run(count, [])).rejects.toMatchObject({ doubtful: false });
    expect(await server.command('CLIENT', 'LIST')).not.toContain('name=gateway');
    expect(told).toEqual(['up']);
  });

  it('leaves nothing open either when it closes while it connects', async () => {
    const server = await redis();
    const sockets = (): number =>
      process.getActiveResourcesInfo().filter((name) => name.startsWith('TCP')).length;
    const before = sockets();
    const { connection, told } = connected([server.url]);
    await connection.close();
    const { connection: silent } = connected(['redis://192.0.2.1:6379']);
    await silent.close();
    // A destroyed socket is gone a turn or two of the event loop later.
    for (let turn = 0; turn < 100 && sockets() > before; turn += 1) await setImmediate();
    expect(sockets()).toBeLessThanOrEqual(before);
    expect(told).toEqual([]);
    expect(await server.command('CLIENT', 'LIST')).not.toContain('name=gateway');
  });
});
