import { beforeEach, describe, expect, it } from 'vitest';
import type { Fault } from '../../../src/sandbox/sandbox.ts';
import type { Row } from '../../support/gateway.ts';
import { KeyedStage } from './keyed-stage.ts';

/** Ids of the newest rows, by the lists of the graph. */
type Ids = Readonly<
  Record<'campaigns' | 'channels' | 'domains' | 'links' | 'pixels' | 'qrCodes' | 'users', number>
>;

/** A mutation whose response is lost, and how the upstream's own data show it. */
interface Story {
  readonly mutation: string | ((ids: Ids) => string);
  readonly typename: string;
  /** Of the request. */
  readonly method: 'POST' | 'PUT' | 'DELETE';
  /** The list that was read before, as it usually is. */
  readonly cached: string;
  /** The rows of the upstream, and those that are the result. */
  readonly list: readonly [path: string, key: string];
  readonly isResult: (row: Row, ids: Ids) => boolean;
  /** How many results there are when it has happened once. */
  readonly results: 0 | 1;
  /** Whether a second request can have another effect, so that it is not sent again. */
  readonly isDoubtful?: boolean;
}

const created = { method: 'POST', results: 1 } as const;
const changed = { method: 'PUT', results: 1 } as const;
const deleted = { method: 'DELETE', typename: 'Deleted', results: 0 } as const;
const nothing = '{ __typename }';

const channels = {
  cached: '{ channels(first: 1) { totalCount } }',
  list: ['/api/channels', 'channels'],
} as const;
const campaigns = {
  cached: '{ campaigns(first: 1) { totalCount } }',
  list: ['/api/campaigns', 'campaigns'],
} as const;
const domains = {
  cached: '{ domains(first: 1) { totalCount } }',
  list: ['/api/domains', 'domains'],
} as const;
const pixels = { cached: nothing, list: ['/api/pixels', 'pixels'] } as const;
const qrs = { cached: nothing, list: ['/api/qr', 'qrs'] } as const;
const files = { cached: nothing, list: ['/api/files', 'list'] } as const;
const users = { cached: '{ users { id } }', list: ['/api/users', 'data'] } as const;

const named = (name: string) => (row: Row) => row['name'] === name;
const creations: readonly Story[] = [
  {
    ...created,
    ...channels,
    mutation:
      'createChannel(input: { name: "Tunnel &amp; train 🚆", color: "#abc", starred: true })',
    typename: 'Channel',
    isResult: named('Tunnel &amp; train 🚆'),
  },
  {
    ...created,
    ...campaigns,
    mutation: 'createCampaign(input: { name: "Tunnel", public: true })',
    typename: 'Campaign',
    isResult: named('Tunnel'),
  },
  {
    ...created,
    ...campaigns,
    cached: nothing,
    mutation: 'createCampaign(input: { slug: "Tunnel_1" })',
    typename: 'Campaign',
    isResult: ({ rotator }) => String(rotator).endsWith('/tunnel-1'),
  },
  {
    ...created,
    ...pixels,
    mutation: 'createPixel(input: { name: "Tunnel", type: GA, tag: "G-1" })',
    typename: 'Pixel',
    isResult: named('Tunnel'),
  },
  {
    ...created,
    ...qrs,
    mutation: 'createQrCode(input: { name: "Tunnel", type: TEXT, data: { value: "x" } })',
    typename: 'QrCode',
    isResult: named('Tunnel'),
  },
  {
    ...created,
    ...domains,
    mutation: 'createDomain(input: { domain: "https://Tunnel.example/" })',
    typename: 'BrandedDomain',
    isResult: ({ domain }) => domain === 'https://Tunnel.example',
  },
  {
    ...created,
    ...users,
    mutation:
      'createUser(input: { username: "tunnel", email: "Tunnel@a.example", password: "five5" })',
    typename: 'User',
    isResult: ({ username }) => username === 'tunnel',
  },
  {
    ...created,
    ...files,
    mutation: 'uploadFile(input: { file: $file, name: "Tunnel" })',
    typename: 'File',
    isResult: named('Tunnel'),
  },
  {
    ...created,
    ...files,
    mutation: 'uploadFile(input: { file: $file, custom: "tunnel" })',
    typename: 'File',
    isResult: ({ shorturl }) => String(shorturl).endsWith('/tunnel'),
  },
];

