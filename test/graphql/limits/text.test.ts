import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../../support/door.ts';
import { quietly } from './quietly.ts';

let door: Door;
/** One whose operator has set no limits to speak of. */
let wide: Door;
beforeAll(async () => {
  door = await openDoor({ AUTH_MODE: 'none' });
  wide = await openDoor({
    AUTH_MODE: 'none',
    maxTokens: '1000000',
    maxDepth: '1000',
    maxFields: '1000000',
  });
});
afterAll(() => Promise.all([door.close(), wide.close()]));

const TOO_EXPENSIVE = [400, 'OPERATION_TOO_EXPENSIVE'];
const BAD_INPUT = [400, 'BAD_USER_INPUT'];

describe('the fields of an operation, after fragments are expanded,', () => {
  const repeated = (n: number) => `{ account { ${'id '.repeat(n - 1)} } }`;
  /** Doubles with every fragment: 2 to the power of `depth` fields. */
  const doubling = (depth: number) =>
    `{ ...F0 } ${Array.from({ length: depth }, (_, n) =>
      n === depth - 1
        ? `fragment F${n} on Query { account { id } }`
        : `fragment F${n} on Query { ...F${n + 1} account { id } ...F${n + 1} }`,
    ).join(' ')}`;

  it.each([
    ['repeated', repeated(501)],
    [
      'of several operations together',
      'AB'.replace(/./g, (name) => `query ${name} ${repeated(300)} `),
    ],
    [
      'of a fragment used often',
      `{ ${'...F '.repeat(30)} ${Array.from({ length: 30 }, (_, n) => `a${n}: account { ...G }`).join(' ')} }
       fragment F on Query { account { id } } fragment G on Account { ${'id username '.repeat(10)} }`,
    ],
    ['of fragments that double', doubling(20)],
    ['of fragments that double sixty times', doubling(60)],
    ['of a fragment that nobody uses', `{ account { id } } fragment F on Query ${repeated(501)}`],
  ])('%s are refused beyond 500, with their number and the limit', async (_, query) => {
    const { message, answer } = await quietly(door, door.ask(query));
    expect(answer).toEqual(TOO_EXPENSIVE);
    expect(message).toMatch(/fields.* 500\b/);
  });

  it('may be 500', async () => {
    const channel = '{ nodes { id databaseId name description color starred __typename } }';
    const fields = Array.from({ length: 50 }, (_, n) => `a${n}: channels(first: ${n}) ${channel}`);
    expect(
      (await door.ask(`{ ${fields.join(' ')} ${'account { id } '.repeat(25)} }`)).errors,
    ).toEqual([]);
    const more = `{ ${fields.join(' ')} ${'account { id } '.repeat(26)} }`;
    expect((await door.ask(more)).code).toBe('OPERATION_TOO_EXPENSIVE');
  });

  it.each([
    ['in one place', repeated(300)],
    ['with selections of their own', `{ ${'channels(first: 10) { nodes { id } } '.repeat(160)} }`],
    [
      'by way of fragments',
      `{ ...A ...B } fragment A on Query { ${'account { id } '.repeat(100)} } fragment B on Query { ${'...C '.repeat(100)} } fragment C on Query { account { id } }`,
    ],
    [
      'in a fragment that no caller uses',
      `{ account { id } } fragment F on Query { ${'account { id } '.repeat(150)} }`,
    ],
  ])('are refused when they are the same over and over, %s', async (_, query) => {
    const { answer, message } = await quietly(door, door.ask(query));
    expect(answer).toEqual(TOO_EXPENSIVE);
    expect(message).toMatch(/\d+ pairs.* 10000\b/);
  });

  it('may be the same in the fragments of many parts of a page', async () => {
    const parts = Array.from({ length: 20 }, (_, n) => n);
    const query = `{ ${parts.map((n) => `...P${n}`).join(' ')} } ${parts
      .map(
        (n) =>
          `fragment P${n} on Query { account { id username email status } channels { totalCount } }`,
      )
      .join(' ')}`;
    expect((await door.ask(query)).errors).toEqual([]);
  });

  it('are as many as the limit says, by GET too', async () => {
    const few = await openDoor({ AUTH_MODE: 'none', maxFields: '3' });
    const path = (query: string) => few.send(`/graphql?query=${encodeURIComponent(query)}`);
    expect((await path('{ account { id username } }')).errors).toEqual([]);
    const { answer, message } = await quietly(few, path('{ account { id username email } }'));
    expect(answer).toEqual(TOO_EXPENSIVE);
    expect(message).toContain('4');
  });
});

