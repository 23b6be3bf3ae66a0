import { beforeAll, describe, expect, it } from 'vitest';
import { codings } from '../../../src/http/encoding/codings.ts';
import { type Door, openDoor } from '../../support/door.ts';
import { askRaw, type RawReply } from '../../support/raw-reply.ts';

/** An answer of some 4 kB. */
const CHANNELS = `query ($channels: Int = 8) { account { username } channels(first: $channels) { nodes {
  id name items(first: 5) { totalCount nodes { ... on ChannelEntry { title link } } } } } }`;
const PARTS = `{ account { username } channels(first: 8) { nodes { id name
  ... @defer { items(first: 5) { nodes { ... on ChannelEntry { title link } } } } } } }`;
const WRONG = `{ ${Array.from({ length: 30 }, (_, n) => `nothing${n}`).join(' ')} }`;
const USER = '{ users { apiKey username email } }';
/** What a page of 1 kB and more is in: the sandbox has enough users for that. */
const LARGE =
  '{ channels(first: 40) { nodes { name description items(first: 60) { nodes { ... on ChannelEntry { title link date } } } } } }';

const JSON_TYPE = { 'content-type': 'application/json' };

let door: Door;
beforeAll(async () => {
  door = await openDoor({
    AUTH_MODE: 'none',
    INTROSPECTION: 'true',
    EXPOSE_USER_API_KEYS: 'true',
    CORS_ORIGINS: 'https://app.example',
  });
});

type Headers = Readonly<Record<string, string>>;

const post = (query: string, headers: Headers = {}, variables: object = {}): Promise<RawReply> =>
  askRaw(`${door.url}/graphql`, {
    method: 'POST',
    headers: { ...JSON_TYPE, accept: 'application/json', ...headers },
    body: JSON.stringify({ query, variables }),
  });
const get = (path: string, headers: Headers = {}, method = 'GET'): Promise<RawReply> =>
  askRaw(door.url + path, { method, headers });
const queried = (query: string): string => `/graphql?${new URLSearchParams({ query })}`;
const taking = (coding: string): Headers => ({ 'accept-encoding': coding });

/** Every response whose length is known, by what it is. */
const wholes: readonly (readonly [string, (headers: Headers) => Promise<RawReply>, number])[] = [
  ['an answer', (headers) => post(CHANNELS, { ...headers, 'content-encoding': 'identity' }), 200],
  ['an answer from memory', (headers) => post(CHANNELS, headers), 200],
  [
    'an answer to a page',
    (headers) => post(CHANNELS, { ...headers, origin: 'https://app.example' }),
    200,
  ],
  [
    'an answer to a GET',
    (headers) => get(queried(CHANNELS), { accept: 'application/json', ...headers }),
    200,
  ],
  ['a large answer', (headers) => post(LARGE, { ...headers, 'content-encoding': 'identity' }), 200],
  ['a large answer from memory', (headers) => post(LARGE, headers), 200],
  ['errors', (headers) => post(WRONG, headers), 200],
  ['the schema', (headers) => get('/schema.graphql', headers), 200],
  ['the console', (headers) => get('/console', headers), 200],
  ['the state of the console', (headers) => get('/console.json', headers), 200],
  ['metrics', (headers) => get('/metrics', headers), 200],
];

