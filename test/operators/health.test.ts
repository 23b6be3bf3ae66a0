import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Fault } from '../../src/sandbox/http/faults.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { type BusyGateway, busyGateway } from '../support/busy-gateway.ts';
import { tempFolder } from '../support/folder.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

let busy: BusyGateway | undefined;

const clock = new VirtualClock();

async function start(env: Record<string, string> = {}, sandbox?: Sandbox): Promise<BusyGateway> {
  const options = { clock, ...(sandbox && { sandbox }) };
  busy = await busyGateway({ 'ttl.account': '0', ...env }, options);
  return busy;
}

function written(file: string, text: string): string {
  writeFileSync(file, text);
  return file;
}

async function scrape({ url }: BusyGateway): Promise<string> {
  return (await fetch(`${url}/metrics`)).text();
}

const REJECTED: Fault = {
  kind: 'answer',
  rewrite: (answer) => ({ ...answer, status: 401, body: { error: 1, message: 'Invalid API key' } }),
};

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
    degraded: [
      {
        reason: 'upstream-unreachable',
        upstream: 'LINKS',
        cause: expect.stringMatching(/^HTTP 500 with /),
        since: expect.any(String),
      },
    ],
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
    expect(await scrape(gateway)).toContain('gateway_upstream_reachable{upstream="LINKS"} 0');
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
        status: 403,
        body: { error: 1, message: 'You do not have this permission.' },
      }),
    });
    await callMany(gateway);
    await callMany(gateway);
    expect(await readyz(gateway)).toEqual(ready);
  });

  it('says that the key is rejected, since when, and how it is corrected, until a read is accepted', async () => {
    const gateway = await start();
    const accepted = async () =>
      /key_accepted\{upstream="LINKS"\} (\d)/.exec(await scrape(gateway))?.[1];
    const advice = () =>
      gateway.lines().filter(({ msg }) => /rejects LINKS_API_KEY/.test(String(msg)));
    await call(gateway);
    expect(await accepted()).toBe('1');
    const { links } = gateway.sandbox;
    for (const episode of [1, 2]) {
      const since = new Date(clock.wall()).toISOString();
      links.fault(REJECTED);
      await callMany(gateway);
      await clock.advance(300_000);
      // It says nothing about the key.
      links.clearFaults();
      links.fault({ kind: 'error-500' });
      await call(gateway);
      const degraded = [{ reason: 'key-rejected', upstream: 'LINKS', since }];
      expect(await readyz(gateway)).toEqual({ ...ready, body: { ...ready.body, degraded } });
      expect(await accepted()).toBe('0');
      expect(advice()).toHaveLength(episode);
      links.clearFaults();
      await call(gateway);
      expect(await readyz(gateway)).toEqual(ready);
      expect(await accepted()).toBe('1');
    }
  });

  it('says how a wrong key is corrected that has replaced a valid one', async () => {
    const file = join(tempFolder(), 'key');
    const sandbox = await startSandbox({ clock });
    writeFileSync(file, sandbox.links.key);
    const env = { LINKS_API_KEY: '', LINKS_API_KEY_FILE: file };
    const gateway = await start(env, sandbox);
    const advice = () =>
      gateway.lines().filter(({ msg }) => /rejects LINKS_API_KEY/.test(String(msg)));
    await call(gateway);
    for (const [secret, times] of [
      ['one', 1],
      ['two', 2],
    ] as const) {
      writeFileSync(file, sandbox.links.keys.expired.replace(/.$/, secret));
      await clock.advance(3000);
      expect(await readyz(gateway)).toEqual(ready);
      await call(gateway);
      expect((await readyz(gateway)).body).toMatchObject({
        degraded: [{ reason: 'key-rejected', upstream: 'LINKS' }],
      });
      expect(advice()).toHaveLength(times);
    }
    writeFileSync(file, sandbox.links.key);
    await clock.advance(3000);
    expect(await readyz(gateway)).toEqual(ready);
    await gateway.close();
    busy = undefined;
    await sandbox.close();
  });

  it('says that a changed file of tokens or of a key cannot be used, until it can', async () => {
    const folder = tempFolder();
    const [tokens, key] = [join(folder, 'tokens.json'), join(folder, 'key')];
    const gateway = await start({
      AUTH_MODE: 'token',
      AUTH_TOKENS_FILE: written(tokens, '{"tokens": []}'),
      MARKET_API_KEY: '',
      MARKET_API_KEY_FILE: written(key, 'a-key'),
    });
    expect(await readyz(gateway)).toEqual(ready);
    const look = async () => {
      await clock.advance(1000);
      await readyz(gateway);
      await clock.advance(1000);
      return (await readyz(gateway)).body;
    };
    written(tokens, '{"tokens": [');
    written(key, '');
    const degraded = ['AUTH_TOKENS_FILE', 'MARKET_API_KEY_FILE'].map((setting) => ({
      reason: 'file-unusable',
      setting,
    }));
    expect(await look()).toEqual({ ...ready.body, degraded });
    written(tokens, '{"tokens": []}');
    written(key, 'another-key');
    expect(await look()).toEqual(ready.body);
  });

  it('is not concerned with a rejected key of a caller', async () => {
    const gateway = await start({ AUTH_MODE: 'passthrough', LINKS_API_KEY: '' });
    const headers = { authorization: 'Bearer made-up' };
    for (let n = 0; n < 4; n += 1) await gateway.ask('{ account { username } }', { headers });
    expect(await readyz(gateway)).toEqual(ready);
    expect(await scrape(gateway)).not.toContain('key_accepted{upstream="LINKS"} 0');
    expect(gateway.log()).not.toContain('rejects LINKS_API_KEY');
  });

  it.each([
    ['HTML', { kind: 'html', status: 200 }, 'HTTP 200 with HTML'],
    [
      'JSON of something else',
      { kind: 'answer', rewrite: (answer) => ({ ...answer, body: { hello: 'world' } }) },
      expect.any(String),
    ],
  ] as const satisfies [string, Fault, unknown][])(
    'says that the API fails if it answers with %s, also between requests without an answer',
    async (_, fault, cause) => {
      const gateway = await start();
      const { links } = gateway.sandbox;
      links.fault(fault);
      const since = new Date(clock.wall()).toISOString();
      await call(gateway);
      links.clearFaults();
      links.fault({ kind: 'drop' });
      await gateway.ask('{ plans { id } }');
      links.clearFaults();
      links.fault(fault);
      await clock.advance(1000);
      await gateway.ask('{ pixels { totalCount } }');
      const degraded = [{ reason: 'upstream-fails', upstream: 'LINKS', cause, since }];
      expect(await readyz(gateway)).toEqual({ ...ready, body: { ...ready.body, degraded } });
      expect(await scrape(gateway)).toContain('gateway_upstream_reachable{upstream="LINKS"} 0');
    },
  );

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
