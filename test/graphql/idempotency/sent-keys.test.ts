import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../../support/door.ts';
import { askRaw } from '../../support/raw-reply.ts';

const ORIGIN = 'https://app.example';
const UUID = '8e03978e-40d5-43dd-bc93-6894a57f9324';

let door: Door;
beforeAll(async () => {
  door = await openDoor({ AUTH_MODE: 'none', CORS_ORIGINS: ORIGIN, INTROSPECTION: 'on' });
});

let before = 0;
let channels = 0;
beforeEach(() => {
  before = door.calls();
});

/** A mutation that no other test sends. */
function create(directives = ''): string {
  channels += 1;
  return `createChannel(input: { name: "Kept ${channels}" }) ${directives} { __typename }`;
}

/** The code of a refusal, its status, and the upstream requests that it cost. */
async function refusal(query: string, headers: Readonly<Record<string, string>> = {}) {
  const { code, data, errors, status } = await door.ask(query, null, { headers });
  return { code, status, data, message: errors[0]?.message, calls: door.calls() - before };
}

const refused = { code: 'BAD_USER_INPUT', status: 400, data: undefined, calls: 0 };

describe('the header Idempotency-Key', () => {
  it.each([
    `"${UUID}"`,
    'a81bc81b-dead-4e5d-abff-90865d1e13b1',
    '"a"',
    '*',
    '"a \\" key"'.replaceAll(' ', ''),
    '"\\\\"',
    `"${'x'.repeat(255)}"`,
    ' spaces-around ',
    '"a,b;c=d"',
    'base64+/==:@',
  ])('can be %s', async (key) => {
    const { data, errors } = await door.ask(`mutation { ${create()} }`, null, {
      headers: { 'idempotency-key': key },
    });
    expect(errors).toEqual([]);
    expect(data).toEqual({ createChannel: { __typename: 'Channel' } });
  });

  it.each([
    ['nothing', ''],
    ['an empty string', '""'],
    ['too long', 'x'.repeat(256)],
    ['too long in quotation marks', `"${'x'.repeat(256)}"`],
    ['a space', '"a b"'],
    ['two words', 'a b'],
    ['two tokens', 'a, b'],
    ['two strings', '"a", "b"'],
    ['the same string twice', '"a", "a"'],
    ['a string that does not end', '"a'],
    ['a string that does not begin', 'a"'],
    ['an unknown escape', '"a\\b"'],
    ['parameters', '"a";b=c'],
    ['a letter beyond ASCII', '"caf\u00e9"'],
  ])('cannot have %s', async (_, key) => {
    const headers = { 'idempotency-key': key };
    expect(await refusal(`mutation { ${create()} }`, headers)).toMatchObject({
      ...refused,
      message: expect.stringMatching(/^The header Idempotency-Key.* 1 to 255 visible ASCII/),
    });
  });

  it('cannot be sent twice', async () => {
    const body = JSON.stringify({ query: `mutation { ${create()} }` });
    const headers = { 'content-type': 'application/json', 'idempotency-key': ['a', 'a'] };
    const { status, text } = await askRaw(`${door.url}/graphql`, { method: 'POST', headers, body });
    expect(JSON.parse(text)).toMatchObject({ errors: [{ extensions: { code: refused.code } }] });
    expect([status, door.calls() - before]).toEqual([400, 0]);
  });

  it('is ignored with queries, valid or not', async () => {
    const query = '{ account { username email } }';
    const { data } = await door.ask(query);
    // Also where the response is remembered.
    for (const key of [UUID, 'a b', UUID, 'a b']) {
      const reply = await door.ask(query, null, { headers: { 'idempotency-key': key } });
      expect(reply).toMatchObject({ status: 200, data, errors: [] });
      expect(reply.text).not.toContain('idempotency');
      expect(reply.headers.get('idempotency-replayed')).toBeNull();
    }
    expect(door.calls() - before).toBeLessThanOrEqual(1);
  });

  it('applies to all fields: none of them can be in a deferred fragment', async () => {
    for (const accept of ['application/json', 'multipart/mixed;deferSpec=20220824']) {
      const headers = { 'idempotency-key': UUID, accept };
      const { text } = await door.ask(`mutation { ... @defer { ${create()} } }`, null, { headers });
      expect(text).toContain('GRAPHQL_VALIDATION_FAILED');
    }
    expect(door.calls()).toBe(before);
  });

  it('is ignored in dry runs, valid or not', async () => {
    for (const key of [UUID, 'a b']) {
      const headers = { 'idempotency-key': key, 'x-gateway-dry-run': '1' };
      const { text } = await door.ask(`mutation { ${create('@idempotent(key: "a b")')} }`, null, {
        headers,
      });
      expect(JSON.parse(text)).toMatchObject({ data: null, extensions: { plan: { calls: 1 } } });
    }
    expect(door.calls()).toBe(before);
  });

  it('does not make a batch of operations acceptable', async () => {
    const body = JSON.stringify([{ query: `mutation { ${create()} }` }]);
    const headers = { 'content-type': 'application/json', 'idempotency-key': UUID };
    const { code } = await door.send('/graphql', { method: 'POST', headers, body });
    expect([code, door.calls() - before]).toEqual(['BAD_USER_INPUT', 0]);
  });

  it('may be sent by pages of listed origins, which may read what it does', async () => {
    for (const [path, method] of [
      ['/graphql', 'POST'],
      ['/files/a.txt', 'PUT'],
    ] as const) {
      const { headers, status } = await door.send(path, {
        method: 'OPTIONS',
        headers: {
          origin: ORIGIN,
          'access-control-request-method': method,
          'access-control-request-headers': 'content-type,idempotency-key',
        },
      });
      expect(status).toBe(204);
      expect(headers.get('access-control-allow-headers')).toContain('idempotency-key');
      expect(headers.get('access-control-allow-methods')).toContain(method);
    }
    const { headers } = await door.ask(`mutation { ${create()} }`, null, {
      headers: { origin: ORIGIN, 'idempotency-key': 'of a page'.replaceAll(' ', '-') },
    });
    expect(headers.get('access-control-expose-headers')).toContain('Idempotency-Replayed');
  });
});

