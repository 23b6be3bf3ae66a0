import { hash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Door, openDoor, type Reply } from '../support/door.ts';
import { graphiqlExamples } from '../support/graphiql-examples.ts';
import { askRaw } from '../support/raw-reply.ts';

let door: Door;
beforeAll(async () => {
  door = await openDoor({ AUTH_MODE: 'none' });
});

const json = { 'content-type': 'application/json' };

/** Something that costs no upstream call is refused: that is what the refusals here have in common. */
async function refused(reply: Promise<Reply>): Promise<[number, string | undefined]> {
  const before = door.calls();
  const { status, code } = await reply;
  expect(door.calls()).toBe(before);
  return [status, code];
}

describe('a subscription', () => {
  it('is refused before anything is spent, and says how to write it as a live query', async () => {
    for (const query of [
      'subscription { channels(first: 5) { nodes { name } } }',
      'subscription S { nothing @live }',
    ]) {
      const reply = await door.ask(query);
      expect([reply.status, reply.code]).toEqual([400, 'GRAPHQL_VALIDATION_FAILED']);
      expect(reply.errors[0]?.message).toMatch(
        /Subscriptions are not supported.*@live.*text\/event-stream/,
      );
    }
    expect(door.calls()).toBe(0);
  });

  it('is written as the message says, and is then answered as a stream', async () => {
    const { errors } = await door.ask('subscription { account { id } }');
    const [, query = ''] = /"(query @live .+?})"/.exec(errors[0]?.message ?? '') ?? [];
    const stop = new AbortController();
    const answer = await fetch(`${door.url}/graphql`, {
      method: 'POST',
      headers: { ...json, accept: 'text/event-stream' },
      body: JSON.stringify({ query }),
      signal: stop.signal,
    });
    expect(answer.headers.get('content-type')).toContain('text/event-stream');
    const first = await answer.body?.getReader().read();
    expect(new TextDecoder().decode(first?.value)).toContain('"channels"');
    stop.abort();
  });
});

describe('an operation', () => {
  it.each([
    [
      'deeper than 15',
      '{ __type(name: "A") { '.concat('ofType { '.repeat(14), 'name', ' }'.repeat(16)),
    ],
    [
      'with more than 50 aliases',
      `{ ${Array.from({ length: 51 }, (_, n) => `a${n}: account { id }`).join(' ')} }`,
    ],
    ['with more than 50 directives', `{ account ${'@skip(if: false) '.repeat(51)} { id } }`],
    ['with more than 2000 tokens', `{ account { ${'id '.repeat(2000)} } }`],
    [
      'with more than 2000 tokens of every kind',
      `{ ${'items(search: "a b c", first: 2) @skip(if: $no) { ...F } # one two\n'.repeat(150)} }`,
    ],
  ])('%s is refused, and told so', async (_, query) => {
    expect(await refused(door.ask(query))).toEqual([400, 'OPERATION_TOO_EXPENSIVE']);
  });

  const nodes = (count: number, n: number) =>
    `a${n}: nodes(ids: [${'"Q2hhbm5lbDox" '.repeat(count)}]) { id }`;

  it.each([
    ['15 deep', '{ __type(name: "A") { '.concat('ofType { '.repeat(13), 'name', ' }'.repeat(15))],
    [
      '15 deep with fragments between, which are no depth of their own',
      '{ __type(name: "A") { '.concat(
        '... on __Type { ofType { '.repeat(13),
        'name',
        ' } }'.repeat(13),
        ' } }',
      ),
    ],
    [
      'with 50 aliases',
      `{ ${Array.from({ length: 50 }, (_, n) => `a${n}: account { id }`).join(' ')} }`,
    ],
    ['whose comments are long', `{ account { id } } # ${'word '.repeat(5000)}`],
    [
      'whose strings are long',
      `{ files(search: """ \\""" ${'"word" '.repeat(3000)} """, first: 1) { totalCount } }`,
    ],
    ['with just 2000 tokens', `{ ${[487, 487, 488, 488].map(nodes).join(' ')} }`],
  ])('%s is answered', async (_, query) => {
    expect((await door.ask(query)).code).not.toBe('OPERATION_TOO_EXPENSIVE');
  });

  // One takes a file, which a browser sends.
  it.each(graphiqlExamples.filter((query) => !query.includes('UploadFileInput')))(
    'of GraphiQL’s examples is answered: %s',
    async (query) => {
      const { errors } = await door.ask(query);
      expect(errors).toEqual([]);
    },
  );

  it('that writes is refused by GET', async () => {
    const query = encodeURIComponent('mutation { deleteCampaign(id: "1") { __typename } }');
    expect(await refused(door.send(`/graphql?query=${query}`))).toEqual([405, 'BAD_USER_INPUT']);
  });
});

