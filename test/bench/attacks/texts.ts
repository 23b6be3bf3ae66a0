import type { Attack } from './attack.ts';
import { READER_CALLS } from './reader.ts';
import { sendAll, times } from './target.ts';

/** Nests this many brackets. */
function nested(depth: number, open: string, close: string, inmost = ''): string {
  return open.repeat(depth) + inmost + close.repeat(depth);
}

const BOUNDARY = 'attack';
const MULTIPART = {
  'content-type': `multipart/form-data; boundary=${BOUNDARY}`,
  'apollo-require-preflight': '1',
};

/** A multipart request with one small file. */
function multipart(operations: string, map: unknown): string {
  const parts = [
    `name="operations"\r\n\r\n${operations}`,
    `name="map"\r\n\r\n${JSON.stringify(map)}`,
    'name="0"; filename="a"\r\n\r\na',
  ];
  const written = parts.map(
    (part) => `--${BOUNDARY}\r\nContent-Disposition: form-data; ${part}\r\n`,
  );
  return `${written.join('')}--${BOUNDARY}--\r\n`;
}

const DEPTH = 9000;
const JSON_TYPE = { 'content-type': 'application/json' };

const wide = (each: (index: number) => string) => times(16, each).join(' ');
const unfolding = [
  `{ ${wide((index) => `a${index}: channels(first: 500) { nodes { ...c } }`)} }`,
  `fragment c on Channel { ${wide((index) => `b${index}: items(first: 500) { nodes { ...i } }`)} }`,
  `fragment i on LinkItem { ${wide((index) => `c${index}: title`)} }`,
];

