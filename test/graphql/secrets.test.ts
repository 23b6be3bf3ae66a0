import { isObjectType } from 'graphql';
import { beforeAll, describe, expect, it } from 'vitest';
import { schema } from '../../src/schema.ts';
import { type Door, openDoor } from '../support/door.ts';
import { LiveViewer } from '../support/live-viewer.ts';

const USER = '{ user(id: 41) { apiKey } }';

const queries: readonly (readonly [string, string])[] = [
  ['by its name', USER],
  ['of many', '{ users { apiKey } }'],
  ['by another name', '{ user(id: 41) { username: apiKey } }'],
  ['in an inline fragment', '{ user(id: 41) { id ... on User { apiKey } } }'],
  ['in a fragment', '{ user(id: 41) { ...Key } } fragment Key on User { apiKey }'],
  [
    'in a fragment of a fragment',
    'query A { user(id: 41) { ...Outer } } fragment Outer on User { ...Inner } fragment Inner on User { ... { apiKey } }',
  ],
  ['behind a global id', '{ node(id: "VXNlcjo0MQ") { id ... on User { apiKey } } }'],
  ['behind global ids', '{ nodes(ids: ["VXNlcjo0MQ"]) { ... on User { apiKey } } }'],
  ['of nobody', '{ users(email: "nobody@nowhere.example") { apiKey } }'],
  ['that is left out', '{ user(id: 41) { id apiKey @skip(if: true) } }'],
  ['in a part', '{ user(id: 41) { id ... @defer { apiKey } } }'],
];

const parts = 'multipart/mixed;deferSpec=20220824, application/json';

describe('An answer that holds secrets', () => {
  let door: Door;

  beforeAll(async () => {
    door = await openDoor({ AUTH_MODE: 'none', EXPOSE_USER_API_KEYS: 'true' });
  });

  const get = (query: string, headers: Readonly<Record<string, string>> = {}) =>
    door.send(`/graphql?${new URLSearchParams({ query })}`, {
      headers: { accept: 'application/json', ...headers },
    });

  const told = ({ headers, status }: { readonly headers: Headers; readonly status: number }) => ({
    status,
    etag: headers.get('etag'),
    caching: headers.get('cache-control'),
  });
  const unstored = { status: 200, etag: null, caching: 'no-store, no-transform' };

  it.each(queries)('is neither stored nor tagged: %s', async (_, query) => {
    for (const accept of ['application/json', parts]) {
      // Asked again it may be answered from memory, as far as there is something to remember.
      for (let n = 0; n < 3; n += 1) expect(told(await get(query, { accept }))).toEqual(unstored);
      expect(told(await get(query, { accept, 'if-none-match': '*' }))).toEqual(unstored);
      expect(told(await door.ask(query, null, { headers: { accept } }))).toEqual(unstored);
    }
  });

  it('is not stored where a mutation has made it', async () => {
    const secrets = [
      'mutation { createLoginUrl(userId: 41) { ... on LoginUrl { url } } }',
      'mutation { createUser(input: { username: "newone", email: "n@example.com", password: "secret" }) { ... on User { apiKey } } }',
    ];
    for (const mutation of secrets) {
      const reply = await door.ask(mutation);
      expect(told(reply)).toEqual(unstored);
      expect(reply.errors).toEqual([]);
    }
  });

  it('is not stored either where they are refused', async () => {
    const shut = await openDoor({ AUTH_MODE: 'none' }, { on: door.sandbox });
    const reply = await shut.send(`/graphql?${new URLSearchParams({ query: USER })}`);
    expect(reply.code).toBe('FORBIDDEN');
    expect(told(reply)).toEqual(unstored);
  });

  it('is told from that of another operation of the same text', async () => {
    const text =
      'query A { user(id: 41) { id } } query B { user(id: 41) { ...K } } fragment K on User { apiKey }';
    const ask = (operationName: string) =>
      door.send(`/graphql?${new URLSearchParams({ query: text, operationName })}`);
    for (let n = 0; n < 3; n += 1) {
      expect(told(await ask('A'))).toMatchObject({ caching: 'private, no-cache' });
      expect(told(await ask('B'))).toEqual(unstored);
    }
  });

  it('is none of a live query, and of that alone', async () => {
    const refused = await LiveViewer.open(door.url, {
      query: 'query @live { user(id: 41) { ...K } } fragment K on User { key: apiKey }',
    }).untilEnded();
    expect(refused.told).toContain('BAD_USER_INPUT');
    const body = {
      query: 'query A @live { user(id: 41) { id } } query B { user(id: 41) { apiKey } }',
      operationName: 'A',
    };
    expect((await LiveViewer.begun(door.url, { body })).data).toBeTruthy();
  });
});

it('is known by the fields that say in words that they are secret', () => {
  const marked: string[] = [];
  const described: string[] = [];
  for (const type of Object.values(schema.getTypeMap()).filter(isObjectType)) {
    for (const { name, description, extensions } of Object.values(type.getFields())) {
      if (extensions['secret'] === true) marked.push(`${type.name}.${name}`);
      if (/\ba secret\b/.test(description ?? '')) described.push(`${type.name}.${name}`);
    }
  }
  expect(marked).toEqual(described);
  expect(marked.sort()).toEqual(['LoginUrl.url', 'User.apiKey']);
});
