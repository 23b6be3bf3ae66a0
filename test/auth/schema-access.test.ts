import { hash } from 'node:crypto';
import { getIntrospectionQuery } from 'graphql';
import { describe, expect, it } from 'vitest';
import { type Door, openDoor, type Reply } from '../support/door.ts';
import { tokenFile } from '../support/folder.ts';
import { LiveViewer } from '../support/live-viewer.ts';

const file = tokenFile({ name: 'web', role: 'viewer', token: 'the-token' });

let door: Door;

const TOKENS = { AUTH_MODE: 'token', AUTH_TOKENS_FILE: file };
const QUERY = getIntrospectionQuery();
const NAMED = '{ __type(name: "Account") { fields { name } } }';
const extensions = { persistedQuery: { version: 1, sha256Hash: hash('sha256', NAMED) } };

/** Every way to ask for the schema, with a token or without. */
const ways: Readonly<Record<string, (token: string | null) => Promise<Reply>>> = {
  POST: (token) => door.ask(QUERY, token),
  'POST of one type': (token) => door.ask(NAMED, token),
  'POST of one type beside data': (token) =>
    door.ask(`query Q { account { id } ${NAMED.slice(1)}`, token),
  'POST in a fragment': (token) =>
    door.ask('query { ...F } fragment F on Query { __schema { queryType { name } } }', token),
  GET: (token) => get({ query: NAMED }, token),
  'GET by hash': (token) => get({ extensions: JSON.stringify(extensions) }, token),
  'POST with its hash': (token) => post({ query: NAMED, extensions }, token),
  'POST by hash': (token) => post({ extensions }, token),
  'a dry run': (token) => door.ask(NAMED, token, { headers: { 'x-gateway-dry-run': 'true' } }),
  'in parts': (token) =>
    door.ask(`{ ... @defer { ${NAMED.slice(1)} }`, token, {
      headers: { accept: 'multipart/mixed, application/json;q=0.5' },
    }),
  SDL: (token) => door.send('/schema.graphql', { headers: bearer(token) }),
};

const bearer = (token: string | null): Record<string, string> =>
  token === null ? {} : { authorization: `Bearer ${token}` };
const get = (parameters: Record<string, string>, token: string | null) =>
  door.send(`/graphql?${new URLSearchParams(parameters)}`, {
    headers: { ...bearer(token), 'apollo-require-preflight': 'true' },
  });
const post = (body: object, token: string | null) =>
  door.send('/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...bearer(token) },
    body: JSON.stringify(body),
  });

/** Names that only the schema shows, and no error that a caller without it may have. */
const isSchema = ({ text }: Reply): boolean => /"username"|type Account|"queryType"/.test(text);

/** What each way answers. Those who may ask do so often enough to have it remembered. */
async function open(token: string | null): Promise<Record<string, boolean>> {
  const found: Record<string, boolean> = {};
  for (const [name, way] of Object.entries(ways)) found[name] = isSchema(await way(token));
  return found;
}
async function openOften(token: string | null): Promise<Record<string, boolean>> {
  await open(token);
  await open(token);
  return open(token);
}
const each = (isOpen: boolean): Record<string, boolean> =>
  Object.fromEntries(
    Object.keys(ways).map((name) => [name, name === 'a dry run' ? false : isOpen]),
  );

async function viewerSees(token: string): Promise<boolean> {
  const viewer = LiveViewer.open(door.url, { query: `query @live ${NAMED}`, token });
  await viewer
    .until(({ ended, events, text }) => ended || events.length > 0 || text !== '')
    .catch(() => null);
  return JSON.stringify([viewer.document, viewer.text]).includes('username');
}

const suggestions = async (token: string | null) =>
  [
    await door.ask('{ acount { username } }', token),
    await door.ask('{ channel(di: "1") { name } }', token),
    await door.ask('query ($f: UserFilter) { users(filter: $f) { id } }', token, {
      variables: { f: 'FRE' },
    }),
    await door.ask(
      'mutation ($i: CreatePixelInput!) { createPixel(input: $i) { __typename } }',
      token,
      { variables: { i: { typ: 1 } } },
    ),
  ].filter(({ text }) => /did you mean/i.test(text)).length;

describe('The schema of a real upstream', () => {
  it('is open to callers with a valid token, and to no others, on every path', async () => {
    door = await openDoor(TOKENS);
    expect(await openOften('the-token')).toEqual(each(true));
    expect(await viewerSees('the-token')).toBe(true);
    expect(await suggestions('the-token')).toBe(4);
    for (const token of [null, 'another-token']) {
      expect(await openOften(token)).toEqual(each(false));
      expect(await suggestions(token)).toBe(0);
      for (const way of Object.values(ways)) {
        const { code, status } = await way(token);
        expect([status, code]).toEqual([401, 'UNAUTHENTICATED']);
      }
    }
    expect(await viewerSees('another-token')).toBe(false);
    expect(door.calls()).toBe(1);
  });

  it('is closed where no caller is known, with what to set', async () => {
    door = await openDoor({ AUTH_MODE: 'none' });
    expect(await openOften(null)).toEqual(each(false));
    expect(await suggestions(null)).toBe(0);
    const { errors } = await door.ask(QUERY);
    expect(errors[0]?.message).toBe(
      'Introspection is disabled. The operator can enable it with INTROSPECTION=on.',
    );
  });

  it('is open to keys that the API accepts, and to no key that is made up', async () => {
    door = await openDoor({ AUTH_MODE: 'passthrough' });
    const { pro } = door.sandbox.links.keys;
    expect(await openOften(pro)).toEqual(each(true));
    expect(await viewerSees(pro)).toBe(true);
    expect(door.calls()).toBe(1);
    for (const token of [null, 'made-up']) {
      expect(await openOften(token)).toEqual(each(false));
      expect(await suggestions(token)).toBe(0);
    }
    expect(await viewerSees('made-up')).toBe(false);
    expect((await door.ask(QUERY, 'made-up')).code).toBe('UPSTREAM_UNAUTHENTICATED');
  });

  it('is closed to a key as soon as the API refuses it', async () => {
    door = await openDoor({ AUTH_MODE: 'passthrough' });
    const { pro } = door.sandbox.links.keys;
    expect(await openOften(pro)).toEqual(each(true));
    door.sandbox.links.fault({
      kind: 'answer',
      rewrite: () => ({ status: 401, headers: {}, body: { error: 1, message: 'Invalid API key' } }),
    });
    await door.ask('{ plans { id } }', pro);
    expect(await open(pro)).toEqual(each(false));
  });

  it.each([
    ['off', TOKENS, 'the-token', false],
    ['false', TOKENS, 'the-token', false],
    ['on', { AUTH_MODE: 'none' }, null, true],
    ['true', { AUTH_MODE: 'none' }, null, true],
    ['callers', { AUTH_MODE: 'none' }, null, false],
    ['on', { AUTH_MODE: 'passthrough' }, 'made-up', true],
  ])('with INTROSPECTION=%s and %o, is for %s: %s', async (INTROSPECTION, env, token, isOpen) => {
    door = await openDoor({ ...env, INTROSPECTION });
    // What else is asked for beside it needs a key that is accepted.
    const found = await openOften(token);
    expect({ ...found, 'POST of one type beside data': isOpen }).toEqual(each(isOpen));
    expect(await suggestions(token)).toBe(isOpen ? 4 : 0);
  });
});
