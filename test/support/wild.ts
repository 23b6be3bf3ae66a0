import * as fc from 'fast-check';
import { anyCodePoint } from './any-text.ts';

/** One request, whatever it is. */
export interface Message {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string | Uint8Array | null;
}

const words = (text: string): fc.Arbitrary<string> => fc.constantFrom(...text.split(' '));

/** A POST to the graph. */
function operation(request: unknown): Message {
  return {
    method: 'POST',
    path: '/graphql',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request),
  };
}

/** Words of the language and of this graph, strung together without sense. */
const wildQuery = fc
  .array(
    fc.oneof(
      words('{ } ( ) [ ] : ! $ @ ... " """ # , \n \\u0000 -1 1e400 $v A'),
      words('query mutation subscription fragment on true null __schema __type __typename'),
      words('account channels items first after id nodes edges node username Query Channel'),
      words('@skip(if:$v) @defer @include(if:true) @stream(initialCount:1)'),
      fc.string({ maxLength: 8 }),
    ),
    { maxLength: 40 },
  )
  .map((tokens) => tokens.join(' '));

const literal = fc.oneof(
  fc.integer().map(String),
  fc.double().map(String),
  fc.string({ maxLength: 12 }).map((value) => JSON.stringify(value)),
  words(
    'null true [] {} ENUM 2147483647 -2147483648 "Q2hhbm5lbDox" "Q2hhbm5lbDo5OTk5OTk5OTk5OTk5OTk5OTk5OQ=="',
  ),
);
const connection = fc
  .tuple(
    words('channels campaigns qrCodes users files pixels items'),
    words('first last after before search nope'),
    literal,
  )
  .map(([list, name, value]) => `${list}(${name}: ${value}) { totalCount edges { cursor } }`);
const single = literal.map((id) => `node(id: ${id}) { id __typename }`);

/** Fields of this graph with any argument. */
const saneQuery = fc
  .array(fc.oneof(connection, single), { minLength: 1, maxLength: 4 })
  .map((fields) => `{ ${fields.map((field, index) => `a${index}: ${field}`).join(' ')} }`);

export const anyQuery = fc.oneof(wildQuery, saneQuery).map((query) => operation({ query }));

export const anyVariables = fc
  .record({
    variables: fc.oneof(
      fc.jsonValue(),
      fc.dictionary(words('id first after __proto__'), fc.jsonValue()),
    ),
    operationName: fc.jsonValue(),
  })
  .map((rest) =>
    operation({
      query:
        'query Q($id: ID!, $first: Int, $after: String) { node(id: $id) { id } channels(first: $first, after: $after) { totalCount } }',
      ...rest,
    }),
  );

export const anyInput = fc
  .tuple(fc.jsonValue(), words('Domain Channel Pixel User QrCode'))
  .map(([input, noun]) =>
    operation({
      query: `mutation ($input: Create${noun}Input!) { create${noun}(input: $input) { __typename } }`,
      variables: { input },
    }),
  );

export const anyBody = fc
  .oneof(
    fc.json(),
    fc.string(),
    fc.uint8Array({ maxLength: 200 }),
    fc.integer({ min: 1, max: 5000 }).map((depth) => '['.repeat(depth)),
    fc.integer({ min: 1, max: 3000 }).map((depth) => JSON.stringify({ query: '{a'.repeat(depth) })),
  )
  .map((body) => ({ ...operation(null), body }));

const uriCharacter = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.constantFrom(
      ...Array.from(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+,;=:@/?",
      ),
    ),
  },
  { weight: 1, arbitrary: anyCodePoint.map(encodeURIComponent) },
);
/** As `fc.webPath` and `fc.webQueryParameters`, without their list of all code points. */
const uriText = fc.array(uriCharacter).map((characters) => characters.join(''));

const anyQueryString = fc.oneof(
  fc.constant(''),
  uriText,
  fc.string().map(encodeURIComponent),
  fc.string().map((query) => `query=${encodeURIComponent(query)}&variables=%7B`),
);

export const anyTarget = fc.record({
  method: words('GET HEAD POST PUT PATCH DELETE OPTIONS TRACE PROPFIND'),
  path: fc.oneof(
    uriText.map((path) => `/${path}`),
    fc
      .tuple(
        words(
          '/graphql /status /console /console.json /assets/ /metrics /readyz /files/ /files/% // /graphql/..',
        ),
        anyQueryString,
      )
      .map(([path, query]) => (query ? `${path}?${query}` : path)),
  ),
  headers: fc.constant({}),
  body: fc.constant(null),
});

/** Without `expect: 100-continue`, which asks for an exchange of its own. */
export const anyHeaders = fc
  .dictionary(
    words(
      'content-type accept accept-encoding prefer origin x-request-id if-none-match authorization traceparent x-forwarded-for content-encoding cookie range',
    ),
    fc.oneof(
      fc.string({ maxLength: 30 }),
      words(
        'application/json text/plain application/graphql multipart/form-data multipart/form-data;boundary= application/x-www-form-urlencoded text/html */* multipart/mixed text/event-stream application/json;charset=utf-99 wait=-1 wait=1e9 gzip null',
      ),
    ),
  )
  .map((headers) => ({ ...operation({ query: '{ __typename }' }), headers }));

const part = fc
  .record({
    name: fc.oneof(words('operations map 0 1'), fc.string({ maxLength: 5 })),
    file: fc.option(fc.string({ maxLength: 10 })),
    value: fc.oneof(
      fc.json(),
      fc.string(),
      fc.constantFrom(
        '{"query":"mutation($f: Upload!){ uploadFile(file: $f) { __typename } }","variables":{"f":null}}',
        '{"0":["variables.f"]}',
        '{"0":["variables.__proto__.x"]}',
        '{"0":["a.b.c"]}',
      ),
    ),
  })
  .map(({ name, file, value }) => {
    const filename = file === null ? '' : `; filename=${JSON.stringify(file)}`;
    return `--x\r\nContent-Disposition: form-data; name=${JSON.stringify(name)}${filename}\r\n\r\n${value}\r\n`;
  });

export const anyMultipart = fc.array(part, { maxLength: 5 }).map((parts) => ({
  ...operation(null),
  headers: {
    'content-type': 'multipart/form-data; boundary=x',
    'apollo-require-preflight': 'true',
  },
  body: `${parts.join('')}--x--\r\n`,
}));

export const anyFile = fc
  .tuple(fc.string({ maxLength: 40 }), fc.uint8Array({ maxLength: 50 }))
  .map(([name, body]) => ({
    method: 'PUT',
    path: `/files/${encodeURIComponent(name)}`,
    headers: {},
    body,
  }));
