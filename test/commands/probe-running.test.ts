import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { probe } from '../../src/commands/probe.ts';
import type { Config } from '../../src/config/config.ts';
import { createGateway, type Gateway } from '../../src/gateway.ts';
import { proofOf } from '../../src/operators/probe-proof.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { type Clock, systemClock } from '../../src/scheduling/clock.ts';
import { configOf } from '../support/config.ts';
import { tempFolder } from '../support/folder.ts';
import { statusOf } from '../support/proxies.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const folder = tempFolder();

let sandbox: Sandbox;
let gateway: Gateway | undefined;
beforeEach(async () => {
  sandbox = await startSandbox();
});
afterEach(async () => {
  await gateway?.close();
  gateway = undefined;
  await sandbox.close();
});

type Env = Readonly<Record<string, string>>;

let folders = 0;
function settings(env: Env = {}): Env {
  folders += 1;
  const { links, market } = sandbox;
  return {
    AUTH_MODE: 'none',
    LINKS_BASE_URL: links.url,
    LINKS_API_KEY: links.key,
    MARKET_BASE_URL: market.url,
    MARKET_API_KEY: market.key,
    STATE_DIR: join(folder, String(folders)),
    MAX_WAIT_MS: '0',
    ...env,
  };
}

/** A gateway that runs, and the settings with which a command beside it finds it. */
async function running(
  env: Env = {},
  clock: Clock = systemClock,
): Promise<{ config: Config; url: string; env: Env }> {
  const given = settings(env);
  const isApart = 'METRICS_PORT' in given;
  gateway = await createGateway(configOf({ ...given, PORT: '0' }), { clock });
  const { operatorsUrl, url } = await gateway.listen();
  const name = isApart ? 'METRICS_PORT' : 'PORT';
  const found = { ...given, [name]: new URL(operatorsUrl).port };
  return { config: configOf(found), url, env: found };
}

async function ask(url: string, query: string): Promise<Record<string, unknown>> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  });
  const { data } = (await response.json()) as { data: Record<string, unknown> };
  return data;
}

const asked = expect.stringMatching(/^The gateway on port \d+ has sent the requests, within/);
const good = (upstream: string) =>
  expect.stringMatching(new RegExp(`^${upstream} +127.0.0.1:\\d+ answers and accepts the key\\.$`));