/** Attacks by the form of a request: what it takes to read it. */
export const textAttacks: readonly Attack[] = [
  {
    name: 'map',
    about:
      'A multipart request whose map names the four thousand millionth member of an empty list.',
    mayCall: 0,
    async run(target) {
      const query = 'query($i:[ID!]!){nodes(ids:$i){id}}';
      const operations = JSON.stringify({ query, variables: { i: [] } });
      const at = (index: string) => multipart(operations, { 0: [`variables.i.${index}`] });
      for (const index of ['99999999', '4294967294', '1e9', '-1', 'length', '4000000000']) {
        await target.post(at(index), MULTIPART);
      }
    },
  },
  {
    name: 'paths',
    about: 'Multipart maps with paths to prototypes, paths of 20,000 parts, and 20,000 paths.',
    mayCall: 0,
    async run(target) {
      const operations = JSON.stringify({ query: '{ __typename }', variables: { i: null } });
      const wild = [
        '__proto__.toString',
        'variables.__proto__.polluted',
        'variables.constructor.prototype.polluted',
        'query.length.constructor',
        `variables${'.a'.repeat(20_000)}`,
        `variables.i${'.0'.repeat(20_000)}`,
      ];
      for (const path of wild) await target.post(multipart(operations, { 0: [path] }), MULTIPART);
      const many = times(20_000, (index) => `variables.i.${index}`);
      await target.post(multipart(operations, { 0: many }), MULTIPART);
      const files = Object.fromEntries(times(20_000, (index) => [index, [`variables.f${index}`]]));
      await target.post(multipart(operations, files), MULTIPART);
    },
  },
  {
    name: 'nested-json',
    about: 'Variables, extensions and an input of free form, nested 9,000 deep.',
    mayCall: 0,
    async run(target) {
      const lists = nested(DEPTH, '[', ']');
      const objects = nested(DEPTH, '{"a":', '}', '1');
      const query = '{ account { username } }';
      const create =
        'mutation ($fields: JSONObject!) { createQrCode(input: { type: VCARD, data: { fields: $fields } }) { __typename } }';
      for (const deep of [lists, objects]) {
        const bodies = [
          `{"query":"${create}","variables":{"fields":{"a":${deep}}}}`,
          `{"query":"query ($a: ID) ${query}","variables":{"a":${deep}}}`,
          `{"query":"${query}","variables":{"a":${deep}}}`,
          `{"query":"${query}","extensions":{"a":${deep}}}`,
          `{"query":${deep}}`,
          deep,
        ];
        for (const body of bodies) await target.post(body, JSON_TYPE);
      }
      const { data } = await target.ask('{ rateLimit { limit remaining } }');
      const { limit = Number.MAX_SAFE_INTEGER, remaining = 0 } = (data?.['rateLimit'] ?? {}) as {
        readonly limit?: number;
        readonly remaining?: number;
      };
      return [
        { label: 'slots taken', value: limit - remaining - READER_CALLS, target: { atMost: 0 } },
      ];
    },
  },
  {
    name: 'nested-literals',
    about: 'Lists, objects, selections and types in the text of an operation, nested 9,000 deep.',
    mayCall: 0,
    async run(target) {
      const deep = [
        `{ node(id: ${nested(DEPTH, '[', ']')}) { id } }`,
        `{ node(id: ${nested(DEPTH, '{a:', '}', '1')}) { id } }`,
        nested(DEPTH, '{ a ', '}'),
        nested(DEPTH, '{ ... ', '}', ' id '),
        `query ($a: ${nested(DEPTH, '[', ']', 'ID')}) { account { id } }`,
        // Within the number of tokens that is allowed.
        `{ node(id: ${nested(950, '[', ']')}) { id } }`,
        `mutation { createQrCode(input: { type: VCARD, data: { fields: ${nested(480, '{a:', '}', '1')} } }) { __typename } }`,
      ];
      for (const query of deep) await target.ask(query);
    },
  },
  {
    name: 'batches',
    about: 'Arrays of 10,000 operations.',
    mayCall: 0,
    async run(target) {
      const batch = JSON.stringify(times(10_000, () => ({ query: '{ __typename }' })));
      for (let n = 0; n < 10; n += 1) await target.post(batch, JSON_TYPE);
    },
  },
  {
    name: 'fields',
    about: 'Seven kilobytes of the same field again and again, in three forms.',
    mayCall: 0,
    async run(target) {
      const repeat = (field: string, tokens: number) => field.repeat(Math.floor(1980 / tokens));
      for (let n = 0; n < 3; n += 1) {
        const queries = [
          `{ channels(first: 2) { nodes { ${repeat('id ', 1)} } } } #${n}`,
          `{ ${repeat('account{id}', 4)} } #${n}`,
          `{ channels(first: 2) { nodes { ${repeat('name id:name ', 4)} } } } #${n}`,
        ];
        for (const query of queries) await target.ask(query);
      }
    },
  },
  {
    name: 'documents',
    about: 'Five hundred operations of as many words as are allowed, no two the same, all refused.',
    mayCall: 0,
    lastsMs: 12_000,
    async run(target) {
      const fields = 'username email status id '.repeat(480);
      await sendAll(500, 4, (index) => target.ask(`{ account { ${fields} nothing${index} } }`));
    },
  },
  {
    name: 'comments',
    about: 'Three hundred short operations with a comment of 256 kB each, no two the same.',
    mayCall: 0,
    async run(target) {
      const comment = 'x'.repeat(256 * 1024);
      await sendAll(300, 4, (index) => target.ask(`{ __typename } # ${index} ${comment}`));
    },
  },
  {
    name: 'fragments',
    about:
      'Fragments that name two others each, thirteen in a row; ten on each of five levels that name all ten of the next; and some that unfold into 4,096 aliases.',
    env: { INTROSPECTION: 'true' },
    // The channels and the items of two may be read, where that is not too much.
    mayCall: 3,
    async run(target) {
      for (let n = 0; n < 3; n += 1) {
        const texts = [
          ['{ ...f0 }', ...pairs('Query', (next) => `${next} ${next}`, '__typename')],
          [
            '{ __schema { types { ...f0 } } }',
            ...pairs('__Type', (next) => `ofType { ${next} } ofType { ${next} }`, 'name'),
          ],
          levels(10),
          unfolding,
        ];
        for (const lines of texts) await target.ask([`#${n}`, ...lines].join('\n'));
      }
    },
  },
];

/** Fragments of which each names the next more than once. */
function pairs(type: string, within: (next: string) => string, inmost: string): string[] {
  const length = 13;
  const fragment = (index: number, text: string) => `fragment f${index} on ${type} { ${text} }`;
  const all = times(length, (index) => fragment(index, within(`...f${index + 1}`)));
  return [...all, fragment(length, inmost)];
}

/** This many fragments on each level, which name all of the next. */
function levels(width: number): string[] {
  const spread = (level: string) => times(width, (index) => `...${level}${index}`).join(' ');
  const fragments = (level: string, type: string, text: string) =>
    times(width, (index) => `fragment ${level}${index} on ${type} { ${text} }`);
  return [
    `{ ${spread('q')} }`,
    ...fragments('q', 'Query', `channels(first: 2) { ${spread('p')} }`),
    ...fragments('p', 'ChannelConnection', `nodes { ${spread('c')} }`),
    ...fragments('c', 'Channel', `items(first: 2) { ${spread('k')} }`),
    ...fragments('k', 'ChannelItemConnection', `nodes { ${spread('i')} }`),
    ...fragments('i', 'LinkItem', 'title link'),
  ];
}
