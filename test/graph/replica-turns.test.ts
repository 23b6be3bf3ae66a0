import { SignJWT } from 'jose';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import type { World } from '../support/gateway.ts';
import { describeWith, redisServer } from '../support/needs.ts';
import { RedisServer } from '../support/redis-server.ts';
import { startReplicas } from '../support/replica-worlds.ts';

const LIMIT = 5;
const WINDOW_MS = 1000;
const secret = 'a-secret-of-more-than-32-letters-it-is';
const env = {
  LINKS_RATE_LIMIT: String(LIMIT),
  LINKS_RATE_WINDOW_MS: String(WINDOW_MS),
  MAX_WAIT_MS: '60000',
  AUTH_MODE: 'jwt',
  AUTH_JWT_ISSUER: 'https://login.example',
  AUTH_JWT_AUDIENCE: 'gateway',
  AUTH_JWT_SECRET: secret,
};

let sandbox: Sandbox;
let redis: RedisServer;
let worlds: World[] = [];

/** Asks one replica as one caller. */
async function ask(replica: number, caller: string, query: string) {
  const token = await new SignJWT({ roles: ['admin'] })
    .setProtectedHeader({ alg: 'HS256' })
    .setIssuer('https://login.example')
    .setAudience('gateway')
    .setSubject(caller)
    .setExpirationTime('1h')
    .sign(new TextEncoder().encode(secret));
  const { errors, receipt } = await (worlds[replica] as World).ask(
    query,
    {},
    { authorization: `Bearer ${token}` },
  );
  expect(errors).toEqual([]);
  return receipt;
}

/** Resolves when this many requests have reached the upstream. */
async function arrived(count: number): Promise<void> {
  while (sandbox.links.requests.length < count) {
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
  }
}

describeWith(redisServer, 'turns over replicas', () => {
  beforeAll(async () => {
    sandbox = await startSandbox({ limit: { requests: LIMIT, windowMs: WINDOW_MS } });
    redis = await RedisServer.run();
  });
  afterEach(() => Promise.all(worlds.map((world) => world.close())));
  afterAll(async () => {
    await sandbox.close();
    await redis.end();
  });

  it.each([
    ['a read of another caller', '{ splashPages { nodes { id } } }', /splash/],
    [
      'a write',
      'mutation { createPixel(input: { type: GTM, name: "x", tag: "GTM-ABCDE" }) { __typename } }',
      /pixel/,
    ],
  ])('%s on one passes what a noisy caller has queued on another', async (_, query, path) => {
    worlds = await startReplicas(2, redis, { on: sandbox, only: 'links', env });
    await ask(0, 'someone', '{ account { id } }');
    const noisy = Array.from({ length: 3 * LIMIT }, (_each, n) =>
      ask(0, 'noisy', `{ user(id: ${n + 1}) { email } }`),
    );
    sandbox.links.clearLog();
    await arrived(LIMIT - 1);
    await ask(1, 'quiet', query);
    const paths = sandbox.links.requests.map((request) => request.path);
    const place = paths.findIndex((each) => path.test(each));
    // Of the slots that came back first, it has had one.
    expect(place).toBeGreaterThanOrEqual(LIMIT - 1);
    expect(place).toBeLessThan(2 * LIMIT);
    await Promise.all(noisy);
  });
});