/** What changes from one response to the next, as a sign for what it is. */
const still = (text: string): string =>
  text.replace(/^(# \w+ )?(nodejs|process)_.*\n/gm, '').replace(/\d+(\.\d+)?(e[+-]\d+)?/g, 'N');

describe.each(wholes)('%s', (_, ask, status) => {
  it.each([...codings])('is sent in %s with equal content', async (coding) => {
    // The third is given from memory where it can be.
    for (let n = 0; n < 3; n += 1) await ask({});
    const plain = await ask({});
    expect(plain.status).toBe(status);
    expect(plain.bytes.length).toBeGreaterThan(1024);
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(plain.headers['content-length']).toBe(String(plain.bytes.length));
    for (let n = 0; n < 3; n += 1) {
      const { bytes, headers, status: answered, text } = await ask(taking(coding));
      expect([answered, headers['content-encoding']]).toEqual([status, coding]);
      expect(headers['content-length']).toBe(String(bytes.length));
      expect(bytes.length).toBeLessThan(plain.bytes.length / 2);
      expect(headers.vary?.split(', ')).toContain('Accept-Encoding');
      expect(still(text)).toBe(still(plain.text));
      // All headers besides are those of the other form.
      const of = ({ headers: all }: Pick<RawReply, 'headers'>) => {
        const { 'content-encoding': _coding, 'content-length': _length, ...rest } = all;
        return still(JSON.stringify({ ...rest, 'x-request-id': null, date: null }));
      };
      expect(of({ headers })).toBe(of(plain));
    }
  });

  it('is sent as it is where the client does not want it transformed', async () => {
    const headers = { ...taking('br, gzip'), 'cache-control': 'no-transform' };
    expect((await ask(headers)).headers['content-encoding']).toBeUndefined();
    expect((await ask(taking('identity'))).headers['content-encoding']).toBeUndefined();
    expect((await ask(taking('br;q=0, *;q=0'))).headers['content-encoding']).toBeUndefined();
  });
});

describe('A response', () => {
  it('is compressed above 1 kB only, unless the client takes nothing else', async () => {
    const small = '{ account { username } }';
    for (let n = 0; n < 4; n += 1) {
      for (const ask of [
        () => post(small, taking('br')),
        () => get('/livez', taking('br')),
        () => get(queried(small), taking('br')),
      ]) {
        const { headers, status } = await ask();
        expect([status, headers['content-encoding']]).toEqual([200, undefined]);
        // The same one may be larger another time.
        expect(headers.vary?.split(', ')).toContain('Accept-Encoding');
      }
      const only = await post(small, taking('gzip, identity;q=0'));
      expect(only.headers['content-encoding']).toBe('gzip');
      expect(JSON.parse(only.text).data.account.username).toBe('studio');
    }
  });

  it('has the same tag in every coding, and is 304 by the tag of any other', async () => {
    const path = queried(CHANNELS);
    for (const address of [path, '/schema.graphql', '/console']) {
      const tags = new Set<string>();
      for (const coding of ['identity', ...codings]) {
        for (let n = 0; n < 3; n += 1)
          tags.add((await get(address, taking(coding))).headers.etag ?? '');
      }
      expect(tags.size).toBe(1);
      const [tag = ''] = tags;
      expect(tag).toMatch(/^W\//);
      for (const coding of ['identity', ...codings]) {
        const reply = await get(address, { ...taking(coding), 'if-none-match': tag });
        expect([reply.status, reply.bytes.length]).toEqual([304, 0]);
        expect(reply.headers['content-encoding']).toBeUndefined();
        expect(reply.headers.vary?.split(', ')).toContain('Accept-Encoding');
      }
    }
  });

  it('to HEAD says of its body what a GET is answered, as far as it says something', async () => {
    for (const path of ['/schema.graphql', '/console', '/metrics', '/console.json', '/livez']) {
      for (const coding of ['identity', ...codings]) {
        const head = await get(path, taking(coding), 'HEAD');
        const { headers } = await get(path, taking(coding));
        expect(head.bytes.length).toBe(0);
        for (const name of ['content-encoding', 'content-type', 'vary', 'etag']) {
          expect([path, name, head.headers[name]]).toEqual([path, name, headers[name]]);
        }
        if (coding !== 'identity' && headers['content-encoding'] !== undefined) {
          expect(head.headers['content-length']).toBeUndefined();
        }
      }
    }
  });

  it('is the same however many ask at once, in whatever coding', async () => {
    const text = (await post(CHANNELS)).text;
    const asked = Array.from({ length: 60 }, (_, n) =>
      post(CHANNELS, taking(['identity', ...codings][n % (codings.length + 1)] ?? '')),
    );
    for (const reply of await Promise.all(asked)) expect(still(reply.text)).toBe(still(text));
  });

  it('shows what was written, in the coding in which it was remembered', async () => {
    const query = `{ campaigns(first: 100) { nodes { id name public } } account { username } }`;
    for (const name of ['First name', 'Second name']) {
      const { text: written } = await post(
        `mutation { updateCampaign(input: { id: "53", name: "${name}" }) { __typename } }`,
      );
      expect(written).toContain('"Campaign"');
      for (let n = 0; n < 4; n += 1) {
        const { headers, text } = await post(query, taking('br'));
        expect(headers['content-encoding']).toBe('br');
        expect(text).toContain(name);
      }
    }
  });
});

describe('A response that comes in parts', () => {
  const forms = {
    'multipart/mixed': 'multipart/mixed;deferSpec=20220824',
    'text/event-stream': 'text/event-stream;deferSpec=20220824',
  };

  it.each(Object.entries(forms))('is compressed: %s', async (type, accept) => {
    await post(CHANNELS);
    const plain = await post(PARTS, { accept });
    const packed = await post(PARTS, { accept, ...taking('br, gzip') });
    expect(plain.headers['content-type']).toContain(type);
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(packed.headers['content-length']).toBeUndefined();
    expect(packed.headers.vary?.split(', ')).toContain('Accept-Encoding');
    expect(still(packed.text)).toBe(still(plain.text));
    expect(packed.bytes.length).toBeLessThan(plain.bytes.length / 2);
    // Where only a coding is taken that pieces are not sent in.
    const other = await post(PARTS, { accept, ...taking('br') });
    expect(other.headers['content-encoding']).toBeUndefined();
  });
});

describe('A response with secrets', () => {
  const secrets: readonly (readonly [string, (headers: Headers) => Promise<RawReply>])[] = [
    ['of a query', (headers) => post(USER, headers)],
    ['of a GET', (headers) => get(queried(USER), headers)],
    [
      'beside other fields',
      (headers) => post(`{ users { apiKey } channels(first: 8) { nodes { name } } }`, headers),
    ],
    ['by another name', (headers) => post('{ users { username: apiKey } }', headers)],
    [
      'in a part',
      (headers) => post('{ users { id ... @defer { apiKey } } }', { ...headers, accept: forms }),
    ],
    [
      'in events',
      (headers) =>
        post('{ users { id ... @defer { apiKey } } }', {
          ...headers,
          accept: 'text/event-stream;deferSpec=20220824',
        }),
    ],
    ['with errors', (headers) => post('{ users { apiKey } user(id: "none") { apiKey } }', headers)],
    [
      'of a mutation',
      (headers) =>
        post('mutation { createLoginUrl(userId: 41) { ... on LoginUrl { url } } }', headers),
    ],
  ];
  const forms = 'multipart/mixed;deferSpec=20220824';

  it.each(secrets)('is never compressed: %s', async (_, ask) => {
    for (const accepted of ['gzip, deflate, br, zstd', 'gzip, identity;q=0']) {
      // Asked again, it could be answered from memory.
      for (let n = 0; n < 3; n += 1) {
        const { headers, text } = await ask(taking(accepted));
        expect(text).toMatch(/data|hasNext|errors/);
        expect(headers['content-encoding']).toBeUndefined();
        expect(headers['cache-control']).toBe('no-store, no-transform');
      }
    }
  });
});
