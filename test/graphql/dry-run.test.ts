import { beforeEach, describe, expect, it } from 'vitest';
import type { OperationPlan } from '../../src/upstream/dry-run/dry-run.ts';
import { PLENTY, startWorld, type World } from '../support/gateway.ts';
import { QuickClock } from '../support/virtual-clock.ts';
import { planOf } from './plan-of.ts';

const DASHBOARD = `{
  account { username }
  channels(first: 10) { nodes { name items(first: 5) { nodes { __typename } } } }
}`;

describe('A dry run', () => {
  let world: World;

  beforeEach(async () => {
    world = await startWorld();
  });

  async function plan(
    query: string,
    of: World = world,
    headers: Record<string, string> = {},
  ): Promise<OperationPlan> {
    of.forgetCalls();
    const response = await of.gateway.fetch(
      new Request('http://gateway/graphql', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-gateway-dry-run': '1', ...headers },
        body: JSON.stringify({ query }),
      }),
    );
    const { data, errors, extensions } = (await response.json()) as {
      data: unknown;
      errors?: unknown;
      extensions: { plan: OperationPlan };
    };
    expect({ data, errors, sent: of.calls() }).toEqual({
      data: null,
      errors: undefined,
      sent: [],
    });
    return extensions.plan;
  }

  async function price(query: string): Promise<number> {
    return (await world.ask(query)).receipt.calls;
  }

  it('sends nothing, and says what the operation would cost', async () => {
    expect(await plan('{ account { username } seller { username } }')).toMatchObject({
      calls: 2,
      callsByUpstream: { LINKS: 1, MARKET: 1 },
      saved: { cache: 0, coalesced: 0 },
      exact: true,
      fits: true,
    });
  });

  it('reckons with as many rows as are asked for where it does not know them', async () => {
    const cold = await plan(DASHBOARD);
    expect(cold).toMatchObject({ calls: 12, exact: false });
    expect(await price(DASHBOARD)).toBe(cold.calls);
  });

  it('is exact about what follows from kept rows', async () => {
    // No page of the items of a channel is known, so one can be shorter than is asked for.
    await price('{ channels(first: 1) { nodes { id } } }');
    expect(await plan(DASHBOARD)).toMatchObject({ calls: 11, saved: { cache: 1 }, exact: false });
    await price('{ channels(first: 1) { nodes { items(first: 1) { totalCount } } } }');
    expect(await plan(DASHBOARD)).toMatchObject({ calls: 10, saved: { cache: 2 }, exact: true });
    await price(DASHBOARD);
    expect(await plan(DASHBOARD)).toMatchObject({ calls: 0, saved: { cache: 12 }, exact: true });
  });

  it.each([
    ['users with their plans', '{ users { username plan { name } } }'],
    [
      'the QR codes of a channel',
      '{ channel(id: 99) { items(first: 20) { nodes { ... on QrItem { qrCode { scans } } } } } }',
    ],
    ['one QR code with its statistics', '{ qrCode(id: 1) { name statistics { clicks } } }'],
    ['one campaign', '{ campaign(id: 53) { name } }'],
    ['one channel and its items', '{ channel(id: 99) { name items(first: 5) { totalCount } } }'],
    ['the end of a list', '{ channels(last: 3) { nodes { name } } }'],
    ['more than one page', '{ channel(id: 104) { items(first: 120) { totalCount } } }'],
    ['a write', 'mutation { createCampaign(input: { name: "Dry" }) { __typename } }'],
  ])('prices %s as it will cost', async (_what, query) => {
    const { calls } = await plan(query);
    expect(await price(query)).toBe(calls);
  });

  it.each([
    ['what hangs off a row that is not known', '{ user(id: 105) { plan { name } } }', 2],
    [
      'what a write leaves to be read',
      'mutation { updateChannel(input: { id: 99, name: "Dry" }) { ... on Channel { name color } } }',
      2,
    ],
    [
      'several writes',
      'mutation { a: deletePixel(id: 3) { __typename } b: deletePixel(id: 4) { __typename } }',
      2,
    ],
  ])('prices %s, and is not exact where an answer decides', async (_what, query, calls) => {
    const plan1 = await plan(query);
    expect(plan1.calls).toBe(calls);
    expect(await price(query)).toBe(calls);
    expect(plan1.exact).toBe(!query.includes('{ plan') && !query.includes('color'));
  });

  it('counts what a write makes unknown again', async () => {
    await price('{ channels(first: 1) { nodes { id } } }');
    const query =
      'mutation { updateChannel(input: { id: 99, name: "Dry" }) { ... on Channel { name color } } }';
    expect(await plan(query)).toMatchObject({ calls: 2, exact: false });
    expect(await price(query)).toBe(2);
  });

  it('is not exact about a list that can be cut shorter than is asked for', async () => {
    expect(await plan('{ channels(first: 50) { nodes { name } } }')).toMatchObject({
      calls: 1,
      exact: false,
    });
  });

  it('is not exact because another list has longer pages', async () => {
    const maxLimit = (path: string) => (path === '/api/overlay' ? 15 : 100);
    const other = await startWorld({ sandbox: { maxLimit, limit: { requests: PLENTY } } });
    await other.ask('{ campaigns(first: 1) { totalCount } }');
    const query = '{ overlays(first: 20) { nodes { name } } }';
    expect(await plan(query, other)).toMatchObject({ calls: 1, exact: false });
    expect((await other.ask(query)).receipt.calls).toBe(2);
  });

  it.each([
    [
      'a row by its id',
      '{ plans { name } }',
      '{ node(id: "UGxhbjox") { id } users { plan { users { nodes { apiKey } } } } }',
    ],
    [
      'rows by their parent',
      '{ users { username } }',
      '{ all: users { username } plans { users { nodes { apiKey } } } }',
    ],
  ])(
    'is not exact about %s that is looked up in a list that is used beside',
    async (_, first, query) => {
      const other = await startWorld({ on: world.sandbox, env: { EXPOSE_USER_API_KEYS: 'true' } });
      await other.ask(first);
      expect(await plan(query, other)).toMatchObject({ calls: 1, exact: false });
      expect((await other.ask(query)).receipt.calls).toBeGreaterThan(1);
    },
  );

  it('is not exact about a row that a list read beside it may hold', async () => {
    const id = Buffer.from('User:105').toString('base64url');
    const query = `{ users { username } node(id: "${id}") { id } }`;
    expect((await plan(query)).exact).toBe(false);
    expect(await price(query)).toBe(1);
  });

  it('reckons with the rows’ own reads beside any other field of theirs', async () => {
    await price('{ campaigns(first: 1) { totalCount } }');
    const query = '{ channels(first: 3) { nodes { databaseId id items { totalCount } } } }';
    expect(await plan(query)).toMatchObject({ calls: 4, exact: false });
    expect(await price(query)).toBe(4);
  });

  it('is not exact about more than an operation may ask for', async () => {
    const other = await startWorld({ on: world.sandbox, env: { LINKS_RATE_LIMIT: '1' } });
    const query = '{ account { username } plans { name } }';
    expect(await plan(query, other)).toMatchObject({ calls: 2, exact: false });
  });

  it('counts for a key that a caller brings once that was accepted', async () => {
    const other = await startWorld({
      on: world.sandbox,
      env: { AUTH_MODE: 'passthrough', LINKS_API_KEY: '' },
    });
    const key = { authorization: `Bearer ${world.sandbox.links.key}` };
    const query = '{ seller { username } }';
    const dry = await other.ask(query, {}, { ...key, 'x-gateway-dry-run': '1' });
    expect(dry.errors[0]?.extensions?.code).toBe('UPSTREAM_UNAUTHENTICATED');
    await other.ask('{ account { id } }', {}, key);
    expect((await plan(query, other, key)).callsByUpstream).toEqual({ LINKS: 0, MARKET: 1 });
    expect((await other.ask(query, {}, key)).receipt.calls).toBe(1);
  });

  it.each([
    ['PixelType', 'type', 'NONSENSE'],
    ['PixelType', 'type', 5],
    ['String', 'search', 5],
    ['DateTimeRange', 'createdAt', { from: 'soon' }],
  ])('complains about a variable of the type %s for %s: %j', async (type, argument, value) => {
    const query = `query($value: ${type}) { pixels(${argument}: $value) { totalCount } }`;
    const real = await world.ask(query, { value });
    const dry = await world.ask(query, { value }, { 'x-gateway-dry-run': '1' });
    expect(real.errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }]);
    expect(dry.errors).toEqual(real.errors);
  });
});

