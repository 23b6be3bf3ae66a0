import { describe, expect, it } from 'vitest';
import { pixelTypes } from '../../../src/links/brand/pixel.ts';
import type { Row } from '../../support/gateway.ts';
import { globalIdOf, Stage } from './story.ts';

const stage = new Stage();

const user = 'username: "ivy.moss", email: "ivy@moss.example", password: "s3cret"';
const userBody = { username: 'ivy.moss', email: 'ivy@moss.example', password: 's3cret' };
const domain = 'https://go.example.org';

/** A mutation, its request and the result, which is read further only where that is stated. */
type Sent = readonly [mutation: string, request: string, body: Row, result: Row, read?: string];

const sent: Readonly<Record<string, readonly Sent[]>> = {
  Account: [
    ['updateAccount(input: { email: "ann@example.com" })', { email: 'ann@example.com' }],
    ['updateAccount(input: { email: null, password: "12345" })', { password: '12345' }, {}],
    [
      'updateAccount(input: { email: "ann@example.com", password: "pässwörd" })',
      { email: 'ann@example.com', password: 'pässwörd' },
      { email: 'ann@example.com' },
    ],
  ].map(
    ([mutation, body, result = body]): Sent => [
      mutation as string,
      'PUT /api/account/update',
      body as Row,
      result as Row,
    ],
  ),
  BrandedDomain: [
    [
      `createDomain(input: { domain: "${domain}", redirectRoot: "https://example.org",
        redirect404: "http://example.org/lost?from=go#top" })`,
      'POST /api/domain/add',
      {
        domain,
        redirectroot: 'https://example.org',
        redirect404: 'http://example.org/lost?from=go#top',
      },
      {
        domain,
        redirectRoot: 'https://example.org',
        redirect404: 'http://example.org/lost?from=go#top',
      },
    ],
    [
      `createDomain(input: { domain: "${domain}", redirect404: null })`,
      'POST /api/domain/add',
      { domain },
      { redirectRoot: '', redirect404: '' },
      '/api/domains?limit=100&page=1',
    ],
    [
      // A browser shows a slash behind a domain.
      'createDomain(input: { domain: "http://go.example.org:8080/" })',
      'POST /api/domain/add',
      { domain: 'http://go.example.org:8080' },
      { domain: 'http://go.example.org:8080' },
    ],
    [
      'updateDomain(input: { id: 10, redirectRoot: "" })',
      'PUT /api/domain/10/update',
      { redirectroot: '' },
      { redirectRoot: '' },
    ],
  ],
  Campaign: [
    [
      'createCampaign(input: { name: "Tea & scones", slug: "tea", public: true })',
      'POST /api/campaign/add',
      { name: 'Tea & scones', slug: 'tea', public: true },
      {
        name: 'Tea & scones',
        public: true,
        rotatorUrl: expect.stringMatching(/\/r\/tea$/),
        listUrl: expect.stringMatching(/\/campaign\/\d+$/),
      },
    ],
    ...(
      [
        ['{}', {}],
        ['{ name: null, slug: null, public: null }', {}],
        ['{ public: false }', { public: false }],
      ] as const
    ).map(
      ([input, body]): Sent => [
        `createCampaign(input: ${input})`,
        'POST /api/campaign/add',
        body,
        { name: expect.stringMatching(/^Campaign \d+$/), public: false, rotatorUrl: null },
      ],
    ),
    [
      'updateCampaign(input: { id: 53, name: "New name", slug: "new", public: false })',
      'PUT /api/campaign/53/update',
      { name: 'New name', slug: 'new', public: false },
      {
        name: 'New name',
        public: false,
        rotatorUrl: expect.stringMatching(/\/r\/new$/),
        listUrl: expect.stringMatching(/\/campaign\/53$/),
      },
    ],
  ],
  Channel: [
    [
      `createChannel(input: {
        name: "Tea & scones", description: "Four o’clock", color: "#1f2A44", starred: true })`,
      'POST /api/channel/add',
      { name: 'Tea & scones', description: 'Four o’clock', color: '#1f2A44', starred: true },
      { name: 'Tea & scones', description: 'Four o’clock', color: '#1f2A44', starred: true },
    ],
    [
      'createChannel(input: { name: "Tea", description: null, color: null, starred: false })',
      'POST /api/channel/add',
      { name: 'Tea', starred: false },
      { name: 'Tea', description: '', color: '#4C6FFF', starred: false },
    ],
    [
      'createChannel(input: { name: "Tea", color: "#aBc" })',
      'POST /api/channel/add',
      { name: 'Tea', color: '#aBc' },
      { color: '#aBc' },
    ],
    ...(
      [
        ['description: ""', { description: '' }],
        ['color: "#fff"', { color: '#fff' }],
        ['starred: false', { starred: false }],
        ['name: "Fair", description: null, starred: true', { name: 'Fair', starred: true }],
      ] as const
    ).map(
      ([input, body]): Sent => [
        `updateChannel(input: { id: 21, ${input} })`,
        'PUT /api/channel/21/update',
        body,
        body,
      ],
    ),
  ],
  Pixel: Object.entries(pixelTypes).map(
    ([type, typeName]): Sent => [
      `createPixel(input: { type: ${type}, name: "x", tag: "y" })`,
      'POST /api/pixel/add',
      { type: typeName, name: 'x', tag: 'y' },
      { type, typeName, name: 'x', tag: 'y' },
    ],
  ),
  QrCode: [
    [
      `createQrCode(input: {
        type: LINK
        data: { value: "https://example.com/menu?table=4" }
        background: "rgb(255, 255,255)"
        foreground: "RGB(0,51,102)"
        logo: "https://example.com/logo.PNG?v=2"
        name: "Menu"
      })`,
      'POST /api/qr/add',
      {
        type: 'link',
        data: 'https://example.com/menu?table=4',
        background: 'rgb(255,255,255)',
        foreground: 'rgb(0,51,102)',
        logo: 'https://example.com/logo.PNG?v=2',
        name: 'Menu',
      },
      { name: 'Menu', link: expect.stringContaining('/qr/') },
    ],
    [
      `updateQrCode(input: {
        id: 431, type: WIFI, data: { fields: { ssid: "Guests" } }
        background: "rgb(1,2,3)", foreground: null, logo: "logos/finch.jpeg"
      })`,
      'PUT /api/qr/431/update',
      {
        type: 'wifi',
        data: { ssid: 'Guests' },
        background: 'rgb(1,2,3)',
        logo: 'logos/finch.jpeg',
      },
      { databaseId: 431 },
    ],
  ],
  User: [
    [
      `createUser(input: { ${user}, planId: 2, expiration: "2040-07-01T00:30:00.5+02:00" })`,
      'POST /api/user/add',
      { ...userBody, planid: 2, expiration: '2040-06-30 22:30:00' },
      {
        email: 'ivy@moss.example',
        username: 'ivy.moss',
        planId: 2,
        expires: '2040-06-30T22:30:00Z',
      },
    ],
    [
      'subscribeUser(input: { planId: 2, userId: 32, type: LIFETIME, expiration: "2040-01-31T09:30:00Z" })',
      'PUT /api/plan/2/user/32',
      { type: 'lifetime', expiration: '2040-01-31 09:30:00' },
      { databaseId: 32, planId: 2, expires: '2040-01-31T09:30:00Z' },
    ],
    ...(['MONTHLY', 'YEARLY', 'LIFETIME'] as const).map(
      (type): Sent => [
        `subscribeUser(input: { planId: 3, userId: 32, type: ${type} })`,
        'PUT /api/plan/3/user/32',
        { type: type.toLowerCase() },
        { planId: 3 },
      ],
    ),
    [
      'subscribeUser(input: { planId: 3, userId: 32, type: YEARLY })',
      'PUT /api/plan/3/user/32',
      { type: 'yearly' },
      { email: 'wren@wrenceramics.com', status: 'PRO', registered: expect.stringMatching(/Z$/) },
      '/api/user/32',
    ],
  ],
};

