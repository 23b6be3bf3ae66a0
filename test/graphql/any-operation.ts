import * as fc from 'fast-check';

const globalId = (text: string): string => Buffer.from(text).toString('base64url');
const id = fc.constantFrom(1, 3, 21, 53, 99, 105, 301, 470, 999_999);
const count = fc.constantFrom(0, 1, 3, 5, 12, 20, 100, 120);
const window = fc
  .tuple(fc.constantFrom('first', 'first', 'first', 'last'), count)
  .map(([side, n]) => `(${side}: ${n})`);
const order = (...names: readonly string[]) =>
  fc
    .tuple(fc.constantFrom(...names), fc.constantFrom('ASC', 'DESC'))
    .map(([field, direction]) => `orderBy: { field: ${field}, direction: ${direction} }`);
const created = 'createdAt: { from: "2026-03-01T00:00:00Z", to: "2026-09-01T00:00:00Z" }';
const word = fc.constantFrom('search: "a"', 'search: "the e"', 'search: "nothing is called this"');
/** What a list is filtered by and sorted by, by its name. */
const views: Readonly<Record<string, fc.Arbitrary<string>>> = {
  channels: fc.oneof(order('NAME', 'STARRED', 'ID'), word, fc.constant('starred: true')),
  campaigns: fc.oneof(
    order('NAME', 'ID'),
    word,
    fc.constantFrom('public: false', 'hasRotator: true'),
  ),
  qrCodes: fc.oneof(order('SCANS', 'CREATED_AT'), word, fc.constant(created)),
  pixels: fc.oneof(order('TYPE'), word, fc.constantFrom('type: GA', created)),
  files: fc.oneof(order('DOWNLOADS', 'NAME'), fc.constant(created)),
  domains: fc.oneof(order('DOMAIN'), word),
  overlays: fc.oneof(order('CREATED_AT'), word, fc.constant('type: "Message"')),
  items: fc.oneof(order('TITLE', 'TYPE'), word, fc.constant('type: QR')),
};
const windowOf = (list: string): fc.Arbitrary<string> => {
  const offset = fc.constantFrom(0, 3, 20, 99, 100, 130, 5000).map((n) => `offset: ${n}`);
  const from = fc
    .tuple(count, fc.oneof(offset, fc.constant('')))
    .map(([n, part]) => `first: ${n} ${part}`);
  return fc.oneof(
    { weight: 3, arbitrary: window },
    { weight: 1, arbitrary: from.map((part) => `(${part})`) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.oneof(from, fc.constant('last: 4')), views[list] ?? word)
        .map((parts) => `(${parts.join(' ')})`),
    },
  );
};
const lists = fc
  .constantFrom('channels', 'campaigns', 'qrCodes', 'pixels', 'files', 'domains', 'overlays')
  .chain((list) => windowOf(list).map((part) => `${list}${part}`));
const items = windowOf('items').map((part) => `items${part} { totalCount nodes { __typename } }`);
const codes = window.map(
  (part) => `items${part} { nodes { ... on QrItem { qrCode { name statistics { clicks } } } } }`,
);

const nounId = fc.constantFrom(1, 2, 3, 21, 53, 65, 99, 105, 301, 440, 470, 999_999);
const few = fc.constantFrom('', '(first: 2)', '(last: 3)', '(first: 120)');

/** The channels of an item, read or from the cache alone, with what their rows lead to. */
const holding = fc
  .tuple(
    fc.constantFrom('', '(cachedOnly: true)', '(cachedOnly: true)'),
    fc.constantFrom(
      'complete',
      'nodes { name }',
      'complete nodes { items(first: 3) { totalCount } }',
    ),
  )
  .map(([args, rest]) => `channels${args} { ${rest} }`);

/** A selection of a row or an edge of the graph that has no list of its own upstream. */
const noun: fc.Arbitrary<string> = fc.oneof(
  fc
    .tuple(fc.constantFrom('domain', 'overlay', 'splashPage', 'file', 'pixel', 'plan'), nounId)
    .map(([field, n]) => `${field}(id: ${n}) { id databaseId }`),
  fc.tuple(nounId, few).map(([n, part]) => `domain(id: ${n}) { files${part} { totalCount } }`),
  few.map((part) => `domains${part} { nodes { domain files { totalCount nodes { name } } } }`),
  fc
    .tuple(nounId, few)
    .map(([n, part]) => `plan(id: ${n}) { userCount users${part} { totalCount } }`),
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      'plans { userCount users(first: 3) { nodes { username plan { name } } } }',
      'users { plan { users(first: 2) { nodes { apiKey } } } }',
      'account { plan { name } }',
      'account { plan { users(first: 1) { nodes { plan { name } } } } }',
      'account { usage { feature limit } }',
      'account { usage { feature used limit } pixels: usage { used } }',
      'purchases(codes: ["x", "y", "x", ""]) { code item { name } }',
      'purchases(codes: []) { code }',
      'items(first: 2) { nodes { descriptionText } }',
      `node(id: "${globalId('Seller:1')}") { ... on Seller { username } }`,
      `nodes(ids: ["${globalId('Purchase:~AAAAAAAAAAAAAAAAAAAAAA')}"]) { id }`,
      'campaigns(first: 3) { nodes { slug } }',
      'rateLimit { upstreamResetAt windowSeconds }',
    ),
  },
  fc.tuple(few, holding).map(([part, rest]) => `qrCodes${part} { nodes { ${rest} } }`),
  fc.tuple(nounId, holding).map(([n, rest]) => `qrCode(id: ${n}) { ${rest} }`),
  fc
    .tuple(nounId, holding)
    .map(
      ([n, rest]) =>
        `channel(id: ${n}) { items(first: 3) { nodes { ... on ChannelEntry { ${rest} } } } }`,
    ),
);

