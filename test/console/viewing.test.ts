import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type BusyGateway, busyGateway } from '../support/busy-gateway.ts';
import { consoleState } from '../support/console-viewer.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const SECRET = 'a-secret-that-is-long-enough-for-the-algorithm';

let clock: VirtualClock;

async function start(env: Record<string, string> = {}): Promise<BusyGateway> {
  clock = new VirtualClock();
  const busy = await busyGateway({ shutdownGraceMs: '15000', ...env }, { clock });
  return busy;
}

/** A token of the identity provider. */
function tokenOf(name: string, role: string, seconds = 600): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const exp = Math.floor(clock.wall() / 1000) + seconds;
  const text = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ sub: name, roles: [role], exp, iss: 'https://id.example', aud: 'gateway' })}`;
  return `Bearer ${text}.${createHmac('sha256', SECRET).update(text).digest('base64url')}`;
}

const JWT = {
  AUTH_MODE: 'jwt',
  AUTH_JWT_SECRET: SECRET,
  AUTH_JWT_ISSUER: 'https://id.example',
  AUTH_JWT_AUDIENCE: 'gateway',
  metrics: 'open',
};
/** As a proxy on this machine passes requests on: they come from elsewhere. */
const REMOTE = { 'x-forwarded-for': '203.0.113.7' };

describe('The paths of the console', () => {
  it('answer GET and HEAD only', async () => {
    const { url } = await start();
    const path = '/console.json';
    const head = await fetch(url + path, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    expect(head.headers.get('cache-control')).toBe('no-store');
    expect((await fetch(url + path, { method: 'POST' })).status).toBe(405);
  });

  it('are where /status leads', async () => {
    const { url } = await start();
    const { headers, status } = await fetch(`${url}/status`, { redirect: 'manual' });
    expect([status, headers.get('location')]).toEqual([302, '/console']);
    expect((await fetch(`${url}/status`, { method: 'POST' })).status).toBe(405);
  });

  it.each([
    ['to this machine only', {}, 403],
    ['to all that reach it on a port of its own', { METRICS_PORT: '0' }, 200],
  ])('are shown %s', async (_, settings, status) => {
    const { operatorsUrl } = await start(settings);
    const answer = await fetch(`${operatorsUrl}/console.json`, { headers: REMOTE });
    expect(answer.status).toBe(status);
    await answer.body?.cancel();
  });
});

describe('Names of callers', () => {
  async function spenders(busy: BusyGateway, headers: Record<string, string>) {
    await clock.advance(1000);
    const { named, spenders: all, waiting } = await consoleState(busy.url, headers);
    return { named, names: all.map(({ name }) => name), waiting };
  }

  it('are for viewers on this machine, and for administrators with a token', async () => {
    const busy = await start({ ...JWT, MAX_WAIT_MS: '120000' });
    for (const [name, query] of [
      ['ada', '{ account { username } pixels { totalCount } }'],
      ['bob', '{ campaigns { totalCount } }'],
    ] as const) {
      await busy.ask(query, { headers: { authorization: tokenOf(name, 'editor') } });
    }
    busy.sandbox.links.fault({ kind: 'refuse-429', retryAfter: 60, times: 1 });
    void busy.ask('{ domains { totalCount } }', {
      headers: { authorization: tokenOf('ada', 'viewer') },
    });
    const known = { named: true, names: ['ada', 'bob'] };
    expect(await spenders(busy, {})).toMatchObject(known);
    expect((await spenders(busy, {})).names).toEqual(['ada', 'bob']);
    const admin = { ...REMOTE, authorization: tokenOf('eve', 'admin') };
    expect(await spenders(busy, admin)).toMatchObject(known);
    const unknown = { named: false, names: ['Caller 1', 'Caller 2'] };
    const editor = { ...REMOTE, authorization: tokenOf('eve', 'editor') };
    for (const headers of [
      REMOTE,
      editor,
      { origin: 'https://evil.example' },
      { 'sec-fetch-site': 'cross-site' },
    ]) {
      const seen = await spenders(busy, headers);
      expect(seen).toMatchObject(unknown);
      expect(seen.waiting.map(({ caller }) => caller)).toEqual(seen.waiting.map(() => null));
    }
    const { waiting } = await spenders(busy, {});
    expect(waiting).toMatchObject([{ caller: 'ada' }]);
  });

  it('are withheld from other machines if all callers are administrators', async () => {
    for (const env of [{ AUTH_MODE: 'none' }, { AUTH_MODE: 'passthrough', LINKS_API_KEY: '' }]) {
      const busy = await start({ ...env, metrics: 'open' });
      const authorization = `Bearer ${busy.sandbox.links.keys.pro}`;
      await busy.ask('{ account { username } }', { headers: { authorization } });
      const remote = { ...REMOTE, authorization };
      expect(await spenders(busy, remote)).toMatchObject({ named: false, names: ['Caller 1'] });
      expect(await spenders(busy, {})).toMatchObject({ named: true });
    }
  });

  it.each([
    ['from elsewhere', REMOTE],
    ['on this machine, which would need none', {}],
    ['of another page on this machine', { origin: 'https://evil.example' }],
  ])('need a token that is one, if any: %s', async (_, where) => {
    const busy = await start(JWT);
    const expired = tokenOf('eve', 'admin', -100);
    for (const authorization of ['Bearer no', 'Basic YTpi', 'Bearer', '', expired]) {
      for (const method of ['GET', 'HEAD']) {
        const headers = { ...where, authorization };
        const answer = await fetch(`${busy.url}/console.json`, { method, headers });
        expect([authorization, answer.status]).toEqual([authorization, 401]);
        expect(answer.headers.get('www-authenticate')).toContain('invalid_token');
        if (method === 'HEAD') continue;
        expect(await answer.json()).toMatchObject({
          errors: [{ extensions: { code: 'UNAUTHENTICATED' } }],
        });
      }
    }
    expect((await fetch(`${busy.url}/console.json`)).status).toBe(200);
  });

  it('are shown on this machine if tokens cannot be verified', async () => {
    const { AUTH_JWT_SECRET: _, ...rest } = JWT;
    const busy = await start({ ...rest, AUTH_JWT_JWKS_URL: 'http://127.0.0.1:1/keys' });
    // To see whether it is signed by the provider, its keys are needed.
    const token = `${Buffer.from('{"alg":"ES256"}').toString('base64url')}.e30.AA`;
    const ask = (where: Record<string, string>) =>
      fetch(`${busy.url}/console.json`, {
        headers: { ...where, authorization: `Bearer ${token}` },
      });
    expect(await (await ask({})).json()).toMatchObject({ named: true });
    const elsewhere = await ask(REMOTE);
    expect(elsewhere.status).toBe(503);
    expect(await elsewhere.text()).toContain('"code":"UPSTREAM_UNAVAILABLE"');
  });
});
