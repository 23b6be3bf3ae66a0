import { describe, expect, it } from 'vitest';
import type { OperationPlan } from '../../src/upstream/dry-run/dry-run.ts';
import { startWorld, type World } from '../support/gateway.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { planOf } from './plan-of.ts';

const files = (name: string): string => `files(search: "${name}", first: 1) { totalCount }`;

describe('The requests of a plan', () => {
  async function requestsOf(query: string): Promise<OperationPlan['requests']> {
    const world = await startWorld();
    const { requests, more } = await planOf(world, query);
    expect(more).toBe(0);
    return requests;
  }
  const read = { upstream: 'LINKS', kind: 'read' };

  it('say which field wants them, the most expensive first', async () => {
    const requests = await requestsOf(`{
      seller { username }
      channels(first: 10) { nodes { name mine: items(first: 5) { totalCount } } }
    }`);
    expect(requests).toEqual([
      { ...read, resource: 'channelItems', calls: 10, fields: ['channels.nodes.mine'] },
      { ...read, upstream: 'MARKET', resource: 'seller', calls: 1, fields: ['seller'] },
      { ...read, resource: 'channels', calls: 1, fields: ['channels'] },
    ]);
  });

  it('name all fields that share one, and apart what they do not share', async () => {
    expect(await requestsOf('{ a: account { username } b: account { email } }')).toEqual([
      { ...read, resource: 'account', calls: 1, fields: ['a', 'b'] },
    ]);
    expect(
      await requestsOf('{ a: user(id: 105) { username } b: user(id: 106) { username } }'),
    ).toEqual([{ ...read, resource: 'users', calls: 1, fields: ['a', 'b'] }]);
    expect(
      await requestsOf(
        '{ a: qrCode(id: 1) { statistics { clicks } } b: qrCode(id: 2) { statistics { clicks } } }',
      ),
    ).toEqual([
      { ...read, resource: 'qrStatistics', calls: 1, fields: ['a'] },
      { ...read, resource: 'qrStatistics', calls: 1, fields: ['b'] },
    ]);
  });

  it('name the field that follows from a write, and the write', async () => {
    const query =
      'mutation { updateChannel(input: { id: 99, name: "Dry" }) { ... on Channel { name color } } }';
    expect(await requestsOf(query)).toEqual([
      { ...read, resource: 'channel', kind: 'write', calls: 1, fields: ['updateChannel'] },
      { ...read, resource: 'channels', calls: 1, fields: ['updateChannel.color'] },
    ]);
  });

  it('have at most 50 entries, each with at most five fields', async () => {
    const world = await startWorld();
    // An operation has at most 50 aliases.
    const many = Array.from({ length: 44 }, (_, n) => `a${n}: ${files(`${n}`)}`);
    const shared = Array.from({ length: 6 }, (_, n) => `b${n}: account { username }`);
    const others = ['pixels', 'domains', 'overlays', 'campaigns', 'channels', 'qrCodes'];
    many.push(...others.map((list) => `${list} { totalCount }`));
    const { requests, more } = await planOf(world, `{ ${[...shared, ...many].join(' ')} }`);
    expect(requests).toContainEqual(
      expect.objectContaining({ fields: ['b0', 'b1', 'b2', 'b3', 'b4'] }),
    );
    expect([requests.length, more]).toEqual([50, 1]);
  });

  it('name the field of parts that come later', async () => {
    expect(await requestsOf('{ ... @defer { seller { username } } }')).toEqual([
      { ...read, upstream: 'MARKET', resource: 'seller', calls: 1, fields: ['seller'] },
    ]);
  });
});

