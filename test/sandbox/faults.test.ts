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

const raw = () =>
  fetch(`${sandbox.links.url}/api/account`, { headers: { authorization: `Bearer ${api.key}` } });
const logOf = ({ requests }: SandboxApi): readonly LoggedRequest[] => requests;
const channels = async () => (await api.get('/api/channels')).body.data.result;

describe('a fault', () => {
  it('takes a path or a pattern, and lasts until removed', async () => {
    const remove = sandbox.links.fault({ kind: 'error-500', path: '/api/qr' });
    expect((await api.get('/api/qr')).status).toBe(500);
    expect((await api.get('/api/qr/301')).status).not.toBe(500);
    remove();
    expect((await api.get('/api/qr')).status).toBe(200);
    sandbox.links.fault({ kind: 'error-500', method: 'get', path: /^\/api\/q/g });
    for (let n = 0; n < 2; n += 1) expect((await api.get('/api/qr')).status).toBe(500);
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
    clock.move(999);
    expect(sandbox.links.requests[1]?.status).toBe(0);
    clock.move(1);
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
