import { hash } from 'node:crypto';
import * as fc from 'fast-check';
import type { GraphQLSchema } from 'graphql';
import { encodeGlobalId } from '../../src/graph/ids/global-id.ts';
import { anyQuery } from '../answers/any-query.ts';
import type { Message } from './wild.ts';
import * as wild from './wild.ts';

/** A GraphQL request before it is said how it is sent. */
interface Asked {
  readonly query: string;
  readonly variables?: unknown;
  readonly operationName?: string;
}

const USUAL_TYPES = ['Account', 'Campaign', 'Channel', 'Item', 'QrCode'];
const OTHER_TYPES =
  'BrandedDomain CtaOverlay File Pixel Plan SplashPage User Seller X __proto__'.split(' ');

const anyId = fc.oneof(
  { weight: 12, arbitrary: fc.tuple(fc.constantFrom(...USUAL_TYPES), fc.nat(12)) },
  { weight: 2, arbitrary: fc.tuple(fc.constantFrom(...OTHER_TYPES), fc.nat(12)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('Channel'), fc.constant(4_000_000_000)) },
);
const globalId = anyId.map(([type, id]) => encodeGlobalId(type, id));
const oddId = fc.oneof(
  { weight: 8, arbitrary: globalId },
  { weight: 1, arbitrary: fc.jsonValue() },
);

/** Ids of several types, of which some are there, some cached, and some neither: of the size that is allowed, or not. */
const anyIds: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 12, arbitrary: fc.array(globalId, { maxLength: 6 }) },
  { weight: 2, arbitrary: fc.array(oddId, { maxLength: 4 }) },
  { weight: 1, arbitrary: fc.jsonValue() },
  {
    weight: 1,
    arbitrary: fc
      .tuple(globalId, fc.constantFrom(400, 501, 20_000))
      .map(([id, count]) => Array(count).fill(id)),
  },
);

const NODES = [
  'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }',
  'query ($ids: [ID!]!) { a: nodes(ids: $ids) { __typename } b: nodes(ids: $ids) { ... on Channel { name items(first: 2) { totalCount } } } }',
  'query ($ids: [ID!]!) { ...F ...F account { username } } fragment F on Query { nodes(ids: $ids) { id ... on Campaign { name } ... on QrCode { statistics { clicks } } } }',
];
const nodes = fc
  .tuple(fc.constantFrom(...NODES), anyIds)
  .map(([query, ids]): Asked => ({ query, variables: { ids } }));

/** Two operations in one text, with variables of one name and two types. */
const two = fc
  .record({
    operationName: fc.constantFrom('A', 'B', '', 'C'),
    v: fc.oneof(fc.boolean(), fc.string({ maxLength: 6 }), fc.jsonValue()),
  })
  .map(
    ({ operationName, v }): Asked => ({
      query:
        'query A($v: Boolean!) { account @include(if: $v) { id } plans @skip(if: $v) { id } } query B($v: String) { items(search: $v, first: 2) { nodes { name } } }',
      operationName,
      variables: { v },
    }),
  );

/** Names that objects have of their own, and fragments that contain themselves. */
const odd = fc
  .constantFrom(
    '{ __proto__: account { id } constructor: seller { username } }',
    '{ toString: campaigns(first: 1) { __proto__: nodes { valueOf: name } } }',
    'fragment A on Query { ...B } fragment B on Query { ...A } { ...A }',
    'query ($a: Boolean = false) { account @include(if: $a) @skip(if: $a) { id @skip(if: $a) username } }',
    'mutation { createPixel(input: { type: GTM, name: "x", tag: "GTM-1" }) { __typename } deleteChannel(id: "9") { __typename } }',
    'query @live { channels(first: 2) { nodes { name items(first: 1) { totalCount } } } }',
    'query @live { account { username } rateLimit { remaining } }',
    '{ account { username ... @defer { email } } channels(first: 3) { nodes @stream(initialCount: 1) { name } } }',
    'subscription { account { id } }',
    '{ rateLimit { remaining } users { apiKey } }',
  )
  .map((query): Asked => ({ query }));

