import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { probe } from '../../src/commands/probe.ts';
import { loadConfig } from '../../src/config/config.ts';
import { createGateway } from '../../src/gateway.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { systemClock } from '../../src/scheduling/clock.ts';
import { describeWith, redisServer } from '../support/needs.ts';
import { clearUp, later, redis } from '../support/redis-connection.ts';
import { RedisServer } from '../support/redis-server.ts';

/** All that a user of the gateway needs. */
const permissions =
  '~{gateway:1}:* &{gateway:1}:ch -@all +evalsha +eval +mget +set +hset +hget +hdel +hrandfield +del +zadd +zrange +zscore +zcard +zpopmin +publish +subscribe +time +info +hello +ping';

afterEach(clearUp);

/** What a probe says of Redis, while the upstream is in order. */
async function probed(url: string, env: Readonly<Record<string, string>> = {}) {
  const sandbox = await startSandbox();
  try {
    const config = loadConfig({
      AUTH_MODE: 'none',
      LINKS_BASE_URL: sandbox.links.url,
      LINKS_API_KEY: sandbox.links.key,
      STATE_DIR: 'off',
      REDIS_URL: url,
      REDIS_SECRET: 's'.repeat(32),
      ...env,
    });
    const { lines, wrong } = await probe(config, systemClock);
    // What replicas have spent is counted there, so nothing is sent where it cannot be used.
    expect(lines[0]).toMatch(
      wrong === 'nothing'
        ? /^LINKS .* accepts the key\.$/
        : /^No upstream request was sent: the budget is in Redis/,
    );
    expect(lines.every((line, index) => index === 0 || line.startsWith('REDIS   '))).toBe(true);
    return { said: lines.slice(1).map((line) => line.slice(8)), wrong };
  } finally {
    await sandbox.close();
  }
}

