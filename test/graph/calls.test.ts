import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { type Connection, type Row, startWorld, type World } from '../support/gateway.ts';

/** Under the limits that a real installation has; each test starts with everything unread. */
let sandbox: Sandbox;
let world: World;

beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.close());
beforeEach(async () => {
  await world?.close();
  sandbox.reset();
  const env = { LINKS_RATE_LIMIT: '30', MARKET_RATE_LIMIT: '60' };
  world = await startWorld({ on: sandbox, env });
});

/** Runs one operation; what it cost by the sandbox's count must be what its receipt says. */
async function cost(query: string, variables: Row = {}): Promise<number> {
  const before = world.calls().length;
  const { errors, receipt } = await world.ask(query, variables);
  expect(errors).toEqual([]);
  const calls = world.calls().length - before;
  expect(receipt.calls).toBe(calls);
  return calls;
}

const dashboard = `query Dashboard {
  account { username email status }
  channels(first: 10) { nodes { id databaseId name items(first: 5) { totalCount
    edges { cursor } nodes { __typename ... on ChannelEntry { title link } } } } }
}`;

interface Dashboard {
  readonly channels: Connection<{
    readonly id: string;
    readonly databaseId: number;
    readonly items: Connection<Row>;
  }>;
}

describe('the account and ten channels with five items each', () => {
  it('cost 12 calls when nothing is kept', async () => {
    expect(await cost(dashboard)).toBe(12);
    expect(world.calls().filter((call) => call.startsWith('GET /api/channel/'))).toHaveLength(10);
  });

  it('cost 12 calls in all for eight such queries at once, and each has the whole answer', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => world.ask(dashboard)));
    expect(world.calls()).toHaveLength(12);
    expect(answers.reduce((sum, { receipt }) => sum + receipt.calls, 0)).toBe(12);
    for (const { data, errors, receipt } of answers) {
      expect(errors).toEqual([]);
      expect(data).toEqual(answers[0]?.data);
      const { cache, coalesced } = receipt.saved;
      expect(receipt.calls + cache + coalesced).toBe(12);
    }
  });

  it('cost nothing the second time', async () => {
    await cost(dashboard);
    expect(await cost(dashboard)).toBe(0);
  });

  it('make every other query over the same data free', async () => {
    const { channels } = await world.data<Dashboard>(dashboard);
    expect(world.calls()).toHaveLength(12);
    const channel = channels.nodes.find(({ items }) => (items.totalCount ?? 0) < 100);
    const variables = {
      id: channel?.id,
      number: String(channel?.databaseId),
      ids: channels.nodes.map(({ id }) => id),
      after: channel?.items.edges[1]?.cursor,
    };
    const others = [
      '{ account { id databaseId avatar expires registered } }',
      'query Other { ...Mine } fragment Mine on Query { account { ... on Node { id } email } }',
      '{ channels(first: 25) { totalCount nodes { name } } }',
      '{ channels(last: 3) { nodes { name color } pageInfo { hasPreviousPage } } }',
      '{ a: channels(first: 3) { nodes { name } } b: channels(last: 2) { nodes { starred } } }',
      '{ channels(first: 10) { nodes { items(first: 100) { nodes { __typename } } } } }',
      'query ($id: ID!) { channel(id: $id) { name items(last: 2) { nodes { __typename } } } }',
      'query ($id: ID!, $after: String) { channel(id: $id) { items(first: 2, after: $after) { nodes { __typename } } } }',
      'query ($id: ID!, $after: String) { channel(id: $id) { items(last: 1, before: $after) { nodes { __typename } } } }',
      'query ($number: ID!) { channel(id: $number) { name items { totalCount } } }',
      'query ($number: ID!) { channel(id: $number) { items { totalCount } } }',
      'query ($id: ID!) { channel(id: $id) { name description } }',
      'query ($id: ID!) { channel(id: $id) { id } }',
      'query ($id: ID!) { node(id: $id) { __typename ... on Channel { name } } }',
      'query ($id: ID!) { node(id: $id) { id } }',
      'query ($ids: [ID!]!) { nodes(ids: $ids) { id ... on Channel { color items { totalCount } } } }',
      '{ __typename rateLimit { used } }',
    ];
    for (const query of others) expect(await cost(query, variables), query).toBe(0);
  });
});

