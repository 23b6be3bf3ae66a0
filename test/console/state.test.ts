import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arrival, type BusyGateway } from '../support/busy-gateway.ts';
import { consoleState } from '../support/console-viewer.ts';
import { rounds } from '../support/rounds.ts';
import { ConsoleStage, READS } from './console-stage.ts';

const stage = new ConsoleStage();

const sum = (column: readonly number[]): number => column.reduce((all, each) => all + each, 0);

const write =
  'mutation New { createDomain(input: { domain: "https://a.example" }) { __typename } }';

/** An event between two checks of the state. */
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
  if (turn.kind === 'time') await stage.clock.advance(turn.ms);
  else if (turn.kind === 'write') await busy.ask(write, { headers });
  else if (turn.kind === 'spend') sandbox.links.spend(turn.times);
  else if (turn.kind === 'refuse')
    sandbox.links.fault({ kind: 'refuse-429', retryAfter: 2, times: 1 });
  else if (turn.kind === 'break') sandbox.links.fault({ kind: 'error-500', times: 1 });
  else if (turn.waits) {
    const asked = busy.ask(`query Waits { ${READS[turn.which]} }`);
    for (let step = 0; step < 20; step += 1) await stage.clock.advance(1000);
    await asked;
  } else await busy.ask(`query Hurries { ${READS[turn.which]} }`, { headers });
}

