import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { ConsoleStage, READS } from './console-stage.ts';

const stage = new ConsoleStage();

describe('The hour', () => {
  it('lists operations by name, with their cost, saved requests and outcome', async () => {
    const busy = await stage.start();
    const ask = (): Promise<unknown> => busy.ask('query Dash { account { username } }');
    for (let times = 0; times < 40; times += 1) await ask();
    busy.sandbox.links.fault({ kind: 'error-500', times: 9 });
    await busy.ask('query Dash { pixels { totalCount } }');
    await busy.ask('{ plans { name } }', { headers: { 'x-request-id': 'one-that-failed' } });
    const { events, operations } = await stage.look(busy);
    expect(operations).toMatchObject([
      { name: 'Dash', type: 'query', runs: 41, saved: 39, errors: 1 },
      { name: null, type: 'query', runs: 1, saved: 0, errors: 1 },
    ]);
    expect(events.filter(({ kind }) => kind === 'operation-failed')).toMatchObject([
      {
        requestIds: ['one-that-failed'],
        text: 'unnamed query',
        cause: 'UPSTREAM_UNAVAILABLE',
      },
      { text: 'Dash', cause: 'UPSTREAM_UNAVAILABLE' },
    ]);
    expect(events.at(-1)).toMatchObject({ kind: 'started' });
  });

  it('separates refreshes from callers, and proposes a longer ttl with the setting for it', async () => {
    const busy = await stage.start({ 'ttl.pixels': '10000', MARKET_RATE_LIMIT: '60' });
    for (let round = 0; round < 120; round += 1) {
      await busy.ask('{ pixels { totalCount } }');
      await stage.clock.advance(6000);
    }
    const { cache, spenders } = await stage.look(busy);
    const refreshes = spenders.find(({ kind }) => kind === 'refreshes');
    expect(refreshes?.name).toBeNull();
    expect(refreshes?.resources[0]?.resource).toBe('pixels');
    const [pixels] = cache.resources;
    expect(pixels).toMatchObject({ resource: 'pixels', upstream: 'LINKS', ttlMs: 10_000 });
    expect(pixels?.renewals).toBe(busy.sandbox.links.requests.length - 1);
    expect(pixels?.hint).toBe(
      `With a ttl of 10 s, refreshes cost ${pixels?.renewals} upstream requests in the last hour, 98 % of all. TTLS={"pixels": 50000} would save most of them.`,
    );
    expect(loadConfig({ TTLS: '{"pixels": 50000}' }).ttlMs.pixels).toBe(50_000);
  });

  it('counts the entries of the cache by resource, with their age', async () => {
    const busy = await stage.start();
    await busy.ask('{ account { username } pixels { totalCount } }');
    await stage.clock.advance(59_000);
    expect((await stage.look(busy)).cache.resources).toMatchObject([
      { resource: 'account', fresh: 1, stale: 0, reads: 1, hits: 0 },
      { resource: 'pixels', fresh: 1, stale: 0 },
    ]);
    await stage.clock.advance(1000);
    const { cache } = await stage.look(busy);
    expect(cache.entries).toBe(2);
    expect(cache.resources[0]).toMatchObject({ resource: 'account', fresh: 0, stale: 1 });
    expect(cache.resources[0]?.oldestMs).toBeGreaterThan(60_000);
  });
});

describe('The events', () => {
  it('contain a refusal with its pause, an upstream that stops responding, and its recovery', async () => {
    const busy = await stage.start();
    busy.sandbox.market.fault({ kind: 'refuse-429', retryAfter: 30, times: 1 });
    await busy.ask('{ seller { username } }', { headers: { prefer: 'wait=1' } });
    const paused = await stage.look(busy, 'MARKET');
    expect(paused.pausedMs).toBeGreaterThan(29_000);
    expect(paused.events.slice(0, 3)).toMatchObject([
      { text: 'unnamed query', cause: 'BUDGET_EXHAUSTED' },
      { text: 'The marketplace API: no requests for 30 s.' },
      {
        text: 'The marketplace API: GET seller',
        cause: 'rate limit',
        callers: [{ caller: '127.0.0.1' }],
      },
    ]);
    busy.sandbox.links.fault({ kind: 'drop' });
    for (const read of READS) await busy.ask(`{ ${read} }`);
    expect((await stage.look(busy)).reachable).toBe(false);
    busy.sandbox.links.clearFaults();
    await stage.clock.advance(50_000);
    // A refusal does not show that it works.
    busy.sandbox.links.fault({ kind: 'refuse-429', retryAfter: 10, times: 1 });
    await busy.ask('{ account { username } }', { headers: { prefer: 'wait=1' } });
    const refused = await stage.look(busy);
    expect(refused.events.map(({ text }) => text)).not.toContain(
      'The link-management API works again.',
    );
    await stage.clock.advance(15_000);
    await busy.ask('{ account { username } }');
    const { events, reachable } = await stage.look(busy);
    expect(reachable).toBe(true);
    expect(events.map(({ text }) => text)).toContain('The link-management API works again.');
  });
});
