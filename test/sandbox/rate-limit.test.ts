import { afterEach, describe, expect, it } from 'vitest';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/sandbox.ts';
import { Caller, HandClock, reply } from './caller.ts';

let sandbox: Sandbox;
afterEach(() => sandbox.close());

async function start(limit: SandboxOptions['limit'] = {}) {
  const clock = new HandClock();
  sandbox = await startSandbox({ clock, limit });
  const api = new Caller(sandbox);
  return { clock, api, statuses: (count: number) => statuses(api, count) };
}

async function statuses(api: Caller, count: number): Promise<number[]> {
  const all: number[] = [];
  for (let time = 0; time < count; time++) all.push((await api.get('/api/account')).status);
  return all;
}

const left = (headers: Headers) => Number(headers.get('x-ratelimit-remaining'));

describe('the limit of the link API', () => {
  it('lets 30 requests through a minute and says how it stands', async () => {
    const { clock, api } = await start();
    const reset = String((clock.wall() + 60_000) / 1000);
    for (let time = 1; time <= 30; time++) {
      const { status, headers } = await api.get('/api/account');
      expect(status).toBe(200);
      expect(headers.get('x-ratelimit-limit')).toBe('30');
      expect(left(headers)).toBe(30 - time);
      expect(headers.get('x-ratelimit-reset')).toBe(reset);
      if (time === 1) clock.move(10_000);
    }
    const { status, headers, body } = await api.get('/api/account');
    expect(status).toBe(429);
    expect(body).toEqual({ error: 1, message: expect.stringContaining('Too many') });
    expect(headers.get('retry-after')).toBe('50');
    expect(left(headers)).toBe(0);
    expect(sandbox.links.requests.map(({ refused }) => refused).indexOf(true)).toBe(30);
  });

  it('opens a fixed window with the first request and empties it at once', async () => {
    const { clock, statuses } = await start({ requests: 3 });
    clock.move(55_000);
    await statuses(1);
    clock.move(59_999);
    expect(await statuses(3)).toEqual([200, 200, 429]);
    clock.move(1);
    expect(await statuses(4)).toEqual([200, 200, 200, 429]);
  });

  it('slides, when told to, so that no minute has more', async () => {
    const { clock, api, statuses } = await start({ requests: 3, mode: 'sliding' });
    await statuses(1);
    clock.move(30_000);
    expect(await statuses(3)).toEqual([200, 200, 429]);
    clock.move(30_000);
    expect(await statuses(2)).toEqual([200, 429]);
    expect((await api.get('/api/account')).headers.get('retry-after')).toBe('30');
  });

  it('does not count what it refuses', async () => {
    const { clock, statuses } = await start({ requests: 2, mode: 'sliding' });
    await statuses(50);
    clock.move(60_000);
    expect(await statuses(3)).toEqual([200, 200, 429]);
  });

  it('counts every key for itself, and all unknown keys together', async () => {
    const { api, statuses: mine } = await start({ requests: 1 });
    expect(await mine(2)).toEqual([200, 429]);
    expect((await api.as(sandbox.links.keys.pro).get('/api/account')).status).toBe(200);
    expect((await api.as('a').get('/api/account')).status).toBe(401);
    expect((await api.as('b').get('/api/account')).status).toBe(429);
  });

  it('counts failures and requests of others with the same key', async () => {
    const { api, statuses } = await start({ requests: 5 });
    expect(left((await api.get('/api/nothing')).headers)).toBe(4);
    sandbox.links.spend(3);
    expect(await statuses(2)).toEqual([200, 429]);
    sandbox.reset();
    sandbox.links.spend(99);
    expect(await statuses(1)).toEqual([429]);
    sandbox.reset();
    expect(await statuses(1)).toEqual([200]);
  });

  it('does not count pages and pictures', async () => {
    const { api } = await start({ requests: 2 });
    for (let time = 0; time < 5; time++)
      expect((await fetch(`${sandbox.links.url}/`)).status).toBe(200);
    expect(left((await api.get('/api/account')).headers)).toBe(1);
    expect(sandbox.links.requests).toHaveLength(1);
  });

  it.each([
    ['epoch-seconds', '1763640061'],
    ['epoch-ms', '1763640060250'],
    ['delta', '60'],
    ['http-date', 'Thu, 20 Nov 2025 12:01:01 GMT'],
    ['timestamp', '2025-11-20 12:01:01'],
    ['none', null],
  ] as const)('writes the reset as %s', async (resetFormat, text) => {
    const { clock, api, statuses } = await start({ requests: 1, resetFormat });
    clock.move(250);
    const { headers } = await api.get('/api/account');
    expect(headers.get('x-ratelimit-reset')).toBe(text);
    expect(headers.has('x-ratelimit-limit')).toBe(text !== null);
    expect(await statuses(1)).toEqual([429]);
    const refused = await api.get('/api/account');
    expect(refused.headers.has('retry-after')).toBe(text !== null);
  });
});

describe('the limit of the marketplace', () => {
  it('is none unless asked for, and then refuses in the failure form', async () => {
    sandbox = await startSandbox({ marketLimit: { requests: 1 } });
    const path = `${sandbox.market.url}/api/account/details?api_key=${sandbox.market.key}`;
    expect((await reply(await fetch(path))).status).toBe(200);
    const refused = await reply(await fetch(path));
    expect(refused.status).toBe(429);
    expect(refused.body).toEqual({ status: 'error', msg: expect.any(String) });
    expect(sandbox.market.requests.map((request) => request.refused)).toEqual([false, true]);
  });
});
