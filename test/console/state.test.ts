import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { arrival, type BusyGateway, busyGateway } from '../support/busy-gateway.ts';
import { consoleState } from '../support/console-viewer.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

let clock: VirtualClock;
const opened: BusyGateway[] = [];
afterEach(async () => {
  for (const busy of opened.splice(0)) await busy.close();
});

async function start(env: Record<string, string> = {}, sandbox?: Sandbox): Promise<BusyGateway> {
  if (!sandbox) clock = new VirtualClock();
  const busy = await busyGateway(env, { clock, ...(sandbox ? { sandbox } : {}) });
  opened.push(busy);
  return busy;
}

/** The state of one upstream after what is shown is new. */
async function look({ url }: BusyGateway, upstream = 'LINKS') {
  await clock.advance(200);
  const state = await consoleState(url);
  const found = state.upstreams.find((each) => each.upstream === upstream);
  if (!found) throw new Error(`There is no ${upstream}.`);
  return { ...state, ...found, upstreamOf: found };
}

/** Resolves once a number of requests of a lane wait. */
async function queued({ url }: BusyGateway, lane: string, count = 1): Promise<void> {
  const line = `gateway_queue_length{upstream="LINKS",lane="${lane}"} ${count}\n`;
  while (!(await (await fetch(`${url}/metrics`)).text()).includes(line)) await clock.settle();
}

const sum = (column: readonly number[]): number => column.reduce((all, each) => all + each, 0);

const reads = ['account { username }', 'pixels { totalCount }', 'plans { name }'];
const write =
  'mutation New { createDomain(input: { domain: "https://a.example" }) { __typename } }';

/** What can happen between two looks. */
type Turn =
  | { readonly kind: 'read'; readonly which: number; readonly waits: boolean }
  | { readonly kind: 'write' }
  | { readonly kind: 'refuse' }
  | { readonly kind: 'break' }
  | { readonly kind: 'spend'; readonly times: number }
  | { readonly kind: 'time'; readonly ms: number };

const turns: fc.Arbitrary<Turn> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('read' as const),
      which: fc.nat(2),
      waits: fc.boolean(),
    }),
  },
  fc.constantFrom(
    { kind: 'write' } as const,
    { kind: 'refuse' } as const,
    { kind: 'break' } as const,
  ),
  fc.record({ kind: fc.constant('spend' as const), times: fc.integer({ min: 1, max: 3 }) }),
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('time' as const),
      ms: fc.integer({ min: 1, max: 50_000 }),
    }),
  },
);

async function play(busy: BusyGateway, turn: Turn): Promise<void> {
  const { sandbox } = busy;
  const headers = { prefer: 'wait=0' };
  if (turn.kind === 'time') await clock.advance(turn.ms);
  else if (turn.kind === 'write') await busy.ask(write, { headers });
  else if (turn.kind === 'spend') sandbox.links.spend(turn.times);
  else if (turn.kind === 'refuse')
    sandbox.links.fault({ kind: 'refuse-429', retryAfter: 2, times: 1 });
  else if (turn.kind === 'break') sandbox.links.fault({ kind: 'error-500', times: 1 });
  else if (turn.waits) {
    const asked = busy.ask(`query Waits { ${reads[turn.which]} }`);
    for (let step = 0; step < 20; step += 1) await clock.advance(1000);
    await asked;
  } else await busy.ask(`query Hurries { ${reads[turn.which]} }`, { headers });
}

