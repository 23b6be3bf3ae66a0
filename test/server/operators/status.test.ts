import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { statusPage } from '../../../src/server/operators/status-page.ts';
import { type BusyGateway, busyGateway } from '../../support/busy-gateway.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const clock = new VirtualClock();
let busy: BusyGateway;
beforeAll(async () => {
  busy = await busyGateway({}, { clock });
});
afterAll(() => busy.close());

/** The page as a person reads it: tags gone, a line for a row. */
async function read(): Promise<string> {
  const html = await (await fetch(`${busy.url}/status`)).text();
  return html
    .replace(/<style>.*?<\/style>/s, '')
    .replace(/<\/th>/g, ': ')
    .replace(/<[^>]+>/g, '');
}

describe('/status', () => {
  it('says what was asked, what is left and what waits', async () => {
    expect(await read()).toContain('Budget left: all: nothing was asked yet');
    await busy.ask('{ account { username } }');
    await busy.ask('{ account { username } }');
    const page = await read();
    expect(page).toMatch(/State: ready/);
    expect(page).toMatch(/Version: \d+\.\d+\.\d+/);
    expect(page).toContain('Budget left:  29 of 30');
    expect(page).toContain('Waiting: 0 writes, 0 reads, 0 refreshes');
    expect(page).toContain('Served from cache: 50 % of 2 reads');
    expect(page).toContain('Cache entries: 1,');
  });

  it('says when an upstream last answered, refused and failed', async () => {
    busy.sandbox.market.fault({ kind: 'error-500', times: 1 });
    await busy.ask('{ seller { username } }');
    await clock.advance(60_000);
    busy.sandbox.market.fault({ kind: 'refuse-429', retryAfter: 30, times: 1 });
    await busy.ask('{ seller { username } }', { headers: { prefer: 'wait=1' } });
    const page = await read();
    expect(page).toContain('Last failure: 60 s ago: UPSTREAM_UNAVAILABLE');
    expect(page).toContain('Last refusal: 0 s ago');
    expect(page).toContain('paused by a refusal');
    expect(page).toContain('State: ready, but degraded: MARKET budget-paused');
    expect(page).toContain('Running for: 60 s');
  });

  it('runs no script, loads nothing, and renews itself', async () => {
    const response = await fetch(`${busy.url}/status`);
    const html = await response.text();
    expect(html).not.toMatch(/<script|\son\w+=|src=|href=|url\(/i);
    expect(html).toContain('<meta http-equiv="refresh"');
    expect(response.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-/,
    );
    expect(response.headers.get('cache-control')).toBe('no-store');
  });

  it('escapes what it is given', () => {
    const html = statusPage({
      version: '<script>alert(1)</script>',
      uptimeMs: 0,
      readiness: { ready: true, reasons: [], degraded: [] },
      live: null,
      cache: { bytes: 0, entries: 0 },
      upstreams: [],
      now: 0,
    });
    expect(html).not.toContain('<script>');
  });

  it('answers GET and HEAD only', async () => {
    expect((await fetch(`${busy.url}/status`, { method: 'HEAD' })).status).toBe(200);
    expect((await fetch(`${busy.url}/status`, { method: 'POST' })).status).toBe(405);
  });
});