describe('a text that is sent as its hash', () => {
  const persisted = (query: string) => ({
    persistedQuery: { version: 1, sha256Hash: hash('sha256', query) },
  });
  const post = (body: object) =>
    door.send('/graphql', { method: 'POST', headers: json, body: JSON.stringify(body) });

  it('is forgotten before texts take too much memory', async () => {
    const first = `{ account { id } } #first`;
    await post({ query: first, extensions: persisted(first) });
    for (let n = 0; n < 10; n += 1) {
      const long = `{ account { id } } #${n}`.padEnd(500_000, '-');
      await post({ query: long, extensions: persisted(long) });
    }
    const { errors } = await post({ extensions: persisted(first) });
    expect(errors[0]?.message).toBe('PersistedQueryNotFound');
  });
});

describe('a Host header', () => {
  const ask = async (from: Door, host: string, path = '/graphql?query={__typename}') => {
    const { status, text } = await askRaw(from.url + path, { headers: { host } });
    return [status, text] as const;
  };

  it.each(['localhost', 'LOCALHOST:4000', '127.0.0.1:4000', '[::1]:4000', '10.0.0.7'])(
    'of %s is this machine’s own',
    async (host) => {
      expect((await ask(door, host))[0]).toBe(200);
    },
  );

  it.each([
    'evil.example',
    'localhost.evil.example:4000',
    '127.0.0.1.evil.example',
    'x',
    'evillocalhost',
    'evil-localhost:4000',
    'evil.localhost',
    'evil127.0.0.1',
    '[::1].evil.example',
    'localhost:4000:80',
    'localhost.',
  ])('of %s is refused by a gateway on loopback, so that no page can be it', async (host) => {
    const [status, body] = await ask(door, host);
    expect([status, body]).toEqual([403, expect.stringContaining('"code":"FORBIDDEN"')]);
    expect((await ask(door, host, '/livez'))[0]).toBe(200);
  });

  it('may have the names of ALLOWED_HOSTS, and these only where they are set', async () => {
    const named = await openDoor({
      AUTH_MODE: 'none',
      HOST: '0.0.0.0',
      ALLOWED_HOSTS: 'Api.Example.com, other.example',
    });
    const wide = await openDoor({ AUTH_MODE: 'none', HOST: '0.0.0.0' });
    expect((await ask(named, 'API.example.com:443'))[0]).toBe(200);
    expect((await ask(named, 'other.example'))[0]).toBe(200);
    for (const host of [
      'evil.example',
      // Names that only end in an allowed one, begin with it, or have it in them.
      'evilapi.example.com',
      'evil.api.example.com',
      'evil-api.example.com:443',
      'api.example.com.evil.example',
      'api.example.comevil',
      'api.example',
      'example.com',
      'apixexample.com',
    ]) {
      // Twice: the last one that was looked at is remembered.
      expect((await ask(named, host))[0]).toBe(403);
      expect((await ask(named, host))[0]).toBe(403);
      expect((await ask(named, 'api.example.com'))[0]).toBe(200);
    }
    expect((await ask(wide, 'anything.example'))[0]).toBe(200);
    // What is made of them shows nothing of the inside.
    for (const host of ['a b', '[', 'x:99999', '/', '%', '']) {
      expect((await ask(wide, host))[1]).not.toMatch(/node_modules|\.js:|Error:/);
    }
    await Promise.all([named.close(), wide.close()]);
  });
});

describe('every answer', () => {
  it.each([
    ['/graphql?query={__typename}', {}],
    ['/graphql', { headers: { accept: 'text/html' } }],
    ['/graphql', { method: 'POST', body: 'no' }],
    ['/files/x.txt', { method: 'PUT' }],
    ['/livez', {}],
    ['/readyz', {}],
    ['/console.json', {}],
    ['/nothing', {}],
  ])('%s %j instructs browsers to trust nothing', async (path, init) => {
    const { headers } = await door.send(path, init);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(headers.get('x-powered-by')).toBeNull();
  });
});
