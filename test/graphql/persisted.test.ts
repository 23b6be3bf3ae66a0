import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Door, openDoor, type Reply } from '../support/door.ts';
import { tempFolder } from '../support/folder.ts';

const account = '{ account { username } }';
const seller = '{ seller { username } }';
const RESPONSE = 'application/graphql-response+json';

const folder = tempFolder();
const file = join(folder, 'operations.json');
let open: Door;
let listed: Door;
beforeAll(async () => {
  writeFileSync(file, JSON.stringify({ 'id-1': account, [`sha256:${hashOf(seller)}`]: seller }));
  open = await openDoor({ AUTH_MODE: 'none' });
  listed = await openDoor({ AUTH_MODE: 'none', PERSISTED_OPERATIONS_FILE: file });
});

function hashOf(query: string): string {
  return hash('sha256', query);
}

const apq = (id: string) => ({ extensions: { persistedQuery: { version: 1, sha256Hash: id } } });

const ways: readonly (readonly [string, (id: string) => Record<string, unknown>])[] = [
  ['documentId', (documentId) => ({ documentId })],
  ['documentId with the name of the hash', (id) => ({ documentId: `sha256:${id}` })],
  ['doc_id', (doc_id) => ({ doc_id })],
  ['Apollo’s extension', apq],
];

const post = (door: Door, body: object, accept = RESPONSE): Promise<Reply> =>
  door.send('/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept },
    body: JSON.stringify(body),
  });

const get = (door: Door, body: Record<string, unknown>, accept = RESPONSE): Promise<Reply> => {
  const query = new URLSearchParams(
    Object.entries(body).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  );
  return door.send(`/graphql?${query}`, { headers: { accept } });
};

const sends = [
  ['POST', post],
  ['GET', get],
] as const;

const found = { account: { username: expect.any(String) } };

describe.each(sends)('An operation that is sent by %s', (method, send) => {
  it.each(ways)(
    'is asked for by %s until its text was sent, and known from then on',
    async (way, name) => {
      const query = `${account} # ${method} ${way}`;
      const body = name(hashOf(query));
      const miss = await send(open, body);
      expect([miss.status, miss.code]).toEqual([404, 'PERSISTED_QUERY_NOT_FOUND']);
      expect(miss.errors[0]?.message).toBe('PersistedQueryNotFound');
      expect((await send(open, { query, ...body })).data).toEqual(found);
      for (const [, other] of ways) {
        expect((await send(open, other(hashOf(query)))).data).toEqual(found);
      }
      expect((await send(open, { ...body, variables: {} })).errors).toEqual([]);
    },
  );

  it.each(ways)('is refused where the text is not that of %s', async (_, name) => {
    const { status, code } = await send(open, { query: account, ...name(hashOf(seller)) });
    expect([status, code]).toEqual([400, 'BAD_USER_INPUT']);
    expect((await send(open, name(hashOf(seller)))).code).toBe('PERSISTED_QUERY_NOT_FOUND');
  });

  it('is refused where two of its names are not of one operation', async () => {
    await send(open, { query: account, ...apq(hashOf(account)) });
    const both = { documentId: hashOf(account), ...apq(hashOf(seller)) };
    expect((await send(open, both)).code).toBe('BAD_USER_INPUT');
    const same = { documentId: `sha256:${hashOf(account)}`, ...apq(hashOf(account)) };
    expect((await send(open, same)).data).toEqual(found);
  });

  it('is answered from a list by each kind of name', async () => {
    for (const body of [{ documentId: 'id-1' }, { doc_id: 'id-1' }, apq('id-1')]) {
      expect((await send(listed, body)).data).toEqual(found);
    }
    for (const [, name] of ways) {
      const { data } = await send(listed, name(hashOf(seller)));
      expect(data).toEqual({ seller: { username: expect.any(String) } });
    }
  });

  it('is answered with its text beside its name if that is the listed one', async () => {
    const before = listed.calls();
    expect((await send(listed, { query: account, documentId: 'id-1' })).data).toEqual(found);
    for (const [body, code] of [
      [{ query: seller }, 'FORBIDDEN'],
      [{ query: account }, 'FORBIDDEN'],
      [{}, 'FORBIDDEN'],
      [{ query: seller, documentId: 'id-1' }, 'BAD_USER_INPUT'],
      [{ query: account, documentId: 'id-2' }, 'FORBIDDEN'],
      [{ query: account, ...apq(hashOf(account)) }, 'FORBIDDEN'],
      [{ documentId: 'id-2' }, 'PERSISTED_QUERY_NOT_FOUND'],
      [{ doc_id: '__proto__' }, 'PERSISTED_QUERY_NOT_FOUND'],
    ] as const) {
      expect((await send(listed, body)).code).toBe(code);
    }
    expect(listed.calls()).toBe(before);
  });
});

it('A list of operations may be Apollo’s manifest', async () => {
  const operations = [{ id: 'id-1', body: account }];
  writeFileSync(file, JSON.stringify({ format: 'x', version: 1, operations }));
  const apollo = await openDoor({ AUTH_MODE: 'none', PERSISTED_OPERATIONS_FILE: file });
  expect((await post(apollo, { documentId: 'id-1' })).data).toEqual(found);
  expect(await post(apollo, { query: seller })).toMatchObject({ status: 403, code: 'FORBIDDEN' });
  await apollo.close();
});

describe('A name that is not known', () => {
  it.each(sends)(
    'is told by %s so that old clients can read it too, and it is not stored',
    async (_, send) => {
      for (const accept of ['application/json', '*/*']) {
        const miss = await send(open, apq('0'.repeat(64)), accept);
        expect([miss.status, miss.code]).toEqual([200, 'PERSISTED_QUERY_NOT_FOUND']);
        expect(miss.headers.get('cache-control')).toBe('no-store');
        expect(miss.text).not.toContain('"data"');
      }
    },
  );

  it('is refused unless it is a text', async () => {
    for (const documentId of [5, {}, ['a'], true, '']) {
      const { status, code } = await post(open, { documentId, query: account });
      expect([status, code]).toEqual([400, 'BAD_USER_INPUT']);
    }
    expect((await post(open, { documentId: null, query: account })).data).toEqual(found);
  });

  it('does not make a write of a GET, whatever it is called', async () => {
    const query = 'mutation { deleteCampaign(id: "1") { __typename } }';
    await post(open, { query, operationName: 'none', documentId: hashOf(query) });
    for (const [, name] of ways) {
      const { status, code } = await get(open, name(hashOf(query)));
      expect([status, code]).toEqual([405, 'BAD_USER_INPUT']);
    }
  });
});