describe('The state of an upstream', () => {
  it('adds up: its columns are all that arrived there, its slots all that is not free', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(turns, { minLength: 4, maxLength: 12 }), async (each) => {
        const busy = await start({
          LINKS_RATE_LIMIT: '8',
          TTL_ACCOUNT_MS: '5000',
          MAX_WAIT_MS: '15000',
        });
        for (const turn of each) {
          await play(busy, turn);
          const { allInMs, free, limit, nextInMs, slots } = await look(busy);
          expect(free).toBe(Math.max(0, limit - slots.length));
          const ends = slots.flatMap(({ freeInMs }) => freeInMs ?? []);
          expect(ends).toEqual([...ends].sort((a, b) => a - b));
          if (slots.length === 0) expect([nextInMs, allInMs]).toEqual([null, null]);
          else if (slots.length <= limit && ends.length === slots.length)
            expect([nextInMs, allInMs]).toEqual([ends[0], ends.at(-1)]);
        }
        const { history, spenders } = await look(busy);
        const { foreign, interactive, refresh, refused, write: writes } = history;
        const arrived = busy.sandbox.links.requests;
        expect(sum(writes) + sum(interactive) + sum(refresh)).toBe(arrived.length);
        expect(sum(writes)).toBe(arrived.filter(({ method }) => method !== 'GET').length);
        expect(sum(refused)).toBe(arrived.filter(({ status }) => status === 429).length);
        const own = spenders.filter(({ kind }) => kind !== 'foreign');
        expect(sum(own.map(({ sends }) => sends))).toBe(arrived.length);
        expect(spenders.find(({ kind }) => kind === 'foreign')?.sends ?? 0).toBe(sum(foreign));
        await opened.pop()?.close();
      }),
      { numRuns: 12 },
    );
  });

  it('knows whose each slot is, and when it is free again', async () => {
    const busy = await start();
    await busy.ask('{ account { username } }');
    await clock.advance(10_000);
    await busy.ask(write);
    busy.sandbox.links.spend(2);
    await clock.advance(10_000);
    await busy.ask('{ pixels { totalCount } }');
    await clock.advance(800);
    const { free, limit, nextInMs, slots } = await look(busy);
    expect(slots.filter(({ owner }) => owner === 'co-tenant')).toHaveLength(2);
    const own = slots.filter(({ owner }) => owner !== 'co-tenant');
    expect(own).toEqual([
      { owner: 'interactive', resource: 'account', freeInMs: 39_000 },
      { owner: 'write', resource: 'domain', freeInMs: 49_000 },
      { owner: 'interactive', resource: 'pixels', freeInMs: 59_000 },
    ]);
    expect([limit, free, nextInMs]).toEqual([30, 25, 39_000]);
  });

  it('shows a request on the wire as a slot of which nobody knows when it is free', async () => {
    const busy = await start();
    let open = (): void => {};
    const until = new Promise<void>((resolve) => {
      open = resolve;
    });
    busy.sandbox.links.fault({ kind: 'hold', until, times: 1 });
    const asked = busy.ask('{ account { username } }');
    await arrival(busy.sandbox.links);
    const { free, slots } = await look(busy);
    expect(slots).toEqual([{ owner: 'interactive', resource: 'account', freeInMs: null }]);
    expect(free).toBe(29);
    open();
    await asked;
  });

  it('tells who waits in the order in which they leave, and when', async () => {
    const busy = await start({ MAX_WAIT_MS: '300000' });
    busy.sandbox.links.fault({ kind: 'refuse-429', retryAfter: 40, times: 1 });
    const read = busy.ask('query Late { pixels { totalCount } }');
    await queued(busy, 'interactive');
    await clock.advance(1000);
    const written = busy.ask(write);
    await queued(busy, 'write');
    const { history, waiting, waitingCount } = await look(busy);
    expect(waitingCount).toBe(2);
    expect(waiting).toMatchObject([
      { lane: 'write', resource: 'domain', operation: 'New', caller: '127.0.0.1', waitedMs: 200 },
      {
        lane: 'interactive',
        resource: 'pixels',
        operation: 'Late',
        caller: '127.0.0.1',
        waitedMs: 1200,
      },
    ]);
    expect(waiting[0]?.leavesInMs).toBe(38_800);
    expect(waiting[1]?.leavesInMs).toBeGreaterThan(38_800);
    const leavesIn = waiting[0]?.leavesInMs ?? 0;
    const before = busy.sandbox.links.requests.length;
    await clock.advance(leavesIn - 1);
    expect(busy.sandbox.links.requests).toHaveLength(before);
    await clock.advance(1);
    await written;
    expect(busy.sandbox.links.requests[before]?.method).not.toBe('GET');
    await clock.advance(65_000);
    await read;
    const after = await look(busy);
    expect(after.waiting).toEqual([]);
    expect(history.queued.at(-1)).toBe(2);
    expect(after.history.queued.at(-1)).toBe(0);
  });

  it('shows fifty of those who wait, refreshes behind the others and the most urgent first', async () => {
    const stale = ['account { username }', 'pixels { totalCount }'];
    const busy = await start({
      MAX_WAIT_MS: '300000',
      TTL_ACCOUNT_MS: '60000',
      TTL_PIXELS_MS: '60000',
    });
    for (const field of stale) {
      await busy.ask(`{ ${field} }`);
      await clock.advance(1000);
    }
    await clock.advance(60_000);
    busy.sandbox.links.fault({ kind: 'refuse-429', retryAfter: 40, times: 1 });
    const read = (n: number): Promise<unknown> =>
      busy.ask(`{ files(search: "${n}") { totalCount } }`);
    const reads = [read(0)];
    await queued(busy, 'interactive');
    for (let n = 1; n < 49; n += 1) reads.push(read(n));
    await queued(busy, 'interactive', 49);
    await clock.advance(1000);
    for (const field of stale.toReversed()) await busy.ask(`{ ${field} }`);
    const { waiting, waitingCount } = await look(busy);
    expect(waitingCount).toBe(51);
    expect(waiting.map(({ lane, resource }) => `${lane} ${resource}`)).toEqual([
      ...reads.map(() => 'interactive files'),
      'refresh account',
    ]);
    expect(waiting.at(-1)?.leavesInMs).toBeNull();
    await clock.advance(200_000);
    await Promise.all(reads);
  });
});

