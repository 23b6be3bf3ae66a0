import { expect, it } from 'vitest';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { makeCertificate } from '../support/certificate.ts';
import { describeWith, redisServer } from '../support/needs.ts';
import { GATEWAY, start } from '../support/process.ts';
import { RedisServer } from '../support/redis-server.ts';

describeWith(redisServer, 'the built gateway', () => {
  it('talks to Redis over TLS, where somebody vouches for it', async () => {
    const certificate = makeCertificate();
    const server = await RedisServer.run({ tls: certificate, password: 'correct-horse' });
    const sandbox = await startSandbox();
    const env = {
      AUTH_MODE: 'none',
      STATE_DIR: 'off',
      LINKS_BASE_URL: sandbox.links.url,
      LINKS_API_KEY: sandbox.links.key,
      REDIS_URL: server.url,
      REDIS_SECRET: 's'.repeat(32),
    };
    const probe = (more: Readonly<Record<string, string>>) =>
      start(process.execPath, [...GATEWAY, '--check-config', '--probe'], {
        cwd: '.',
        env: { ...env, ...more },
      });

    const trusting = probe({ NODE_EXTRA_CA_CERTS: certificate.cert });
    expect(await trusting.ended).toBe(0);
    expect(trusting.output()).toMatch(/^REDIS +127\.0\.0\.1:\d+ answers PONG/m);

    const wary = probe({});
    expect(await wary.ended).toBe(2);
    expect(wary.output()).toMatch(/SELF_SIGNED.*NODE_EXTRA_CA_CERTS/);

    const plain = probe({ REDIS_URL: server.url.replace('rediss', 'redis') });
    expect(await plain.ended).toBe(1);
    for (const each of [trusting, wary, plain]) expect(each.output()).not.toContain('horse');

    await sandbox.close();
    await server.end();
    certificate.remove();
  });
});
