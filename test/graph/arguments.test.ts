import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startWorld, type World } from '../support/gateway.ts';

let world: World;

beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());
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

const fieldsById = ['campaign', 'channel', 'qrCode', 'user', 'item'];
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

describe.each(fieldsById)('Query.%s', (field) => {
  const query = `query ($id: ID!) { ${field}(id: $id) { id } }`;

  it.each(garbage)('refuses the id %j before any upstream call', async (id) => {
    await expectRefusal(query, { id });
  });

  it.each(['Account', 'Pixel', 'Seller', 'Nothing', 'Query', '__Type'])(
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
    'Seller',
    'Purchase',
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
  it.each([['zzz'], [globalId('Seller:1')], [globalId('Channel:0')]])(
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

describe.each(connections)('Query.%s', (field) => {
  const query = `query ($first: Int, $after: String, $last: Int, $before: String) {
    ${field}(first: $first, after: $after, last: $last, before: $before) { totalCount } }`;

  it.each([
    [{ first: -1 }],
    [{ last: -1 }],
    [{ first: 501 }],
    [{ last: 501 }],
    [{ first: 5, last: 5 }],
    [{ first: 2 ** 31 }],
    [{ first: 1.5 }],
    [{ first: 'ten' }],
    [{ first: 3, after: '' }],
    [{ first: 3, after: 'zzz' }],
    [{ first: 3, after: globalId('c1:0:0:10:7') }],
    [{ first: 3, after: globalId('c1:1:0:0:7') }],
    [{ first: 3, after: globalId('c9:1:0:100:7') }],
    [{ last: 3, before: '💥' }],
    [{ last: 3, before: 7.5 }],
  ])('refuses %j before any upstream call', async (window) => {
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