/** A write whose result has the state before it, or that takes the id of an item. */
const nounChange: fc.Arbitrary<string> = fc.oneof(
  nounId.map(
    (n) =>
      `updateChannel(input: { id: ${n}, name: "a" }) { ... on Channel { name previous { name } items(first: 2) { nodes { ... on ChannelEntry { channels(cachedOnly: true) { complete } } } } } }`,
  ),
  nounId.map(
    (n) =>
      `updatePixel(input: { id: ${n}, tag: "t" }) { ... on Pixel { tag previous { tag name } } }`,
  ),
  nounId.map(
    (n) =>
      `updateCampaign(input: { id: ${n}, name: "n" }) { ... on Campaign { previous { slug } slug } }`,
  ),
  fc
    .tuple(nounId, nounId)
    .map(
      ([channel, item]) =>
        `assignItemToChannel(channelId: ${channel}, item: "${globalId(`QrCode:${item}`)}") { ... on Channel { databaseId } }`,
    ),
  fc
    .tuple(nounId, nounId)
    .map(
      ([user, plan]) =>
        `subscribeUser(input: { userId: ${user}, planId: ${plan}, type: MONTHLY }) { ... on User { previous { planId } plan { userCount } } }`,
    ),
);

/** A selection of the query type, without an alias. */
const selection = fc.oneof(
  { weight: 5, arbitrary: noun },
  fc.constantFrom(
    'account { username }',
    'seller { username }',
    'plans { name }',
    'users { username }',
    'users { plan { name } }',
    'users(filter: PRO) { plan { name } }',
    'items(first: 5) { nodes { name } }',
    'items(last: 3, search: "a") { totalCount }',
    'items(first: 3, offset: 9, minPrice: 10, orderBy: { field: PRICE }) { nodes { name } }',
    'users(search: "a", orderBy: { field: USERNAME }) { username plan { name } }',
    'plans(free: false, orderBy: { field: YEARLY_PRICE }) { name }',
    'purchase(code: "x") { code item { name } }',
    'rateLimit { used }',
  ),
  lists.map((list) => `${list} { totalCount nodes { databaseId } }`),
  fc
    .tuple(window, fc.oneof(items, codes))
    .map(([part, rest]) => `channels${part} { nodes { databaseId ${rest} } }`),
  window.map((part) => `qrCodes${part} { nodes { statistics { clicks } } }`),
  id.map((n) => `user(id: ${n}) { username }`),
  id.map((n) => `user(id: ${n}) { plan { name } }`),
  id.map((n) => `user(id: ${n}) { apiKey }`),
  id.map((n) => `channel(id: ${n}) { name }`),
  fc.tuple(id, fc.oneof(items, codes)).map(([n, rest]) => `channel(id: ${n}) { ${rest} }`),
  id.map((n) => `campaign(id: ${n}) { name }`),
  id.map((n) => `qrCode(id: ${n}) { name }`),
  id.map((n) => `qrCode(id: ${n}) { statistics { clicks } }`),
  id.map((n) => `item(id: ${n}) { name }`),
  fc
    .tuple(fc.constantFrom('User', 'Channel', 'QrCode', 'Plan', 'Item', 'Pixel', 'Account'), id)
    .map(([type, n]) => `node(id: "${globalId(`${type}:${n}`)}") { id __typename }`),
  fc
    .tuple(
      fc.constantFrom('User', 'Channel', 'QrCode', 'Plan', 'Item'),
      fc.array(id, { minLength: 1, maxLength: 4 }),
    )
    .map(
      ([type, ids]) =>
        `nodes(ids: ${JSON.stringify(ids.map((n) => globalId(`${type}:${n}`)))}) { id }`,
    ),
);

const change = fc.oneof(
  { weight: 4, arbitrary: nounChange },
  id.map(
    (n) =>
      `updateChannel(input: { id: ${n}, name: "a" }) { ... on Channel { name description items { totalCount } } }`,
  ),
  id.map((n) => `updateChannel(input: { id: ${n}, name: "a" }) { ... on Channel { name } }`),
  id.map(
    (n) => `updateQrCode(input: { id: ${n}, data: { value: "x" } }) { ... on QrCode { scans } }`,
  ),
  id.map((n) => `deletePixel(id: ${n}) { __typename }`),
  fc.constantFrom(
    'createCampaign(input: { name: "Dry" }) { ... on Campaign { name } }',
    'createCampaign(input: { name: "Dry" }) { ... on Campaign { listUrl } }',
    'createDomain(input: { domain: "https://dry.example" }) { ... on BrandedDomain { redirect404 } }',
    'createPixel(input: { type: GA, name: "n", tag: "t" }) { ... on Pixel { date } }',
    'createUser(input: { username: "dry", email: "d@x.example", password: "secret" }) { ... on User { plan { name } } }',
    'createUser(input: { username: "no", email: "d", password: "secret" }) { __typename }',
    'updateAccount(input: { email: "d@x.example" }) { ... on Account { id email } }',
    'updateAccount(input: { email: "d@x.example" }) { ... on Account { email } }',
  ),
);

const aliased = (parts: readonly string[]): string =>
  parts.map((part, n) => `a${n}: ${part}`).join('\n');
export const query = fc
  .array(selection, { minLength: 1, maxLength: 3 })
  .map((parts) => `{ ${aliased(parts)} }`);
const mutation = fc
  .array(change, { minLength: 1, maxLength: 2 })
  .map((parts) => `mutation { ${aliased(parts)} }`);
export const operation = fc.oneof(
  { weight: 4, arbitrary: query },
  { weight: 1, arbitrary: mutation },
);
