import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../support/door.ts';
import { until } from '../support/uploads.ts';

const QUERY = '{ campaigns(first: 2) { nodes { name } } }';
const ISSUER = 'https://login.example';
const AUDIENCE = 'links-market-gateway';
const JWT = { AUTH_MODE: 'jwt', AUTH_JWT_ISSUER: ISSUER, AUTH_JWT_AUDIENCE: AUDIENCE };
const NOW = Date.UTC(2030, 0, 1) / 1000;

let door: Door | undefined;
afterEach(() => {
  door = undefined;
});

function jwt(subject: string, role = 'viewer'): SignJWT {
  return new SignJWT({ roles: [role] })
    .setIssuer(ISSUER)
    .setAudience(AUDIENCE)
    .setSubject(subject)
    .setExpirationTime(NOW + 3600);
}

describe('While the keys of an identity provider are fetched', () => {
  let provider: Server;
  let url: string;
  let keys: Awaited<ReturnType<typeof generateKeyPair>>;
  /** Answers the fetches that wait. */
  let waiting: (() => void)[] = [];
  let fetches = 0;
  beforeAll(async () => {
    keys = await generateKeyPair('ES256');
    const jwk = { ...(await exportJWK(keys.publicKey)), kid: 'one', alg: 'ES256' };
    provider = createServer((_, response) => {
      fetches += 1;
      waiting.push(() => void response.end(JSON.stringify({ keys: [jwk] })));
    });
    await once(provider.listen(0, '127.0.0.1'), 'listening');
    url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/jwks`;
  });
  afterAll(() => provider.close());

  const token = (subject: string): Promise<string> =>
    jwt(subject).setProtectedHeader({ alg: 'ES256', kid: 'one' }).sign(keys.privateKey);

  /** Opens a gateway that has no keys yet. */
  const open = async (): Promise<Door> => {
    waiting = [];
    fetches = 0;
    door = await openDoor({ ...JWT, AUTH_JWT_JWKS_URL: url });
    return door;
  };

  it('many requests by POST and by GET wait, and are then answered', async () => {
    const opened = await open();
    const authorization = `Bearer ${await token('mia')}`;
    const address = `/graphql?query=${encodeURIComponent(QUERY)}`;
    const asked = Array.from({ length: 20 }, (_, n) =>
      n % 2 === 0
        ? opened.ask(QUERY, authorization.slice(7))
        : opened.send(address, { headers: { authorization, accept: 'application/json' } }),
    );
    await until(() => waiting.length > 0);
    waiting.forEach((answer) => answer());
    const replies = await Promise.all(asked);
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
    for (const { data } of replies) expect(data).toEqual(replies[0]?.data);
    expect(fetches).toBe(1);
  });

  it('a request can be given up, and the gateway goes on', async () => {
    const opened = await open();
    const authorization = `Bearer ${await token('mia')}`;
    const body = JSON.stringify({ query: QUERY });
    const headers = { authorization, 'content-type': 'application/json' };
    const sent = request(`${opened.url}/graphql`, {
      method: 'POST',
      headers: { ...headers, 'content-length': body.length },
    });
    sent.on('error', () => {}).end(body);
    await until(() => waiting.length > 0);
    sent.destroy();
    const calls = opened.calls();
    await new Promise((resolve) => sent.once('close', resolve));
    // Another connection: its answer proves that the gateway knows of the end of the first.
    await opened.send('/livez');
    waiting.forEach((answer) => answer());
    const { status } = await opened.ask('{ __typename }', authorization.slice(7));
    expect([status, opened.calls()]).toEqual([200, calls]);
  });

  it('a stop waits for a request, which ends its connection', async () => {
    const opened = await open();
    const asked = opened.ask('{ __typename }', await token('mia'));
    await until(() => waiting.length > 0);
    const closed = opened.gateway.close();
    waiting.forEach((answer) => answer());
    const { headers, status } = await asked;
    expect([status, headers.get('connection')]).toEqual([200, 'close']);
    await closed;
  });

  it('a foreign page is refused, and has none fetched', async () => {
    const opened = await open();
    const { code, status } = await opened.send(`/graphql?query=${encodeURIComponent(QUERY)}`, {
      headers: { origin: 'https://evil.example', authorization: `Bearer ${await token('mia')}` },
    });
    expect([status, code]).toEqual([403, 'FORBIDDEN']);
    expect(fetches).toBe(0);
  });
});
