import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type Fault,
  type LoggedRequest,
  type Sandbox,
  type SandboxApi,
  startSandbox,
} from '../../src/sandbox/sandbox.ts';
import { Caller, HandClock, reply, until } from './caller.ts';

const clock = new HandClock();
let sandbox: Sandbox;
let api: Caller;
beforeAll(async () => {
  sandbox = await startSandbox({ clock });
  api = new Caller(sandbox);
});
beforeEach(() => sandbox.reset());
afterAll(() => sandbox.close());

const raw = (signal?: AbortSignal) =>
  fetch(`${sandbox.links.url}/api/account`, {
    headers: { authorization: `Bearer ${api.key}` },
    ...(signal ? { signal } : {}),
  });
const logOf = ({ requests }: SandboxApi): readonly LoggedRequest[] => requests;
const channels = async () => (await api.get('/api/channels')).body.data.result;

describe('a fault', () => {
  it('takes an exact path, and lasts until removed', async () => {
    const remove = sandbox.links.fault({ kind: 'error-500', path: '/api/qr' });
    expect((await api.get('/api/qr')).status).toBe(500);
    expect((await api.get('/api/qr/301')).status).not.toBe(500);
    remove();
    expect((await api.get('/api/qr')).status).toBe(200);
    sandbox.links.fault({ kind: 'error-500' });
    sandbox.links.clearFaults();
    expect((await api.get('/api/qr')).status).toBe(200);
  });

  it('bites on the bytes of an upload, in any script', async () => {
    sandbox.links.fault({ kind: 'error-500', containing: 'Grüße', path: '/api/files/upload/*' });
    const upload = (content: string) =>
      fetch(`${sandbox.links.url}/api/files/upload/a.txt`, {
        method: 'POST',
        headers: { authorization: `Bearer ${api.key}` },
        body: content,
      });
    expect((await upload('Viele Grüße')).status).toBe(500);
    expect((await upload('Viele Gruesse')).status).toBe(200);
  });
});

describe('each kind', () => {
  it('refuse-429 looks like the limit and counts nothing', async () => {
    sandbox.links.fault({ kind: 'refuse-429', times: 1, retryAfter: 7 });
    const { status, headers, body } = await api.get('/api/account');
    expect(status).toBe(429);
    expect(headers.get('retry-after')).toBe('7');
    expect(headers.get('x-ratelimit-remaining')).toBe('30');
    expect(body).toEqual({ error: 1, message: expect.stringContaining('Too many') });
    expect(sandbox.links.requests[0]).toMatchObject({ refused: true, fault: 'refuse-429' });
  });

  it('refuse-200 says so in the body only', async () => {
    sandbox.links.fault({ kind: 'refuse-200', retryAfter: null });
    const { status, headers, body } = await api.get('/api/account');
    expect(status).toBe(200);
    expect(headers.has('retry-after')).toBe(false);
    expect(body).toEqual({ error: 429, message: expect.any(String) });
  });

  it('error-500 answers in the failure form', async () => {
    sandbox.links.fault({ kind: 'error-500' });
    expect(await api.get('/api/account')).toMatchObject({
      status: 500,
      body: { error: 1, message: expect.any(String) },
    });
  });

  it('html sends a page, with any status', async () => {
    sandbox.links.fault({ kind: 'html', times: 1 });
    sandbox.links.fault({ kind: 'html', status: 503, html: '<p>Gone fishing' });
    const page = await raw();
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toContain('text/html');
    expect(await page.text()).toContain('<!doctype html>');
    const other = await raw();
    expect([other.status, await other.text()]).toEqual([503, '<p>Gone fishing']);
  });

  it('empty sends nothing with status 200', async () => {
    sandbox.links.fault({ kind: 'empty' });
    const response = await raw();
    expect([response.status, await response.text()]).toEqual([200, '']);
  });

  it('truncated breaks off in the middle of the body', async () => {
    sandbox.links.fault({ kind: 'truncated' });
    const response = await raw();
    expect(response.status).toBe(200);
    expect(Number(response.headers.get('content-length'))).toBeGreaterThan(100);
    await expect(response.text()).rejects.toThrow();
  });

  it('drop closes the socket without an answer', async () => {
    sandbox.links.fault({ kind: 'drop' });
    await expect(raw()).rejects.toThrow();
    expect(sandbox.links.requests[0]).toMatchObject({ status: 0, fault: 'drop' });
  });

  it('hang never answers', async () => {
    sandbox.links.fault({ kind: 'hang' });
    const abort = new AbortController();
    const pending = raw(abort.signal);
    await until(() => sandbox.links.requests[0]?.fault === 'hang');
    abort.abort();
    await expect(pending).rejects.toThrow();
    expect(sandbox.links.requests[0]?.status).toBe(0);
  });

  it('slow waits by the clock', async () => {
    sandbox.links.fault({ kind: 'slow', delayMs: 5000 });
    const pending = api.get('/api/account');
    await until(() => clock.waiting === 1);
    clock.move(4999);
    expect(sandbox.links.requests[0]?.status).toBe(0);
    clock.move(1);
    expect((await pending).status).toBe(200);
  });

  it('hold waits for the test', async () => {
    let release: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    sandbox.links.fault({ kind: 'hold', until: held, method: 'POST' });
    const pending = api.post('/api/channel/add', { name: 'Later' });
    await until(() => sandbox.links.requests.length === 1);
    const before = await channels();
    release();
    expect((await pending).body.error).toBe(0);
    expect(await channels()).toBe(before + 1);
  });

  it('answer rewrites what was true', async () => {
    sandbox.links.fault({
      kind: 'answer',
      times: 1,
      rewrite: ({ headers, body }, request) => ({
        status: 203,
        headers: { ...headers, 'x-path': request.path },
        body: { ...(body as object), error: '0' },
      }),
    });
    const { status, headers, body } = await api.get('/api/account');
    expect(status).toBe(203);
    expect(headers.get('x-path')).toBe('/api/account');
    expect(headers.get('x-ratelimit-remaining')).toBe('29');
    expect(body).toMatchObject({ error: '0', data: { id: 12 } });
    sandbox.links.fault({
      kind: 'answer',
      rewrite: (answer) => ({ ...answer, body: 'not json' }),
    });
    expect(await (await raw()).text()).toBe('not json');
  });
});