const changes: readonly Story[] = [
  {
    ...changed,
    ...channels,
    mutation: ({ channels: id }) => `updateChannel(input: { id: ${id}, name: "Tunnel" })`,
    typename: 'Channel',
    isResult: named('Tunnel'),
  },
  {
    ...changed,
    ...campaigns,
    mutation: ({ campaigns: id }) => `updateCampaign(input: { id: ${id}, name: "Tunnel" })`,
    typename: 'Campaign',
    isResult: named('Tunnel'),
  },
  {
    ...changed,
    ...campaigns,
    mutation: ({ campaigns: id }) =>
      `updateCampaign(input: { id: ${id}, name: "Tunnel", slug: "tunnel" })`,
    typename: 'Campaign',
    isResult: ({ rotator }) => String(rotator).endsWith('/tunnel'),
  },
  {
    ...changed,
    ...domains,
    mutation: ({ domains: id }) =>
      `updateDomain(input: { id: ${id}, redirectRoot: "https://a.example/tunnel" })`,
    typename: 'BrandedDomain',
    isResult: ({ redirectroot }) => redirectroot === 'https://a.example/tunnel',
  },
  {
    ...changed,
    ...pixels,
    mutation: ({ pixels: id }) => `updatePixel(input: { id: ${id}, name: "Tunnel", tag: "G-2" })`,
    typename: 'Pixel',
    isResult: named('Tunnel'),
  },
  {
    ...changed,
    ...qrs,
    mutation: ({ qrCodes: id }) =>
      `updateQrCode(input: { id: ${id}, type: TEXT, data: { value: "tunnel" } })`,
    typename: 'QrCode',
    isResult: ({ id }, { qrCodes }) => id === qrCodes,
  },
  {
    ...changed,
    ...users,
    cached: nothing,
    mutation: () => 'updateAccount(input: { email: "tunnel@a.example" })',
    typename: 'Account',
    isResult: ({ email }) => email === 'tunnel@a.example',
  },
  {
    ...changed,
    ...users,
    mutation: ({ users: id }) =>
      `subscribeUser(input: { userId: ${id}, planId: 3, type: MONTHLY, expiration: "2031-01-01T00:00:00Z" })`,
    typename: 'User',
    isResult: ({ expires }) => expires === '2031-01-01 00:00:00',
  },
  {
    ...changed,
    ...users,
    mutation: ({ users: id }) => `subscribeUser(input: { userId: ${id}, planId: 3, type: YEARLY })`,
    typename: 'User',
    isResult: ({ id, expires }, ids) => id === ids.users && String(expires).startsWith('2031-'),
    isDoubtful: true,
  },
  {
    ...deleted,
    ...channels,
    mutation: ({ channels: id }) => `deleteChannel(id: ${id})`,
    isResult: ({ id }, ids) => id === ids.channels,
  },
  {
    ...deleted,
    ...campaigns,
    mutation: ({ campaigns: id }) => `deleteCampaign(id: ${id})`,
    isResult: ({ id }, ids) => id === ids.campaigns,
  },
  {
    ...deleted,
    ...domains,
    mutation: ({ domains: id }) => `deleteDomain(id: ${id})`,
    isResult: ({ id }, ids) => id === ids.domains,
  },
  {
    ...deleted,
    ...pixels,
    mutation: ({ pixels: id }) => `deletePixel(id: ${id})`,
    isResult: ({ id }, ids) => id === ids.pixels,
  },
  {
    ...deleted,
    ...qrs,
    mutation: ({ qrCodes: id }) => `deleteQrCode(id: ${id})`,
    isResult: ({ id }, ids) => id === ids.qrCodes,
  },
  {
    ...deleted,
    ...users,
    mutation: ({ users: id }) => `deleteUser(id: ${id})`,
    isResult: ({ id }, ids) => id === ids.users,
  },
  {
    ...created,
    ...channels,
    cached: nothing,
    mutation: (ids) =>
      `assignItemToChannel(channelId: ${ids.channels}, type: QR, itemId: ${ids.qrCodes})`,
    typename: 'Channel',
    isResult: ({ id }, ids) => id === ids.channels,
  },
  {
    ...created,
    ...campaigns,
    cached: nothing,
    mutation: ({ campaigns: id, links }) =>
      `assignLinkToCampaign(campaignId: ${id}, linkId: ${links})`,
    typename: 'Campaign',
    isResult: ({ id }, ids) => id === ids.campaigns,
  },
];

/** What happens to the first request. */
const losses: readonly (readonly [string, Fault])[] = [
  ['is dropped before it is executed', { kind: 'drop' }],
  ['is dropped after it was executed', { kind: 'drop', applied: true }],
  ['is executed and hangs', { kind: 'hang', applied: true }],
  ['is executed and answered too late', { kind: 'slow', applied: true, delayMs: 2500 }],
  [
    'is executed and answered with HTML and status 500',
    { kind: 'html', status: 500, applied: true },
  ],
  ['is executed and answered with half a response', { kind: 'truncated' }],
  ['is refused for the rate limit', { kind: 'refuse-429', retryAfter: 1 }],
];

