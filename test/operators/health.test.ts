import { afterEach, describe, expect, it } from 'vitest';
import { type BusyGateway, busyGateway } from '../support/busy-gateway.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

let busy: BusyGateway | undefined;
afterEach(() => busy?.close());

const clock = new VirtualClock();

async function start(env: Record<string, string> = {}): Promise<BusyGateway> {
  busy = await busyGateway({ TTL_ACCOUNT_MS: '0', ...env }, { clock });
  return busy;
}

async function readyz({ url }: BusyGateway): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${url}/readyz`);
  return { status: response.status, body: await response.json() };
}

/** A read that no cache answers, and that no breaker holds back after a failure or two. */
async function call(gateway: BusyGateway): Promise<void> {
  await gateway.ask('{ account { username } }');
}

/** As many reads of several kinds, whatever comes of them. */
async function callMany(gateway: BusyGateway): Promise<void> {
  await call(gateway);
  await gateway.ask('{ plans { id } }');
  await call(gateway);
}

const unreachable = {
  status: 200,
  body: {
    ready: true,
    reasons: [],
    degraded: [{ reason: 'upstream-unreachable', upstream: 'LINKS' }],
  },
};
const ready = { status: 200, body: { ready: true, reasons: [], degraded: [] } };

describe('/readyz', () => {
  it('is ready before the first upstream request', async () => {
    expect(await readyz(await start())).toEqual(ready);
  });

  it('says what is missing once three calls in a row were not answered, and stays ready', async () => {
    const gateway = await start();
    gateway.sandbox.links.fault({ kind: 'error-500' });
    await call(gateway);
    await gateway.ask('{ plans { id } }');
    expect(await readyz(gateway)).toEqual(ready);
    await call(gateway);
    expect(await readyz(gateway)).toEqual(unreachable);
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    expect(metrics).toContain('gateway_upstream_reachable{upstream="LINKS"} 0');
  });

  it('does not take one kind of resource that is never answered for the whole API', async () => {
    const gateway = await start();
    gateway.sandbox.links.fault({ kind: 'error-500', path: '/api/account' });
    for (let n = 0; n < 5; n += 1) await call(gateway);
    expect(await readyz(gateway)).toEqual(ready);
  });

  it('removes it with the first response', async () => {
    const gateway = await start();
    gateway.sandbox.links.fault({ kind: 'error-500', times: 3 });
    await callMany(gateway);
    expect(await readyz(gateway)).toEqual(unreachable);
    await call(gateway);
    expect(await readyz(gateway)).toEqual(ready);
  });

  it('removes it a minute after the last failure', async () => {
    const gateway = await start();
    gateway.sandbox.links.fault({ kind: 'error-500' });
    await callMany(gateway);
    await clock.advance(59_999);
    expect(await readyz(gateway)).toEqual(unreachable);
    await clock.advance(1);
    expect(await readyz(gateway)).toEqual(ready);
  });

  it('counts a refusal of the request as an answer', async () => {
    const gateway = await start();
    gateway.sandbox.links.fault({
      kind: 'answer',
      rewrite: (answer) => ({
        ...answer,
        status: 401,
        body: { error: 1, message: 'Invalid API key' },
      }),
    });
    for (let n = 0; n < 5; n += 1) await call(gateway);
    expect(await readyz(gateway)).toEqual(ready);
  });

  it('says while a refusal has paused the budget, and for how long, and stays ready', async () => {
    const gateway = await start();
    gateway.sandbox.links.fault({ kind: 'refuse-429', retryAfter: 20, times: 1 });
    await call(gateway);
    expect(await readyz(gateway)).toEqual({
      status: 200,
      body: {
        ready: true,
        reasons: [],
        degraded: [{ reason: 'budget-paused', upstream: 'LINKS', retryAfterMs: 20_000 }],
      },
    });
    await clock.advance(20_000);
    expect(await readyz(gateway)).toEqual(ready);
  });

  it('says that a limit is above what the API announces, once in the log, until both agree', async () => {
    const gateway = await start({ LINKS_RATE_LIMIT: '60' });
    const { links } = gateway.sandbox;
    const warnings = () =>
      gateway.lines().filter(({ msg }) => /LINKS_RATE_LIMIT/.test(String(msg)));
    await call(gateway);
    await call(gateway);
    const degraded = [
      { reason: 'limit-too-high', upstream: 'LINKS', configured: 60, announced: 30 },
    ];
    expect(await readyz(gateway)).toEqual({ ...ready, body: { ...ready.body, degraded } });
    expect(warnings()).toEqual([
      {
        level: 'warn',
        time: expect.any(String),
        msg: 'LINKS_RATE_LIMIT is 60, but the link-management API announces a limit of 30 requests, which applies. Set LINKS_RATE_LIMIT=30.',
      },
    ]);
    links.fault({
      kind: 'answer',
      rewrite: (answer) => ({
        ...answer,
        headers: { ...answer.headers, 'x-ratelimit-limit': '60' },
      }),
    });
    await call(gateway);
    expect(await readyz(gateway)).toEqual(ready);
    expect(warnings()).toHaveLength(1);
  });

  it('does not call a limit too high for what one caller’s key is granted', async () => {
    const gateway = await start({
      AUTH_MODE: 'passthrough',
      LINKS_API_KEY: '',
      LINKS_RATE_LIMIT: '60',
    });
    const { key, keys } = gateway.sandbox.links;
    const headers = (secret: string) => ({ headers: { authorization: `Bearer ${secret}` } });
    gateway.sandbox.links.fault({
      kind: 'answer',
      times: 1,
      rewrite: (answer) => ({
        ...answer,
        headers: { ...answer.headers, 'x-ratelimit-limit': '60' },
      }),
    });
    await gateway.ask('{ account { username } }', headers(key));
    await gateway.ask('{ account { username } }', headers(keys.pro));
    expect(await readyz(gateway)).toEqual(ready);
    expect(gateway.log()).not.toContain('LINKS_RATE_LIMIT');
  });

  it('does not affect /livez: a restart would not help', async () => {
    const gateway = await start();
    gateway.sandbox.links.fault({ kind: 'error-500' });
    for (let n = 0; n < 3; n += 1) await call(gateway);
    expect((await fetch(`${gateway.url}/livez`)).status).toBe(200);
  });
});
