import { encodeGlobalId } from '../../../src/graph/ids/global-id.ts';
import type { Attack } from './attack.ts';
import { othersServed, times } from './target.ts';

/** Near the largest body that is taken. */
const LONG = 1_000_000;

/** As many fields under aliases as are allowed. */
function aliased(field: string): string {
  return times(50, (index) => `a${index}: ${field}`).join(' ');
}

/** Attacks by operations that are well formed, and cost more than they may. */
export const operationAttacks: readonly Attack[] = [
  {
    name: 'nodes',
    about: 'Fifty aliases of nodes() with 20,000 ids.',
    mayCall: 0,
    async run(target) {
      const variables = { ids: times(20_000, (index) => encodeGlobalId('QrCode', index + 1000)) };
      const query = `query ($ids: [ID!]!) { ${aliased('nodes(ids: $ids) { id }')} }`;
      for (let n = 0; n < 2; n += 1) await target.ask(query, { variables });
    },
  },
  {
    name: 'types',
    about: 'nodes() with 60,000 ids of a type that does not exist.',
    mayCall: 0,
    async run(target) {
      const variables = { ids: times(60_000, (index) => encodeGlobalId('X', index + 1)) };
      const query = 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }';
      for (let n = 0; n < 3; n += 1) await target.ask(query, { variables });
    },
  },
  {
    name: 'search',
    about:
      'Fifty aliases of items() that search for a megabyte: of one word, and of half a million.',
    mayCall: 0,
    async run(target) {
      const query = `query ($search: String) { ${aliased('items(search: $search) { totalCount }')} }`;
      for (const search of ['x'.repeat(LONG), 'e '.repeat(LONG / 2)]) {
        await target.ask(query, { variables: { search } });
      }
    },
  },
  {
    name: 'ids',
    about: 'A megabyte as an id, a cursor, a purchase code and a number.',
    mayCall: 0,
    async run(target) {
      const long = 'QXRlc3Q6'.repeat(LONG / 8);
      for (const field of ['node(id: $a) { id }', 'qrCode(id: $a) { id }', 'item(id: $a) { id }']) {
        await target.ask(`query ($a: ID!) { ${aliased(field)} }`, { variables: { a: long } });
      }
      for (const field of [
        'campaigns(after: $a) { totalCount }',
        'files(search: $a, before: $a, last: 5) { totalCount }',
      ]) {
        await target.ask(`query ($a: String!) { ${aliased(field)} }`, { variables: { a: long } });
      }
    },
  },
  {
    name: 'rows',
    about:
      'Fifty aliases of 500 rows with every field, from the cache: no more than one may ask for.',
    mayCall: 0,
    async run(target) {
      const field =
        'qrCodes(first: 500) { edges { cursor node { id databaseId name link scans date } } }';
      for (let n = 0; n < 3; n += 1) await target.ask(`{ ${aliased(field)} } #${n}`);
    },
  },
  {
    name: 'statistics',
    about: 'Asks for the statistics of every QR code, which takes more calls than a minute has.',
    // The other’s read, and one to know that it does not fit.
    mayCall: 2,
    async run(target) {
      const query = '{ qrCodes(first: 500) { nodes { statistics { clicks } } } }';
      await Promise.race([target.ask(query), target.wait(3000)]);
      return [
        othersServed('a list that was not read before is served to others', [
          await target.reads('{ domains { totalCount } }', 3),
        ]),
      ];
    },
  },
];
