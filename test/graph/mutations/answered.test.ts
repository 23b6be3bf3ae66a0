import { describe, expect, it } from 'vitest';
import type { Row } from '../../support/gateway.ts';
import {
  behavesWhenDisturbed,
  byTurns,
  globalIdOf,
  noes,
  Stage,
  type Story,
  yeses,
} from './story.ts';

const stage = new Stage();

/** What a story reads: the lists, entities and items that it selects. */
type Seen = Readonly<Record<string, unknown>>;

/** How many items of a list have such a member. */
const count =
  (list: string, member: string, value: unknown) =>
  ({ [list]: found }: Seen): number => {
    const nodes = (found as { nodes?: readonly Row[] }).nodes ?? (found as readonly Row[]);
    return nodes.filter((row) => row[member] === value).length;
  };

/** Reads a list, with these fields of its items. */
const rowsOf = (list: string, fields: string): string =>
  `${list}(first: 500) { nodes { ${fields} } }`;

const items =
  'channel(id: 21) { items(first: 500) { nodes { ... on ChannelEntry { type databaseId } } } }';

/** How often the page of campaign 53 names link 1041: no read of the API does. */
async function onPage(): Promise<number> {
  const { data } = await stage.world.links<{ data: { items: readonly Row[] } }>('/api/channel/21');
  const alias = String(data.items.find(({ id }) => id === 1041)?.['link'])
    .split('/')
    .at(-1);
  const page = await fetch(`${stage.sandbox.links.url}/campaign/53`);
  return (await page.text()).split(`/l/${alias}"`).length - 1;
}

interface Answered extends Omit<Story, 'look' | 'typename'> {
  readonly look: string;
  /** The type of its result, with what is selected of it and found where the API says yes. */
  readonly type: string;
  readonly result: Row;
  /** Members of a yes, in one or two ways. */
  readonly says: readonly Row[];
}

