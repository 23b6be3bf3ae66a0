import { describe, expect, it } from 'vitest';
import { Agent } from '../support/agent.ts';
import type { BusyGateway } from '../support/busy-gateway.ts';
import { consoleState } from '../support/console-viewer.ts';
import { tokenFile } from '../support/folder.ts';
import { ConsoleStage } from './console-stage.ts';

const stage = new ConsoleStage();

const CLASSES = JSON.stringify({
  agent: { weight: 0.5, maxCallsPerMinute: 4 },
  nightly: { weight: 0 },
});

/** A gateway with a caller in each class: a person without one, and two agents. */
async function start(env: Readonly<Record<string, string>> = {}): Promise<BusyGateway> {
  const file = tokenFile(
    { name: 'person', role: 'viewer' },
    { name: 'crawler', role: 'viewer', class: 'agent' },
    { name: 'indexer', role: 'viewer', class: 'agent' },
  );
  return stage.start({
    AUTH_MODE: 'token',
    AUTH_TOKENS_FILE: file,
    CALLER_CLASSES: CLASSES,
    metrics: 'open',
    ...env,
  });
}

const ask = (busy: BusyGateway, caller: string, field: string, wait = 0) =>
  busy.ask(`{ ${field} }`, {
    headers: { authorization: `Bearer ${caller}`, prefer: `wait=${wait}` },
  });

const READS = ['account { username }', 'pixels { totalCount }', 'overlays { totalCount }'] as const;

describe('The classes of callers', () => {
  it('are not listed if none is configured', async () => {
    expect((await stage.look(await stage.start())).classes).toEqual([]);
  });

  it('are listed if an agent has sent a request, without any configuration', async () => {
    const busy = await stage.start();
    await new Agent(busy.url).call('graph_read', { operation: '{ account { username } }' });
    const { classes } = await stage.look(busy);
    expect(classes.map(({ name, sends }) => [name, sends])).toEqual([
      ['agent', 1],
      ['default', 0],
    ]);
    expect(classes[0]?.quotas).toMatchObject([{ upstream: 'LINKS', used: 1 }]);
  });

  it('are listed with their requests and what is used of their limits', async () => {
    const busy = await start();
    for (const [index, field] of READS.entries()) {
      await ask(busy, index === 0 ? 'crawler' : 'indexer', field);
      await stage.clock.advance(1000);
    }
    await ask(busy, 'person', 'domains { totalCount }');
    await ask(busy, 'person', 'account { username }');
    const { classes } = await stage.look(busy);
    const [agent] = classes;
    const [minute, ...ofMarket] = agent?.quotas ?? [];
    expect(classes.map(({ quotas, ...rest }) => [rest, quotas.length])).toEqual([
      [{ name: 'agent', weight: 0.5, sends: 3, waiting: 0 }, 2],
      [{ name: 'nightly', weight: 0, sends: 0, waiting: 0 }, 0],
      [{ name: 'default', weight: 1, sends: 1, waiting: 0 }, 0],
    ]);
    expect(minute).toMatchObject({ upstream: 'LINKS', limit: 4, used: 3 });
    expect(minute?.nextInMs).toBe(0);
    expect(ofMarket).toEqual([{ upstream: 'MARKET', limit: 4, used: 0, nextInMs: 0 }]);
  });

  it('are listed with their waiting requests, and for viewers who may not know callers', async () => {
    const busy = await start({ MAX_WAIT_MS: '300000' });
    for (const field of READS) await ask(busy, 'crawler', field);
    await ask(busy, 'crawler', 'domains { totalCount }');
    const asked = ['splashPages { totalCount }', 'campaigns { totalCount }'].map((field, index) =>
      ask(busy, index === 0 ? 'crawler' : 'indexer', field, 120),
    );
    await stage.queued(busy, 'interactive', 2);
    const { classes } = await stage.look(busy);
    expect(classes.map(({ name, waiting }) => [name, waiting])).toEqual([
      ['agent', 2],
      ['nightly', 0],
      ['default', 0],
    ]);
    const [minute] = classes[0]?.quotas ?? [];
    expect(minute).toMatchObject({ limit: 4, used: 4 });
    expect(minute?.nextInMs).toBeGreaterThan(0);
    const remote = await consoleState(busy.url, { 'x-forwarded-for': '203.0.113.7' });
    expect(remote.named).toBe(false);
    expect(remote.classes).toEqual(classes);
    expect(JSON.stringify(remote)).not.toMatch(/crawler|indexer/);
    await stage.clock.advance(120_000);
    await Promise.all(asked);
  });

  it('are in the metrics, without names of callers', async () => {
    const busy = await start();
    await ask(busy, 'crawler', READS[0]);
    await ask(busy, 'person', READS[1]);
    const text = await (await fetch(`${busy.url}/metrics`)).text();
    for (const line of [
      'gateway_upstream_requests_by_class_total{upstream="LINKS",class="agent"} 1',
      'gateway_upstream_requests_by_class_total{upstream="LINKS",class="nightly"} 0',
      'gateway_upstream_requests_by_class_total{upstream="LINKS",class="default"} 1',
      'gateway_class_quota_limit{upstream="LINKS",class="agent"} 4',
      'gateway_class_quota_used{upstream="LINKS",class="agent"} 1',
      'gateway_class_quota_used{upstream="MARKET",class="agent"} 0',
    ]) {
      expect(text).toContain(`${line}\n`);
    }
    expect(text).not.toMatch(/crawler|gateway_class_quota_\w+\{.*class="(nightly|default)"/);
  });

  it('are shown for the busiest key where callers have keys of their own', async () => {
    const busy = await stage.start({
      AUTH_MODE: 'passthrough',
      LINKS_API_KEY: '',
      CALLER_CLASSES: '{"default":{"maxCallsPerMinute":9}}',
    });
    const [before] = (await stage.look(busy)).classes;
    expect(before?.quotas[0]).toMatchObject({ upstream: 'LINKS', limit: 9, used: 0 });
    const { free, pro } = busy.sandbox.links.keys;
    for (const field of READS) await ask(busy, pro, field);
    await ask(busy, free, READS[0]);
    const used = (await stage.look(busy)).classes[0]?.quotas.map((each) => each.used);
    // What else it costs to find out whose a key is, counts too.
    const sent = busy.sandbox.links.requests.length;
    expect(used?.[0]).toBeGreaterThanOrEqual(READS.length);
    expect(used?.[0]).toBeLessThan(sent);
  });
});
