import { beforeAll, describe, expect, it } from 'vitest';
import { nameOf } from '../../../src/upstream/lists/read-pages.ts';
import { type Door, openDoor } from '../../support/door.ts';
import { quietly } from './quietly.ts';

let door: Door;
beforeAll(async () => {
  door = await openDoor({ AUTH_MODE: 'none' });
});

const BAD_INPUT = [400, 'BAD_USER_INPUT'];
const long = 'a'.repeat(1_000_000);
const json = { 'content-type': 'application/json' };

const items = `query ($s: String) { ${Array.from({ length: 50 }, (_, n) => `a${n}: items(search: $s, first: 1) { totalCount }`).join(' ')} }`;
const channel = 'mutation ($i: CreateChannelInput!) { createChannel(input: $i) { __typename } }';
const qrCode = 'mutation ($i: CreateQrCodeInput!) { createQrCode(input: $i) { __typename } }';
const wifi = (fields: unknown) => ({ i: { type: 'WIFI', data: { fields } } });

/** `{"a":{"a":…}}`, made as a text: whatever else walks through it may not be able to. */
const deep = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;

describe('a text in the input', () => {
  it.each([
    ['of a search', items, { s: long }, '"$s"'],
    ['of an id', 'query ($id: ID!) { channel(id: $id) { name } }', { id: long }, '"$id"'],
    [
      'of one of several ids',
      'query ($i: [ID!]!) { nodes(ids: $i) { id } }',
      { i: ['x', long] },
      '"$i[1]"',
    ],
    [
      'of a cursor',
      'query ($c: String) { channels(after: $c) { totalCount } }',
      { c: long },
      '"$c"',
    ],
    ['of an enum', 'query ($f: UserFilter) { users(filter: $f) { id } }', { f: long }, '"$f"'],
    ['of a number', 'query ($n: Int) { channels(first: $n) { totalCount } }', { n: long }, '"$n"'],
    ['of a member', channel, { i: { name: long } }, '"$i.name"'],
    [
      'of a member for long texts',
      channel,
      { i: { name: 'a', description: long } },
      '"$i.description"',
    ],
    ['of a member that there is not', channel, { i: { name: 'a', b: long } }, '"$i.b"'],
    ['of JSON', qrCode, wifi({ ssid: 'a', other: [long] }), '"$i.data.fields.other[0]"'],
  ])(
    '%s is refused by its length, with its place and not by its words',
    async (_, query, variables, place) => {
      const reply = door.ask(query, null, { variables });
      const { answer, message } = await quietly(door, reply);
      expect(answer).toEqual(BAD_INPUT);
      expect(message).toContain(place);
      expect(message).toContain('1000000');
      expect((await reply).text.length).toBeLessThan(1000);
    },
  );

  it('is measured wherever it stands, by where it goes', async () => {
    const name = 'a'.repeat(5000);
    for (const [query, variables] of [
      [`{ items(search: "${'a'.repeat(300)}") { totalCount } }`, {}],
      [`query ($s: String = "${'a'.repeat(300)}") { items(search: $s) { totalCount } }`, {}],
      [`mutation { createChannel(input: { name: "${name}" }) { __typename } }`, {}],
      ['mutation ($n: String!) { createChannel(input: { name: $n }) { __typename } }', { n: name }],
      [
        'query ($s: String) { ...F } fragment F on Query { items(search: $s) { totalCount } }',
        { s: 'a'.repeat(300) },
      ],
    ] as const) {
      expect((await quietly(door, door.ask(query, null, { variables }))).answer).toEqual(BAD_INPUT);
    }
  });

  it('may be long where the graph has long texts', async () => {
    const description = 'a '.repeat(4000);
    const written = `mutation { createChannel(input: { name: "a", description: "${description}" }) { __typename } }`;
    const variable =
      'mutation ($d: String) { createChannel(input: { name: "b", description: $d }) { __typename } }';
    const variables = { d: description };
    for (const reply of [
      door.ask(written),
      door.ask(variable, null, { variables }),
      door.ask(channel, null, { variables: { i: { name: 'c', description } } }),
      door.ask(qrCode, null, { variables: { i: { type: 'TEXT', data: { value: description } } } }),
    ]) {
      expect((await reply).errors).toEqual([]);
    }
  });

  it('is as long as a cursor of this graph', async () => {
    const after = Buffer.from(
      `${nameOf({ path: '/api/domains' })}/c2:1:1:20:5:${'a'.repeat(60)};${'b'.repeat(700)};`,
    ).toString('base64url');
    const query = 'query ($c: String) { domains(after: $c) { totalCount } }';
    const { errors } = await door.ask(query, null, { variables: { c: after } });
    expect(errors).toEqual([]);
  });
});