const rows = Object.entries(sent).flatMap(([type, each]) =>
  each.map((row) => [row[0], { type, row }] as const),
);

it.each(rows)('%s sends what is given, and reads only what is not', async (_, { type, row }) => {
  const [mutation, request, body, expected, read] = row;
  const selection = ['__typename', ...Object.keys(expected)].join(' ');
  const { result, calls } = await stage.change(mutation, `${type} { ${selection} }`);
  const [method, path] = request.split(' ');
  expect(stage.written).toEqual([{ method, path, body }]);
  expect(calls).toEqual([request, ...(read ? [`GET ${read}`] : [])]);
  expect(result).toEqual({ __typename: type, ...expected });
});

it.each(["o'hara@example.co.uk", 'a.b+tag@bücher.example', 'x@sub.domain.example'])(
  'leaves it to the API whether %s will do',
  async (email) => {
    await stage.change(`updateAccount(input: { email: "${email}" })`, 'Account { email }');
    expect(stage.written).toMatchObject([{ body: { email } }]);
  },
);

const manyFaults = { 'input.name': '', 'input.slug': '' };
/** Arguments, and the path of each fault with words of its message. */
const faults: Readonly<Record<string, readonly (readonly [string, Readonly<Row>])[]>> = {
  updateAccount: [
    ['input: {}', { input: '' }],
    ['input: { email: null, password: null }', { input: '' }],
    ['input: { email: "", password: "" }', { 'input.email': '', 'input.password': '' }],
    ...['Ann <ann@example.com>', 'ann@example', 'ann@b@example.com'].map(
      (email) => [`input: { email: "${email}" }`, { 'input.email': '' }] as const,
    ),
    [
      'input: { email: "a b@example.com", password: "1234" }',
      { 'input.email': '', 'input.password': '' },
    ],
  ],
  createDomain: [
    ...[
      'go.example.org',
      'ftp://go.example.org',
      'https:go.example.org',
      'https://',
      'https:///go.example.org',
      'https://go.example.org/shop',
      'https://go.example.org?a=b',
      'https://go.example.org#top',
      'https://ann@go.example.org',
      ' https://go.example.org',
      'https://go example.org',
      'https://go.example.org\\\\shop',
      '',
    ].map((each) => [`input: { domain: "${each}" }`, { 'input.domain': '' }] as const),
    [
      'input: { domain: "x", redirectRoot: "", redirect404: "javascript:alert(1)" }',
      {
        'input.domain': 'http or https',
        'input.redirectRoot': 'http or https',
        'input.redirect404': 'http or https',
      },
    ],
  ],
  updateDomain: [
    ['input: { id: 5 }', { input: '' }],
    ['input: { id: 5, redirectRoot: null, redirect404: null }', { input: '' }],
    ['input: { id: 0, redirectRoot: "https://example.org" }', { 'input.id': '' }],
    ['input: { id: "UGl4ZWw6Nw", redirect404: "https://example.org" }', { 'input.id': '' }],
    [
      'input: { id: "x", redirectRoot: "example.org", redirect404: "https://" }',
      { 'input.id': '', 'input.redirectRoot': '', 'input.redirect404': '' },
    ],
    ['input: { id: "-5" }', { input: '', 'input.id': '' }],
  ],
  createCampaign: [
    ['input: { name: " ", slug: "a b/c" }', { ...manyFaults, 'input.name': 'must not be blank.' }],
  ],
  updateCampaign: [['input: { id: "0", name: "", slug: "?" }', { 'input.id': '', ...manyFaults }]],
  assignLinkToCampaign: [
    ['campaignId: "0", linkId: -1', { campaignId: '', linkId: '' }],
    ['campaignId: 53', { '': 'must have at least one of `link`, `linkId`.' }],
    [
      `campaignId: 53, link: "${globalIdOf('QrItem', 1041)}"`,
      { link: 'needs the ID of a LinkItem' },
    ],
    ['campaignId: 53, link: "1041", linkId: 7', { link: 'is another ID than `linkId`' }],
    ['campaignId: 53, link: "zzz"', { link: 'is not an ID' }],
  ],
  createChannel: [
    [
      'input: { name: "  ", color: "red" }',
      {
        'input.name': 'must not be blank.',
        'input.color': 'must be a hex color: `#RRGGBB` or `#RGB`.',
      },
    ],
    ...['', '1F2A44', '#1F2A4', '#1F2A4G', '#1F2A44FF', ' #1F2A44', 'rgb(1,2,3)'].map(
      (color) => [`input: { name: "Tea", color: "${color}" }`, { 'input.color': '' }] as const,
    ),
  ],
  updateChannel: [
    ['input: { id: 21 }', { input: '' }],
    ['input: { id: 21, name: null, description: null, color: null, starred: null }', { input: '' }],
    ['input: { id: "UGl4ZWw6Nw", description: "" }', { 'input.id': '' }],
    [
      'input: { id: 0, name: "", color: "" }',
      { 'input.id': '', 'input.name': '', 'input.color': '' },
    ],
  ],
  assignItemToChannel: [
    ['channelId: "x", type: QR, itemId: 0', { channelId: '', itemId: '' }],
    ['channelId: 21, type: QR', { '': 'must have at least one of `item`, `itemId`.' }],
    ['channelId: 21, itemId: 440', { type: 'is required for an integer ID.' }],
    ['channelId: 21, item: "440"', { type: 'is required for an integer ID.' }],
    [
      `channelId: 21, type: BIO, item: "${globalIdOf('QrCode', 440)}"`,
      { item: 'needs the ID of a BioItem.' },
    ],
    [
      `channelId: 21, item: "${globalIdOf('Campaign', 53)}"`,
      { item: 'needs the ID of a LinkItem or a BioItem or a' },
    ],
    [
      `channelId: 21, item: "${globalIdOf('QrItem', 440)}", itemId: 7`,
      { item: 'is another ID than `itemId`' },
    ],
  ],
  createPixel: [
    [
      'input: { type: GA, name: " ", tag: "" }',
      { 'input.name': 'must not be blank.', 'input.tag': 'must not be blank.' },
    ],
  ],
  updatePixel: [
    [
      'input: { id: "Q2hhbm5lbDo3", name: "", tag: "\\t" }',
      { 'input.id': '', 'input.name': '', 'input.tag': '' },
    ],
  ],
  createQrCode: [
    [
      `input: {
        type: LINK, data: { value: "example.com" }, name: " "
        background: "#fff", foreground: "rgb(0,0,256)", logo: "logo.gif"
      }`,
      {
        'input.data.value': 'http',
        'input.background': 'rgb(r,g,b)',
        'input.foreground': '255',
        'input.logo': 'PNG',
        'input.name': 'must not be blank.',
      },
    ],
  ],
  updateQrCode: [
    [
      `input: {
        id: "0", data: { fields: { nothing: "" } }, background: "red", logo: "javascript:x.png"
      }`,
      { 'input.id': '', 'input.data.fields': '', 'input.background': '', 'input.logo': '' },
    ],
  ],
  createUser: [
    [
      `input: {
        username: "ivy moss", email: "ivy", password: "1234", planId: "-1"
        expiration: "2020-01-01T00:00:00Z"
      }`,
      {
        'input.username': 'letters',
        'input.email': 'email',
        'input.password': 'must have at least 5 characters.',
        'input.planId': '',
        'input.expiration': 'must be in the future.',
      },
    ],
    [
      'input: { username: "iv", email: "ivy@moss.example", password: "s3cret" }',
      { 'input.username': 'must have at least 3 characters.' },
    ],
  ],
  subscribeUser: [
    [
      `input: {
        planId: "0", userId: "nobody", type: MONTHLY, expiration: "2001-01-01T00:00:00Z"
      }`,
      { 'input.planId': '', 'input.userId': '', 'input.expiration': 'must be in the future.' },
    ],
  ],
  ...Object.fromEntries(
    ['Domain', 'Campaign', 'Channel', 'Pixel', 'QrCode', 'User'].map((type) => [
      `delete${type}`,
      ['0', '-1', '1.5', 'x', '', globalIdOf('Plan', 7)].map(
        (id) => [`id: "${id}"`, { id: '' }] as const,
      ),
    ]),
  ),
};

