import type { LinksStore } from '../../../src/sandbox/links/store.ts';

/** What becomes of the first request of a creation. */
export const fates = [
  'dropped before it is applied',
  'applied and dropped',
  'applied and hanging',
  'applied late',
  'applied with an HTML 500',
  'truncated',
  'refused with 429',
] as const;

/** One of the fates. */
export type Fate = (typeof fates)[number];

/** A row that a caller creates. */
export interface Creation {
  readonly noun: Noun;
  /** A text that no other creation has: its row contains it. */
  readonly token: string;
  readonly fate: Fate;
  /** Whether the gateway is killed right after its first request was sent. */
  readonly kills: boolean;
  /** Whether a co-tenant creates an equal row at the same time. */
  readonly hasTwin: boolean;
}

/** A noun, and how a row of it is created. */
interface Noun {
  readonly name: string;
  /** The mutation without its variables, and the type of its result; `null` for an upload by `PUT`. */
  readonly mutation: (token: string) => { readonly field: string; readonly type: string } | null;
  /** The options of the upload. */
  readonly upload?: (token: string) => string;
  /** Whether the API allows no second row like it. */
  readonly isUnique: boolean;
  /** All its rows. */
  readonly rows: (store: LinksStore) => readonly { readonly id: number }[];
}

const campaign = { rows: ({ campaigns }: LinksStore) => campaigns.all() };
const file = { mutation: () => null, rows: ({ files }: LinksStore) => files.all() };

/** The seven nouns; two of them in both ways. */
const nouns: readonly (readonly Noun[])[] = [
  [
    {
      name: 'user',
      mutation: (token) => ({
        field: `createUser(input: { username: "${token}", email: "${token}@a.example", password: "five5" })`,
        type: 'User',
      }),
      isUnique: true,
      rows: ({ users }) => users,
    },
  ],
  [
    {
      name: 'domain',
      mutation: (token) => ({
        field: `createDomain(input: { domain: "https://${token}.example" })`,
        type: 'BrandedDomain',
      }),
      isUnique: true,
      rows: ({ domains }) => domains.all(),
    },
  ],
  [
    {
      ...campaign,
      name: 'campaign',
      mutation: (token) => ({
        field: `createCampaign(input: { name: "Trains & tunnels ${token}" })`,
        type: 'Campaign',
      }),
      isUnique: false,
    },
    {
      ...campaign,
      name: 'campaign by slug',
      mutation: (token) => ({
        field: `createCampaign(input: { name: "Trains & tunnels ${token}", slug: "${token}" })`,
        type: 'Campaign',
      }),
      isUnique: true,
    },
  ],
  [
    {
      name: 'channel',
      mutation: (token) => ({
        field: `createChannel(input: { name: "Trains & tunnels ${token}", color: "#abc" })`,
        type: 'Channel',
      }),
      isUnique: false,
      rows: ({ channels }) => channels.all(),
    },
  ],
  [
    {
      name: 'pixel',
      mutation: (token) => ({
        field: `createPixel(input: { name: "Trains & tunnels ${token}", type: GA, tag: "G-1" })`,
        type: 'Pixel',
      }),
      isUnique: false,
      rows: ({ pixels }) => pixels.all(),
    },
  ],
  [
    {
      name: 'QR code',
      mutation: (token) => ({
        field: `createQrCode(input: { name: "${token}", type: TEXT, data: { value: "x" } })`,
        type: 'QrCode',
      }),
      isUnique: false,
      rows: ({ qrs }) => qrs.all(),
    },
  ],
  [
    { ...file, name: 'file', upload: (token) => `name=${token}`, isUnique: false },
    { ...file, name: 'file by alias', upload: (token) => `custom=${token}`, isUnique: true },
  ],
];

/** Of the nouns without a unique member, which are four of seven, so many have a twin that it is one row in a hundred. */
const TWIN_EVERY = 57;

/** Creations over all nouns and fates, of which some kill the gateway. */
export function creationsOf(count: number, kills: number): Creation[] {
  return Array.from({ length: count }, (_, n) => {
    const round = Math.floor(n / nouns.length);
    const ways = nouns[n % nouns.length] as readonly [Noun];
    const noun = ways[Math.floor(round / fates.length) % ways.length] ?? ways[0];
    return {
      noun,
      token: `w${String(n).padStart(6, '0')}`,
      fate: fates[(n + round) % fates.length] as Fate,
      kills: isOneOf(kills, n, count),
      hasTwin: !noun.isUnique && n % TWIN_EVERY === TWIN_EVERY >> 1,
    };
  });
}

/** Whether the element at an index is one of a few that are spread over many. */
export function isOneOf(few: number, index: number, many: number): boolean {
  return Math.floor(((index + 1) * few) / many) > Math.floor((index * few) / many);
}

/** The number of the creation that a text names; `null` if it names none. */
export function creationIn(text: string): number | null {
  const [, number] = /\bw(\d{6})\b/.exec(text) ?? [];
  return number === undefined ? null : Number(number);
}