describe('@idempotent', () => {
  it.each([
    ['empty', ''],
    ['too long', 'x'.repeat(256)],
    ['with a space', 'a b'],
    ['beyond ASCII', 'caf\u00e9'],
    ['with a line break', 'a\\nb'],
  ])('takes no key that is %s', async (_, key) => {
    const query = `mutation { ${create(`@idempotent(key: "${key}")`)} }`;
    expect(await refusal(query)).toMatchObject({
      ...refused,
      message: expect.stringMatching(/@idempotent on "createChannel" must contain a key/),
    });
  });

  it('is refused before any field is executed, wherever its key is wrong', async () => {
    const query = `mutation { ${create()} b: ${create('@idempotent(key: "")')} }`;
    expect(await refusal(query)).toMatchObject(refused);
  });

  it('is checked on fields of fragments, and on those that variables include', async () => {
    const query = `mutation ($yes: Boolean!) { ...A } fragment A on Mutation {
      ... @include(if: $yes) { ${create('@idempotent(key: "")')} }
    }`;
    const asked = (yes: boolean) => door.ask(query, null, { variables: { yes } });
    expect((await asked(true)).code).toBe('BAD_USER_INPUT');
    expect((await asked(false)).errors).toEqual([]);
    expect(door.calls()).toBe(before);
  });

  it('gives a field that is selected twice one key', async () => {
    const field = create();
    const [selected] = field.split('{ __typename }');
    const twice = (first: string, second: string) =>
      `mutation { ${selected} ${first} { __typename } ${selected} ${second} { __typename } }`;
    expect(
      await refusal(twice('@idempotent(key: "one")', '@idempotent(key: "two")')),
    ).toMatchObject({ ...refused, message: expect.stringContaining('more than one') });
    const { data } = await door.ask(twice('@idempotent(key: "one")', '@idempotent(key: "one")'));
    expect(data).toEqual({ createChannel: { __typename: 'Channel' } });
    expect(door.calls() - before).toBe(1);
  });

  it.each([
    ['directives', '@idempotent(key: "same")', '@idempotent(key: "same")', {}],
    ['the header and a directive', '', '@idempotent(key: "same")', { 'idempotency-key': 'same' }],
  ])('gives no two fields one key, by %s', async (_, first, second, headers) => {
    const query = `mutation { a: ${create(first)} b: ${create(second)} }`;
    expect(await refusal(query, headers)).toMatchObject({
      ...refused,
      message: expect.stringMatching(/^"b" has the idempotency key of "a"/),
    });
  });

  it.each([
    ['a field of a query', '{ account @idempotent(key: "a") { username } }'],
    [
      'a field of a result',
      'mutation { createChannel(input: { name: "a" }) { __typename @idempotent(key: "a") } }',
    ],
    [
      'a field of a fragment',
      '{ account { ...A } } fragment A on Account { username @idempotent(key: "a") }',
    ],
  ])('is refused on %s', async (_, query) => {
    expect(await refusal(query)).toMatchObject({
      ...refused,
      code: 'GRAPHQL_VALIDATION_FAILED',
      message: expect.stringContaining('applies to fields of a mutation only'),
    });
  });

  it('is in the schema, with a description', async () => {
    const { data } = await door.ask('{ __schema { directives { name description locations } } }');
    const ours = { description: expect.stringMatching(/cost/), locations: ['FIELD'] };
    expect(data).toMatchObject({
      __schema: { directives: expect.arrayContaining([{ name: 'idempotent', ...ours }]) },
    });
  });
});

describe('a field that returns a secret', () => {
  const url = 'createLoginUrl(userId: 41)';

  it.each([
    ['by the header', `mutation { ${url} { __typename } }`, { 'idempotency-key': UUID }],
    ['by the directive', `mutation { ${url} @idempotent(key: "a") { __typename } }`, {}],
    [
      'in a fragment, by another name',
      `mutation { ...A } fragment A on Mutation { a: ${url} { __typename } }`,
      { 'idempotency-key': UUID },
    ],
  ])('has no key %s', async (_, query, headers) => {
    expect(await refusal(query, headers)).toMatchObject({
      ...refused,
      message: expect.stringMatching(/^"createLoginUrl" cannot have an idempotency key/),
    });
  });

  it('prevents the other fields under the same header', async () => {
    const query = `mutation { ${create()} ${url} { __typename } }`;
    expect(await refusal(query, { 'idempotency-key': UUID })).toMatchObject(refused);
  });

  it('does not prevent another field with a directive', async () => {
    const query = `mutation { ${create('@idempotent(key: "beside")')} ${url} { __typename } }`;
    expect(await refusal(query)).toMatchObject({ code: undefined, calls: 2 });
  });
});
