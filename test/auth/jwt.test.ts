import { createServer, type Server } from 'node:http';
import {
  exportJWK,
  type GenerateKeyPairResult,
  generateKeyPair,
  type JWTPayload,
  SignJWT,
} from 'jose';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Door, openDoor } from '../support/door.ts';

const query = '{ account { username } }';
const issuer = 'https://login.example';
const audience = 'links-market-gateway';
const claims = { AUTH_MODE: 'jwt', AUTH_JWT_ISSUER: issuer, AUTH_JWT_AUDIENCE: audience };

interface Wish {
  readonly payload?: JWTPayload;
  readonly issuer?: string;
  readonly audience?: string;
  readonly subject?: string | null;
  /** Seconds from the test's beginning of time; `null` for none. */
  readonly expires?: number | null;
  readonly header?: { readonly alg: string; readonly kid?: string };
}

const epoch = Date.UTC(2030, 0, 1) / 1000;

async function sign(key: Parameters<SignJWT['sign']>[0], wish: Wish = {}): Promise<string> {
  const { payload = { roles: ['viewer'] }, subject = 'mia', expires = 3600 } = wish;
  const token = new SignJWT(payload)
    .setProtectedHeader(wish.header ?? { alg: 'HS256' })
    .setIssuer(wish.issuer ?? issuer)
    .setAudience(wish.audience ?? audience);
  if (subject !== null) token.setSubject(subject);
  if (expires !== null) token.setExpirationTime(epoch + expires);
  return token.sign(key);
}

async function rejections(door: Door, reason: string): Promise<number> {
  const metrics = await (await fetch(`${door.url}/metrics`)).text();
  const [, count = 0] =
    new RegExp(`^gateway_tokens_rejected_total\\{reason="${reason}"\\} (\\d+)$`, 'm').exec(
      metrics,
    ) ?? [];
  return Number(count);
}