describe('a probe beside a running gateway', () => {
  it('has that gateway ask, whose budget counts it', async () => {
    const { config, url } = await running();
    expect(await probe(config)).toEqual({
      lines: [asked, good('LINKS'), good('MARKET')],
      wrong: 'nothing',
    });
    expect(await ask(url, '{ rateLimit { used } }')).toEqual({ rateLimit: { used: 1 } });
    expect([sandbox.links.requests.length, sandbox.market.requests.length]).toEqual([1, 1]);
  });

  it('finds it without a STATE_DIR, and where operators have a port of their own', async () => {
    for (const env of [{ STATE_DIR: 'off' }, { METRICS_PORT: '0' }]) {
      const { config } = await running(env);
      expect((await probe(config)).lines[0]).toEqual(asked);
      await gateway?.close();
    }
  });

  it('sends nothing above the limit, and prints the latest result instead', async () => {
    await sandbox.close();
    sandbox = await startSandbox({ limit: { requests: 1 } });
    const { config, url } = await running({ LINKS_RATE_LIMIT: '1', STATE_DIR: 'off' });
    sandbox.links.fault({ kind: 'html', status: 503, times: 1 });
    await ask(url, '{ account { username } }');
    for (let n = 0; n < 3; n += 1) {
      const { lines, wrong } = await probe(config);
      expect(lines[1]).toMatch(/^LINKS +No request was sent\. .* in \d+ s/);
      expect(lines[2]).toMatch(
        /^LINKS +The latest result, \d+ s ago: The link-management API is unavailable \(HTTP 503 with HTML\)\.$/,
      );
      expect(wrong).toBe('world');
    }
    expect(sandbox.links.requests).toHaveLength(1);
  });

  it('prints the cause of an outage while the circuit breaker is open', async () => {
    // By a clock that stands: the breaker would be half-open after a second.
    const clock = new VirtualClock();
    const { config, url } = await running({}, clock);
    sandbox.links.fault({ kind: 'error-500' });
    // One after the other: under a key that is new, one request finds out what is left.
    for (const field of ['account', 'plans', 'users', 'account', 'plans', 'users']) {
      await ask(url, `{ ${field} { id } }`);
    }
    const sent = sandbox.links.requests.length;
    const lines = (await probe(config, clock)).lines.filter((line) => !line.includes('clock'));
    expect(lines[1]).toMatch(/No request was sent\. The link-management API is .* in \d+ s/);
    expect(lines[2]).toMatch(/The latest result, .* unavailable \(HTTP 500 with a JSON error\)/);
    expect(sandbox.links.requests).toHaveLength(sent);
  });

  it('says what a setting can mend, as it would by itself', async () => {
    const { config } = await running();
    sandbox.links.fault({
      kind: 'answer',
      rewrite: () => ({ status: 401, headers: {}, body: { error: 1, message: 'Invalid API key' } }),
    });
    const { lines, wrong } = await probe(config);
    expect(lines[1]).toMatch(/^LINKS +The link-management API rejects LINKS_API_KEY/);
    expect(wrong).toBe('configuration');
  });

  it('costs one request of each upstream however often it is run at once', async () => {
    const { config } = await running();
    const all = await Promise.all(Array.from({ length: 20 }, () => probe(config)));
    for (const each of all) expect(each).toEqual(all[0]);
    expect([sandbox.links.requests.length, sandbox.market.requests.length]).toEqual([1, 1]);
  });

  it('requires the upstream keys, and does not reveal them', async () => {
    const { url } = await running();
    const { key } = sandbox.links;
    const post = async (authorization?: string, method = 'POST') => {
      const headers = authorization === undefined ? {} : { authorization };
      return (await fetch(`${url}/probe`, { method, headers })).status;
    };
    const now = Date.now();
    const proof = proofOf([key], now);
    expect(proof).not.toContain(key);
    expect([
      await post(),
      await post(`Bearer ${key}`),
      await post(proofOf(['another-key'], now)),
      await post(proofOf([''], now)),
      await post(proofOf([key], now - 61_000)),
      await post(proofOf([key], now + 61_000)),
      await post(proof.replace(String(now), String(now + 1))),
      await post('Upstream-Key-Proof 1 '.repeat(100)),
    ]).toEqual(Array.from({ length: 8 }, () => 403));
    expect([sandbox.links.requests.length, await post(proof, 'GET')]).toEqual([0, 405]);
    expect(await post(proofOf(['another-key', key], now))).toBe(200);
  });

  it('takes a proof once, for as long as its time is valid', async () => {
    const clock = new VirtualClock();
    const { url } = await running({}, clock);
    const post = async (authorization: string) =>
      (await fetch(`${url}/probe`, { method: 'POST', headers: { authorization } })).status;
    const { key } = sandbox.links;
    const now = clock.wall();
    const [early, late] = [proofOf([key], now - 59_000), proofOf([key], now + 59_000)];
    expect([await post(late), await post(early)]).toEqual([200, 200]);
    // Also after the result of the first would be given again.
    for (const ms of [0, 6000, 112_000, 120_000]) {
      await clock.advance(ms);
      expect([await post(early), await post(late)]).toEqual([403, 403]);
    }
    const again = proofOf([key], clock.wall());
    expect(again).not.toBe(proofOf([key], clock.wall()));
    expect(await post(again)).toBe(200);
  });

  it('takes no proof with a repeated or another nonce', async () => {
    const { url } = await running();
    const post = async (authorization: string) =>
      (await fetch(`${url}/probe`, { method: 'POST', headers: { authorization } })).status;
    const proof = proofOf([sandbox.links.key], Date.now());
    const [scheme, time, nonce = '', mac] = proof.split(' ');
    const other = nonce.replace(/^./, (first) => (first === '0' ? '1' : '0'));
    expect(await post([scheme, time, other, mac].join(' '))).toBe(403);
    expect(await post([scheme, time, mac].join(' '))).toBe(403);
    const both = await Promise.all([post(proof), post(proof)]);
    expect(both.sort()).toEqual([200, 403]);
  });

  it('takes no proof from a page, or through a proxy', async () => {
    const { url } = await running({ CORS_ORIGINS: 'https://app.example' });
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: 'https://app.example' },
      { origin: url },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-origin' },
      { 'x-forwarded-for': '203.0.113.9' },
      { via: '1.1 proxy' },
    ]) {
      const authorization = proofOf([sandbox.links.key], Date.now());
      const sent = { ...headers, authorization };
      const asked = { url, path: '/probe', method: 'POST', version: '1.1', headers: sent } as const;
      expect([headers, await statusOf(asked)]).toEqual([headers, 403]);
    }
    expect(sandbox.links.requests).toHaveLength(0);
  });

  it('uses the key that is in use after a rotation', async () => {
    const file = join(folder, 'key');
    writeFileSync(file, sandbox.links.keys.pro);
    const { env } = await running({ LINKS_API_KEY: '', LINKS_API_KEY_FILE: file });
    writeFileSync(file, sandbox.links.keys.admin);
    // With the marketplace's key it is known at once, and asks with the one before until it has noticed.
    expect((await probe(configOf(env))).lines[0]).toEqual(asked);
  });

  it('goes by STATE_DIR where another program listens at its port, or another installation', async () => {
    const other = createServer((_, response) => response.end('{"lines":"hello"}')).listen(0);
    await new Promise((resolve) => other.once('listening', resolve));
    const port = String((other.address() as { port: number }).port);
    const byItself = await probe(configOf(settings({ PORT: port, HOST: '0.0.0.0' })));
    expect(byItself.lines).toEqual([good('LINKS'), good('MARKET')]);
    other.close();
    const { keys } = sandbox.links;
    const { config } = await running({
      LINKS_API_KEY: keys.pro,
      MARKET_API_KEY: sandbox.market.keys.empty,
    });
    const beside = settings({ PORT: String(config.port) });
    expect((await probe(configOf(beside))).lines).toEqual([good('LINKS'), good('MARKET')]);
  });

  it('needs no key where callers bring theirs', async () => {
    const keyless = {
      AUTH_MODE: 'passthrough',
      LINKS_API_KEY: '',
      MARKET_BASE_URL: '',
      MARKET_API_KEY: '',
    };
    const { config } = await running(keyless);
    const { lines, wrong } = await probe(config);
    expect(lines).toEqual([expect.stringMatching(/answers and expects the keys of callers/)]);
    expect(wrong).toBe('nothing');
  });
});
