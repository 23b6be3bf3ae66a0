/** Headers of a request by their names, in the order in which they are sent. */
export type Headers = Readonly<Record<string, string>>;

/** What all requests are sent to. */
const HOST = 'localhost:4000';
/** Where the page of another origin is from, which the gateways list. */
export const PAGE_ORIGIN = 'https://app.example.com';

/** What a program sends. */
export const plain: Headers = { accept: 'application/json' };

/** What Chromium sends with `fetch` of JSON, beside the body's own headers, from a page of the gateway itself. */
export const sameOrigin: Headers = chromium({
  accept: '*/*',
  origin: `http://${HOST}`,
  'sec-fetch-site': 'same-origin',
  'sec-fetch-mode': 'cors',
  'sec-fetch-dest': 'empty',
  referer: `http://${HOST}/campaigns`,
});

/** The same from a page of another origin. */
export const otherOrigin: Headers = chromium({
  accept: '*/*',
  origin: PAGE_ORIGIN,
  'sec-fetch-site': 'cross-site',
  'sec-fetch-mode': 'cors',
  'sec-fetch-dest': 'empty',
  referer: `${PAGE_ORIGIN}/`,
});

/** Account and ten channels with five items each: some 5 kB of JSON. */
export const DASHBOARD = `query ($channels: Int = 10) { account { username }
  channels(first: $channels) { nodes { id name items(first: 5) { totalCount nodes {
    ... on ChannelEntry { title link } } } } } }`;

/** The dashboard with three channels by id beside it: a million operations over the same rows. */
export const BY_ID = `query ($a: ID!, $b: ID!, $c: ID!) { account { username }
  a: channel(id: $a) { name } b: channel(id: $b) { name } c: channel(id: $c) { name }
  channels(first: 10) { nodes { id name items(first: 5) { totalCount nodes {
    ... on ChannelEntry { title link } } } } } }`;

/** A POST of an operation as it stands on the wire. */
export function post(headers: Headers, query: string, variables: object = {}): string {
  const body = JSON.stringify({ query, variables });
  const length = String(Buffer.byteLength(body));
  const all = { 'content-type': 'application/json', ...headers, 'content-length': length };
  return `${headOf('POST /graphql', all)}${body}`;
}

/** A GET with these parameters as it stands on the wire. */
export function get(headers: Headers, parameters: Readonly<Record<string, string>>): string {
  return headOf(`GET /graphql?${String(new URLSearchParams(parameters))}`, headers);
}

/** Variables that are others each time: no two of a run ask for the same three channels. */
export function otherIds(ids: readonly string[]): () => { a: string; b: string; c: string } {
  let count = 0;
  const id = (n: number): string => ids[Math.floor(n) % ids.length] ?? '';
  return () => {
    count += 1;
    return { a: id(count), b: id(count / ids.length), c: id(count / ids.length ** 2) };
  };
}

/** Texts of the dashboard whose answers have other names each time. */
export function otherAliases(): () => string {
  let count = 0;
  return () => {
    count += 1;
    return `query { account${count}: account { username }
  channels${count}: channels(first: 10) { nodes { id name items(first: 5) { totalCount nodes {
    ... on ChannelEntry { title link } } } } } }`;
  };
}

function headOf(line: string, headers: Headers): string {
  const lines = Object.entries({ host: HOST, ...headers }).map((header) => header.join(': '));
  return `${line} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`;
}

function chromium(more: Headers): Headers {
  return {
    connection: 'keep-alive',
    'sec-ch-ua-platform': '"Linux"',
    'user-agent':
      'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36',
    'sec-ch-ua': '"Not:A-Brand";v="8", "Chromium";v="156"',
    'sec-ch-ua-mobile': '?0',
    ...more,
    'accept-encoding': 'gzip, deflate, br, zstd',
    'accept-language': 'en-US,en;q=0.9',
  };
}
