import { encodeGlobalId } from '../../../src/graph/ids/global-id.ts';
import { LINK_KEYS } from '../../../src/sandbox/seed/people.ts';
import type { Attack } from './attack.ts';
import { times } from './target.ts';

const item = 'nodes { id databaseId name category description tags version }';
const json = { 'content-type': 'application/json' };

/** Attacks by operations that were answered before, with variables that make something else of them. */
export const compiledAttacks: readonly Attack[] = [
  {
    name: 'missing-parts',
    about:
      'A refused key looks for nodes that are there, then twenty times for several of which none is.',
    env: { AUTH_MODE: 'passthrough' },
    readerToken: LINK_KEYS.admin,
    // The budget of the key that is made up.
    mayCall: 30,
    async run(target) {
      const query = 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }';
      const ask = (ids: readonly string[]) =>
        target.ask(query, { variables: { ids }, token: 'made-up' });
      for (let n = 0; n < 20; n += 1) {
        await ask([]);
        const channels = [n, n + 1].map((id) => encodeGlobalId('Channel', 1000 + id));
        await ask([...channels, encodeGlobalId('Account', 1)]);
        await ask([encodeGlobalId('Account', 1), ...channels]);
      }
    },
  },
  {
    name: 'plans-by-text',
    about:
      'An operation of 4.9 kB with 1400 texts, where another of the same document has a condition of that name.',
    mayCall: 2,
    lastsMs: 40_000,
    async run(target) {
      const query = `query A($v: Boolean!) { account @include(if: $v) { id } } query B($v: String) { ${times(48, (n) => `a${n}: items(search: $v, first: 1) { ${item} }`).join(' ')} }`;
      for (let n = 0; n < 1400 && !target.isOver; n += 1) {
        const variables = { v: `text ${n}` };
        await target.post(JSON.stringify({ query, operationName: 'B', variables }), json);
      }
    },
  },
  {
    name: 'plans-by-conditions',
    about:
      'Twenty texts of a kilobyte that come to nearly as many fields as are allowed, in each of eight ways.',
    mayCall: 3,
    lastsMs: 40_000,
    async run(target) {
      for (let n = 0; n < 20 && !target.isOver; n += 1) {
        const query = `query ($a: Boolean!, $b: Boolean!, $c: Boolean!, $s: String) { account @include(if: $a) { x${n}: id } seller @skip(if: $b) { username } plans @skip(if: $c) { id } ${times(45, (at) => `a${at}: items(search: $s, first: 1) { ...I }`).join(' ')} } fragment I on ItemConnection { ${item} }`;
        for (let of = 0; of < 16; of += 1) {
          const [a, b, c] = [0, 1, 2].map((bit) => ((of >> bit) & 1) === 1);
          await target.ask(query, { variables: { a, b, c, s: `${of}` } });
        }
      }
    },
  },
];