const deletion = (type: string, id: number, look: string, check: string): Answered => {
  const kind = type.toLowerCase().replace('code', '');
  const field = look.replace(/[ (].*/, '');
  return {
    mutation: `delete${type}(id: ${id})`,
    type: 'Deleted',
    result: { databaseId: id },
    says: [{ message: 'Deleted.' }],
    wire: { method: 'DELETE', path: `/api/${kind}/${id}/delete` },
    check,
    look: `{ ${look} }`,
    times: (seen: Seen) => {
      const isList = 'nodes' in ((seen[field] as Row | null) ?? {});
      return (isList ? count(field, 'databaseId', id)(seen) : seen[field]) ? 0 : 1;
    },
  };
};

const name = 'Tea & scones';
const redirect = 'https://example.org/new';
const campaign = {
  id: 7,
  domain: 'Tea &amp; scones',
  public: true,
  rotator: 'https://x.example/r/t',
};
const person = { username: 'ivy.moss', email: 'ivy@moss.example', password: 's3cret' };

const stories: readonly Answered[] = [
  {
    mutation: 'updateAccount(input: { email: "ann@example.com", password: "12345" })',
    type: 'Account',
    result: { email: 'ann@example.com' },
    says: [{ message: 'Account has been updated.' }],
    wire: {
      method: 'PUT',
      path: '/api/account/update',
      body: { email: 'ann@example.com', password: '12345' },
    },
    check: 'Query.account',
    look: '{ account { email } }',
    times: ({ account }: { account: Row }) => (account['email'] === 'ann@example.com' ? 1 : 0),
  },
  {
    mutation: 'createDomain(input: { domain: "https://go.example.org" })',
    type: 'BrandedDomain',
    result: { databaseId: 7, domain: 'https://go.example.org' },
    says: [{ id: 7 }],
    wire: { method: 'POST', path: '/api/domain/add', body: { domain: 'https://go.example.org' } },
    check: 'Query.domains',
    look: `{ ${rowsOf('domains', 'domain')} }`,
    times: count('domains', 'domain', 'https://go.example.org'),
  },
  {
    mutation: `updateDomain(input: { id: 10, redirectRoot: "${redirect}" })`,
    type: 'BrandedDomain',
    result: { databaseId: 10, redirectRoot: redirect },
    says: [{ message: 'Updated.' }],
    wire: { method: 'PUT', path: '/api/domain/10/update', body: { redirectroot: redirect } },
    check: 'Query.domains',
    look: `{ ${rowsOf('domains', 'redirectRoot')} }`,
    times: count('domains', 'redirectRoot', redirect),
  },
  deletion('Domain', 10, rowsOf('domains', 'databaseId'), 'Query.domains'),
  {
    mutation: `createCampaign(input: { name: "${name}" })`,
    type: 'Campaign',
    result: {
      databaseId: 7,
      name,
      public: true,
      rotatorUrl: 'https://x.example/r/t',
      listUrl: 'https://x.example/c/7',
    },
    says: ['domain', 'name', 'campaign'].map((member) => {
      const { domain, ...rest } = campaign;
      return { ...rest, [member]: domain, list: 'https://x.example/c/7' };
    }),
    wire: { method: 'POST', path: '/api/campaign/add', body: { name } },
    check: 'Query.campaigns',
    look: `{ ${rowsOf('campaigns', 'name')} }`,
    times: count('campaigns', 'name', name),
  },
  {
    mutation: `updateCampaign(input: { id: 53, name: "${name}" })`,
    type: 'Campaign',
    result: { databaseId: 53, name },
    says: [{ message: 'Campaign updated.' }],
    wire: { method: 'PUT', path: '/api/campaign/53/update', body: { name } },
    check: 'Query.campaigns',
    look: `{ ${rowsOf('campaigns', 'name')} }`,
    times: count('campaigns', 'name', name),
  },
  deletion('Campaign', 49, rowsOf('campaigns', 'databaseId'), 'Query.campaigns'),
  {
    mutation: 'assignLinkToCampaign(campaignId: 53, linkId: 1041)',
    type: 'Campaign',
    result: { databaseId: 53 },
    says: [{ message: 'Assigned.' }],
    wire: { method: 'POST', path: '/api/campaign/53/assign/1041' },
    check: 'the campaign',
    look: `{ ${rowsOf('campaigns', 'name')} }`,
    times: onPage,
  },
  {
    mutation: `createChannel(input: { name: "${name}" })`,
    type: 'Channel',
    result: { databaseId: 7, name, description: '', color: '#000000', starred: true },
    says: [{ id: 7, name: 'Tea &amp; scones', description: '', color: '#000000', starred: true }],
    wire: { method: 'POST', path: '/api/channel/add', body: { name } },
    check: 'Query.channels',
    look: `{ ${rowsOf('channels', 'name')} }`,
    times: count('channels', 'name', name),
  },
  {
    mutation: 'updateChannel(input: { id: 21, name: "Fair", starred: true })',
    type: 'Channel',
    result: { databaseId: 21, name: 'Fair', starred: true },
    says: [
      { message: 'Channel updated.' },
      { id: 21, name: 'Fair', color: '#1f6feb', starred: true },
    ],
    wire: { method: 'PUT', path: '/api/channel/21/update', body: { name: 'Fair', starred: true } },
    check: 'Query.channels',
    look: `{ ${rowsOf('channels', 'name')} }`,
    times: count('channels', 'name', 'Fair'),
  },
  {
    ...deletion('Channel', 21, rowsOf('channels', 'databaseId'), 'Query.channels'),
    look: `{ ${rowsOf('channels', 'databaseId')} ${items} }`,
    times: (seen: Seen) => {
      const listed = count('channels', 'databaseId', 21)(seen);
      expect(seen['channel'] === null).toBe(listed === 0);
      return 1 - listed;
    },
  },
  {
    mutation: 'assignItemToChannel(channelId: 21, type: LINKS, itemId: 1053)',
    type: 'Channel',
    result: { databaseId: 21 },
    says: [{ message: 'Assigned.' }],
    wire: { method: 'POST', path: '/api/channel/21/assign/links/1053' },
    check: 'Channel.items',
    look: `{ ${items} }`,
    times: ({ channel }: { channel: Seen }) => count('items', 'databaseId', 1053)(channel),
  },
  {
    mutation: `createPixel(input: { type: GTM, name: "${name}", tag: "GTM-1" })`,
    type: 'Pixel',
    result: { databaseId: 7, type: 'GTM', name, tag: 'GTM-1' },
    says: [{ id: 7 }],
    wire: {
      method: 'POST',
      path: '/api/pixel/add',
      body: { type: 'gtmpixel', name, tag: 'GTM-1' },
    },
    check: 'Query.pixels',
    look: `{ ${rowsOf('pixels', 'name')} }`,
    times: count('pixels', 'name', name),
  },
  {
    mutation: 'updatePixel(input: { id: 64, tag: "t2_new" })',
    type: 'Pixel',
    result: { databaseId: 64, tag: 't2_new' },
    says: [{ message: 'Updated.' }],
    wire: { method: 'PUT', path: '/api/pixel/64/update', body: { tag: 't2_new' } },
    check: 'Query.pixels',
    look: `{ ${rowsOf('pixels', 'tag')} }`,
    times: count('pixels', 'tag', 't2_new'),
  },
  deletion('Pixel', 64, rowsOf('pixels', 'databaseId'), 'Query.pixels'),
  {
    mutation: 'createQrCode(input: { type: TEXT, data: { value: "Opening hours" }, name: "Door" })',
    type: 'QrCode',
    result: { databaseId: 990, name: 'Door', link: 'https://q.example/a?b=1&c=2' },
    says: [{ id: 990, link: 'https://q.example/a?b=1&amp;c=2' }],
    wire: {
      method: 'POST',
      path: '/api/qr/add',
      body: { type: 'text', data: 'Opening hours', name: 'Door' },
    },
    check: 'Query.qrCodes',
    look: `{ ${rowsOf('qrCodes', 'name')} }`,
    times: count('qrCodes', 'name', 'Door'),
  },
  deletion('QrCode', 431, 'qrCode(id: 431) { databaseId }', 'Query.qrCode'),
  {
    mutation:
      'createUser(input: { username: "ivy.moss", email: "ivy@moss.example", password: "s3cret" })',
    type: 'User',
    result: { databaseId: 990, email: 'ivy@moss.example', username: 'ivy.moss' },
    says: ['id', 'userid'].map((member) => ({ [member]: 990, username: 'ivy.moss' })),
    wire: { method: 'POST', path: '/api/user/add', body: person },
    check: 'Query.users',
    look: '{ users { username } }',
    times: count('users', 'username', 'ivy.moss'),
  },
  deletion('User', 41, 'user(id: 41) { databaseId }', 'Query.user'),
  {
    mutation: 'subscribeUser(input: { planId: 3, userId: 32, type: YEARLY })',
    type: 'User',
    result: { databaseId: 32, planId: 3 },
    says: [{ message: 'User has been subscribed to this plan.' }],
    wire: { method: 'PUT', path: '/api/plan/3/user/32', body: { type: 'yearly' } },
    check: 'Query.user',
    look: '{ user(id: 32) { planId } users { databaseId planId } }',
    times: ({ user, users }: { user: Row; users: Row[] }) => {
      expect(users).toContainEqual({ databaseId: 32, planId: user['planId'] });
      return user['planId'] === 3 ? 1 : 0;
    },
  },
];

const unseen = {
  // Nothing that the graph reads shows the data of a code.
  mutation: 'updateQrCode(input: { id: 431, type: TEXT, data: { value: "Closed" } })',
  type: 'QrCode',
  result: { databaseId: 431 },
  says: [{ message: 'Updated.' }],
  wire: { path: '/api/qr/431/update' },
};
const all = [...stories, unseen].map((story, at) => [story.mutation, story, at] as const);

describe.each(all)('%s', (_, story, at) => {
  const { mutation, type, result: expected, says, wire } = story;
  const entity = `${type} { ${Object.keys(expected).join(' ')} }`;
  const documented = says.flatMap((members) => yeses(members).slice(0, 1));

  it.each([...documented, ...byTurns(says.flatMap(yeses), at, 3)])(
    'understands a yes %s',
    async (_way, body, status) => {
      stage.answer(wire.path, body, status);
      const { result, calls } = await stage.change(mutation, entity);
      expect(result).toEqual({ __typename: type, ...expected });
      expect(calls).toHaveLength(1);
    },
  );

  it.each(byTurns(noes, at, 2))('understands a no by `error` %s', async (...no) => {
    const [, body, status, message] = no;
    stage.answer(wire.path, body, status);
    const { result } = await stage.change(mutation, entity);
    expect(result).toEqual({ __typename: 'Rejected', message, upstream: 'LINKS' });
  });

  if ('look' in story) behavesWhenDisturbed(stage, { ...story, typename: type }, at);
});

describe('What the response says', () => {
  it.each([
    [
      'updateAccount(input: { email: "Ann@Example.com" })',
      {
        id: '1',
        email: 'ann@example.com',
        username: 'ann',
        status: 'PRO',
        avatar: 'https://x.example/a',
      },
      'Account { databaseId email username status avatar }',
      {
        databaseId: 1,
        email: 'ann@example.com',
        username: 'ann',
        status: 'PRO',
        avatar: 'https://x.example/a',
      },
    ],
    [
      'createPixel(input: { type: GTM, name: "x", tag: "GTM-1" })',
      { id: '7', type: 'newpixel', name: 'Tea &amp; cake', tag: 12, date: '2026-01-31 09:30:00' },
      'Pixel { id type typeName name tag date }',
      {
        id: globalIdOf('Pixel', 7),
        type: null,
        typeName: 'newpixel',
        name: 'Tea & cake',
        tag: '12',
        date: '2026-01-31T09:30:00Z',
      },
    ],
    [
      'updateChannel(input: { id: 21, name: "Fair" })',
      { id: '21', name: 'FAIR', color: '#ABC', starred: '0' },
      'Channel { name color starred }',
      { name: 'FAIR', color: '#ABC', starred: false },
    ],
  ])(
    'is believed where it is more than the input: %s',
    async (mutation, data, entity, expected) => {
      stage.answer('*', { error: 0, data });
      const { result, calls } = await stage.change(mutation, entity);
      expect(result).toMatchObject(expected);
      expect(calls).toHaveLength(1);
    },
  );

  it.each([
    [
      'createCampaign(input: { name: "Tea", public: true })',
      53,
      'Campaign { name public rotatorUrl listUrl }',
      { name: 'Tea', public: true, rotatorUrl: expect.any(String), listUrl: expect.any(String) },
      '/api/campaigns',
    ],
    [
      'createChannel(input: { name: "Tea", starred: false })',
      21,
      'Channel { name description color starred }',
      { name: 'Tea', color: '#1F6FEB', starred: false },
      '/api/channels',
    ],
  ])(
    'is completed by the input, and one page: %s',
    async (mutation, id, entity, expected, path) => {
      stage.answer('/api/*/add', { error: 0, id: String(id) });
      const { result, calls } = await stage.change(mutation, entity);
      expect(result).toMatchObject(expected);
      expect(calls.slice(1)).toEqual([`GET ${path}?limit=100&page=1`]);
    },
  );

  it.each([
    ['createDomain(input: { domain: "https://go#.example.org" })', 'domains'],
    ['createPixel(input: { type: GTM, name: "x", tag: "GTM-1" })', 'pixels'],
    ['createQrCode(input: { type: TEXT, data: { value: "x" }, name: "x" })', 'qrCodes'],
    [
      'createUser(input: { username: "ivy#", email: "ivy#@moss.example", password: "s3cret" })',
      'users',
    ],
  ])('is a yes without saying to what: %s', async (mutation, list) => {
    const look = list === 'users' ? '{ users { id } }' : `{ ${list}(first: 500) { nodes { id } } }`;
    for (const [n, said] of [{}, { id: 'new' }, { id: null, message: 'Done.' }].entries()) {
      const before = await stage.world.data(look);
      stage.answer('/api/*/add', { error: 0, ...said });
      const { errors } = await stage.change(
        mutation.replaceAll('#', String(n)),
        'Rejected { message }',
      );
      const check = `Query.${list}`;
      expect(errors[0]?.extensions).toMatchObject({ code: 'OUTCOME_UNKNOWN', check });
      stage.sandbox.links.clearFaults();
      expect(await stage.world.data(look)).not.toEqual(before);
    }
  });
});