describe('The state of an upstream', () => {
  it('adds up: its columns sum to the requests that arrived, its slots to those that are not free', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(turns, { minLength: 4, maxLength: 12 }), async (each) => {
        const busy = await stage.start({
          LINKS_RATE_LIMIT: '8',
          'ttl.account': '5000',
          MAX_WAIT_MS: '15000',
        });
        for (const turn of each) {
          await play(busy, turn);
          const { allInMs, free, limit, nextInMs, slots } = await stage.look(busy);
          expect(free).toBe(Math.max(0, limit - slots.length));
          const ends = slots.flatMap(({ freeInMs }) => freeInMs ?? []);
          expect(ends).toEqual([...ends].sort((a, b) => a - b));
          if (slots.length === 0) expect([nextInMs, allInMs]).toEqual([null, null]);
          else if (slots.length <= limit && ends.length === slots.length)
            expect([nextInMs, allInMs]).toEqual([ends[0], ends.at(-1)]);
        }
        const { history, spenders } = await stage.look(busy);
        const { foreign, interactive, refresh, refused, write: writes } = history;
        const arrived = busy.sandbox.links.requests;
        expect(sum(writes) + sum(interactive) + sum(refresh)).toBe(arrived.length);
        expect(sum(writes)).toBe(arrived.filter(({ method }) => method !== 'GET').length);
        expect(sum(refused)).toBe(arrived.filter(({ status }) => status === 429).length);
        const own = spenders.filter(({ kind }) => kind !== 'foreign');
        expect(sum(own.map(({ sends }) => sends))).toBe(arrived.length);
        expect(spenders.find(({ kind }) => kind === 'foreign')?.sends ?? 0).toBe(sum(foreign));
        await stage.closeLast();
      }),
      { numRuns: rounds(2) },
    );
  });

  it('names the owner of each slot, and the time at which it is free again', async () => {
    const busy = await stage.start();
    await busy.ask('{ account { username } }');
    await stage.clock.advance(10_000);
    await busy.ask(write);
    busy.sandbox.links.spend(2);
    await stage.clock.advance(10_000);
    await busy.ask('{ pixels { totalCount } }');
    await stage.clock.advance(800);
    const { free, limit, nextInMs, slots } = await stage.look(busy);
    expect(slots.filter(({ owner }) => owner === 'co-tenant')).toHaveLength(2);
    const own = slots.filter(({ owner }) => owner !== 'co-tenant');
    expect(own).toEqual([
      { owner: 'interactive', resource: 'account', freeInMs: 39_000 },
      { owner: 'write', resource: 'domain', freeInMs: 49_000 },
      { owner: 'interactive', resource: 'pixels', freeInMs: 59_000 },
    ]);
    expect([limit, free, nextInMs]).toEqual([30, 25, 39_000]);
  });

  it('shows a request without a response as a slot without an end', async () => {
    const busy = await stage.start();
    let open = (): void => {};
    const until = new Promise<void>((resolve) => {
      open = resolve;
    });
    busy.sandbox.links.fault({ kind: 'hold', until, times: 1 });
    const asked = busy.ask('{ account { username } }');
    await arrival(busy.sandbox.links);
    const { free, slots } = await stage.look(busy);
    expect(slots).toEqual([{ owner: 'interactive', resource: 'account', freeInMs: null }]);
    expect(free).toBe(29);
    open();
    await asked;
  });

  it('lists waiting requests in the order in which they are sent, with the time of each', async () => {
    const busy = await stage.start({ MAX_WAIT_MS: '300000' });
    busy.sandbox.links.fault({ kind: 'refuse-429', retryAfter: 40, times: 1 });
    const read = busy.ask('query Late { pixels { totalCount } }');
    await stage.queued(busy, 'interactive');
    await stage.clock.advance(1000);
    const written = busy.ask(write);
    await stage.queued(busy, 'write');
    const { history, waiting, waitingCount } = await stage.look(busy);
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
    await stage.clock.advance(leavesIn - 1);
    expect(busy.sandbox.links.requests).toHaveLength(before);
    await stage.clock.advance(1);
    await written;
    expect(busy.sandbox.links.requests[before]?.method).not.toBe('GET');
    await stage.clock.advance(65_000);
    await read;
    const after = await stage.look(busy);
    expect(after.waiting).toEqual([]);
    expect(history.maxQueued.at(-1)).toBe(2);
    expect(after.history.maxQueued.at(-1)).toBe(0);
  });

  it('lists at most fifty waiting requests, the most urgent first and refreshes last', async () => {
    const stale = ['account { username }', 'pixels { totalCount }'];
    const busy = await stage.start({
      MAX_WAIT_MS: '300000',
      'ttl.account': '60000',
      'ttl.pixels': '60000',
    });
    for (const field of stale) {
      await busy.ask(`{ ${field} }`);
      await stage.clock.advance(1000);
    }
    await stage.clock.advance(60_000);
    busy.sandbox.links.fault({ kind: 'refuse-429', retryAfter: 40, times: 1 });
    const read = (n: number): Promise<unknown> =>
      busy.ask(`{ files(search: "${n}") { totalCount } }`);
    const reads = [read(0)];
    await stage.queued(busy, 'interactive');
    for (let n = 1; n < 49; n += 1) reads.push(read(n));
    await stage.queued(busy, 'interactive', 49);
    await stage.clock.advance(1000);
    for (const field of stale.toReversed()) await busy.ask(`{ ${field} }`);
    const { waiting, waitingCount } = await stage.look(busy);
    expect(waitingCount).toBe(51);
    expect(waiting.map(({ lane, resource }) => `${lane} ${resource}`)).toEqual([
      ...reads.map(() => 'interactive files'),
      'refresh account',
    ]);
    expect(waiting.at(-1)?.leavesInMs).toBeNull();
    await stage.clock.advance(200_000);
    await Promise.all(reads);
  });
});

describe('Waiting callers', () => {
  it('are listed with their longest wait, and without names to viewers without that permission', async () => {
    const busy = await stage.start({ MAX_WAIT_MS: '300000', metrics: 'open' });
    busy.sandbox.links.fault({ kind: 'refuse-429', retryAfter: 40, times: 1 });
    const asked = [busy.ask('{ pixels { totalCount } }')];
    await stage.queued(busy, 'interactive');
    await stage.clock.advance(3000);
    for (let n = 0; n < 60; n += 1)
      asked.push(busy.ask(`{ files(search: "${n}") { totalCount } }`));
    await stage.queued(busy, 'interactive', 61);
    const { waitingCallers } = await stage.look(busy);
    expect(waitingCallers).toEqual([{ caller: '127.0.0.1', count: 61, longestMs: 3200 }]);
    const remote = await consoleState(busy.url, { 'x-forwarded-for': '203.0.113.7' });
    expect(remote.waitingCallers).toEqual([{ caller: 'Caller 1', count: 61, longestMs: 3200 }]);
    expect(JSON.stringify(remote)).not.toContain('127.0.0.1');
    await stage.clock.advance(300_000);
    await Promise.all(asked);
  });
});
