import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { probe } from '../../src/commands/probe.ts';
import { loadConfig } from '../../src/config/config.ts';
import { createGateway, type Gateway } from '../../src/gateway.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { sectionAt } from '../support/readme.ts';
import { until } from '../support/uploads.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { alerts } from './alert-checks.ts';

const folder = mkdtempSync(join(tmpdir(), 'runbooks-'));
afterAll(() => rmSync(folder, { recursive: true }));

const clock = new VirtualClock();
let sandbox: Sandbox;
let gateway: Gateway | undefined;
let env: Record<string, string>;
let url = '';
let log = '';
beforeEach(async () => {
  log = '';
  sandbox = await startSandbox({ clock });
  const { links, market } = sandbox;
  env = {
    AUTH_MODE: 'none',
    LINKS_BASE_URL: links.url,
    LINKS_API_KEY: links.key,
    MARKET_BASE_URL: market.url,
    MARKET_API_KEY: market.key,
    STATE_DIR: 'off',
    TTL_ACCOUNT_MS: '0',
    STALE_WHILE_REVALIDATE_MS: '0',
    STALE_IF_ERROR_MS: '0',
  };
});
afterEach(async () => {
  await gateway?.close();
  await sandbox.close();
});

/** Starts the gateway, again where one runs, with further settings. */
async function start(more: Record<string, string> = {}): Promise<void> {
  await gateway?.close();
  Object.assign(env, more);
  const config = loadConfig({ ...env, PORT: '0' });
  gateway = await createGateway(config, { clock, log: { write: (line) => void (log += line) } });
  ({ url } = await gateway.listen());
  env['PORT'] = new URL(url).port;
}

interface Answered {
  readonly data?: Record<string, unknown> | null;
  readonly errors?: readonly {
    readonly message: string;
    readonly extensions: Record<string, unknown>;
  }[];
}
async function ask(query: string, headers: Record<string, string> = {}): Promise<Answered> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query }),
  });
  return (await response.json()) as Answered;
}
const code = async (query: string) => (await ask(query)).errors?.[0]?.extensions['code'];
const metric = async (series: string): Promise<number> => {
  const lines = (await (await fetch(`${url}/metrics`)).text()).split('\n');
  return Number(lines.find((line) => line.startsWith(`${series} `))?.split(' ')[1] ?? Number.NaN);
};
const degraded = async () =>
  ((await (await fetch(`${url}/readyz`)).json()) as { degraded: unknown }).degraded;
const probed = async () => (await probe(loadConfig(env), clock)).lines.join('\n');
const errors = (code: string) => metric(`gateway_operation_errors_total{code="${code}"}`);

/** What an alert says, and the section that it leads to. */
function runbook(name: string): { readonly says: string; readonly page: string } {
  const found = alerts.find(({ alert }) => alert === name);
  if (!found) throw new Error(`there is no alert ${name}`);
  return {
    says: found.annotations['description'] ?? '',
    // On one line: where a sentence is wrapped does not matter.
    page: sectionAt(found.annotations['docs'] ?? '').replace(/\s+/g, ' '),
  };
}
/** What the page of errors says to do about a code. */
function advice(code: string): string {
  const row = readFileSync('docs/errors.md', 'utf8')
    .split('\n')
    .find((line) => line.startsWith(`| \`${code}\``));
  if (!row) throw new Error(`there is no row for ${code}`);
  return row.split('|')[3] ?? '';
}

const READ = '{ account { username } }';

