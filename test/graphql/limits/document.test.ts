import { beforeAll, describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../../support/door.ts';
import { quietly } from './quietly.ts';

let door: Door;
beforeAll(async () => {
  door = await openDoor({
    AUTH_MODE: 'none',
    INTROSPECTION: 'true',
    maxTokens: '1000000',
    maxFields: '1000000',
    maxAliases: '8',
    maxDirectives: '8',
    maxDepth: '6',
  });
});

const aliases = (count: number) =>
  Array.from({ length: count }, (_, n) => `a${n}: username`).join(' ');
const onTypes = (depth: number, inside: string) =>
  `${'ofType { '.repeat(depth)}${inside}${' }'.repeat(depth)}`;

describe('depth, aliases and directives of an operation', () => {
  it.each([
    [
      'aliases',
      `{ account { ${aliases(9)} } }`,
      'The operation has 9 aliases; the limit is 8. Select less, or split it.',
    ],
    [
      'thousands of aliases',
      `{ account { ${aliases(4000)} } }`,
      'The operation has 4000 aliases; the limit is 8. Select less, or split it.',
    ],
    [
      'aliases of a fragment, each time that it is used',
      `{ account { ...F ... on Account { ...F } ...F } } fragment F on Account { ${aliases(3)} }`,
      'The operation has 9 aliases; the limit is 8. Select less, or split it.',
    ],
    [
      'aliases of fragments that double',
      `{ account { ...F0 } } ${Array.from({ length: 10 }, (_, n) => `fragment F${n} on Account { ${n === 9 ? 'a: id' : `...F${n + 1} ...F${n + 1}`} }`).join(' ')}`,
      'The operation has 512 aliases; the limit is 8. Select less, or split it.',
    ],
    [
      'aliases of an operation that is not asked for',
      `query A { account { id } } query B { account { ${aliases(10)} } }`,
      'The operation has 10 aliases; the limit is 8. Select less, or split it.',
    ],
    [
      'directives on every kind of thing',
      `query ($no: Boolean = false) @a { account @skip(if: $no) @a { ... @skip(if: $no) { id } ...F @skip(if: $no) } } fragment F on Account @a @a { id @a @a }`,
      'The operation has 9 directives; the limit is 8. Select less, or split it.',
    ],
    [
      'directives wherever a fragment is used',
      `{ account { ${'...F @skip(if: false) '.repeat(9)} } } fragment F on Account { id }`,
      'The operation has 9 directives; the limit is 8. Select less, or split it.',
    ],
    [
      'levels',
      `{ __type(name: "A") { ${onTypes(5, 'name')} } }`,
      'The operation has a depth of 7; the limit is 6. Select less, or split it.',
    ],
    [
      'levels in fragments inside one another',
      `{ __type(name: "A") { kind ...A } } fragment B on __Type { ofType { ofType { ofType { name } } } } fragment A on __Type { ofType { ... on __Type { ofType { ...B } } } }`,
      'The operation has a depth of 7; the limit is 6. Select less, or split it.',
    ],
    [
      'levels where a fragment is used most deeply',
      `{ a: __type(name: "A") { ...F } b: __type(name: "A") { ${onTypes(3, '...F')} } } fragment F on __Type { ofType { ofType { name } } }`,
      'The operation has a depth of 7; the limit is 6. Select less, or split it.',
    ],
  ])('may not be more than allowed: %s', async (_, query, message) => {
    const refusal = await quietly(door, door.ask(query));
    expect(refusal).toEqual({ answer: [400, 'OPERATION_TOO_EXPENSIVE'], message });
  });

  it.each([
    ['aliases', `{ account { ${aliases(8)} } }`],
    [
      'aliases in each of several',
      `query A { account { ${aliases(8)} } } query B { account { ${aliases(8)} } }`,
    ],
    [
      'aliases, those of type names not counted',
      `{ account { ${aliases(8)} x: __typename y: __typename } }`,
    ],
    [
      'directives',
      `{ account { ${'...F @skip(if: false) '.repeat(8)} } } fragment F on Account { id }`,
    ],
    ['levels', `{ __type(name: "A") { ${onTypes(4, 'name')} } }`],
    [
      'levels, those of the schema not counted',
      `{ __schema { types { ${onTypes(4, '...F')} } } } fragment F on __Type { ofType { ofType { name } } }`,
    ],
  ])('may be as many as allowed: %s', async (_, query) => {
    const body = JSON.stringify({
      query,
      ...(query.includes('query A') && { operationName: 'A' }),
    });
    const headers = { 'content-type': 'application/json' };
    expect((await door.send('/graphql', { method: 'POST', headers, body })).errors).toEqual([]);
  });

  it('is not measured in a cycle of fragments, which is refused as one', async () => {
    const query = `{ account { ...A } } fragment A on Account { id ...B } fragment B on Account { ...C ...C } fragment C on Account { ...A }`;
    const { answer, message } = await quietly(door, door.ask(query));
    expect(answer).toEqual([400, 'GRAPHQL_VALIDATION_FAILED']);
    expect(message).toBe('Cannot spread fragment "A" within itself.');
  });

  it('is left to the rules of GraphQL where the types of the schema are nested', async () => {
    const query = `{ __schema { types { ${'fields { type { '.repeat(10)} name ${'} }'.repeat(10)} } } }`;
    const { answer, message } = await quietly(door, door.ask(query));
    expect(answer).toEqual([400, 'GRAPHQL_VALIDATION_FAILED']);
    expect(message).toBe('Maximum introspection depth exceeded');
  });
});
