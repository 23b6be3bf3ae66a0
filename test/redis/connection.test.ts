import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { RedisRefused, RedisUnavailable } from '../../src/redis/failures.ts';
import { script } from '../../src/redis/lua/scripts.ts';
import { describeWith, redisServer } from '../support/needs.ts';
import { clearUp, connected, count, later, redis, serve } from '../support/redis-connection.ts';
import { RedisServer } from '../support/redis-server.ts';

const echo = script('echo', 'return {KEYS[1], ARGV[1]}');
const value = script('value', "return redis.call('GET', ARGV[1])");

afterEach(clearUp);

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

  it('connects again where Redis falls silent in the middle of getting connected', async () => {
    const server = await redis();
    let connections = 0;
    const port = await serve((near) => {
      connections += 1;
      const far = connect(server.port, '127.0.0.1');
      far.on('error', () => {});
      const isSilent = connections === 1;
      // It takes the greetings, and nothing of what comes behind them.
      near.on('data', (piece: Buffer) => {
        if (!isSilent || !piece.includes('EVAL')) far.write(piece);
      });
      far.pipe(near);
      near.once('close', () => far.destroy());
      later(async () => far.destroy());
    });
    const { connection, hears } = connected([`redis://127.0.0.1:${port}`], { callMs: 100 });
    await hears(/down .*no connection within 1000 ms/);
    await hears(/^up$/);
    expect(await connection.run(echo, ['a'])).toEqual(['{test:1}:state', 'a']);
    expect(connections).toBe(2);
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

  it('waits for an unreachable Redis, with one log line per reason', async () => {
    const server = await RedisServer.create();
    later(() => server.end());
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

  it('is created again when Redis is killed, and doubts what was under way', async () => {
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
    expect(await hears(/down/)).toBe('down no reply within 200 ms');
    await expect(connection.run(count, [])).rejects.toMatchObject({ doubtful: false });
    expect(observed).toEqual([['count', false]]);
    server.cont();
    await hears(/up/);
    // Carried out once, late.
    expect(await connection.run(count, [])).toBe(3);
  });

  it('does not take a pause of its own for one of Redis', async () => {
    const server = await redis();
    const { connection, hears, told } = connected([server.url], { callMs: 100 });
    await hears(/up/);
    await connection.run(count, []);
    for (let expected = 2; expected <= 4; expected += 1) {
      const reply = connection.run(count, []);
      // What was sent is sent; then the process stands still for longer than a connection may be silent.
      await setImmediate();
      for (const until = performance.now() + 300; performance.now() < until; );
      expect(await reply).toBe(expected);
    }
    expect(told).toEqual(['up']);
  });

  it('gives nothing up whose reply it has had no time to read', async () => {
    const server = await redis();
    let now = 0;
    const due = new Set<() => void>();
    const clock = {
      now: () => now,
      wall: () => now,
      after(_: number, task: () => void) {
        due.add(task);
        return () => void due.delete(task);
      },
    };
    const { connection, hears } = connected([server.url], { callMs: 100, clock });
    await hears(/up/);
    expect(await connection.run(count, [])).toBe(1);
    // It looks for what is overdue, and while it reads first the process is busy for long.
    server.stop();
    now = 100;
    for (const task of due) task();
    const reply = connection.run(count, []);
    now = 300;
    for (let turn = 0; turn < 5; turn += 1) await setImmediate();
    server.cont();
    expect(await reply).toBe(2);
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

  it('gives up on a server that accepts the connection and does not respond', async () => {
    const port = await serve(() => {});
    const { hears } = connected([`redis://127.0.0.1:${port}`], { callMs: 100 });
    expect(await hears(/down/)).toBe(`down 127.0.0.1:${port}: no connection within 1000 ms`);
  });

  it('gives up on a machine that does not even take the connection', async () => {
    const server = await redis({ args: ['--tcp-backlog', '1'] });
    server.stop();
    // More than the system keeps for a process that does not take them.
    const others = Array.from({ length: 8 }, () => connect(server.port, '127.0.0.1'));
    later(async () => others.forEach((socket) => socket.destroy()));
    await once(others[0] as Socket, 'connect');
    const { hears } = connected([server.url], { callMs: 100 });
    expect(await hears(/down/)).toBe(`down 127.0.0.1:${server.port}: no connection within 1000 ms`);
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