describe('a text', () => {
  it.each([
    ['selections', `${'{ account '.repeat(9000)}${'}'.repeat(9000)}`],
    ['inline fragments', `{ ${'... { '.repeat(9000)} account { id } ${'} '.repeat(9000)} }`],
    [
      'fragments',
      `{ ...F0 } ${Array.from({ length: 9000 }, (_, n) => `fragment F${n} on Query { ...F${n + 1} }`).join(' ')} fragment F9000 on Query { account { id } }`,
    ],
  ])('of 9000 %s inside one another is refused', async (_, query) => {
    for (const each of [door, wide]) {
      const { answer } = await quietly(each, each.ask(query));
      expect(answer).toEqual(TOO_EXPENSIVE);
    }
  });

  it.each([
    ['lists', `{ nodes(ids: ${'['.repeat(9000)}"x"${']'.repeat(9000)}) { id } }`],
    [
      'objects',
      `mutation { createQrCode(input: { type: WIFI, data: { fields: ${'{ a: '.repeat(9000)}1${' }'.repeat(9000)} } }) { __typename } }`,
    ],
    ['types', `query ($a: ${'['.repeat(9000)}ID${']'.repeat(9000)}) { account { id } }`],
    ['defaults', `query ($a: JSONObject = ${'[ '.repeat(9000)}) { account { id } }`],
  ])('of 9000 %s inside one another is a mistake', async (_, query) => {
    const { answer } = await quietly(wide, wide.ask(query));
    expect(answer).toEqual(BAD_INPUT);
  });

  it.each([
    ['a name', `{ ${'a'.repeat(1000)} }`],
    ['a number', `{ channels(first: ${'9'.repeat(1000)}) { totalCount } }`],
    ['a string', `{ files(search: "${'a'.repeat(20_000)}") { totalCount } }`],
    ['a block string', `{ files(search: """${'a\n'.repeat(20_000)}""") { totalCount } }`],
  ])('with %s that is far too long is a mistake, which is not repeated', async (_, query) => {
    const reply = door.ask(query);
    const { answer } = await quietly(door, reply);
    expect(answer).toEqual(BAD_INPUT);
    expect((await reply).text.length).toBeLessThan(1000);
  });

  it.each([
    ['2000 faults', `{ ${nonsense(480)} }`, 60_000],
    ['faults that name its long operation', longNamed(200), 60_000],
    ['10,000 lines', `{ account { ${'\n'.repeat(10_000)} ${nonsense(200)} } }`, 60_000],
    [
      'unknown names of many letters',
      `{ ${nonsense(200).replaceAll('e', 'e'.repeat(180))} }`,
      120_000,
    ],
  ])('with %s is answered with few of them', async (_, query, most) => {
    const { code, text, errors } = await door.ask(query);
    expect(code).toBe('GRAPHQL_VALIDATION_FAILED');
    expect(errors.length).toBeLessThanOrEqual(101);
    expect(text.length).toBeLessThan(most);
  });

  it.each([
    [
      '10,000 operations',
      Array.from({ length: 10_000 }, (_, n) => `query q${n} { account { id } }`),
    ],
    ['10,000 unused fragments', unused(10_000)],
    [
      '10,000 variables',
      [
        'query (',
        ...Array.from({ length: 10_000 }, (_, n) => `$v${n}: Int`),
        ') { account { id } }',
      ],
    ],
  ])('of %s is refused', async (_, parts) => {
    const { answer } = await quietly(door, door.ask(parts.join(' ')));
    expect(answer).toEqual(TOO_EXPENSIVE);
  });

  it.each([
    ['a quote', `{ files(search: """ ${'\\""" '.repeat(60_000)}`],
    ['a bracket', '{ account { id '],
    ['brackets', '}])'.repeat(300)],
    ['signs', '?'.repeat(100_000)],
  ])('that leaves open or unreadable %s is one that cannot be read', async (_, query) => {
    expect((await door.ask(query)).code).toBe('GRAPHQL_PARSE_FAILED');
  });

  it('is told where its faults are, unless it has very many lines', async () => {
    const { errors } = await door.ask(`{ account { ${'\n'.repeat(200)} nonsense } }`);
    expect(errors[0]).toMatchObject({ locations: [{ line: 201, column: 2 }] });
    const long = await door.ask(`{ account { ${'\n'.repeat(400)} nonsense } }`);
    expect(long.errors[0]).not.toHaveProperty('locations');
  });

  it('names no operation of a megabyte', async () => {
    const body = JSON.stringify({
      query: '{ account { id } }',
      operationName: 'a'.repeat(1_000_000),
    });
    const headers = { 'content-type': 'application/json' };
    const reply = door.send('/graphql', { method: 'POST', headers, body });
    const { answer } = await quietly(door, reply);
    expect(answer).toEqual(BAD_INPUT);
    expect((await reply).text.length).toBeLessThan(1000);
  });
});

function nonsense(count: number): string {
  return Array.from({ length: count }, (_, n) => `none${n}`).join(' ');
}

function longNamed(variables: number): string {
  const declared = Array.from({ length: variables }, (_, n) => `$v${n}: Int`).join(' ');
  return `query ${'A'.repeat(190)} (${declared}) { account { id } }`;
}

function unused(count: number): string[] {
  const fragments = Array.from({ length: count }, (_, n) => `fragment F${n} on Account { id }`);
  return ['{ account { id } }', ...fragments];
}
