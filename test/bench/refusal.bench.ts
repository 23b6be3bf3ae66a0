import { hash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getIntrospectionQuery } from 'graphql';
import { it } from 'vitest';
import { formatTokenFile } from '../../src/auth/token-file.ts';
import { type Door, openDoor, type Reply } from '../support/door.ts';
import { percentile, record } from './report/measurement.ts';

const ROUNDS = 40;
/** Requests of each kind in a round, one after the other. */
const REQUESTS = 25;

const cached = '{ campaigns(first: 20) { nodes { id name public rotatorUrl listUrl } } }';
const rows =
  'query ($n: Int!) { channels(first: $n) { nodes { items(first: $n) { nodes { __typename } } } } }';
const search = 'query ($s: String) { items(search: $s) { totalCount } }';
const wifi = 'mutation ($i: CreateQrCodeInput!) { createQrCode(input: $i) { __typename } }';
const byIds = 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }';
const deep: unknown = JSON.parse(`${'{"a":'.repeat(500)}1${'}'.repeat(500)}`);
const ids = Array<string>(600).fill('Q2hhbm5lbDox');
let serial = 0;

/** By the code that each is refused with; the texts differ, so that none is refused from memory. */
const refusals: Readonly<Record<string, (door: Door) => Promise<Reply>>> = {
  'UNAUTHENTICATED: no token': (door) => door.ask(cached),
  'UNAUTHENTICATED: unknown token': (door) => door.ask(cached, 'nobody'),
  'FORBIDDEN: role': (door) => door.ask('{ plans { name } }', 'viewer'),
  'FORBIDDEN: another site': (door) =>
    door.ask(cached, 'viewer', { headers: { 'content-type': 'text/plain' } }),
  'OPERATION_TOO_EXPENSIVE: tokens': (door) =>
    door.ask(`{ account { ${'id '.repeat(3000)} } } #${(serial += 1)}`, 'viewer'),
  'OPERATION_TOO_EXPENSIVE: depth': (door) =>
    door.ask(`{ ${'a { '.repeat(50)} b ${'}'.repeat(50)} } #${(serial += 1)}`, 'viewer'),
  'OPERATION_TOO_EXPENSIVE: aliases': (door) =>
    door.ask(
      `{ ${Array.from({ length: 60 }, (_, n) => `a${n}: account { id }`).join(' ')} } #${(serial += 1)}`,
      'viewer',
    ),
  'OPERATION_TOO_EXPENSIVE: fields': (door) =>
    door.ask(
      `{ ${'...F '.repeat(60)} } fragment F on Query { account { ${'id '.repeat(9)} } } #${(serial += 1)}`,
      'viewer',
    ),
  'OPERATION_TOO_EXPENSIVE: repeated fields': (door) =>
    door.ask(`{ ${'account { id } '.repeat(200)} } #${(serial += 1)}`, 'viewer'),
  'OPERATION_TOO_EXPENSIVE: nodes': (door) => door.ask(rows, 'viewer', { variables: { n: 500 } }),
  'BAD_USER_INPUT: long text': (door) =>
    door.ask(search, 'viewer', { variables: { s: 'a '.repeat(10_000) } }),
  'BAD_USER_INPUT: deep JSON': (door) =>
    door.ask(wifi, 'viewer', { variables: { i: { type: 'WIFI', data: { fields: deep } } } }),
  'BAD_USER_INPUT: many ids': (door) => door.ask(byIds, 'viewer', { variables: { ids } }),
  'GRAPHQL_VALIDATION_FAILED: introspection': (door) => door.ask(getIntrospectionQuery(), 'viewer'),
  GRAPHQL_PARSE_FAILED: (door) => door.ask(`{ account { #${(serial += 1)}`, 'viewer'),
  'BAD_USER_INPUT: batch': (door) =>
    door.send('/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer viewer' },
      body: JSON.stringify([{ query: cached }, { query: cached }]),
    }),
  'PERSISTED_QUERY_NOT_FOUND: hash': (door) =>
    door.send('/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer viewer' },
      body: '{"extensions":{"persistedQuery":{"version":1,"sha256Hash":"x"}}}',
    }),
};

it('refuses for about what a cached answer costs', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'refusal-'));
  const file = join(folder, 'tokens.json');
  const viewer = { name: 'viewer', role: 'viewer', sha256: hash('sha256', 'viewer') } as const;
  writeFileSync(file, formatTokenFile([viewer]));
  const door = await openDoor({ AUTH_MODE: 'token', AUTH_TOKENS_FILE: file, LOG_LEVEL: 'silent' });
  // With this header it takes the whole path, as refusals do.
  const headers = { 'content-encoding': 'identity' };
  const kinds = { cached: (to: Door) => to.ask(cached, 'viewer', { headers }), ...refusals };
  const rounds = new Map<string, number[]>(Object.keys(kinds).map((kind) => [kind, []]));
  for (let round = 0; round < ROUNDS; round += 1) {
    // By turns, so that whatever else the machine does weighs on all alike.
    for (const [kind, ask] of Object.entries(kinds)) {
      const begin = performance.now();
      for (let n = 0; n < REQUESTS; n += 1) {
        const { code } = await ask(door);
        if (kind !== 'cached' && !kind.startsWith(String(code)))
          throw new Error(`${kind}: ${code}`);
      }
      rounds.get(kind)?.push((performance.now() - begin) / REQUESTS);
    }
  }
  await door.close();
  rmSync(folder, { recursive: true });
  const typical = (kind: string): number => percentile(rounds.get(kind) ?? [], 0.5);
  record({
    bench: 'refusal',
    about:
      'Time of each refusal over the time of a small response from the cache that takes the same path as refusals: requests over a socket, one at a time.',
    figures: Object.keys(refusals).map((kind) => ({
      label: kind,
      value: typical(kind) / typical('cached'),
      digits: 2,
      // Such an answer has become cheap itself.
      target: { atMost: 1.25 },
      note: `${typical(kind).toFixed(2)} ms over ${typical('cached').toFixed(2)} ms`,
    })),
  });
}, 300_000);