describe('A dry run of entries past their ttl', () => {
  const ttl = { 'ttl.account': '4000', 'ttl.channels': '4000', 'ttl.channelItems': '4000' };
  const query =
    '{ account { username } channels(first: 4) { nodes { items(first: 5) { nodes { __typename } } } } }';
  let world: World | undefined;

  it.each([
    ['younger than twice their ttl', 6000, 0, 6],
    ['older than that', 12_000, 6, 0],
    ['kept only in case the API fails', 2_000_000, 6, 0],
  ])('reckons with what a read of those %s does', async (_which, ageMs, calls, cache) => {
    const clock = new QuickClock();
    world = await startWorld({ clock, env: { ...ttl, LINKS_RATE_LIMIT: '30' } });
    await world.ask(query);
    for (let round = 0; round < 2; round += 1) {
      await clock.advance(ageMs);
      world.forgetCalls();
      expect(await planOf(world, query)).toMatchObject({ calls, saved: { cache }, exact: false });
      expect(world.calls()).toEqual([]);
      const { receipt } = await world.ask(query);
      expect(receipt.calls).toBe(calls);
    }
  });

  it('reckons with them while the budget has nothing newer', async () => {
    const clock = new QuickClock();
    const sandbox = { limit: { requests: 6 } };
    world = await startWorld({
      clock,
      sandbox,
      env: { ...ttl, LINKS_RATE_LIMIT: '6', OPERATION_MAX_CALLS: '6' },
    });
    await world.ask(query);
    await clock.advance(12_000);
    expect(await planOf(world, query)).toMatchObject({ calls: 0, saved: { cache: 6 } });
    expect((await world.ask(query)).receipt.calls).toBe(0);
  });
});