describe('a token signed with the shared secret', () => {
  const secret = 'a secret of more than 32 letters'.replaceAll(' ', '-');
  const key = new TextEncoder().encode(secret);
  let door: Door;
  beforeAll(async () => {
    door = await openDoor({ ...claims, AUTH_JWT_SECRET: secret });
  });

  it('lets its bearer in', async () => {
    const { data } = await door.ask(query, await sign(key));
    expect(data).toEqual({ account: { username: expect.any(String) } });
  });

  it('with a long subject stands in the log with a part of it', async () => {
    const subject = `spiffe://${'x'.repeat(900)}`;
    expect((await door.ask(query, await sign(key, { subject }))).status).toBe(200);
    expect(door.log()).toContain(`"caller":"${subject.slice(0, 63)}…"`);
  });

  it('may have a subject of 1024 letters, and no longer one', async () => {
    const ask = async (letters: number) =>
      (await door.ask(query, await sign(key, { subject: 's'.repeat(letters) }))).status;
    expect([await ask(1024), await ask(1025)]).toEqual([200, 401]);
  });

  const other = new TextEncoder().encode('another secret of 32 letters or so');
  it.each<[string, () => Promise<string>, reason: string]>([
    ['signed with another secret', () => sign(other), 'signature'],
    ['of another issuer', () => sign(key, { issuer: 'https://evil.example' }), 'issuer'],
    ['for somebody else', () => sign(key, { audience: 'other-service' }), 'audience'],
    ['without an expiry', () => sign(key, { expires: null }), 'expiry-missing'],
    ['without a subject', () => sign(key, { subject: null }), 'subject'],
    [
      'of tomorrow',
      () => sign(key, { payload: { nbf: epoch + 86_400 }, expires: 100_000 }),
      'not-yet-valid',
    ],
    ...[42, true, ['mia'], { name: 'mia' }, null, '', '   ', 'm'.repeat(1025)].map(
      (sub): [string, () => Promise<string>, string] => [
        `with the subject ${JSON.stringify(sub).slice(0, 20)}`,
        () => sign(key, { subject: null, payload: { roles: ['viewer'], sub } as JWTPayload }),
        'subject',
      ],
    ),
    ['with another algorithm', () => sign(key, { header: { alg: 'HS512' } }), 'algorithm'],
    ['that is none', async () => 'abc.def.ghi', 'malformed'],
    [
      'without a signature',
      async () => {
        const [, payload] = (await sign(key)).split('.');
        return `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}.`;
      },
      'algorithm',
    ],
  ])('%s is refused without a reason, which the operator can count', async (_, make, reason) => {
    const before = door.calls();
    const count = await rejections(door, reason);
    const reply = await door.ask(query, await make());
    expect([reply.status, reply.code, reply.errors[0]?.message]).toEqual([
      401,
      'UNAUTHENTICATED',
      'The token is not valid.',
    ]);
    expect(reply.headers.get('www-authenticate')).toContain('error="invalid_token"');
    expect(door.calls()).toBe(before);
    expect(await rejections(door, reason)).toBe(count + 1);
  });

  it('that is not valid is logged once a minute for each reason, without any of its content', async () => {
    const own = await openDoor({ ...claims, AUTH_JWT_SECRET: secret });
    const ask = async (wish: Wish) => own.ask(query, await sign(key, { subject: 'mia', ...wish }));
    await ask({ audience: 'other-service' });
    await ask({ audience: 'other-service' });
    await ask({ issuer: 'https://evil.example' });
    await ask({ expires: -3600 });
    await own.clock.advance(60_000);
    await ask({ audience: 'other-service' });
    const lines = own
      .log()
      .split('\n')
      .filter((line) => line.includes('token rejected'));
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 'warn', reason: 'audience', expected: audience },
      { level: 'warn', reason: 'issuer', expected: issuer },
      { level: 'info', reason: 'expired' },
      { level: 'warn', reason: 'audience', expected: audience },
    ]);
    expect(own.log()).not.toMatch(/mia|other-service|evil/);
  });

  it.each([
    [{ roles: ['editor', 'viewer', 'gardener'] }, ['editor', 'admin']],
    [{ roles: 'viewer editor' }, ['editor', 'admin']],
    [{ roles: 'gardener,editor' }, ['editor', 'admin']],
    [{ roles: ['admin', 'viewer'] }, ['admin']],
    [{ roles: ['administrator', 'ADMIN', ['admin']] }, ['none', 'viewer']],
    [{ roles: ['gardener'] }, ['none', 'viewer']],
    [{}, ['none', 'viewer']],
    [{ roles: { viewer: true } }, ['none', 'viewer']],
  ])('with the claims %j has a role that ends between %j', async (payload, [has, hasNot]) => {
    const token = await sign(key, { payload });
    const ask: Record<string, string> = {
      viewer: query,
      editor: 'mutation { createCampaign(input: { name: "x" }) { __typename } }',
      admin: '{ plans { name } }',
    };
    if (has && has !== 'none') expect((await door.ask(ask[has] ?? '', token)).errors).toEqual([]);
    if (hasNot) expect((await door.ask(ask[hasNot] ?? '', token)).code).toBe('FORBIDDEN');
  });

  it('is verified once, however often it is presented', async () => {
    const verify = vi.spyOn(crypto.subtle, 'verify');
    const token = await sign(key, { subject: 'once' });
    for (let time = 0; time < 3; time += 1) {
      const replies = await Promise.all([1, 2, 3, 4].map(() => door.ask(query, token)));
      expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    }
    expect(verify).toHaveBeenCalledTimes(1);
    verify.mockRestore();
  });

  it('with another role for the same subject applies at once, and leaves the first as it is', async () => {
    const plans = '{ plans { name } }';
    const asViewer = await sign(key);
    const asAdmin = await sign(key, { payload: { roles: ['admin'] } });
    expect((await door.ask(plans, asViewer)).code).toBe('FORBIDDEN');
    expect((await door.ask(plans, asAdmin)).errors).toEqual([]);
    expect((await door.ask(plans, asViewer)).code).toBe('FORBIDDEN');
  });

  it('follows the wall clock where that is set forward and back', async () => {
    const nbf = epoch + 7200;
    const token = await sign(key, { payload: { roles: ['viewer'], nbf }, expires: 10_000 });
    const statuses: number[] = [];
    for (const hours of [0, 2, -2, 2, 1, -1]) {
      door.clock.jumpWall(hours * 3_600_000);
      statuses.push((await door.ask(query, token)).status);
    }
    door.clock.jumpWall(-2 * 3_600_000);
    expect(statuses).toEqual([401, 200, 401, 200, 401, 200]);
  });

  it('is good until its expiry, give or take the tolerance, by the clock of the gateway', async () => {
    const token = await sign(key, { expires: 60 });
    await door.clock.advance(64_000);
    expect((await door.ask(query, token)).status).toBe(200);
    await door.clock.advance(1000);
    const { status, errors } = await door.ask(query, token);
    expect([status, errors[0]?.message]).toEqual([401, 'The token has expired.']);
  });
});