const stage = new KeyedStage();
let ids: Ids | undefined;

beforeEach(async () => {
  const first = async (path: string, key: string) =>
    Number((await stage.rows(path, key))[0]?.['id']);
  // The data of a sandbox are the same each time.
  ids ??= {
    campaigns: await first('/api/campaigns', 'campaigns'),
    channels: await first('/api/channels', 'channels'),
    domains: await first('/api/domains', 'domains'),
    links: 1041,
    pixels: await first('/api/pixels', 'pixels'),
    qrCodes: await first('/api/qr', 'qrs'),
    users: await first('/api/users', 'data'),
  };
});

const fieldOf = ({ mutation }: Story, known: Ids) =>
  typeof mutation === 'string' ? mutation : mutation(known);
const titled = (stories: readonly Story[]) =>
  stories.map((story) => [fieldOf(story, {} as Ids).replaceAll('undefined', '1'), story] as const);

/** How an answer is lost makes no difference to the noun: each way is tested with some. */
const lossesOf = (story: Story) => {
  const at = [...creations, ...changes].indexOf(story);
  return some.includes(story) ? losses : losses.filter((_, n) => n === 0 || n === 1 + (at % 2));
};
const some = [...creations.slice(0, 1), ...creations.slice(-3), ...changes.slice(0, 1)];

describe.each(titled([...creations, ...changes]))('%s', (_, story) => {
  it.each(lossesOf(story))('has happened once if its request %s', async (_what, fault) => {
    const { world } = stage;
    await world.data(story.cached);
    world.forgetCalls();
    world.sandbox.links.fault({ ...fault, method: story.method, times: 1 });
    const mutation = { field: fieldOf(story, ids as Ids), typename: story.typename };

    const isLost = fault.kind !== 'refuse-429';
    const isCreation = creations.includes(story);
    const first = await stage.send(mutation);
    if (isLost && !isCreation) {
      expect(first.errors?.[0]?.extensions).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
      expect(world.calls()).toHaveLength(1);
      world.forgetCalls();
    }
    const reply = isLost && !isCreation ? await stage.send(mutation) : first;
    const { data, errors, extensions } = reply;
    const calls = world.calls();
    const writes = calls.filter((call) => call.startsWith(story.method));
    const found = (await stage.rows(...story.list)).filter((row) =>
      story.isResult(row, ids as Ids),
    );
    const isAbsent = isCreation && fault.kind === 'drop' && !fault.applied;
    if (isAbsent || (story.isDoubtful && isLost)) {
      expect(errors?.[0]?.extensions).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
      expect(errors?.[0]?.extensions).not.toHaveProperty('retryAfterMs');
      expect(writes).toHaveLength(isCreation ? 1 : 0);
      return;
    }
    expect(errors).toBeUndefined();
    expect(found).toHaveLength(story.results);
    expect(data?.result).toMatchObject({ kind: story.typename });
    const [row] = found;
    if (row && story.typename !== 'Account') expect(data?.result['databaseId']).toBe(row['id']);
    expect(writes.length).toBeLessThanOrEqual(2);
    expect(calls.length - writes.length).toBeLessThanOrEqual(2);
    expect(extensions.idempotency).toMatchObject([{ upstreamCalls: calls.length }]);

    world.forgetCalls();
    const again = await stage.send(mutation);
    expect(again.data).toEqual(data);
    expect(again.extensions.idempotency).toMatchObject([{ outcome: 'REPLAYED', upstreamCalls: 0 }]);
    expect(world.calls()).toEqual([]);
  });
});

describe.each(titled(creations.slice(-6)))('%s without a key', (_, story) => {
  const { list, method, typename } = story;
  const mutation = { field: fieldOf(story, {} as Ids), typename };
  const results = async () =>
    (await stage.rows(...list)).filter((row) => story.isResult(row, ids as Ids));

  it('is found if its request was executed', async () => {
    const { world } = stage;
    await world.data(story.cached);
    world.forgetCalls();
    world.sandbox.links.fault({ kind: 'drop', applied: true, method, times: 1 });
    const { data } = await stage.send(mutation, { key: null });
    expect(world.calls()).toHaveLength(2);
    expect(await results()).toMatchObject([{ id: data?.result['databaseId'] }]);
  });

  it('is unknown if it is not found, and is not sent again', async () => {
    const { world } = stage;
    await world.data(story.cached);
    world.forgetCalls();
    world.sandbox.links.fault({ kind: 'drop', method, times: 1 });
    const { errors } = await stage.send(mutation, { key: null });
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect(world.calls()).toHaveLength(2);
    expect(await results()).toEqual([]);
  });
});
