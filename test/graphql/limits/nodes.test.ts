import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getIntrospectionQuery } from 'graphql';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../../support/door.ts';
import { tempFolder } from '../../support/folder.ts';
import { quietly } from './quietly.ts';

let door: Door;
beforeAll(async () => {
  door = await openDoor({ AUTH_MODE: 'none', INTROSPECTION: 'true' });
});

const TOO_EXPENSIVE = [400, 'OPERATION_TOO_EXPENSIVE'];
const product =
  '{ channels(first: 500) { nodes { items(first: 500) { nodes { ... on ChannelEntry { title } } } } } }';
const aliases = (count: number, field: string) =>
  Array.from({ length: count }, (_, n) => `a${n}: ${field}`).join(' ');
const ids = Array(500).fill(Buffer.from('Channel:1').toString('base64url'));
/** As many ids as one operation may look for. */
const mostIds = aliases(10, 'nodes(ids: $ids) { id }');

describe('the rows that an operation asks for', () => {
  it.each<[string, string, number, Record<string, unknown>?]>([
    ['are multiplied down the selection', product, 250_500],
    [
      'count the same with edges',
      product
        .replaceAll(/nodes (\{[^]*\})/g, 'edges { node $1 }')
        .replace('nodes {', 'edges { node {')
        .replace(/\}$/, '} }'),
      250_500,
    ],
    [
      'count the default of a connection',
      `{ channels(first: 500) { nodes { ${aliases(11, 'items { nodes { __typename } }')} } } }`,
      110_500,
    ],
    ['count `last`', product.replaceAll('first', 'last'), 250_500],
    [
      'count variables',
      'query ($n: Int, $m: Int = 400) { channels(first: $n) { nodes { items(last: $m) { nodes { __typename } } } } }',
      200_500,
      { n: 500 },
    ],
    [
      'count ids',
      'query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Channel { items(first: 400) { totalCount } } } }',
      200_500,
      { ids },
    ],
    [
      'count rows that are shown twice twice',
      `{ channels(first: 500) { ${aliases(5, 'nodes { items(first: 50) { nodes { __typename } } }')} } }`,
      127_500,
    ],
    [
      'count what stands in fragments',
      `{ ...A } fragment A on Query { channels(first: 500) { ...B } } fragment B on ChannelConnection { nodes { ... { items(first: 300) { edges { cursor } } } } }`,
      150_500,
    ],
    [
      'count a fragment in each place where it is spread',
      `{ a: channels(first: 500) { ...B } b: channels(first: 500) { ...B } } fragment B on ChannelConnection { nodes { items(first: 100) { nodes { __typename } } } }`,
      101_000,
    ],
    [
      'count lists that come whole',
      `{ channels(first: 500) { nodes { items(first: 100) { nodes { ... on QrItem { qrCode { statistics { topCountries { count } } } } } } } } }`,
      550_500,
    ],
    [
      'count what is deferred',
      product.replace('nodes { items', 'nodes { ... @defer { items').replace(/\}$/, '} }'),
      250_500,
    ],
  ])('%s', async (_, query, rows, variables = {}) => {
    const { answer, message } = await quietly(door, door.ask(query, null, { variables }));
    expect([answer, message]).toEqual([TOO_EXPENSIVE, expect.stringContaining(` ${rows} `)]);
    expect(message).toMatch(/100000.*first/);
  });

  it.each<[string, string, Record<string, unknown>?]>([
    ['of one product', '{ channels(first: 100) { nodes { items(first: 500) { totalCount } } } }'],
    [
      'of fields that are skipped',
      `query ($no: Boolean!, $yes: Boolean = true) {
        channels(first: 500) { nodes { id
          a: items(first: 500) @include(if: $no) { totalCount }
          ... @skip(if: $yes) { b: items(first: 500) { totalCount } }
          ...F @include(if: false)
        } }
      }
      fragment F on Channel { c: items(first: 500) { totalCount } }`,
      { no: false },
    ],
    [
      'of one field that stands there twice',
      '{ ...A ...B } fragment A on Query { channels(first: 1) { nodes { items(first: 500) { totalCount } } } } fragment B on Query { channels(first: 1) { nodes { items(first: 500) { totalCount } } } }',
    ],
    [
      'of a fragment that looks for ids and is spread twice',
      `query ($ids: [ID!]!) { ...F ...F ... on Query { ...F } } fragment F on Query { ${mostIds} }`,
      { ids },
    ],
    [
      'of ids that are looked for in two fragments under one name',
      `query ($ids: [ID!]!) { ...F ...G } fragment F on Query { ${mostIds} } fragment G on Query { ${mostIds} }`,
      { ids },
    ],
    [
      'of few ids',
      'query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Channel { items(first: 500) { totalCount } } } }',
      { ids: ids.slice(0, 1) },
    ],
  ])('are answered within the limit: those %s', async (_, query, variables = {}) => {
    const { code } = await door.ask(query, null, {
      variables,
      headers: { 'x-gateway-dry-run': '1' },
    });
    expect(code).not.toBe('OPERATION_TOO_EXPENSIVE');
  });

  it('are refused in whatever way they are asked for', async () => {
    const get = `/graphql?query=${encodeURIComponent(product)}`;
    const dryRun = { headers: { 'x-gateway-dry-run': '1' } };
    const extensions = { persistedQuery: { version: 1, sha256Hash: hash('sha256', product) } };
    const post = (body: object) =>
      door.send('/graphql', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    for (const ask of [
      () => door.ask(product, null, dryRun),
      () => door.send(get),
      () => door.send(get, dryRun),
      () => post({ query: product, extensions }),
      () => post({ extensions }),
    ]) {
      expect((await quietly(door, ask())).answer).toEqual(TOO_EXPENSIVE);
    }
  });

  it('are refused in an operation of the list of allowed ones', async () => {
    const folder = tempFolder();
    const file = join(folder, 'operations.json');
    writeFileSync(file, JSON.stringify({ all: product }));
    const listed = await openDoor({ AUTH_MODE: 'none', PERSISTED_OPERATIONS_FILE: file });
    const reply = listed.send('/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"documentId":"all"}',
    });
    expect((await quietly(listed, reply)).answer).toEqual(TOO_EXPENSIVE);
    await listed.close();
  });

  it('are as many as OPERATION_MAX_NODES says', async () => {
    const few = await openDoor({ AUTH_MODE: 'none', OPERATION_MAX_NODES: '20' });
    expect((await few.ask('{ campaigns { totalCount } }')).errors).toEqual([]);
    const { answer } = await quietly(few, few.ask('{ campaigns(first: 21) { totalCount } }'));
    expect(answer).toEqual(TOO_EXPENSIVE);
    const choice =
      'query A { campaigns { totalCount } } query B { campaigns(first: 21) { totalCount } }';
    const reply = few.send('/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: choice, operationName: 'A' }),
    });
    expect((await reply).errors).toEqual([]);
  });

  it('are not those of the schema, unless it is asked for over and over', async () => {
    const query = getIntrospectionQuery({ inputValueDeprecation: true, oneOf: true });
    expect((await door.ask(query)).errors).toEqual([]);
    const often = `{ ${aliases(49, '__schema { types { fields { args { name } } } }')} }`;
    expect((await quietly(door, door.ask(often))).answer).toEqual(TOO_EXPENSIVE);
  });
});