describe('a roles claim', () => {
  const secret = 'x'.repeat(32);
  it.each([
    ['realm_access.roles', { realm_access: { roles: ['viewer'] } }],
    ['https://example.com/roles', { 'https://example.com/roles': ['viewer'] }],
  ])('is found at %s', async (claim, payload) => {
    const door = await openDoor({
      ...claims,
      AUTH_JWT_SECRET: secret,
      AUTH_JWT_ROLES_CLAIM: claim,
    });
    const token = await sign(new TextEncoder().encode(secret), { payload });
    expect((await door.ask(query, token)).errors).toEqual([]);
  });
});

describe('the keys of an identity provider', () => {
  /** Lets their age grow, which is that of the system. */
  let pass: (ms: number) => void;
  let provider: Server;
  let published: object[] = [];
  let fetched = 0;
  let out = false;
  let door: Door;
  let first: GenerateKeyPairResult;
  let second: GenerateKeyPairResult;
  const publish = async (kid: string, { publicKey }: GenerateKeyPairResult) =>
    published.push({ ...(await exportJWK(publicKey)), kid, alg: 'ES256' });
  const tokenOf = (kid: string, { privateKey }: GenerateKeyPairResult) =>
    sign(privateKey, { header: { alg: 'ES256', kid }, expires: 100 * 3600 });

  beforeAll(async () => {
    [first, second] = await Promise.all([generateKeyPair('ES256'), generateKeyPair('ES256')]);
  });
  beforeEach(async () => {
    [published, fetched, out] = [[], 0, false];
    let now = Date.now();
    pass = (ms) => {
      now += ms;
    };
    vi.spyOn(Date, 'now').mockImplementation(() => now);
    provider = createServer((_, response) => {
      fetched += 1;
      response.writeHead(out ? 503 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ keys: published }));
    });
    await new Promise<void>((resolve) => {
      provider.listen(0, '127.0.0.1', resolve);
    });
    const address = provider.address();
    const port = typeof address === 'object' ? address?.port : 0;
    door = await openDoor({ ...claims, AUTH_JWT_JWKS_URL: `http://127.0.0.1:${port}/keys` });
  });
  afterEach(() => {
    provider.closeAllConnections();
    provider.close();
  });

  it('are fetched once for many tokens at a time', async () => {
    await publish('one', first);
    const token = await tokenOf('one', first);
    const replies = await Promise.all([1, 2, 3, 4, 5].map(() => door.ask(query, token)));
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(fetched).toBe(1);
  });

  it('that are new are noticed by the first token that needs them', async () => {
    await publish('one', first);
    await door.ask(query, await tokenOf('one', first));
    await publish('two', second);
    pass(30_000);
    expect((await door.ask(query, await tokenOf('two', second))).status).toBe(200);
    expect(fetched).toBe(2);
  });

  it('are not fetched for every token with an unknown key', async () => {
    await publish('one', first);
    await door.ask(query, await tokenOf('one', first));
    pass(30_000);
    for (let each = 0; each < 5; each += 1) {
      expect((await door.ask(query, await tokenOf(`made up ${each}`, second))).status).toBe(401);
    }
    expect(fetched).toBe(2);
    expect(await rejections(door, 'key-unknown')).toBe(5);
  });

  it('are not fetched for a token whose signature is wrong', async () => {
    await publish('one', first);
    await door.ask(query, await tokenOf('one', first));
    pass(30_000);
    for (let each = 0; each < 3; each += 1) {
      expect((await door.ask(query, await tokenOf('one', second))).status).toBe(401);
    }
    expect(fetched).toBe(1);
  });

  it('are not fetched for a token that does not say which of several is its own', async () => {
    await publish('one', first);
    await publish('two', second);
    await door.ask(query, await tokenOf('one', first));
    pass(30_000);
    const unnamed = await sign(first.privateKey, { header: { alg: 'ES256' } });
    expect((await door.ask(query, unnamed)).status).toBe(401);
    expect(fetched).toBe(1);
  });

  it('are fetched again once they are ten minutes old, and tokens are verified again', async () => {
    await publish('one', first);
    const token = await tokenOf('one', first);
    expect((await door.ask(query, token)).status).toBe(200);
    // Another key comes under the same name.
    published = [];
    await publish('one', second);
    pass(599_999);
    await door.clock.advance(600_000);
    expect((await door.ask(query, token)).status).toBe(200);
    expect(fetched).toBe(1);
    pass(1);
    await door.clock.advance(600_000);
    expect((await door.ask(query, token)).status).toBe(401);
    expect((await door.ask(query, await tokenOf('one', second))).status).toBe(200);
    expect(fetched).toBe(2);
  });

  it('cannot be used as a shared secret', async () => {
    await publish('one', first);
    const secret = new TextEncoder().encode(JSON.stringify(published[0]).padEnd(32));
    const forged = await sign(secret, { header: { alg: 'HS256', kid: 'one' } });
    expect((await door.ask(query, forged)).status).toBe(401);
  });

  it('that cannot be had make the answer 503, not 401, and are asked for again after a second', async () => {
    await publish('one', first);
    out = true;
    const token = await tokenOf('one', first);
    for (let each = 0; each < 3; each += 1) {
      const { status, code, text } = await door.ask(query, token);
      expect([status, code]).toEqual([503, 'UPSTREAM_UNAVAILABLE']);
      expect(text).not.toContain('127.0.0.1');
    }
    expect(fetched).toBe(1);
    expect(door.calls()).toBe(0);
    out = false;
    await door.clock.advance(1000);
    expect((await door.ask(query, token)).status).toBe(200);
  });

  it('are not read where they are larger than keys can be', async () => {
    await publish('one', first);
    published.push({ kid: 'x'.repeat(1_100_000) });
    const answer = await door.ask(query, await tokenOf('one', first));
    expect([answer.status, answer.code]).toEqual([503, 'UPSTREAM_UNAVAILABLE']);
    expect(door.log()).toContain('AUTH_JWT_JWKS_URL cannot be loaded');
    published.pop();
    published.push({ kid: 'x'.repeat(900_000) });
    await door.clock.advance(30_000);
    expect((await door.ask(query, await tokenOf('one', first))).status).toBe(200);
  });

  it('are used for ten minutes of an outage of the provider, and no longer', async () => {
    await publish('one', first);
    await door.ask(query, await tokenOf('one', first));
    out = true;
    const ask = async (sub: string) => {
      const { privateKey } = first;
      return door.ask(query, await sign(privateKey, { header, subject: sub, expires: 36_000 }));
    };
    const header = { alg: 'ES256', kid: 'one' };
    pass(599_999);
    expect((await ask('tom')).status).toBe(200);
    pass(1);
    expect((await ask('eve')).status).toBe(503);
    expect(door.log()).toContain('AUTH_JWT_JWKS_URL');
  });
});
