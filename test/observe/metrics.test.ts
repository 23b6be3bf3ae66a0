import { beforeAll, describe, expect, it } from 'vitest';
import { EventStream } from '../../src/observe/event-stream.ts';
import type { OperationRecord } from '../../src/observe/events.ts';
import { createLazyMetrics } from '../../src/observe/metrics/lazy-metrics.ts';
import type { IdempotencyGauges } from '../../src/observe/metrics/write-metrics.ts';
import { type BusyGateway, busyGateway } from '../support/busy-gateway.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

/** The records of a gateway that has had no write with an idempotency key. */
const noKeys: IdempotencyGauges = {
  inProgress: 0,
  ambiguous: 0,
  stored: 0,
  bytes: 0,
  maxBytes: 0,
  isSaveFailing: false,
};

const clock = new VirtualClock();
let busy: BusyGateway;
beforeAll(async () => {
  busy = await busyGateway({ 'ttl.account': '60000' }, { clock });
});

/** What a scrape says of one series, e.g. `gateway_cache_entries` or `x{a="b"}`. */
async function sample(series: string): Promise<number | undefined> {
  const text = await (await fetch(`${busy.url}/metrics`)).text();
  const line = text.split('\n').find((each) => each.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

/** By how much a series grew while something happened. */
async function growth(series: string, action: () => Promise<unknown>): Promise<number> {
  const before = (await sample(series)) ?? 0;
  await action();
  return ((await sample(series)) ?? 0) - before;
}

describe('/metrics', () => {
  it('shows no budget of an upstream that nothing was asked of, instead of an empty one', async () => {
    expect(await sample('gateway_budget_limit{upstream="LINKS"}')).toBeUndefined();
  });

  it('counts a read by where its answer came from', async () => {
    const reads = (result: string): string =>
      `gateway_reads_total{upstream="LINKS",resource="account",result="${result}"}`;
    const read = (): Promise<unknown> => busy.ask('{ account { username } }');
    expect(await growth(reads('miss'), read)).toBe(1);
    expect(await growth(reads('hit'), read)).toBe(1);
    await clock.advance(61_000);
    expect(await growth(reads('stale'), read)).toBe(1);
    const twice = (): Promise<unknown> =>
      Promise.all([
        busy.ask('{ domains(first: 1) { totalCount } }'),
        busy.ask('{ domains(first: 1) { totalCount } }'),
      ]);
    const domains = 'gateway_reads_total{upstream="LINKS",resource="domains",result="coalesced"}';
    expect(await growth(domains, twice)).toBe(1);
  });

  it('shows the budget, the queue and the cache as they are at the scrape', async () => {
    await clock.advance(120_000);
    expect(await sample('gateway_budget_limit{upstream="LINKS"}')).toBe(30);
    expect(await sample('gateway_budget_used{upstream="LINKS"}')).toBe(0);
    const remaining = 'gateway_budget_remaining{upstream="LINKS"}';
    expect(await growth(remaining, () => busy.ask('{ pixels(first: 1) { totalCount } }'))).toBe(-1);
    expect(await sample('gateway_budget_used{upstream="LINKS"}')).toBe(1);
    expect(await sample('gateway_cache_entries')).toBeGreaterThan(0);
    expect(await sample('gateway_cache_bytes')).toBeGreaterThan(0);
    expect(await sample('gateway_queue_length{upstream="LINKS",lane="write"}')).toBe(0);
  });

  it('counts refusals apart from errors, and errors by what was asked and what came', async () => {
    const refused = 'gateway_upstream_refusals_total{upstream="MARKET"}';
    const failed =
      'gateway_upstream_errors_total{upstream="MARKET",method="GET",resource="seller",code="UPSTREAM_UNAVAILABLE"}';
    const duration =
      'gateway_upstream_request_seconds_count{upstream="MARKET",method="GET",resource="seller"}';
    busy.sandbox.market.fault({ kind: 'error-500', times: 1 });
    const ask = (): Promise<unknown> => busy.ask('{ seller { username } }');
    expect(await growth(failed, ask)).toBe(1);
    busy.sandbox.market.fault({ kind: 'refuse-429', retryAfter: 3600, times: 1 });
    expect(await growth(refused, ask)).toBe(1);
    expect(await sample(failed)).toBe(1);
    expect(await sample(duration)).toBe(2);
    expect(await sample('gateway_budget_paused{upstream="MARKET"}')).toBe(1);
    expect(await sample('gateway_budget_remaining{upstream="MARKET"}')).toBe(0);
  });

  it('counts waits by lane', async () => {
    const waits = 'gateway_queue_wait_seconds_count{upstream="LINKS",lane="interactive"}';
    expect(await growth(waits, () => busy.ask('{ campaigns(first: 1) { totalCount } }'))).toBe(1);
  });

  it('counts members of answers that are not as documented', async () => {
    busy.sandbox.links.fault({
      kind: 'answer',
      times: 1,
      rewrite: (answer) => ({ ...answer, body: { error: '0', data: { qrs: 'none' } } }),
    });
    await busy.ask('{ qrCodes(first: 1) { totalCount } }');
    const text = await (await fetch(`${busy.url}/metrics`)).text();
    expect(text).toMatch(/^gateway_decode_surprises_total\{upstream="LINKS",field="[\w.]+"\} 1$/m);
  });

  it('counts operations by type and outcome, and has no label that a caller can choose', async () => {
    const ok = 'gateway_operations_total{type="query",outcome="ok"}';
    expect(await growth(ok, () => busy.ask('query CallersChoice { __typename }'))).toBe(1);
    await busy.ask('query OtherChoice { callersField }');
    await busy.ask('{ __typename }', { headers: { 'x-request-id': 'callers-id' } });
    const text = await (await fetch(`${busy.url}/metrics`)).text();
    expect(text).not.toMatch(/CallersChoice|OtherChoice|callersField|callers-id|127\.0\.0\.1/);
    expect(text).toContain('gateway_operation_errors_total{code="GRAPHQL_VALIDATION_FAILED"} 1');
  });

  it('include the process, in the text format of Prometheus', async () => {
    const response = await fetch(`${busy.url}/metrics`);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(await response.text()).toMatch(/^process_cpu_user_seconds_total \d/m);
  });

  it('include the lag of the event loop, without the sampling interval', async () => {
    const lag = (reading: string) => sample(`nodejs_eventloop_lag_${reading}seconds`);
    expect(await lag('')).toBeGreaterThan(0);
    await lag('max_');
    for (const reading of ['min_', 'mean_', 'stddev_', 'p50_', 'p90_', 'p99_']) {
      expect(await lag(reading), reading).toBeGreaterThanOrEqual(0);
    }
    // A look every half a second: one that is not late reports no delay.
    expect(await lag('min_')).toBeLessThan(0.4);
  });
});

const gauges = {
  budgets: () => [],
  cache: () => ({ bytes: 0, entries: 0 }),
  classes: { configured: new Map(), quotas: () => [] },
  reachable: () => true,
  failedShare: () => 0,
  idempotency: () => noKeys,
  jobs: () => new Map(),
};

describe('the numbers', () => {
  const record: OperationRecord = {
    requestId: '1',
    name: 'Any',
    type: 'mutation',
    caller: 'web',
    status: 200,
    codes: ['OUTCOME_UNKNOWN', 'chosen by a stranger'],
    outcome: 'partial',
    durationMs: 1500,
    calls: 1,
    waitedMs: 0,
    saved: 0,
    stale: 0,
    maxAgeMs: 0,
  };

  it('hold what happened before their library was loaded', async () => {
    const events = new EventStream();
    const metrics = createLazyMetrics(new VirtualClock(), events, gauges);
    events.emit('operationEnded', { at: 0, operation: null, record });
    const { text } = await metrics.render();
    expect(text).toContain('gateway_operations_total{type="mutation",outcome="partial"} 1');
    expect(text).toContain('gateway_operation_seconds_sum{type="mutation"} 1.5');
  });

  it('call an error OTHER whose code is none of ours', async () => {
    const events = new EventStream();
    const metrics = createLazyMetrics(new VirtualClock(), events, gauges);
    events.emit('operationEnded', { at: 0, operation: null, record });
    const { text } = await metrics.render();
    expect(text).toContain('gateway_operation_errors_total{code="OUTCOME_UNKNOWN"} 1');
    expect(text).toContain('gateway_operation_errors_total{code="OTHER"} 1');
    expect(text).not.toContain('stranger');
  });
});
