import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sectionAt } from '../support/readme.ts';
import { until } from '../support/uploads.ts';
import { advice, RunbookStage, runbook } from './runbook-stage.ts';

const stage = new RunbookStage();

const READ = '{ account { username } }';

describe('the remedy on the pages, followed literally,', () => {
  it('about GatewayKeyRefused names the key, and replaces it without a restart', async () => {
    const file = join(stage.folder, 'key');
    writeFileSync(file, stage.sandbox.links.keys.expired);
    await stage.start({ LINKS_API_KEY: '', LINKS_API_KEY_FILE: file });
    expect(await stage.code(READ)).toBe('UPSTREAM_UNAUTHENTICATED');
    expect(await stage.metric('gateway_upstream_key_accepted{upstream="LINKS"}')).toBe(0);
    expect(await stage.degraded()).toMatchObject([{ reason: 'key-rejected', upstream: 'LINKS' }]);
    const { page, says } = runbook('GatewayKeyRefused');
    expect(says).toMatch(/check-config --probe .* LINKS_API_KEY_FILE .* within two seconds/);
    expect(page).toContain('check-config --probe');
    expect(await stage.probed()).toContain('The link-management API rejects LINKS_API_KEY.');
    writeFileSync(file, stage.sandbox.links.keys.admin);
    await stage.clock.advance(2000);
    expect(await stage.code(READ)).toBeUndefined();
    expect(stage.log).toContain('API key replaced');
    expect(await stage.metric('gateway_upstream_key_accepted{upstream="LINKS"}')).toBe(1);
    expect(await stage.degraded()).toEqual([]);
  });

  it('about GatewayUpstreamAway and GatewayUpstreamErrors states the cause outside the gateway', async () => {
    await stage.start();
    stage.sandbox.links.fault({ kind: 'html', status: 502 });
    const fields = [
      'account { id }',
      'plans { id }',
      'users { id }',
      'domains { totalCount }',
      'pixels { totalCount }',
    ];
    for (const field of fields) await stage.ask(`{ ${field} }`, { 'x-request-id': 'mine' });
    expect(await stage.metric('gateway_upstream_reachable{upstream="LINKS"}')).toBe(0);
    expect(await stage.degraded()).toMatchObject([
      { reason: 'upstream-unreachable', upstream: 'LINKS', cause: 'HTTP 502 with HTML' },
    ]);
    for (const name of ['GatewayUpstreamAway', 'GatewayUpstreamErrors']) {
      const { page, says } = runbook(name);
      expect(says).toContain('check-config --probe');
      expect(page).toContain('check-config --probe');
      expect(page).toContain('`requestId` of the affected operations');
    }
    expect(await stage.probed()).toMatch(
      /No request was sent[^]*latest result[^]*\(HTTP 502 with HTML\)/,
    );
    expect(stage.log).toMatch(
      /"requestId":"mine".*"cause":\["HTTP 502 with HTML"\].*"upstream failed"/,
    );
    // "The gateway tries again by itself".
    stage.sandbox.links.clearFaults();
    await stage.clock.advance(30_000);
    await stage.ask(READ);
    expect(await stage.metric('gateway_upstream_reachable{upstream="LINKS"}')).toBe(1);
  });

  it('about a limit that is too high names the number to set', async () => {
    await stage.start({ LINKS_RATE_LIMIT: '60' });
    await stage.ask(READ);
    const [entry] = (await stage.degraded()) as { reason: string; announced: number }[];
    expect(entry).toMatchObject({ reason: 'limit-too-high', announced: 30 });
    expect(runbook('GatewayUpstreamRefuses').says).toContain('limit-too-high');
    expect(sectionAt('docs/operations.md#probes')).toContain(
      'Set `LINKS_RATE_LIMIT` or `MARKET_RATE_LIMIT` to `announced`',
    );
    await stage.start({ LINKS_RATE_LIMIT: String(entry?.announced) });
    await stage.ask(READ);
    expect(await stage.degraded()).toEqual([]);
  });

  it('about GatewayPaused gives the gateway a key of its own, and it sends again', async () => {
    const file = join(stage.folder, 'shared');
    writeFileSync(file, stage.sandbox.links.keys.pro);
    await stage.start({ LINKS_API_KEY: '', LINKS_API_KEY_FILE: file });
    stage.sandbox.links.fault({ kind: 'refuse-429', retryAfter: 120, times: 1 });
    await stage.ask(READ, { prefer: 'wait=0' });
    expect(await stage.metric('gateway_budget_paused{upstream="LINKS"}')).toBe(1);
    expect(await stage.degraded()).toMatchObject([{ reason: 'budget-paused', upstream: 'LINKS' }]);
    expect(await stage.errors('BUDGET_EXHAUSTED')).toBe(1);
    const { page, says } = runbook('GatewayPaused');
    expect(says).toContain('write a separate key into the file in LINKS_API_KEY_FILE');
    expect(page).toContain('Use a separate key for the gateway');
    writeFileSync(file, stage.sandbox.links.keys.admin);
    await stage.clock.advance(2000);
    expect(await stage.code(READ)).toBeUndefined();
    expect(await stage.degraded()).toEqual([]);
  });

  it('about BUDGET_EXHAUSTED is answered after the time that it names', async () => {
    await stage.grant(2);
    await stage.start();
    await stage.ask(READ);
    const [error] =
      (await stage.ask('{ plans { id } domains { totalCount } }', { prefer: 'wait=0' })).errors ??
      [];
    expect(error?.extensions['code']).toBe('BUDGET_EXHAUSTED');
    expect(advice('BUDGET_EXHAUSTED')).toContain('extensions.retryAfterMs');
    await stage.clock.advance(Number(error?.extensions['retryAfterMs']));
    expect(await stage.code('{ plans { id } }')).toBeUndefined();
  });

  it('about UPSTREAM_INVALID_RESPONSE finds a web page in the place of the API', async () => {
    await stage.start();
    stage.sandbox.links.fault({ kind: 'html', status: 200 });
    expect(await stage.code(READ)).toBe('UPSTREAM_INVALID_RESPONSE');
    expect(advice('UPSTREAM_INVALID_RESPONSE')).toMatch(/base URL/);
    expect(await stage.probed()).toMatch(/LINKS_BASE_URL serves a web page instead of the API/);
  });

  it('about UPSTREAM_TIMEOUT raises the timeout by its setting', async () => {
    await stage.start({ LINKS_TIMEOUT_MS: '1000' });
    stage.sandbox.links.fault({ kind: 'slow', delayMs: 3000 });
    const first = stage.code(READ);
    await until(() => stage.sandbox.links.requests.length > 0);
    await stage.clock.advance(1000);
    expect(await first).toBe('UPSTREAM_TIMEOUT');
    expect(advice('UPSTREAM_TIMEOUT')).toContain('_TIMEOUT_MS');
    await stage.start({ LINKS_TIMEOUT_MS: '10000' });
    const count = stage.sandbox.links.requests.length;
    const second = stage.code(READ);
    await until(() => stage.sandbox.links.requests.length > count);
    await stage.clock.advance(3000);
    expect(await second).toBeUndefined();
  });

  it('about OPERATION_TOO_EXPENSIVE asks for as few as the message says', async () => {
    await stage.start({ OPERATION_MAX_CALLS: '2', LINKS_PAGE_SIZE: '2' });
    const channels = (first: number) => `{ channels(first: ${first}) { nodes { id } } }`;
    const { errors: [error] = [] } = await stage.ask(channels(12));
    expect(error?.extensions).toMatchObject({ code: 'OPERATION_TOO_EXPENSIVE' });
    expect(advice('OPERATION_TOO_EXPENSIVE')).toMatch(/message/);
    const less = Number(/(\d+) (?:rows less|fewer items)/.exec(error?.message ?? '')?.[1]);
    expect(await stage.code(channels(12 - less))).toBeUndefined();
  });

  it('about GatewayDown lets Prometheus in on the port for metrics', async () => {
    await stage.start();
    const fromElsewhere = { headers: { 'x-forwarded-for': '192.0.2.7' } };
    expect((await fetch(`${stage.url}/metrics`, fromElsewhere)).status).toBe(403);
    const { page } = runbook('GatewayDown');
    expect(page).toContain('returns 403: set `METRICS_PORT`, and scrape that port');
    await stage.start({ METRICS_PORT: '0' });
    expect((await fetch(`${stage.operatorsUrl}/metrics`, fromElsewhere)).status).toBe(200);
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
    const source = readFileSync('src/operators/readiness.ts', 'utf8');
    const states = [...source.matchAll(/readonly reason:([^;]+);/g)].flatMap(([, each = '']) =>
      [...each.matchAll(/'([a-z-]+)'/g)].map(([, name = '']) => name),
    );
    expect(new Set(states).size).toBeGreaterThan(7);
    for (const state of new Set(states)) {
      const row = page.split('\n').find((line) => line.startsWith(`| \`${state}\``));
      expect(row?.split('|')[3]?.trim().length ?? 0, state).toBeGreaterThan(5);
    }
  });
});
