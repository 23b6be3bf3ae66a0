import * as fc from 'fast-check';

/** How an operation travels. */
export const methods = ['POST', 'GET', 'POST by id', 'GET by id'] as const;

/** Where a request is from, and what its sender takes. What varies between two requests for the same operation. */
export interface Sender {
  readonly caller: string;
  readonly method: (typeof methods)[number];
  readonly headers: Readonly<Record<string, string>>;
  /** Which answer it has already, by its tag: none, the one that it would get, or something else. */
  readonly has: 'nothing' | 'this' | 'this uncompressed' | 'anything' | 'another';
}

/** The one origin whose pages may call. */
export const LISTED = 'https://app.example';
/** Stands for the gateway's own origin, whose port is known later. */
export const OWN = '{own}';

const browser = {
  'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/156.0.0.0',
  'accept-language': 'en-US,en;q=0.9',
  'sec-ch-ua': '"Not:A-Brand";v="8", "Chromium";v="156"',
  'sec-fetch-mode': 'cors',
  'sec-fetch-dest': 'empty',
};

const page = (origin: string, site: string) => ({
  ...browser,
  origin,
  'sec-fetch-site': site,
  referer: `${origin}/page`,
});

const origins: readonly Readonly<Record<string, string>>[] = [
  {},
  page(OWN, 'same-origin'),
  page(LISTED, 'cross-site'),
  page('https://other.example', 'cross-site'),
  page('null', 'cross-site'),
  { origin: LISTED },
  { origin: 'https://other.example' },
  { ...browser, 'sec-fetch-site': 'none' },
  { ...browser, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' },
];

const encodings: readonly Readonly<Record<string, string>>[] = [
  ...[
    'br',
    'gzip',
    'identity',
    'gzip, deflate, br, zstd',
    'br;q=0.5, gzip;q=0.8',
    'gzip;q=0, *;q=0.1',
    'br, identity;q=0',
    'gzip, *;q=0',
    'identity;q=0',
    'identity, br;q=0.2',
    'deflate',
    'GZIP',
    '',
  ].map((encoding) => ({ 'accept-encoding': encoding })),
  {},
  { 'accept-encoding': 'br', 'cache-control': 'no-transform' },
];

const types = [
  'application/json',
  'application/graphql-response+json',
  '*/*',
  'application/graphql-response+json, application/json;q=0.9',
];

const waits: readonly Readonly<Record<string, string>>[] = [
  {},
  { prefer: 'wait=5' },
  { prefer: 'wait=3600' },
  { prefer: 'wait=soon' },
  { prefer: 'handling=lenient, wait=2' },
];

/** Any sender by one of these callers. The usual ones come often, so that much is answered from memory. */
export function anySender(callers: readonly string[]): fc.Arbitrary<Sender> {
  const often = <T>(of: readonly T[], usual: number): fc.Arbitrary<T> =>
    fc.oneof(fc.constantFrom(...of.slice(0, usual)), fc.constantFrom(...of));
  return fc
    .record({
      caller: fc.constantFrom(...callers),
      method: often(methods, 2),
      origin: often(origins, 3),
      encoding: often(encodings, 4),
      accept: often(types, 1),
      wait: often(waits, 2),
      has: often(['nothing', 'this', 'this uncompressed', 'anything', 'another'] as const, 2),
    })
    .map(({ caller, method, origin, encoding, accept, wait, has }) => ({
      caller,
      method,
      headers: { accept, ...origin, ...encoding, ...wait },
      has,
    }));
}
