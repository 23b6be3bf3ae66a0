import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startWorld, type World } from '../support/gateway.ts';

let world: World;

beforeAll(async () => {
  world = await startWorld();
});
afterEach(() => world.forgetCalls());

const globalId = (text: string): string => Buffer.from(text).toString('base64url');

/** Fails unless the query is refused for its arguments, before anything is asked upstream. */
async function expectRefusal(query: string, variables: Record<string, unknown>): Promise<void> {
  const { errors, data, text, receipt } = await world.ask(query, variables);
  expect(errors, text).toHaveLength(1);
  expect(errors[0]?.extensions?.code, text).toBe('BAD_USER_INPUT');
  expect(errors[0]?.message).toMatch(/\w+ \w+/);
  if (data) {
    expect(Object.values(data)).toEqual([null]);
    expect(receipt.calls).toBe(0);
  }
  expect(world.calls()).toEqual([]);
}

const fieldsById =
  'domain overlay campaign channel splashPage file pixel qrCode plan user item'.split(' ');
const garbage = [
  '',
  ' ',
  '0',
  '-1',
  '1.5',
  '1e3',
  '0x10',
  'zzz',
  '{}',
  'null',
  '../account',
  '💥',
  '9'.repeat(40),
  globalId('Campaign'),
  globalId('Campaign:'),
  globalId('Campaign:x'),
  globalId('Campaign:0'),
  globalId('Campaign:-1'),
  globalId('Campaign:1:2'),
  globalId(':1'),
  globalId('campaign:1 '),
];

/** Cases that make no difference to the field: it meets three of them, and channels all. */
function some<T>(field: string, cases: readonly T[]): T[] {
  const at = field.length % 5;
  return /^channel/i.test(field) ? [...cases] : cases.filter((_, n) => n % 5 === at).slice(0, 3);
}

describe.each(fieldsById)('Query.%s', (field) => {
  const query = `query ($id: ID!) { ${field}(id: $id) { id } }`;

  it.each(some(field, garbage))('refuses the id %j before any upstream call', async (id) => {
    await expectRefusal(query, { id });
  });

  it.each(['Account', 'BioItem', 'Seller', 'Nothing', 'Query', '__Type'])(
    'refuses the global id of a %s',
    async (typename) => {
      await expectRefusal(query, { id: globalId(`${typename}:7`) });
    },
  );

  it.each([[{}], [['1', '2']], [true], [1.5], [null]])('refuses %j, which is no id', async (id) => {
    await expectRefusal(query, { id });
  });
});

describe('Query.node', () => {
  const query = 'query ($id: ID!) { node(id: $id) { id } }';

  it.each([...garbage, '42'])('refuses the id %j before any upstream call', async (id) => {
    await expectRefusal(query, { id });
  });

  it.each([
    'SellerProfile',
    'PurchaseCode',
    'LinkItem',
    'RateLimit',
    'Nothing',
    'Query',
    'Node',
    'PixelType',
    'ChannelItem',
    'String',
  ])('refuses the id of a %s, which has none', async (typename) => {
    await expectRefusal(query, { id: globalId(`${typename}:7`) });
  });
});

describe('Query.nodes', () => {
  it.each([['zzz'], [globalId('LinkItem:1')], [globalId('Channel:0')]])(
    'refuses a list with the id %j before any upstream call',
    async (id) => {
      const { errors, text } = await world.ask('query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', {
        ids: [id],
      });
      expect(
        errors.map(({ extensions }) => extensions?.code),
        text,
      ).toEqual(['BAD_USER_INPUT']);
      expect(world.calls()).toEqual([]);
    },
  );

  it('answers an empty list for no ids', async () => {
    expect(await world.data('{ nodes(ids: []) { id } }')).toEqual({ nodes: [] });
    expect(world.calls()).toEqual([]);
  });
});

const connections = [
  'domains',
  'overlays',
  'campaigns',
  'channels',
  'splashPages',
  'files',
  'pixels',
  'qrCodes',
  'items',
];

const windows = [
  { first: -1 },
  { last: -1 },
  { first: 501 },
  { last: 501 },
  { first: 5, last: 5 },
  { first: 2 ** 31 },
  { first: 1.5 },
  { first: 'ten' },
  { first: 3, after: '' },
  { first: 3, after: 'zzz' },
  { first: 3, after: globalId('0/c1:0:0:10:7') },
  { first: 3, after: globalId('0/c1:1:0:0:7') },
  { first: 3, after: globalId('0/c9:1:0:100:7') },
  { first: 3, after: globalId('0/c1:1:0:10:7') },
  { last: 3, before: '💥' },
  { last: 3, before: 7.5 },
];

describe.each(connections)('Query.%s', (field) => {
  const query = `query ($first: Int, $after: String, $last: Int, $before: String) {
    ${field}(first: $first, after: $after, last: $last, before: $before) { totalCount } }`;

  it.each(some(field, windows))('refuses %j before any upstream call', async (window) => {
    await expectRefusal(query, window);
  });

  it('takes null for not given', async () => {
    const nothing = { first: null, after: null, last: null, before: null };
    const { [field]: list } = await world.data<Record<string, { totalCount: number }>>(
      query,
      nothing,
    );
    expect(list?.totalCount).toBeGreaterThan(0);
  });
});