describe('a list in the input', () => {
  it.each([
    ['of JSON', wifi({ ssid: 'a', list: Array(501).fill(1) })],
    [
      'of JSON, as members of an object',
      wifi(Object.fromEntries(Array.from({ length: 501 }, (_, n) => [`a${n}`, 1]))),
    ],
    ['in the place of an object', { i: Array(501).fill(1) }],
  ])('%s has 500 entries at most', async (_, variables) => {
    const { answer, message } = await quietly(door, door.ask(qrCode, null, { variables }));
    expect(answer).toEqual(BAD_INPUT);
    expect(message).toMatch(/501.*500/);
  });

  it('of JSON written out has no more', async () => {
    const query = `mutation { createQrCode(input: { type: WIFI, data: { fields: { ssid: "a", l: [${'1 '.repeat(501)}] } } }) { __typename } }`;
    expect((await quietly(door, door.ask(query))).answer).toEqual(BAD_INPUT);
  });
});

describe('JSON in the input', () => {
  const post = (variables: string, query = qrCode) =>
    door.send('/graphql', {
      method: 'POST',
      headers: { ...json, accept: 'application/graphql-response+json' },
      body: `{"query":${JSON.stringify(query)},"variables":${variables}}`,
    });

  it.each([
    ['9000 deep', 9000],
    ['150,000 deep', 150_000],
    ['17 deep', 17],
  ])('that is %s is refused before anything is sent', async (_, depth) => {
    const variables = `{"i":{"type":"WIFI","data":{"fields":{"ssid":"a","x":${deep(depth)}}}}}`;
    const { answer, message } = await quietly(door, post(variables));
    expect(answer).toEqual(BAD_INPUT);
    expect(message).toContain('deep');
  });

  it('that is a few deep is passed on', async () => {
    const variables = `{"i":{"type":"WIFI","data":{"fields":{"ssid":"a","x":${deep(8)}}}}}`;
    expect((await post(variables)).errors).toEqual([]);
  });

  it('may have names that objects have of themselves', async () => {
    const variables =
      '{"i":{"type":"WIFI","data":{"fields":{"ssid":"a","__proto__":{"a":1},"constructor":2}}}}';
    expect((await post(variables)).errors).toEqual([]);
  });

  it.each([
    ['lists', `${'['.repeat(400_000)}${']'.repeat(400_000)}`, BAD_INPUT],
    ['what is not declared', `{"other":${deep(9000)}}`, [200, undefined]],
  ])('that is deep in %s is answered', async (_, variables, answer) => {
    const { status, code } = await post(variables, '{ account { id } }');
    expect([status, code]).toEqual(answer);
    expect(door.log()).not.toMatch(/RangeError/);
  });

  it('in the extensions of a request is answered', async () => {
    const body = `{"query":"{ account { id } }","extensions":{"a":${deep(9000)}}}`;
    const { errors } = await door.send('/graphql', { method: 'POST', headers: json, body });
    expect(errors).toEqual([]);
  });
});

describe('a number in the input', () => {
  it.each([2147483648, -2147483649, 1e300, 0.5, -1, 501])(
    'of %d is refused as `first`',
    async (n) => {
      const query = 'query ($n: Int) { channels(first: $n) { totalCount } }';
      const { code } = await door.ask(query, null, { variables: { n } });
      expect(code).toBe('BAD_USER_INPUT');
      expect(door.log()).not.toMatch(/"level":"error"/);
    },
  );

  it('that no Int can be is refused in the text', async () => {
    const { code } = await door.ask('{ channels(first: 2147483648) { totalCount } }');
    expect(code).toBe('GRAPHQL_VALIDATION_FAILED');
  });
});