describe('The forecast of a plan', () => {
  const LIMIT = 3;
  const ANSWER_MS = 300;
  let clock: VirtualClock;

  async function open(): Promise<World> {
    clock = new VirtualClock();
    const world = await startWorld({
      clock,
      sandbox: { clock, limit: { requests: LIMIT, mode: 'sliding' } },
      env: {
        LINKS_RATE_LIMIT: String(LIMIT),
        OPERATION_MAX_CALLS: String(LIMIT),
        MAX_WAIT_MS: '3600000',
      },
    });
    for (const api of [world.sandbox.links, world.sandbox.market]) {
      api.fault({ kind: 'slow', delayMs: ANSWER_MS });
    }
    return world;
  }

  /** Asks, and moves time on until the answer is there; how long that took. */
  async function readyMs(world: World, query: string): Promise<number> {
    const begun = clock.now();
    const ready = { at: Number.NaN };
    const asked = world.ask(query, {}, { prefer: 'wait=3600' }).finally(() => {
      ready.at = clock.now();
    });
    while (Number.isNaN(ready.at)) if (!(await clock.step())) await clock.settle();
    expect((await asked).errors).toEqual([]);
    return ready.at - begun;
  }

  /** Lets the gateway find out how long answers take, and forget what it has spent. */
  async function learn(world: World): Promise<void> {
    for (let n = 0; n < 12; n += 1) {
      await readyMs(world, `{ ${files(`known ${n}`)} purchase(code: "known ${n}") { code } }`);
      await clock.advance(61_000);
    }
  }

  it.each([
    ['nothing at all', '{ __typename }', 0],
    ['one request', `{ ${files('a')} }`, 1],
    [
      'more requests than slots are free',
      `{ a: ${files('a')} b: ${files('b')} c: ${files('c')} }`,
      3,
    ],
    ['requests that lead to others', '{ user(id: 105) { username plan { name } } }', 2],
    ['both APIs', `{ purchase(code: "new") { code } a: ${files('a')} }`, 2],
    [
      'writes one after the other',
      'mutation { a: deletePixel(id: 3) { __typename } b: deletePixel(id: 4) { __typename } }',
      2,
    ],
  ])('starts at once with %s while a slot is free', async (_what, query, calls) => {
    const world = await open();
    // One of three slots is not free.
    await readyMs(world, `{ ${files('before')} }`);
    await clock.advance(10_000);
    const plan = await planOf(world, query);
    expect(plan).toMatchObject({ calls, startsInMs: 0 });
    const before = world.calls().length;
    await readyMs(world, query);
    expect(world.calls().length - before).toBe(calls);
  });

  it('begins with the next attempt while the circuit breaker is open', async () => {
    clock = new VirtualClock();
    const world = await startWorld({ clock, sandbox: { clock } });
    world.sandbox.links.fault({ kind: 'error-500' });
    for (const name of ['pixels', 'domains', 'overlays', 'campaigns', 'splashPages']) {
      await world.ask(`{ ${name} { totalCount } }`);
    }
    const plan = await planOf(world, '{ account { username } }');
    expect(plan.startsInMs).toBe(1000);
    await clock.advance(400);
    expect((await planOf(world, '{ account { username } }')).startsInMs).toBe(600);
  });

  it('is right behind others who wait, and with a request of theirs', async () => {
    const world = await open();
    await learn(world);
    const before = ['a', 'b', 'c', 'd', 'e'].map((name) =>
      world.ask(`{ ${files(name)} }`, {}, { prefer: 'wait=3600' }),
    );
    await clock.advance(20_000);
    const query = `{ e: ${files('e')} f: ${files('f')} g: ${files('g')} }`;
    const plan = await planOf(world, query);
    expect(plan).toMatchObject({ calls: 2, saved: { coalesced: 1 } });
    const asked = clock.wall();
    await readyMs(world, query);
    const left = world.sandbox.links.requests.find(({ query }) => query['name'] === 'f');
    expect(Math.abs(Number(left?.at) - asked - plan.startsInMs)).toBeLessThan(ANSWER_MS);
    await Promise.all(before);
  });

  it('reports how long it would be, though that is longer than the caller waits', async () => {
    const world = await open();
    await learn(world);
    await readyMs(world, `{ a: ${files('a')} b: ${files('b')} c: ${files('c')} }`);
    const query = `{ ${files('d')} }`;
    const { fits, startsInMs } = await planOf(world, query);
    const { errors } = await world.ask(query, {}, { prefer: 'wait=1' });
    expect(errors[0]?.extensions).toMatchObject({ code: 'BUDGET_EXHAUSTED' });
    expect(Math.abs(Number(errors[0]?.extensions?.['retryAfterMs']) - startsInMs)).toBeLessThan(2);
    expect(fits).toBe(true);
  });
});