const oddVariables = fc.dictionary(
  fc.constantFrom('ids', 'v', 'v0', 'v1', '__proto__', 'constructor'),
  fc.jsonValue(),
);

/** How something is asked for. */
const headersOfForm = fc.constantFrom<Readonly<Record<string, string>>>(
  {},
  {},
  { accept: 'application/json' },
  { accept: 'application/graphql-response+json' },
  { accept: 'text/event-stream' },
  { accept: 'text/event-stream;live=age' },
  { accept: 'multipart/mixed; deferSpec=20220824' },
  { 'x-gateway-dry-run': '1' },
  { prefer: 'wait=0' },
  { origin: 'https://app.example', 'sec-fetch-site': 'cross-site' },
  { 'accept-encoding': 'gzip', 'if-none-match': '*', connection: 'close' },
);

type Envelope = (asked: Asked, headers: Readonly<Record<string, string>>) => Message;

const post = (body: unknown, headers: Readonly<Record<string, string>>): Message => ({
  method: 'POST',
  path: '/graphql',
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
});

const extensionsOf = ({ query }: Asked): object => ({
  persistedQuery: { version: 1, sha256Hash: hash('sha256', query) },
});

const envelopes = fc.constantFrom<Envelope>(
  post,
  post,
  post,
  ({ query, operationName, variables }, headers) => {
    const parameters = new URLSearchParams({ query });
    if (operationName !== undefined) parameters.set('operationName', operationName);
    if (variables !== undefined) parameters.set('variables', JSON.stringify(variables));
    const path = `/graphql?${parameters}`.slice(0, 8000);
    return { method: 'GET', path, headers: { ...headers }, body: null };
  },
  (asked, headers) => post({ ...asked, extensions: extensionsOf(asked) }, headers),
  ({ query, ...asked }, headers) =>
    post({ ...asked, extensions: extensionsOf({ query }) }, headers),
  (asked, headers) => post([asked, asked], headers),
  ({ query, ...asked }, headers) => post({ ...asked, documentId: query.slice(0, 9) }, headers),
);

const operatorPages = fc.constantFrom(
  ...'/livez /readyz /metrics /console /console.json /schema.graphql /graphql /assets/x'.split(' '),
);
const page = fc
  .record({ path: operatorPages, method: fc.constantFrom('GET', 'HEAD', 'POST') })
  .map((of): Message => ({ ...of, headers: {}, body: null }));

/** Any request over any path of the gateway: most ask for what is there, so that they come far. */
export function anyOperation(schema: GraphQLSchema): fc.Arbitrary<Message> {
  const queries = anyQuery(schema).chain(({ query, variables }) =>
    fc
      .oneof(
        { weight: 5, arbitrary: fc.constantFrom(...variables) },
        { weight: 1, arbitrary: oddVariables },
      )
      .map((given): Asked => ({ query, variables: given })),
  );
  const asked = fc.oneof(
    { weight: 4, arbitrary: queries },
    { weight: 4, arbitrary: nodes },
    { weight: 2, arbitrary: two },
    { weight: 2, arbitrary: odd },
  );
  const operations = fc
    .tuple(asked, envelopes, headersOfForm)
    .map(([of, envelope, headers]) => envelope(of, headers));
  return fc.oneof(
    { weight: 12, arbitrary: operations },
    // As most clients send it, so that it is answered from cached data where it can be.
    { weight: 4, arbitrary: nodes.map((of) => post(of, {})) },
    { weight: 1, arbitrary: page },
    { weight: 1, arbitrary: wild.anyVariables },
    { weight: 1, arbitrary: wild.anyBody },
    { weight: 1, arbitrary: wild.anyHeaders },
    { weight: 1, arbitrary: wild.anyMultipart },
    { weight: 1, arbitrary: wild.anyFile },
    { weight: 1, arbitrary: wild.anyTarget },
  );
}