describe('a lost answer', () => {
  const KINDS = ['error-500', 'html', 'empty', 'drop', 'refuse-429'] as const;
  it.each(KINDS)('of %s leaves the effect only when applied', async (kind) => {
    const fault: Fault = { kind, method: 'POST', times: 1 };
    const write = () => api.post('/api/channel/add', { name: 'Lost' }).catch(() => undefined);
    const before = await channels();
    sandbox.links.fault(fault);
    await write();
    expect(await channels()).toBe(before);
    sandbox.links.fault({ ...fault, applied: true });
    await write();
    expect(await channels()).toBe(before + 1);
  });

  it('that is slow happens before the wait when applied', async () => {
    const before = await channels();
    sandbox.links.fault({ kind: 'slow', delayMs: 1000, method: 'POST', applied: true });
    const pending = api.post('/api/channel/add', { name: 'Early' });
    await until(() => clock.waiting === 1);
    expect(await channels()).toBe(before + 1);
    clock.move(1000);
    expect((await pending).body).toMatchObject({ error: 0, name: 'Early' });
  });

  it('that is truncated was applied', async () => {
    const before = await channels();
    sandbox.links.fault({ kind: 'truncated', method: 'POST' });
    await api.post('/api/channel/add', { name: 'Half' }).catch(() => undefined);
    expect(await channels()).toBe(before + 1);
  });
});

describe('the log', () => {
  it('reports what came, in order', async () => {
    await api.post('/api/channel/add?x=1', { name: 'Seen' });
    await api.as('wrong').get('/api/qr');
    expect(logOf(sandbox.links)).toEqual([
      {
        method: 'POST',
        path: '/api/channel/add',
        query: { x: '1' },
        credential: api.key,
        headers: expect.objectContaining({ 'content-type': 'application/json' }),
        body: { name: 'Seen' },
        status: 200,
        at: clock.wall(),
        refused: false,
        fault: undefined,
      },
      expect.objectContaining({
        path: '/api/qr',
        credential: 'wrong',
        status: 401,
        body: undefined,
      }),
    ]);
    expect(logOf(sandbox.market)).toEqual([]);
    sandbox.links.clearLog();
    expect(logOf(sandbox.links)).toEqual([]);
  });
});

describe('faults of the marketplace', () => {
  it('use its own failure form', async () => {
    sandbox.market.fault({ kind: 'error-500' });
    const path = `${sandbox.market.url}/api/items/all?api_key=${sandbox.market.key}`;
    const { status, body } = await reply(await fetch(path));
    expect(status).toBe(500);
    expect(body).toEqual({ status: 'error', msg: expect.any(String) });
    expect((await api.get('/api/account')).status).toBe(200);
  });
});