describe('An upstream that fails', () => {
  const fail = async (busy: BusyGateway, times: number): Promise<void> => {
    for (let n = 0; n < times; n += 1) {
      await busy.ask(n % 2 === 0 ? '{ pixels { totalCount } }' : '{ plans { name } }');
      await clock.advance(1000);
    }
  };

  it('is shown with its last cause, since when, how often in a row, and the next attempt', async () => {
    const busy = await start();
    await busy.ask('{ account { username } }');
    expect((await look(busy)).failure).toBeNull();
    busy.sandbox.links.fault({ kind: 'error-500' });
    const since = clock.wall();
    await fail(busy, 4);
    expect(await look(busy)).toMatchObject({
      failure: {
        reason: expect.stringMatching(/^HTTP 500 with /),
        since,
        inARow: 4,
        resource: null,
      },
      heldMs: 0,
      reachable: false,
    });
    // The fifth opens the breaker for a second, the next ones for longer.
    await fail(busy, 6);
    await busy.ask('{ plans { name } }');
    const { failure, heldMs } = await look(busy);
    expect(failure?.inARow).toBe(busy.sandbox.links.requests.length - 1);
    expect(heldMs).toBeGreaterThan(1000);
    await clock.advance(heldMs - 1);
    const before = busy.sandbox.links.requests.length;
    await busy.ask('{ plans { name } }');
    expect(busy.sandbox.links.requests).toHaveLength(before);
    await clock.advance(1);
    busy.sandbox.links.clearFaults();
    // Not the kind that failed as the last attempt, which lets the others go first.
    await busy.ask('{ campaigns { totalCount } }');
    expect(busy.sandbox.links.requests).toHaveLength(before + 1);
    expect(await look(busy)).toMatchObject({ failure: null, heldMs: 0 });
  });

  it.each([
    [{ kind: 'drop' }, /^(connection lost|cannot be reached) \([A-Z_]+\)$/],
    [{ kind: 'html' }, /^HTTP \d+ with HTML$/],
  ] as const)('tells %o from an HTTP 500', async (fault, reason) => {
    const busy = await start();
    busy.sandbox.links.fault(fault);
    await fail(busy, 2);
    expect((await look(busy)).failure?.reason).toMatch(reason);
  });

  it('for one kind of resource alone is named by it, until it is answered or for five minutes', async () => {
    const busy = await start({ TTL_ACCOUNT_MS: '0' });
    busy.sandbox.links.fault({ kind: 'error-500', path: '/api/pixels' });
    for (let n = 0; n < 3; n += 1) {
      await busy.ask('{ pixels { totalCount } account { username } }');
      await clock.advance(1000);
    }
    const { failure, reachable } = await look(busy);
    expect(failure).toMatchObject({ inARow: 3, resource: 'pixels' });
    expect(reachable).toBe(true);
    await clock.advance(300_000);
    expect((await look(busy)).failure).toBeNull();
  });

  it('is none for the key of a caller that is not accepted', async () => {
    const busy = await start({ AUTH_MODE: 'passthrough', LINKS_API_KEY: '' });
    const { status } = await busy.ask('{ account { username } }', {
      headers: { authorization: 'Bearer made-up' },
    });
    expect([status, busy.sandbox.links.requests.length]).toEqual([200, 1]);
    expect((await look(busy)).failure).toBeNull();
  });

  it('lets what waits fail at its turn, as far as that comes before the next attempt', async () => {
    clock = new VirtualClock();
    const sandbox = await startSandbox({ clock, limit: { requests: 6 } });
    const busy = await start({ LINKS_RATE_LIMIT: '6', MAX_WAIT_MS: '300000' }, sandbox);
    const { requests } = busy.sandbox.links;
    busy.sandbox.links.fault({ kind: 'error-500' });
    await fail(busy, 5);
    await clock.advance(1000);
    await fail(busy, 1);
    // No slot is free, and the breaker lets the next request find out.
    await clock.advance(5000);
    const asked = ['campaigns', 'domains'].map((name) => busy.ask(`{ ${name} { totalCount } }`));
    await queued(busy, 'interactive', 2);
    expect((await look(busy)).waiting.map(({ fails }) => fails)).toEqual([false, false]);
    while (requests.length < 7) await clock.advance(100);
    const { heldMs, waiting } = await look(busy);
    expect(waiting).toMatchObject([{ resource: 'domains', fails: true }]);
    expect(waiting[0]?.leavesInMs).toBeLessThan(heldMs);
    await clock.advance(10_000);
    const codes = (await Promise.all(asked)).map(({ errors }) => errors?.[0]?.extensions?.['code']);
    expect(codes).toEqual(['UPSTREAM_UNAVAILABLE', 'UPSTREAM_UNAVAILABLE']);
    expect(requests).toHaveLength(7);
    await opened.pop()?.close();
    await sandbox.close();
  });
});

