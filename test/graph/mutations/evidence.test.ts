import { Readable } from 'node:stream';
import * as fc from 'fast-check';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createUser } from '../../../src/links/account/user.ts';
import { createDomain } from '../../../src/links/brand/branded-domain.ts';
import { createPixel, pixelTypes } from '../../../src/links/brand/pixel.ts';
import { createCampaign } from '../../../src/links/content/campaign.ts';
import { createChannel } from '../../../src/links/content/channel.ts';
import { uploadFile } from '../../../src/links/content/file.ts';
import { createQrCode } from '../../../src/links/content/qr-code.ts';
import { escapeHtml } from '../../../src/sandbox/http/answer.ts';
import { decodeText } from '../../../src/upstream/decode/fields.ts';
import type { Creation, Row, Write } from '../../../src/upstream/request.ts';
import { anyCodePoint } from '../../support/any-text.ts';
import { startWorld, type World } from '../../support/gateway.ts';
import { rounds } from '../../support/rounds.ts';

type Input = Readonly<Record<string, string | boolean>>;

/** Whether installations may not tell the values of two inputs apart. */
type Alike = (one: never, other: never) => boolean;

interface Noun {
  readonly mutation: string;
  readonly typename: string;
  readonly key: string;
  readonly input: fc.Arbitrary<Input>;
  /** Members that the API requires and no list returns. */
  readonly rest?: Readonly<Record<string, unknown>>;
  readonly write: (input: never) => Write<Row>;
  /** The members that evidence compares. */
  readonly alike: Readonly<Record<string, Alike>>;
}

/** Pieces that upstreams escape, decode, trim, cut or remove. */
const pieces = {
  escaped: ['&', '&amp;', '&lt;', '&amp;lt;', '&#039;', '&nbsp;', '&a', '"', "'"],
  removed: ['<b>', '</b>', '<3 ', ' ', '\t', '\uFFFD'],
  replaced: ['🎉', '👩‍👩‍👧', '𝐀', 'é', 'e\u0301', 'ß', '…', '\\', '%', '.'],
  kept: ['a', 'B', '0'],
};
const odd = fc.constantFrom(...Object.values(pieces).flat());
const oddText = fc.oneof(
  fc.array(odd, { minLength: 1, maxLength: 12 }).map((pieces) => pieces.join('')),
  fc.string({ unit: anyCodePoint, minLength: 1, maxLength: 20 }),
  fc
    .tuple(odd, odd, fc.constantFrom(49, 60, 255, 1000))
    .map(([one, other, length]) => one.padEnd(length, `${other}x`)),
  fc.constantFrom('Summer', 'summer', ' Summer ', 'Summer sale', 'Summer!'),
);
const name = oddText.filter((text) => text.trim() !== '');
const color = fc
  .tuple(
    fc.constantFrom(3, 6),
    fc.array(fc.constantFrom('a', 'B', '0'), { minLength: 6, maxLength: 6 }),
  )
  .map(([length, digits]) => `#${digits.slice(0, length).join('')}`);
const word = fc.stringMatching(/^[a-z][a-z0-9]{2,9}$/);
const slug = fc.oneof(
  word,
  fc.stringMatching(/^[a-cA-C_-]{0,4}[a-z]$/),
  fc.constantFrom('Été', 'ß_1'),
);

const texts = (one: string, other: string): boolean => {
  const shown = [other.trim(), decodeText(other).trim()];
  return [one.trim(), decodeText(one).trim()].some(
    (text) => shown.includes(text) || shown.some((each) => longStart(text) === longStart(each)),
  );
};
/** Texts that only differ after this may have been cut. */
const longStart = (text: string): unknown =>
  text.length >= 50 ? text.slice(0, 45) : Symbol('short');
const by =
  (normal: (value: string) => unknown): Alike =>
  (one: string, other: string) =>
    normal(one) === normal(other);
const anyOption: Alike = (one: unknown, other: unknown) => one === other;
const plainSlug = (text: string) =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');

