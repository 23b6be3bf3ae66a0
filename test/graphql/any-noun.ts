import * as fc from 'fast-check';

const id = fc.constantFrom(1, 2, 3, 21, 53, 65, 99, 105, 301, 440, 470, 999_999);
const few = fc.constantFrom('', '(first: 2)', '(last: 3)', '(first: 120)');
const globalId = (text: string): string => Buffer.from(text).toString('base64url');

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
export const noun: fc.Arbitrary<string> = fc.oneof(
  fc
    .tuple(fc.constantFrom('domain', 'overlay', 'splashPage', 'file', 'pixel', 'plan'), id)
    .map(([field, n]) => `${field}(id: ${n}) { id databaseId }`),
  fc.tuple(id, few).map(([n, part]) => `domain(id: ${n}) { files${part} { totalCount } }`),
  few.map((part) => `domains${part} { nodes { domain files { totalCount nodes { name } } } }`),
  fc.tuple(id, few).map(([n, part]) => `plan(id: ${n}) { userCount users${part} { totalCount } }`),
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
  fc.tuple(id, holding).map(([n, rest]) => `qrCode(id: ${n}) { ${rest} }`),
  fc
    .tuple(id, holding)
    .map(
      ([n, rest]) =>
        `channel(id: ${n}) { items(first: 3) { nodes { ... on ChannelEntry { ${rest} } } } }`,
    ),
);

/** A write whose result has the state before it, or that takes the id of an item. */
export const nounChange: fc.Arbitrary<string> = fc.oneof(
  id.map(
    (n) =>
      `updateChannel(input: { id: ${n}, name: "a" }) { ... on Channel { name previous { name } items(first: 2) { nodes { ... on ChannelEntry { channels(cachedOnly: true) { complete } } } } } }`,
  ),
  id.map(
    (n) =>
      `updatePixel(input: { id: ${n}, tag: "t" }) { ... on Pixel { tag previous { tag name } } }`,
  ),
  id.map(
    (n) =>
      `updateCampaign(input: { id: ${n}, name: "n" }) { ... on Campaign { previous { slug } slug } }`,
  ),
  fc
    .tuple(id, id)
    .map(
      ([channel, item]) =>
        `assignItemToChannel(channelId: ${channel}, item: "${globalId(`QrCode:${item}`)}") { ... on Channel { databaseId } }`,
    ),
  fc
    .tuple(id, id)
    .map(
      ([user, plan]) =>
        `subscribeUser(input: { userId: ${user}, planId: ${plan}, type: MONTHLY }) { ... on User { previous { planId } plan { userCount } } }`,
    ),
);
