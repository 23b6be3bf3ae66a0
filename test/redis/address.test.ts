import { afterEach, expect, it } from 'vitest';
import { makeCertificate } from '../support/certificate.ts';
import { describeWith, redisServer } from '../support/needs.ts';
import { clearUp, connected, count, later, redis, serve } from '../support/redis-connection.ts';
import { RedisServer } from '../support/redis-server.ts';

afterEach(clearUp);

describeWith(redisServer, 'a connection to the address of a Redis', () => {
  it('has its password, and never reveals it', async () => {
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

  it('sends nothing unencrypted to a server without a trusted certificate', async () => {
    const certificate = makeCertificate();
    later(async () => certificate.remove());
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
    later(() => missing.end());
    const first = missing.url.replace('://', '://:correct-horse@');
    for (const url of [alike.url, bare, apart.url]) {
      const { hears } = connected([first, url], { sentinelName: 'main' });
      await hears(/up/);
    }
  });
});