const nouns: readonly Noun[] = [
  {
    mutation: 'createChannel',
    typename: 'Channel',
    key: 'channels',
    input: fc.record(
      { name, description: oddText, color, starred: fc.boolean() },
      { requiredKeys: ['name'] },
    ),
    write: createChannel,
    alike: {
      name: texts,
      description: texts,
      color: by((hex) => (hex.length === 4 ? hex.replace(/[^#]/g, '$&$&') : hex).toLowerCase()),
      starred: anyOption,
    },
  },
  {
    mutation: 'createCampaign',
    typename: 'Campaign',
    key: 'campaigns',
    input: fc.record({ name, slug, public: fc.boolean() }, { requiredKeys: [] }),
    write: createCampaign,
    alike: { name: texts, slug: by(plainSlug), public: anyOption },
  },
  {
    mutation: 'createPixel',
    typename: 'Pixel',
    key: 'pixels',
    input: fc.record({ name, tag: name, type: fc.constantFrom(...Object.keys(pixelTypes)) }),
    write: createPixel,
    alike: { name: texts, tag: texts, type: anyOption },
  },
  {
    mutation: 'createQrCode',
    typename: 'QrCode',
    key: 'qrs',
    input: fc.record({ name }, { requiredKeys: [] }),
    rest: { type: 'TEXT', data: { value: 'x' } },
    write: createQrCode,
    alike: { name: texts },
  },
  {
    mutation: 'createDomain',
    typename: 'BrandedDomain',
    key: 'domains',
    input: fc
      .tuple(
        fc.constantFrom('http', 'https', 'HTTPS'),
        word,
        fc.constantFrom('.example', '.Example/', '.bücher.example:8080'),
      )
      .map(([scheme, host, rest]) => ({ domain: `${scheme}://${host}${rest}` })),
    write: createDomain,
    alike: { domain: by((url) => new URL(url).host) },
  },
  {
    mutation: 'createUser',
    typename: 'User',
    key: 'data',
    input: fc.record({
      username: fc.stringMatching(/^[a-zA-Z][a-z0-9._-]{2,8}$/),
      email: fc.tuple(word, word).map(([one, two]) => `${one}+X@${two}.example`),
    }),
    rest: { password: 'five5' },
    write: createUser,
    alike: { email: by((text) => text.toLowerCase()), username: by((text) => text.toLowerCase()) },
  },
  {
    mutation: 'uploadFile',
    typename: 'File',
    key: 'list',
    input: fc
      .record({ filename: word, name: word, custom: slug }, { requiredKeys: ['filename'] })
      .map((input) => ({ ...input, filename: `${input.filename}.txt` })),
    write: (input) => uploadFile(input, { length: 1, open: () => Readable.from(['x']) }),
    alike: { filename: () => true, name: texts, custom: by(plainSlug) },
  },
];

/** What an installation makes of a text that it stores. */
type Store = (text: string) => string;

const keeping: readonly (readonly [string, Store])[] = [
  ['keeps texts', (text) => text],
  ['escapes texts', escapeHtml],
];

const changing: readonly (readonly [string, Store])[] = [
  ['cuts texts', (text) => text.slice(0, 60)],
  ['cuts escaped texts', (text) => escapeHtml(text).slice(0, 60)],
  ['cuts texts by bytes', (text) => Buffer.from(escapeHtml(text)).subarray(0, 60).toString()],
  ['removes tags', (text) => escapeHtml(text.replace(/<[^>]*(?:>|$)/g, ''))],
  ['replaces emojis', (text) => text.replace(/[\u{10000}-\u{10FFFF}]/gu, '?')],
  ['stores nothing after an emoji', (text) => text.replace(/[\u{10000}-\u{10FFFF}][^]*/u, '')],
  ['escapes texts twice', (text) => escapeHtml(escapeHtml(text))],
  ['has only lower case', (text) => text.toLowerCase()],
];

let world: World;

beforeAll(async () => {
  world = await startWorld();
});
afterEach(() => world.sandbox.reset());

/** The texts that people choose; the upstream restricts those of users and domains itself. */
const freeTexts = new Set(['name', 'description', 'tag']);

function install(store: Store, { key }: Noun): void {
  world.sandbox.links.fault({
    kind: 'answer',
    method: 'GET',
    rewrite: (answer) => {
      const body = answer.body as Readonly<Record<string, unknown>>;
      const page = (body[key] ? body : body['data']) as Record<string, Record<string, unknown>[]>;
      for (const row of page[key] ?? []) {
        for (const [member, value] of Object.entries(row)) {
          if (freeTexts.has(member) && typeof value === 'string') row[member] = store(value);
        }
      }
      return answer;
    },
  });
}

/** Creates a row by a mutation, and returns its id; `null` if the API rejects it. */
async function create({ mutation, typename, rest }: Noun, input: Input): Promise<number | null> {
  const query = `mutation ($input: ${mutation.replace(/^c/, 'C').replace(/^u/, 'U')}Input!) {
    made: ${mutation}(input: $input) { kind: __typename ... on ${typename} { databaseId } }
  }`;
  const form = new FormData();
  const variables = {
    input: { ...input, ...rest, ...(mutation === 'uploadFile' ? { file: null } : {}) },
  };
  form.append('operations', JSON.stringify({ query, variables }));
  form.append('map', mutation === 'uploadFile' ? '{"0":["variables.input.file"]}' : '{}');
  if (mutation === 'uploadFile') form.append('0', new File(['x'], 'x.txt'));
  const headers = { 'apollo-require-preflight': 'true' };
  const request = new Request('http://gateway/graphql', { method: 'POST', headers, body: form });
  const { data, errors } = (await (await world.gateway.fetch(request)).json()) as {
    data: { made: { kind: string; databaseId: number } };
    errors?: unknown;
  };
  expect(errors).toBeUndefined();
  if (data.made.kind === 'Rejected') return null;
  expect(data.made.kind).toBe(typename);
  return data.made.databaseId;
}

function evidenceOf({ write, rest }: Noun, input: Input): Creation<Row> {
  const { evidence } = write({ ...input, ...rest } as never);
  if (evidence?.kind !== 'creation') throw new Error('no creation');
  return evidence;
}

/** The newest rows, as the gateway reads them. */
async function rowsOf({ list }: Creation<Row>): Promise<readonly Row[]> {
  const query = new URLSearchParams({ ...list.query, limit: '100' });
  const body = await world.links(`${list.path}?${query}`);
  return list.decode(body, { timeZone: 'UTC', surprise: () => {} }).rows;
}

function areAlike({ alike }: Noun, one: Input, other: Input): boolean {
  return Object.entries(alike).every(([member, test]) => {
    const [given, seen] = [one[member], other[member]];
    return given === undefined || seen === undefined || test(given as never, seen as never);
  });
}

describe.each(nouns)('$mutation', (noun) => {
  it.each(keeping)(
    'has evidence that its row matches, and no row of another input, of an API that %s',
    async (_, store) => {
      install(store, noun);
      const made = new Map<number, Input>();
      await fc.assert(
        fc.asyncProperty(noun.input, async (input) => {
          const evidence = evidenceOf(noun, input);
          const id = await create(noun, input);
          if (id !== null) made.set(id, input);
          const rows = await rowsOf(evidence);
          const own = rows.find((row) => row.id === id);
          if (id !== null) {
            const isNamed = Object.keys(noun.alike).some(
              (member) => typeof input[member] === 'string',
            );
            expect(own && evidence.matches(own)).toBe(isNamed);
            expect(own && evidence.resembles(own)).toBe(true);
          }
          for (const row of rows) {
            const other = made.get(row.id);
            if (!evidence.matches(row)) continue;
            expect(evidence.resembles(row)).toBe(true);
            if (!other) continue;
            expect(areAlike(noun, input, other), JSON.stringify(other)).toBe(true);
            if (Object.keys(other).join() !== Object.keys(input).join()) continue;
            expect(evidenceOf(noun, other).content).toBe(evidence.content);
          }
        }),
        { numRuns: rounds(6) },
      );
    },
  );
});

/** The upstream restricts the texts of the other nouns itself. */
const named = nouns.filter(({ alike }) => alike['name'] !== undefined);

describe.each(named)('$mutation', (noun) => {
  it.each(changing)(
    'does not take its row for another one, of an API that %s',
    async (_, store) => {
      install(store, noun);
      await fc.assert(
        fc.asyncProperty(noun.input, async (input) => {
          const evidence = evidenceOf(noun, input);
          const id = await create(noun, input);
          if (id === null) return;
          const own = (await rowsOf(evidence)).find((row) => row.id === id);
          expect(own && evidence.resembles(own)).toBe(true);
        }),
        { numRuns: rounds(6) },
      );
    },
  );
});