describeWith(redisServer, 'a probe of Redis', () => {
  it('finds nothing wrong where nothing is, and leaves nothing behind', async () => {
    const server = await redis();
    expect(await probed(server.url)).toEqual({
      said: [expect.stringMatching(/^127\.0\.0\.1:\d+ answers PONG \(version \d+\.\d+\.\d+\)\.$/)],
      wrong: 'nothing',
    });
    expect(await server.command('DBSIZE')).toBe(0);
  });

  it('is content with a user who may only do what is needed, and misses the rest by name', async () => {
    const server = await redis();
    const url = server.url.replace('://', '://ada:correct-horse@');
    await server.command(
      'ACL',
      'SETUSER',
      'ada',
      'on',
      '>correct-horse',
      ...permissions.split(' '),
    );
    expect((await probed(url)).wrong).toBe('nothing');

    await server.command('ACL', 'SETUSER', 'ada', '-zpopmin', '-hdel');
    expect(await probed(url)).toEqual({
      said: [
        expect.stringContaining('PONG'),
        expect.stringMatching(
          /lacks permissions: hdel \{gateway:1\}:state, zpopmin \{gateway:1\}:tags\./,
        ),
      ],
      wrong: 'configuration',
    });
    const elsewhere = await probed(url, { REDIS_PREFIX: 'other' });
    expect(elsewhere.said[1]).toMatch(/lacks permissions: .*publish \{other:1\}:ch/);
    await server.command('ACL', 'SETUSER', 'ada', '-eval');
    const { said, wrong } = await probed(url);
    expect([said.join(), wrong]).toEqual([expect.stringContaining("'eval'"), 'configuration']);
  });

  it('finds a wrong password, and does not repeat it', async () => {
    const server = await redis({ password: 'correct-horse' });
    const { said, wrong } = await probed(server.url.replace('correct', 'battery'));
    expect(said).toEqual([expect.stringMatching(/rejects the credentials .*WRONGPASS.*REDIS_URL/)]);
    expect(said.join()).not.toContain('horse');
    expect(wrong).toBe('configuration');
  });

  it('warns of a policy that may drop what is counted', async () => {
    const server = await redis({
      args: ['--maxmemory', '50mb', '--maxmemory-policy', 'allkeys-lru'],
    });
    const { said, wrong } = await probed(server.url);
    expect(said[1]).toMatch(/maxmemory-policy is allkeys-lru.*Set volatile-lru/);
    expect(wrong).toBe('nothing');
  });

  it('finds a replica, and a Redis that is not there', async () => {
    const server = await redis();
    const missing = await RedisServer.create();
    later(() => missing.end());
    await server.command('REPLICAOF', '127.0.0.1', String(missing.port));
    expect(await probed(server.url)).toMatchObject({
      said: [expect.anything(), expect.stringContaining('is a read-only replica')],
      wrong: 'configuration',
    });
    expect(await probed(missing.url)).toEqual({
      said: [`Redis is unreachable (127.0.0.1:${missing.port}: ECONNREFUSED).`],
      wrong: 'world',
    });
  });

  it('finds a Redis that is too old', async () => {
    const old = createServer((socket) => {
      socket.setEncoding('utf8').on('data', (text: string) => {
        const info = 'redis_version:6.2.14\r\nrun_id:0a1b\r\nrole:master\r\n';
        if (text.includes('HELLO')) socket.write('%0\r\n');
        else if (text.includes('PING')) socket.write('+PONG\r\n');
        else if (text.includes('INFO')) socket.write(`$${info.length}\r\n${info}\r\n`);
        else socket.write('-ERR unknown command\r\n');
      });
    });
    await once(old.listen(0, '127.0.0.1'), 'listening');
    later(async () => old.close());
    const { port } = old.address() as AddressInfo;
    expect(await probed(`redis://127.0.0.1:${port}`)).toEqual({
      said: [
        `127.0.0.1:${port} answers PONG (version 6.2.14).`,
        'The gateway requires Redis 7.0 or later. Change REDIS_URL.',
      ],
      wrong: 'configuration',
    });
  });

  it('takes its slots of the budget that replicas share, and none where they are taken', async () => {
    const server = await redis();
    const sandbox = await startSandbox({ limit: { requests: 2 } });
    later(() => sandbox.close());
    const config = loadConfig({
      PORT: '0',
      AUTH_MODE: 'none',
      LINKS_BASE_URL: sandbox.links.url,
      LINKS_API_KEY: sandbox.links.key,
      LINKS_RATE_LIMIT: '2',
      LINKS_RATE_WINDOW_MS: '10000',
      LINKS_TIMEOUT_MS: '1000',
      MAX_WAIT_MS: '60000',
      REDIS_URL: server.url,
      REDIS_SECRET: 's'.repeat(32),
    });
    const gateway = await createGateway(config);
    later(() => gateway.close());
    const request = new Request('http://gateway/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"query":"{ account { username } }"}',
    });
    // It waits until the quarantine of an empty Redis is over.
    expect(await (await gateway.fetch(request)).json()).toMatchObject({ data: { account: {} } });
    const hasty = { ...config, maxWaitMs: 0 };
    const first = await probe(hasty, systemClock);
    expect(first.lines[0]).toMatch(/^LINKS .* accepts the key\.$/);
    const second = await probe(hasty, systemClock);
    expect(second.lines[0]).toMatch(/^LINKS .* in \d+ s/);
    expect(sandbox.links.requests).toHaveLength(2);
  });

  it('asks Sentinels', async () => {
    const master = await redis();
    const sentinel = await redis({ watches: { name: 'main', port: master.port } });
    const known = await probed(sentinel.url, { REDIS_SENTINEL_NAME: 'main' });
    expect(known.said[0]).toContain(`127.0.0.1:${master.port} answers PONG`);
    const unknown = await probed(sentinel.url, { REDIS_SENTINEL_NAME: 'other' });
    expect(unknown.said[0]).toContain('knows no master called other');
    expect(unknown.wrong).toBe('configuration');
  });
});