describe('Who waits', () => {
  it('is told by caller with the longest wait, and without names to who may not know them', async () => {
    const busy = await start({ MAX_WAIT_MS: '300000', METRICS: 'open' });
    busy.sandbox.links.fault({ kind: 'refuse-429', retryAfter: 40, times: 1 });
    const asked = [busy.ask('{ pixels { totalCount } }')];
    await queued(busy, 'interactive');
    await clock.advance(3000);
    for (let n = 0; n < 60; n += 1)
      asked.push(busy.ask(`{ files(search: "${n}") { totalCount } }`));
    await queued(busy, 'interactive', 61);
    const { waitingCallers } = await look(busy);
    expect(waitingCallers).toEqual([{ caller: '127.0.0.1', count: 61, longestMs: 3200 }]);
    const remote = await consoleState(busy.url, { 'x-forwarded-for': '203.0.113.7' });
    expect(remote.waitingCallers).toEqual([{ caller: 'Caller 1', count: 61, longestMs: 3200 }]);
    expect(JSON.stringify(remote)).not.toContain('127.0.0.1');
    await clock.advance(300_000);
    await Promise.all(asked);
  });
});

describe('The hour', () => {
  it('knows operations by name: what they cost, what was spared, and how they ended', async () => {
    const busy = await start();
    const ask = (): Promise<unknown> => busy.ask('query Dash { account { username } }');
    for (let times = 0; times < 40; times += 1) await ask();
    busy.sandbox.links.fault({ kind: 'error-500', times: 9 });
    await busy.ask('query Dash { pixels { totalCount } }');
    await busy.ask('{ plans { name } }', { headers: { 'x-request-id': 'one-that-failed' } });
    const { events, operations } = await look(busy);
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

  it('tells refreshes from callers, and proposes a longer ttl by its true setting', async () => {
    const busy = await start({ TTL_PIXELS_MS: '10000', MARKET_RATE_LIMIT: '60' });
    for (let round = 0; round < 120; round += 1) {
      await busy.ask('{ pixels { totalCount } }');
      await clock.advance(6000);
    }
    const { cache, spenders } = await look(busy);
    const refreshes = spenders.find(({ kind }) => kind === 'refreshes');
    expect(refreshes?.name).toBeNull();
    expect(refreshes?.resources[0]?.resource).toBe('pixels');
    const [pixels] = cache.resources;
    expect(pixels).toMatchObject({ resource: 'pixels', upstream: 'LINKS', ttlMs: 10_000 });
    expect(pixels?.renewals).toBe(busy.sandbox.links.requests.length - 1);
    expect(pixels?.hint).toBe(
      `With a ttl of 10 s, refreshes cost ${pixels?.renewals} upstream requests in the last hour, 98 % of all. TTL_PIXELS_MS=50000 would save most of them.`,
    );
    expect(loadConfig({ TTL_PIXELS_MS: '50000' }).ttlMs.pixels).toBe(50_000);
  });

  it('counts the entries of the cache by resource, and how old they are', async () => {
    const busy = await start();
    await busy.ask('{ account { username } pixels { totalCount } }');
    await clock.advance(59_000);
    expect((await look(busy)).cache.resources).toMatchObject([
      { resource: 'account', fresh: 1, stale: 0, reads: 1, hits: 0 },
      { resource: 'pixels', fresh: 1, stale: 0 },
    ]);
    await clock.advance(1000);
    const { cache } = await look(busy);
    expect(cache.entries).toBe(2);
    expect(cache.resources[0]).toMatchObject({ resource: 'account', fresh: 0, stale: 1 });
    expect(cache.resources[0]?.oldestMs).toBeGreaterThan(60_000);
  });
});

describe('What happened', () => {
  it('is a refusal with its pause, an upstream that does not answer, and one that does again', async () => {
    const busy = await start();
    busy.sandbox.market.fault({ kind: 'refuse-429', retryAfter: 30, times: 1 });
    await busy.ask('{ seller { username } }', { headers: { prefer: 'wait=1' } });
    const paused = await look(busy, 'MARKET');
    expect(paused.pausedMs).toBeGreaterThan(29_000);
    expect(paused.events.slice(0, 3)).toMatchObject([
      { text: 'unnamed query', cause: 'BUDGET_EXHAUSTED' },
      { text: 'The marketplace API: no requests for 30 s.' },
      { text: 'The marketplace API: GET seller', cause: 'rate limit', callers: ['127.0.0.1'] },
    ]);
    busy.sandbox.links.fault({ kind: 'drop' });
    for (const read of reads) await busy.ask(`{ ${read} }`);
    expect((await look(busy)).reachable).toBe(false);
    busy.sandbox.links.clearFaults();
    await clock.advance(50_000);
    await busy.ask('{ account { username } }');
    await clock.advance(15_000);
    await busy.ask('{ account { username } }');
    const { events, reachable } = await look(busy);
    expect(reachable).toBe(true);
    expect(events.map(({ text }) => text)).toContain('The link-management API works again.');
  });
});
