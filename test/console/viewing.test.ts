import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { ConsoleFeed } from '../../src/console/feed.ts';
import { type BusyGateway, busyGateway } from '../support/busy-gateway.ts';
import { ConsoleViewer, consoleState } from '../support/console-viewer.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const SECRET = 'a-secret-that-is-long-enough-for-the-algorithm';

let clock: VirtualClock;
const opened: BusyGateway[] = [];
const viewers: ConsoleViewer[] = [];
afterEach(async () => {
  for (const viewer of viewers.splice(0)) viewer.leave();
  for (const busy of opened.splice(0)) await busy.close();
});

async function start(env: Record<string, string> = {}): Promise<BusyGateway> {
  clock = new VirtualClock();
  const busy = await busyGateway({ shutdownGraceMs: '15000', ...env }, { clock });
  opened.push(busy);
  return busy;
}

async function view({ url }: BusyGateway, headers?: Record<string, string>) {
  const viewer = new ConsoleViewer(url, headers);
  viewers.push(viewer);
  while (viewer.status === 0 || (viewer.status === 200 && viewer.states.length === 0)) {
    await clock.settle();
  }
  return viewer;
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

describe('/console/events', () => {
  it('sends a state at once, and another each second while there are viewers', async () => {
    const busy = await start();
    const viewer = await view(busy);
    expect(viewer.contentType).toBe('text/event-stream; charset=utf-8');
    expect(viewer.states).toHaveLength(1);
    await busy.ask('{ account { username } }');
    for (let second = 0; second < 3; second += 1) await clock.advance(1000);
    expect(viewer.states).toHaveLength(4);
    expect(viewer.states.map(({ at }) => at - (viewer.states[0]?.at ?? 0))).toEqual([
      0, 1000, 2000, 3000,
    ]);
    expect(viewer.states[1]?.upstreams[0]?.free).toBe(29);
    expect(await consoleState(busy.url)).toEqual(viewer.states[3]);
  });

  it('sends no more than a viewer reads, and then the latest state', async () => {
    const busy = await start();
    const { at, ...rest } = await consoleState(busy.url);
    // Larger than what connections hold on their way.
    const state = { ...rest, version: 'x'.repeat(4_000_000) };
    let taken = 0;
    const feed = new ConsoleFeed(clock, () => {
      taken += 1;
      return { ...state, at: at + taken };
    });
    const server = createServer((_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      feed.show(response, { named: true, still: null });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const viewer = new ConsoleViewer(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    viewers.push(viewer);
    while (viewer.states.length === 0) await clock.settle();
    viewer.pause();
    for (let second = 0; second < 30; second += 1) await clock.advance(1000);
    viewer.resume();
    const before = taken;
    while (viewer.states.length < 4) await clock.advance(1000);
    const [, , , latest] = viewer.states;
    expect(latest?.at).toBeGreaterThan(at + before);
    viewer.leave();
    server.close();
  });

  it('limits the number of viewers, with an error for more', async () => {
    const busy = await start();
    for (let n = 0; n < 32; n += 1) await view(busy);
    const refused = await fetch(`${busy.url}/console/events`);
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('5');
    expect(await refused.text()).toContain('Close one');
    viewers.pop()?.leave();
    await clock.settle();
    expect((await view(busy)).status).toBe(200);
  });

  it('reserves places for operators', async () => {
    const busy = await start({ metrics: 'open' });
    for (let n = 0; n < 24; n += 1) await view(busy, REMOTE);
    expect((await fetch(`${busy.url}/console/events`, { headers: REMOTE })).status).toBe(503);
    const operator = await view(busy);
    expect([operator.status, operator.states[0]?.named]).toEqual([200, true]);
  });
});

describe('The paths of the console', () => {
  it.each(['/console.json', '/console/events'])('%s answers GET and HEAD only', async (path) => {
    const { url } = await start();
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
    for (const path of ['/console.json', '/console/events']) {
      const answer = await fetch(operatorsUrl + path, { headers: REMOTE });
      expect(answer.status).toBe(status);
      await answer.body?.cancel();
    }
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
      for (const path of ['/console.json', '/console/events']) {
        for (const method of ['GET', 'HEAD']) {
          const headers = { ...where, authorization };
          const answer = await fetch(busy.url + path, { method, headers });
          expect([authorization, answer.status]).toEqual([authorization, 401]);
          expect(answer.headers.get('www-authenticate')).toContain('invalid_token');
          if (method === 'HEAD') continue;
          expect(await answer.json()).toMatchObject({
            errors: [{ extensions: { code: 'UNAUTHENTICATED' } }],
          });
        }
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

  it('end with the token', async () => {
    const busy = await start(JWT);
    const authorization = tokenOf('eve', 'admin', 200);
    const viewer = await view(busy, { ...REMOTE, authorization });
    expect(viewer.states[0]?.named).toBe(true);
    for (let minute = 0; minute < 3; minute += 1) await clock.advance(60_000);
    expect(viewer.ended).toBe(false);
    await clock.advance(180_000);
    expect(viewer.ended).toBe(true);
  });
});