describe('a channel’s 20 items with all their QR codes', () => {
  it('cost 2 calls: the items and one page of codes', async () => {
    const { channels } = await world.data<Dashboard>(
      '{ channels(first: 100) { nodes { databaseId name } } }',
    );
    const packaging = channels.nodes.find((row) => (row as Row)['name'] === 'Packaging codes');
    const query = `query ($id: ID!) { channel(id: $id) { items(first: 20) { nodes {
      ... on QrItem { qrCode { name scans } } } } } }`;
    const id = String(packaging?.databaseId);
    expect(await cost(query, { id })).toBe(2);
    const { channel } = await world.data<{ channel: { items: Connection<{ qrCode?: Row }> } }>(
      query,
      { id },
    );
    expect(channel.items.nodes.filter(({ qrCode }) => qrCode)).toHaveLength(20);
  });
});

describe('a single read', () => {
  it.each([
    ['campaigns', 'campaign', 'name public'],
    ['channels', 'channel', 'name'],
    ['channels', 'channel', 'id'],
    ['qrCodes', 'qrCode', 'name scans'],
    ['items', 'item', 'name media { kind }'],
  ])('costs nothing while the page of %s that holds it is kept', async (list, field, fields) => {
    const { rows } = await world.data<{ rows: Connection<{ id: string; databaseId: number }> }>(
      `{ rows: ${list}(first: 1) { nodes { id databaseId } } }`,
    );
    const [row] = rows.nodes;
    const query = `query ($id: ID!, $global: ID!) {
      ${field}(id: $id) { ${fields} } other: ${field}(id: $global) { ${fields} } node(id: $global) { id } }`;
    expect(await cost(query, { id: String(row?.databaseId), global: row?.id })).toBe(0);
  });

  it.each(['domains', 'overlays', 'splashPages', 'files', 'pixels'])(
    'of a node costs nothing while the page of %s that holds it is kept',
    async (list) => {
      const { rows } = await world.data<{ rows: Connection<{ id: string }> }>(
        `{ rows: ${list}(last: 3) { nodes { id } } }`,
      );
      const ids = rows.nodes.map(({ id }) => id);
      expect(await cost('query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids })).toBe(0);
    },
  );

  it.each([
    ['users', 'User'],
    ['plans', 'Plan'],
  ])('of one of %s costs nothing while the list is kept', async (list, typename) => {
    const { rows } = await world.data<{ rows: { id: string }[] }>(`{ rows: ${list} { id } }`);
    const ids = rows.map(({ id }) => id);
    const query = `query ($ids: [ID!]!) { nodes(ids: $ids) { id ... on ${typename} { databaseId } } }`;
    expect(await cost(query, { ids })).toBe(0);
  });

  it.each([
    ['campaign', '/api/campaigns'],
    ['channel', '/api/channels'],
  ])('of a %s, which the upstream has no read for, costs its list', async (field, path) => {
    const { [field]: row } = await world.data(`{ ${field}(id: 999999) { name } }`);
    expect(row).toBeNull();
    expect(world.calls()).toEqual([`GET ${path}?limit=100&page=1`]);
  });
});

describe('users', () => {
  it('with their plans cost 2 calls, and nothing the second time', async () => {
    const query = '{ users { username plan { name limits { links } } } }';
    expect(await cost(query)).toBe(2);
    expect(await cost(query)).toBe(0);
    expect(await cost('{ plans { name } users { email } }')).toBe(0);
  });
});

describe('the marketplace', () => {
  it('costs 2 calls for the list, items by id and a purchase, one after the other', async () => {
    expect(await cost('{ items(first: 500) { nodes { id databaseId } } }')).toBe(1);
    const { items } = await world.data<{ items: Connection<{ databaseId: number }> }>(
      '{ items(first: 500) { nodes { databaseId } } }',
    );
    for (const { databaseId } of items.nodes.slice(0, 3)) {
      expect(
        await cost('query ($id: ID!) { item(id: $id) { name } }', { id: String(databaseId) }),
      ).toBe(0);
    }
    expect(
      await cost(
        '{ items(search: "a", first: 3) { totalCount } more: items(last: 2, category: "x") { totalCount } }',
      ),
    ).toBe(0);
    const code = sandbox.market.purchaseCodes.valid[0];
    const purchase = 'query ($code: String!) { purchase(code: $code) { price item { id name } } }';
    expect(await cost(purchase, { code })).toBe(1);
    expect(await cost(purchase, { code })).toBe(0);
  });

  it('costs 2 calls for all of them in one operation, whatever comes first in it', async () => {
    const { items } = await world.market<{ items: { id: number }[] }>('/api/items/all');
    const query = `query ($a: ID!, $b: ID!, $code: String!) {
      a: item(id: $a) { name }
      purchase(code: $code) { price item { name tags } }
      items(first: 5) { nodes { name } }
      b: item(id: $b) { name }
    }`;
    const [a, b] = items.map(({ id }) => String(id));
    expect(await cost(query, { a, b, code: sandbox.market.purchaseCodes.valid[1] })).toBe(2);
  });

  it('reads several items by id in one call, and one with a call of its own', async () => {
    const { items } = await world.market<{ items: { id: number }[] }>('/api/items/all');
    const [a, b] = items.map(({ id }) => String(id));
    expect(await cost('query ($a: ID!) { item(id: $a) { name } }', { a })).toBe(1);
    expect(world.calls()).toEqual([`GET /api/items/item?item_id=${a}`]);
    expect(
      await cost('query ($a: ID!, $b: ID!) { a: item(id: $a) { name } b: item(id: $b) { name } }', {
        a,
        b,
      }),
    ).toBe(1);
  });
});

describe('a QR code', () => {
  it('with statistics costs 1 call, and none the second time', async () => {
    const { data } = await world.links<{ data: { qrs: { id: number }[] } }>('/api/qr');
    const id = String(data.qrs[0]?.id);
    const query = 'query ($id: ID!) { qrCode(id: $id) { name statistics { clicks } } }';
    expect(await cost(query, { id })).toBe(1);
    expect(world.calls()).toEqual([`GET /api/qr/${id}`]);
    expect(await cost(query, { id })).toBe(0);
    expect(await cost('query ($id: ID!) { qrCode(id: $id) { name scans } }', { id })).toBe(0);
  });

  it('in a list costs a call for its statistics only when those are asked for', async () => {
    expect(await cost('{ qrCodes(first: 3) { nodes { name } } }')).toBe(1);
    expect(await cost('{ qrCodes(first: 3) { nodes { name statistics { clicks } } } }')).toBe(3);
    expect(
      await cost('{ qrCodes(first: 4) { nodes { s: statistics { topBrowsers { label } } } } }'),
    ).toBe(1);
  });
});

describe('a field that is not selected', () => {
  it.each([
    ['{ __typename }', 0],
    ['{ rateLimit { limit } market: rateLimit(upstream: MARKET) { limit } }', 0],
    [
      '{ account @skip(if: true) { username } channels @include(if: false) { totalCount } __typename }',
      0,
    ],
    ['{ channels(first: 3) { nodes { name items @skip(if: true) { totalCount } } } }', 1],
    ['{ channels(first: 0) { totalCount } }', 1],
    ['{ users { planId } }', 1],
    ['{ qrCodes(first: 2) { nodes { name statistics @include(if: false) { clicks } } } }', 1],
  ])('costs nothing: %s', async (query, calls) => {
    expect(await cost(query)).toBe(calls);
  });

  it('leaves the list of channels unread when only a channel’s items are asked for', async () => {
    const { data } = await world.links<{ data: { channels: { id: number }[] } }>('/api/channels');
    const id = data.channels[2]?.id;
    const query = `query ($id: ID!) { channel(id: $id) { __typename id databaseId ...Items } }
      fragment Items on Channel { items(first: 2) { nodes { __typename } } }`;
    expect(await cost(query, { id: String(id) })).toBe(1);
    expect(world.calls()).toEqual([`GET /api/channel/${id}?limit=100&page=1`]);
  });
});

describe('extensions.upstream', () => {
  it('distinguishes what was called, kept and shared, and adds up over both upstreams', async () => {
    const { receipt } = await world.ask(
      '{ account { id } a: account { email } seller { username } }',
    );
    expect(receipt).toEqual({
      calls: 2,
      saved: { cache: 0, coalesced: 0 },
      stale: 0,
      refreshes: 0,
      maxAgeMs: 0,
      waitedMs: expect.any(Number),
    });
    const again = await world.ask('{ account { id } seller { username } plans { id } }');
    expect(again.receipt).toMatchObject({ calls: 1, saved: { cache: 2, coalesced: 0 }, stale: 0 });
  });

  it('stands in answers with errors too', async () => {
    const { receipt } = await world.ask('{ account { id } channels(first: -1) { totalCount } }');
    expect(receipt.calls).toBe(1);
  });
});