const after = globalId('0/c1:1:0:10:7');
const given = [
  'offset: -1',
  'offset: -2147483648',
  'offset: 4000000000',
  'offset: 1.5',
  'offset: 0, last: 3',
  `offset: 3, after: "${after}"`,
  `offset: 3, first: 2, before: "${after}"`,
  'orderBy: {}',
  'orderBy: { direction: DESC }',
  'orderBy: { field: APIKEY }',
  'orderBy: { field: ID, direction: UP }',
  'orderBy: NAME',
  `search: "${'x'.repeat(257)}"`,
  'search: 7',
];

describe.each([
  ...connections.map((field) => [field, `${field}(`, ')'] as const),
  ['Channel.items', 'channel(id: 99) { id items(', ') { totalCount } }'] as const,
])('A view of %s', (field, head, tail) => {
  const selection = tail === ')' ? ') { totalCount }' : tail;
  it.each(some(field, given))('refuses %s before any upstream call', async (each) => {
    // The channel around its items is no part of them.
    if (field === 'Channel.items') await world.data('{ channel(id: 99) { items { totalCount } } }');
    world.forgetCalls();
    const { errors, text } = await world.ask(`{ ${head}${each}${selection} }`);
    expect(errors.length, text).toBeGreaterThan(0);
    for (const { extensions } of errors) {
      expect(['BAD_USER_INPUT', 'GRAPHQL_VALIDATION_FAILED'], text).toContain(extensions?.code);
    }
    expect(world.calls(), field).toEqual([]);
  });
});

describe('A filter', () => {
  const [early, late] = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'];

  it.each([
    [`items(minPrice: 2, maxPrice: 1)`],
    [`items(publishedAt: { from: "${late}", to: "${early}" })`],
    [`files(createdAt: { from: "${late}", to: "2026-01-02T01:00:00+02:00" })`],
    [`qrCodes(createdAt: { from: "2026-01-01" })`],
    [`qrCodes(createdAt: "${early}")`],
    [`pixels(type: NONE)`],
    [`channels(starred: "yes")`],
  ])('refuses %s before any upstream call', async (field) => {
    const { errors, text } = await world.ask(`{ ${field} { totalCount } }`);
    expect(errors, text).toHaveLength(1);
    expect(['BAD_USER_INPUT', 'GRAPHQL_VALIDATION_FAILED'], text).toContain(
      errors[0]?.extensions?.code,
    );
    expect(world.calls()).toEqual([]);
  });

  it('says by its code what is wrong with variables', async () => {
    const range = { from: late, to: early };
    await expectRefusal(
      'query ($range: DateTimeRange) { qrCodes(createdAt: $range) { totalCount } }',
      { range },
    );
    await expectRefusal('query ($order: ItemOrder) { items(orderBy: $order) { totalCount } }', {
      order: { field: 'SCANS' },
    });
    await expectRefusal('query ($offset: Int) { channels(offset: $offset) { totalCount } }', {
      offset: -1,
    });
    await expectRefusal('query ($search: String) { qrCodes(search: $search) { totalCount } }', {
      search: 'x'.repeat(257),
    });
  });

  it('takes null for not given', async () => {
    const nothing = { search: null, orderBy: null, starred: null, offset: null };
    const { channels } = await world.data<{ channels: { totalCount: number } }>(
      `query ($search: String, $orderBy: ChannelOrder, $starred: Boolean, $offset: Int) {
        channels(search: $search, orderBy: $orderBy, starred: $starred, offset: $offset) { totalCount } }`,
      nothing,
    );
    expect(channels.totalCount).toBeGreaterThan(0);
    expect(world.calls().length).toBeLessThanOrEqual(1);
  });
});

describe('Channel.items', () => {
  it.each(['first: -1', 'first: 2, last: 2', 'after: "zzz"', 'last: 501'])(
    'refuses %s and leaves the channel itself intact',
    async (window) => {
      const { channels } = await world.data<{ channels: { nodes: { id: string }[] } }>(
        '{ channels(first: 1) { nodes { id } } }',
      );
      world.forgetCalls();
      const { data, errors } = await world.ask(
        `query ($id: ID!) { channel(id: $id) { name items(${window}) { totalCount } } }`,
        { id: channels.nodes[0]?.id },
      );
      expect(errors).toMatchObject([
        { path: ['channel', 'items'], extensions: { code: 'BAD_USER_INPUT' } },
      ]);
      expect(data).toEqual({ channel: { name: expect.any(String), items: null } });
      expect(world.calls()).toEqual([]);
    },
  );
});

describe('Query.users', () => {
  it('refuses a kind that is none before any upstream call', async () => {
    await expectRefusal('query ($filter: UserFilter) { users(filter: $filter) { id } }', {
      filter: 'ROOT',
    });
  });
});

describe('Query.purchase', () => {
  it.each(['', '  ', 'x'.repeat(201)])(
    'refuses the code %j before any upstream call',
    async (code) => {
      await expectRefusal('query ($code: String!) { purchase(code: $code) { code } }', { code });
    },
  );
});