describe('the remedy on the pages, followed literally,', () => {
  it('about GatewayKeyRefused names the key, and replaces it without a restart', async () => {
    const file = join(folder, 'key');
    writeFileSync(file, sandbox.links.keys.expired);
    await start({ LINKS_API_KEY: '', LINKS_API_KEY_FILE: file });
    expect(await code(READ)).toBe('UPSTREAM_UNAUTHENTICATED');
    expect(await errors('UPSTREAM_UNAUTHENTICATED')).toBe(1);
    const { page, says } = runbook('GatewayKeyRefused');
    expect(says).toMatch(/check-config --probe .* LINKS_API_KEY_FILE .* within two seconds/);
    expect(page).toContain('check-config --probe');
    expect(await probed()).toContain('The link-management API rejects LINKS_API_KEY.');
    writeFileSync(file, sandbox.links.keys.admin);
    await clock.advance(2000);
    expect(await code(READ)).toBeUndefined();
    expect(log).toContain('API key replaced');
  });

  it('about GatewayUpstreamAway and GatewayUpstreamErrors states the cause outside the gateway', async () => {
    await start();
    sandbox.links.fault({ kind: 'html', status: 502 });
    const fields = [
      'account { id }',
      'plans { id }',
      'users { id }',
      'domains { totalCount }',
      'pixels { totalCount }',
    ];
    for (const field of fields) await ask(`{ ${field} }`, { 'x-request-id': 'mine' });
    expect(await metric('gateway_upstream_reachable{upstream="LINKS"}')).toBe(0);
    expect(await degraded()).toEqual([{ reason: 'upstream-unreachable', upstream: 'LINKS' }]);
    for (const name of ['GatewayUpstreamAway', 'GatewayUpstreamErrors']) {
      const { page, says } = runbook(name);
      expect(says).toContain('check-config --probe');
      expect(page).toContain('check-config --probe');
      expect(page).toContain('`requestId` of the affected operations');
    }
    expect(await probed()).toMatch(
      /No request was sent[^]*latest result[^]*\(HTTP 502 with HTML\)/,
    );
    expect(log).toMatch(/"requestId":"mine".*"cause":\["HTTP 502 with HTML"\].*"upstream failed"/);
    // "The gateway tries again by itself".
    sandbox.links.clearFaults();
    await clock.advance(30_000);
    await ask(READ);
    expect(await metric('gateway_upstream_reachable{upstream="LINKS"}')).toBe(1);
  });

  it('about a limit that is too high names the number to set', async () => {
    await start({ LINKS_RATE_LIMIT: '60' });
    await ask(READ);
    const [entry] = (await degraded()) as { reason: string; announced: number }[];
    expect(entry).toMatchObject({ reason: 'limit-too-high', announced: 30 });
    expect(runbook('GatewayUpstreamRefuses').says).toContain('limit-too-high');
    expect(sectionAt('docs/operations.md#probes')).toContain(
      'Set `LINKS_RATE_LIMIT` or `MARKET_RATE_LIMIT` to `announced`',
    );
    await start({ LINKS_RATE_LIMIT: String(entry?.announced) });
    await ask(READ);
    expect(await degraded()).toEqual([]);
  });

  it('about GatewayPaused gives the gateway a key of its own, and it sends again', async () => {
    const file = join(folder, 'shared');
    writeFileSync(file, sandbox.links.keys.pro);
    await start({ LINKS_API_KEY: '', LINKS_API_KEY_FILE: file });
    sandbox.links.fault({ kind: 'refuse-429', retryAfter: 120, times: 1 });
    await ask(READ, { prefer: 'wait=0' });
    expect(await metric('gateway_budget_paused{upstream="LINKS"}')).toBe(1);
    expect(await degraded()).toMatchObject([{ reason: 'budget-paused', upstream: 'LINKS' }]);
    expect(await errors('BUDGET_EXHAUSTED')).toBe(1);
    const { page, says } = runbook('GatewayPaused');
    expect(says).toContain('write a separate key into the file in LINKS_API_KEY_FILE');
    expect(page).toContain('Use a separate key for the gateway');
    writeFileSync(file, sandbox.links.keys.admin);
    await clock.advance(2000);
    expect(await code(READ)).toBeUndefined();
    expect(await degraded()).toEqual([]);
  });

  it('about GatewayOutcomeUnknown names the field to look at, where the write shows', async () => {
    await start();
    sandbox.links.fault({ kind: 'drop', method: 'POST', applied: true, times: 1 });
    const { errors: found } = await ask(
      'mutation { createChannel(input: { name: "Lost and found" }) { __typename } }',
    );
    expect(found?.[0]?.extensions).toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      check: 'Query.channels',
    });
    expect(await errors('OUTCOME_UNKNOWN')).toBe(1);
    expect(runbook('GatewayOutcomeUnknown').says).toContain('Find them in the log by the code');
    expect(log).toContain('"codes":["OUTCOME_UNKNOWN"]');
    expect(advice('OUTCOME_UNKNOWN')).toContain('extensions.check');
    expect(JSON.stringify(await ask('{ channels(last: 500) { nodes { name } } }'))).toContain(
      'Lost and found',
    );
  });

  it('about BUDGET_EXHAUSTED is answered after the time that it names', async () => {
    await sandbox.close();
    sandbox = await startSandbox({ clock, limit: { requests: 2 } });
    await start({ LINKS_BASE_URL: sandbox.links.url, LINKS_RATE_LIMIT: '2' });
    await ask(READ);
    const [error] =
      (await ask('{ plans { id } domains { totalCount } }', { prefer: 'wait=0' })).errors ?? [];
    expect(error?.extensions['code']).toBe('BUDGET_EXHAUSTED');
    expect(advice('BUDGET_EXHAUSTED')).toContain('extensions.retryAfterMs');
    await clock.advance(Number(error?.extensions['retryAfterMs']));
    expect(await code('{ plans { id } }')).toBeUndefined();
  });

  it('about UPSTREAM_INVALID_RESPONSE finds a web page in the place of the API', async () => {
    await start();
    sandbox.links.fault({ kind: 'html', status: 200 });
    expect(await code(READ)).toBe('UPSTREAM_INVALID_RESPONSE');
    expect(advice('UPSTREAM_INVALID_RESPONSE')).toMatch(/base URL/);
    expect(await probed()).toMatch(/LINKS_BASE_URL serves a web page instead of the API/);
  });

  it('about UPSTREAM_TIMEOUT raises the timeout by its setting', async () => {
    await start({ LINKS_TIMEOUT_MS: '1000' });
    sandbox.links.fault({ kind: 'slow', delayMs: 3000 });
    const first = code(READ);
    await until(() => sandbox.links.requests.length > 0);
    await clock.advance(1000);
    expect(await first).toBe('UPSTREAM_TIMEOUT');
    expect(advice('UPSTREAM_TIMEOUT')).toContain('_TIMEOUT_MS');
    await start({ LINKS_TIMEOUT_MS: '10000' });
    const count = sandbox.links.requests.length;
    const second = code(READ);
    await until(() => sandbox.links.requests.length > count);
    await clock.advance(3000);
    expect(await second).toBeUndefined();
  });

  it('about OPERATION_TOO_EXPENSIVE asks for as few as the message says', async () => {
    await start({ OPERATION_MAX_CALLS: '2', LINKS_PAGE_SIZE: '2' });
    const channels = (first: number) => `{ channels(first: ${first}) { nodes { id } } }`;
    const { errors: [error] = [] } = await ask(channels(12));
    expect(error?.extensions).toMatchObject({ code: 'OPERATION_TOO_EXPENSIVE' });
    expect(advice('OPERATION_TOO_EXPENSIVE')).toMatch(/message/);
    const less = Number(/(\d+) (?:rows less|fewer items)/.exec(error?.message ?? '')?.[1]);
    expect(await code(channels(12 - less))).toBeUndefined();
  });

  it('about GatewayDown lets Prometheus in on the port for metrics', async () => {
    await start();
    const fromElsewhere = { headers: { 'x-forwarded-for': '192.0.2.7' } };
    expect((await fetch(`${url}/metrics`, fromElsewhere)).status).toBe(403);
    const { page } = runbook('GatewayDown');
    expect(page).toContain(
      'returns 403 unless `METRICS=open` is set, and with `METRICS_PORT` it is on that port',
    );
    await start({ METRICS: 'open' });
    expect((await fetch(`${url}/metrics`, fromElsewhere)).status).toBe(200);
  });
});

