import { request as plainRequest } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { isLocal } from '../../src/http/door/local-caller.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { startWorld, type World } from '../support/gateway.ts';
import { proxies, statusOf, usualHeaders } from '../support/proxies.ts';
import { pageAt } from '../support/readme.ts';
import { Caller, HandClock, until } from './caller.ts';

const clock = new HandClock();
let sandbox: Sandbox;
let api: Caller;
beforeAll(async () => {
  sandbox = await startSandbox({ clock, isLocal, limit: { requests: 1000 } });
  api = new Caller(sandbox);
});
beforeEach(() => sandbox.reset());
afterAll(() => sandbox.close());

interface Shown {
  readonly id: number;
  readonly kind: string;
  readonly left: number | null;
  readonly endsAt: string | null;
}

interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Shown & {
    readonly faults: readonly Shown[];
    readonly kinds: Readonly<Record<string, string>>;
    readonly issues: readonly string[];
  };
}

async function faults(method: string, body?: unknown, path = ''): Promise<Reply> {
  const response = await fetch(`${sandbox.links.url}/__faults${path}`, {
    method,
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const { status, headers } = response;
  return { status, headers, body: (await response.json()) as Reply['body'] };
}

const read = async (path = '/api/account') => (await api.get(path)).status;

describe('POST, GET and DELETE /__faults', () => {
  it('sets a fault for a path and a number of requests, lists it, and uses it up', async () => {
    const made = await faults('POST', { kind: 'error-500', path: '/api/chan*', times: 2 });
    expect(made.status).toBe(201);
    const shown = { id: made.body.id, kind: 'error-500', path: '/api/chan*', endsAt: null };
    expect(made.body).toEqual({ ...shown, left: 2 });
    expect([await read(), await read('/api/channels')]).toEqual([200, 500]);
    expect((await faults('GET')).body.faults).toEqual([{ ...shown, left: 1 }]);
    expect([await read('/api/channels'), await read('/api/channels')]).toEqual([500, 200]);
    expect((await faults('GET')).body.faults).toEqual([]);
  });

  it('ends a fault by the clock', async () => {
    const { body } = await faults('POST', { kind: 'error-500', forMs: 5000 });
    expect(body.endsAt).toBe(new Date(clock.wall() + 5000).toISOString());
    clock.move(4999);
    expect(await read()).toBe(500);
    clock.move(1);
    expect(await read()).toBe(200);
    expect((await faults('GET')).body.faults).toEqual([]);
  });

  it('removes one, or all', async () => {
    const first = (await faults('POST', { kind: 'error-500', method: 'GET' })).body;
    const second = (await faults('POST', { kind: 'html', status: 503 })).body;
    expect(await read()).toBe(500);
    const left = await faults('DELETE', undefined, `/${first.id}`);
    expect(left.body.faults.map(({ id }) => id)).toEqual([second.id]);
    expect(await faults('DELETE', undefined, `/${first.id}`)).toMatchObject({ status: 404 });
    expect((await fetch(`${sandbox.links.url}/api/account`)).status).toBe(503);
    expect((await faults('DELETE')).body.faults).toEqual([]);
    expect(await read()).toBe(200);
  });

  it('is about one API, and about what its path and method match', async () => {
    await faults('POST', { kind: 'error-500', method: 'PUT', path: '/api/*/7/up*e' });
    expect((await api.put('/api/channel/7/update', {})).status).toBe(500);
    expect((await api.put('/api/channel/8/update', {})).status).not.toBe(500);
    expect((await api.put('/api/channel/7/up', {})).status).not.toBe(500);
    expect((await api.delete('/api/channel/7/update')).status).not.toBe(500);
    const { market } = sandbox;
    const there = await fetch(`${market.url}/api/items/all?api_key=${market.key}`);
    expect(there.status).toBe(200);
    const listed = await fetch(`${market.url}/__faults`);
    expect(await listed.json()).toMatchObject({ faults: [] });
  });

  it('is about one write among many, by a text of its body', async () => {
    const made = await faults('POST', { kind: 'error-500', containing: 'Summer', times: 1 });
    expect(made.body).toMatchObject({ containing: 'Summer', left: 1 });
    const add = async (name: string) => (await api.post('/api/channel/add', { name })).status;
    expect([await add('Winter'), await add('Summer'), await add('Summer')]).toEqual([
      200, 500, 200,
    ]);
  });

  it('refuses the key as the API does, and changes nothing', async () => {
    await faults('POST', { kind: 'bad-key' });
    const there = `${sandbox.market.url}/__faults`;
    await fetch(there, { method: 'POST', body: '{"kind":"bad-key"}' });
    const { status, body } = await api.post('/api/channel/add', { name: 'Refused' });
    expect([status, body.error]).toEqual([401, 1]);
    const { market } = sandbox;
    const answer = await fetch(`${market.url}/api/items/all?api_key=${market.key}`);
    expect(answer.status).toBe(401);
    expect(await answer.json()).toEqual({ status: 'error', msg: 'Invalid request' });
    await faults('DELETE');
    const channels = await api.get('/api/channels?limit=1');
    expect(JSON.stringify(channels.body)).not.toContain('Refused');
  });

  it('drops before a write or after it', async () => {
    const total = async () => (await api.get('/api/channels')).body.data.result;
    const write = () => api.post('/api/channel/add', { name: 'Lost' }).catch(() => 'dropped');
    const before = await total();
    await faults('POST', { kind: 'drop', method: 'POST', times: 1 });
    expect([await write(), await total()]).toEqual(['dropped', before]);
    await faults('POST', { kind: 'drop', method: 'POST', times: 1, applied: true });
    expect([await write(), await total()]).toEqual(['dropped', before + 1]);
  });

  it('is answered while all else hangs, and counts against no limit', async () => {
    await faults('POST', { kind: 'hang' });
    const abort = new AbortController();
    const hung = fetch(`${sandbox.links.url}/api/account`, { signal: abort.signal });
    await until(() => sandbox.links.requests.length === 1);
    expect((await faults('DELETE')).status).toBe(200);
    expect(sandbox.links.requests).toHaveLength(1);
    abort.abort();
    await expect(hung).rejects.toThrow();
  });
});

describe('an invalid fault', () => {
  it.each([
    ['kind=slow', ['The body must be JSON, such as {"kind":"slow","delayMs":3000}.']],
    ['[]', ['The body must be one JSON object.']],
    [{}, [expect.stringMatching(/^kind must be one of slow, refuse-429, .*, drop\.$/)]],
    [{ kind: 'hold' }, [expect.stringContaining('kind must be one of')]],
    [{ kind: '__proto__' }, [expect.stringContaining('kind must be one of')]],
    [{ kind: 'slow' }, ['delayMs is missing: it must be a whole number from 1 to 600000.']],
    [{ kind: 'html', status: 302 }, ['status must be 200, or from 400 to 599.']],
    [{ kind: 'hang', containing: '' }, ['containing must be a text of 1 to 200 characters.']],
    [{ kind: 'refuse-429', retryAfter: -1 }, [expect.stringContaining('retryAfter must be null')]],
    [
      { kind: 'bad-key', applied: true, times: 0, forMs: 1e9, method: 'PATCH', path: 'qr' },
      [
        expect.stringContaining('"applied" is not a member of this kind of fault'),
        'times must be a whole number from 1 to 10000.',
        'forMs must be a whole number from 1 to 86400000.',
        'method must be one of GET, POST, PUT, DELETE.',
        expect.stringContaining('path must begin with /api/'),
      ],
    ],
  ])('is rejected with all issues: %j', async (body, issues) => {
    const answer = await faults('POST', body);
    expect([answer.status, answer.body.issues]).toEqual([400, issues]);
    expect((await faults('GET')).body.faults).toEqual([]);
  });

  it('is bounded in number and size', async () => {
    for (let made = 0; made < 100; made += 1) await faults('POST', { kind: 'hang' });
    const more = await faults('POST', { kind: 'hang' });
    expect([more.status, more.body.issues]).toEqual([400, [expect.stringContaining('100')]]);
    const large = await faults('POST', ' '.repeat(20_000));
    expect(large.status).toBe(413);
    const many = Object.fromEntries(Array.from({ length: 900 }, (_, n) => [`m${n}`, 1]));
    const wrong = await faults('POST', { kind: 'hang', ...many });
    expect(wrong.body.issues).toHaveLength(20);
  });

  it('gets a 405 for another method', async () => {
    const answer = await faults('PUT', {});
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, POST, DELETE']);
  });
});

describe('the permission to set faults', () => {
  /** With headers that fetch does not let one set. */
  const send = (headers: Record<string, string>, method = 'POST') =>
    new Promise<{ status: number | undefined; allowed: unknown }>((done, fail) => {
      plainRequest(`${sandbox.links.url}/__faults`, { method, headers }, (answer) => {
        answer.resume();
        const { headers: sent, statusCode: status } = answer;
        done({ status, allowed: sent['access-control-allow-origin'] });
      })
        .once('error', fail)
        .end(method === 'POST' ? '{"kind":"hang"}' : undefined);
    });

  it.each([
    { origin: 'https://evil.example' },
    { origin: 'http://localhost.evil.example' },
    { origin: 'null' },
    { host: 'evil.example:4010' },
    { forwarded: 'for=203.0.113.7' },
    { 'x-forwarded-for': '203.0.113.7' },
    { via: '1.1 proxy' },
  ])('is denied to other machines and sites: %j', async (headers) => {
    expect(await send(headers as never)).toMatchObject({ status: 403, allowed: undefined });
    expect((await faults('GET')).body.faults).toEqual([]);
  });

  it.each(proxies)('is denied through $by', async ({ headers, version }) => {
    const sent = { url: sandbox.links.url, version, headers, path: '/__faults' };
    expect(await statusOf({ ...sent, method: 'POST', body: '{"kind":"hang"}' })).toBe(403);
    expect(await statusOf({ ...sent, method: 'DELETE' })).toBe(403);
    expect((await faults('GET')).body.faults).toEqual([]);
  });

  it('is granted to programs of this machine, whatever else they send', async () => {
    const headers = Object.fromEntries(usualHeaders.map((name) => [name, 'x']));
    const sent = { url: sandbox.links.url, version: '1.1', headers, path: '/__faults' } as const;
    expect(await statusOf({ ...sent, method: 'POST', body: '{"kind":"hang"}' })).toBe(201);
  });

  it('is denied to all where nobody is known to be of this machine', async () => {
    const closed = await startSandbox();
    const answer = await fetch(`${closed.links.url}/__faults`);
    expect(answer.status).toBe(403);
    await closed.close();
  });

  it.each(['http://localhost:4173', 'http://127.0.0.1:8000', 'http://[::1]:3000'])(
    'is granted to pages of this machine: %s',
    async (origin) => {
      expect(await send({ origin })).toMatchObject({ status: 201, allowed: origin });
      const asked = { 'access-control-request-method': 'DELETE' };
      const preflight = await send({ origin, ...asked }, 'OPTIONS');
      expect(preflight).toMatchObject({ status: 200, allowed: origin });
      expect((await faults('GET')).body.faults).toHaveLength(1);
    },
  );
});

describe('the gateway', () => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld({
      sandbox: { isLocal },
      env: { PORT: '0', LINKS_TIMEOUT_MS: '1000', MAX_WAIT_MS: '1000' },
    });
  });

  it('forwards no request to the faults of its upstream', async () => {
    const { url } = await world.gateway.listen();
    const paths = ['/__faults', '/files/..%2F..%2F..%2F__faults', '/files/../__faults'];
    for (const path of paths) {
      const { hostname, port } = new URL(url);
      const method = path.startsWith('/files') ? 'PUT' : 'POST';
      // Not by fetch, which tidies a path.
      const sent = plainRequest({ hostname, port, path, method });
      sent.end('{"kind":"hang"}');
      await new Promise((done) => sent.once('response', (answer) => done(answer.resume())));
    }
    const { links } = world.sandbox;
    expect(await (await fetch(`${links.url}/__faults`)).json()).toMatchObject({ faults: [] });
  });

  // As docs/sandbox.md has them.
  const rows = [...pageAt('docs/sandbox.md').matchAll(/^\| `([\w-]+)` \|(.*)\|(.*)\|(.*)\|$/gm)];
  const code = (cell = '') => /`([A-Z_]{8,})`/.exec(cell)?.[1];

  it('documents faults that the sandbox takes', async () => {
    const bodies = [...pageAt('docs/sandbox.md').matchAll(/^curl \S+:4010\/__faults -d '(.+)'$/gm)];
    expect(bodies).toHaveLength(2);
    for (const [, body] of bodies) expect((await faults('POST', body)).status).toBe(201);
  });

  it('documents every kind', async () => {
    const { body } = await faults('GET');
    expect(rows.map(([, kind]) => kind)).toEqual(Object.keys(body.kinds));
  });

  it.each(rows.map(([, kind = '', , onRead, onWrite]) => [kind, code(onRead), code(onWrite)]))(
    'answers to %s with %s, and with %s to a write',
    async (kind, onRead, onWrite) => {
      const { links } = world.sandbox;
      const body = JSON.stringify({ kind, ...(kind === 'slow' ? { delayMs: 60_000 } : {}) });
      await fetch(`${links.url}/__faults`, { method: 'POST', body });
      const fresh = await startWorld({
        on: world.sandbox,
        env: { LINKS_TIMEOUT_MS: '500', MAX_WAIT_MS: '1000' },
      });
      const [read, write] = await Promise.all([
        fresh.ask('{ campaigns(first: 1) { nodes { name } } }'),
        fresh.ask('mutation { createCampaign(input: { name: "Lost" }) { __typename } }'),
      ]);
      const usual = 'BUDGET_EXHAUSTED';
      expect(read.errors[0]?.extensions?.code).toBe(onRead ?? usual);
      expect(write.errors[0]?.extensions?.code).toBe(onWrite ?? usual);
      links.clearFaults();
      await fresh.close();
    },
  );
});