describe('The faults of an input are found at once, and spend no call:', () => {
  const cases = Object.entries(faults).flatMap(([name, each]) =>
    each.map(([given, found]) => [`${name}(${given})`, found] as const),
  );
  it.each(cases)('%s', async (mutation, found) => {
    const { result, calls } = await stage.change(mutation, 'Rejected { message }');
    expect(result).toMatchObject({ __typename: 'InvalidInput' });
    expect(result.issues).toEqual(
      Object.entries(found).map(([path, words]) => ({
        path: path === '' ? [] : path.split('.'),
        message: expect.stringContaining(words as string),
      })),
    );
    const [first, second] = result.issues ?? [];
    expect(result.message).toBe(
      second
        ? `The input has ${result.issues?.length} validation errors.`
        : `${first?.path.join('.') || 'The input'}: ${first?.message}`,
    );
    expect(calls).toEqual([]);
  });
});

describe('What the API refuses, is told in its words:', () => {
  it.each([
    [
      'updateAccount(input: { email: "wren@wrenceramics.com" })',
      'An account with this email already exists',
    ],
    [
      'createDomain(input: { domain: "https://go.example.test" })',
      'The domain does not point to our server yet',
    ],
    [
      'updateDomain(input: { id: 999999, redirectRoot: "https://example.org" })',
      'Domain does not exist',
    ],
    ['deleteDomain(id: 999999)', 'Domain does not exist'],
    ['updateCampaign(input: { id: 999999, name: "x" })', 'Campaign does not exist'],
    ['deleteCampaign(id: 999999)', 'Campaign does not exist'],
    ['assignLinkToCampaign(campaignId: 999999, linkId: 1041)', 'Campaign does not exist'],
    ['assignLinkToCampaign(campaignId: 53, linkId: 999999)', 'Link does not exist'],
    ['updateChannel(input: { id: 999999, starred: true })', 'Channel does not exist'],
    ['deleteChannel(id: 999999)', 'Channel does not exist'],
    ['assignItemToChannel(channelId: 999999, type: LINKS, itemId: 1053)', 'Channel does not exist'],
    ['assignItemToChannel(channelId: 21, type: LINKS, itemId: 999999)', 'Item does not exist'],
    ['updatePixel(input: { id: 999999, tag: "x" })', 'Pixel does not exist'],
    ['deletePixel(id: 999999)', 'Pixel does not exist'],
    [
      `createQrCode(input: { type: TEXT, data: { value: "${'x'.repeat(3000)}" } })`,
      'The data are too long for a QR code',
    ],
    ['updateQrCode(input: { id: 99999, data: { value: "x" } })', 'QR code does not exist'],
    ['deleteQrCode(id: 99999)', 'QR code does not exist'],
    [
      `createUser(input: { ${user.replace('ivy.moss', 'studio')} })`,
      'The username is already taken',
    ],
    ['deleteUser(id: 12)', 'You cannot delete your own account'],
    ['subscribeUser(input: { planId: 77, userId: 32, type: YEARLY })', 'Plan does not exist'],
    ['createLoginUrl(userId: 99999)', 'User does not exist'],
  ])('%s', async (mutation, message) => {
    const { result, calls } = await stage.change(mutation, 'Rejected { message }');
    expect(result).toEqual({ __typename: 'Rejected', message, upstream: 'LINKS' });
    expect(calls).toHaveLength(1);
  });
});