describe('the page of errors', () => {
  it('has a row with cause and remedy for each code', () => {
    const source = readFileSync('src/errors.ts', 'utf8');
    const union = /export type ErrorCode =([^;]+);/.exec(source)?.[1] ?? '';
    const codes = [...union.matchAll(/'(\w+)'/g)].map(([, each = '']) => each);
    expect(codes.length).toBeGreaterThan(14);
    for (const each of codes) expect(advice(each).trim().length, each).toBeGreaterThan(15);
  });
});

describe('the page of states', () => {
  it('has a row with cause and remedy for each state of /readyz', () => {
    const page = sectionAt('docs/operations.md#probes');
    const union = (path: string): string[] =>
      [.../readonly reason:([^;]+);/g[Symbol.matchAll](readFileSync(path, 'utf8'))].flatMap(
        ([, each = '']) => [...each.matchAll(/'([a-z-]+)'/g)].map(([, name = '']) => name),
      );
    const states = [
      ...union('src/operators/readiness.ts'),
      ...union('src/redis/standing.ts'),
    ].filter((name) => name !== 'reason');
    expect(new Set(states).size).toBeGreaterThan(10);
    for (const state of new Set(states)) {
      const row = page.split('\n').find((line) => line.startsWith(`| \`${state}\``));
      expect(row?.split('|')[3]?.trim().length ?? 0, state).toBeGreaterThan(5);
    }
  });
});
