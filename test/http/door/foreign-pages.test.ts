import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../../support/door.ts';

const BROWSER = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/142.0' };
const LISTED = 'https://app.example';
const HOST = 'gateway.example:4000';
const QUERY = '/graphql?query={account{username}}';
const LIVE = '/graphql?query=query%20@live{plans{name}}';

let door: Door;
beforeAll(async () => {
  // Beyond this machine, where browsers send no Sec-Fetch-Site over plain HTTP.
  door = await openDoor({
    AUTH_MODE: 'none',
    HOST: '0.0.0.0',
    CORS_ORIGINS: LISTED,
    INTROSPECTION: 'true',
  });
});

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A request as it is; a stream is left once its head has come. */
async function send(path: string, { method = 'GET', headers = {}, body = '' }: Sent = {}) {
  const { port } = new URL(door.url);
  const sent = request({
    host: '127.0.0.1',
    port,
    path,
    method,
    headers: { host: HOST, ...headers },
  }).end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const { headers: told, statusCode: status } = response;
  const streams = status === 200 && told['content-type']?.startsWith('text/event-stream');
  const answer = streams ? '' : await text(response);
  response.destroy();
  return { status, answer };
}

/** A GET of a page of `origin` over plain HTTP; `null` for one that names none. */
const from = (origin: string | null, more = {}) => ({
  headers: { ...BROWSER, ...(origin === null ? {} : { origin }), ...more },
});

const foreign = [
  'http://evil.example',
  'https://evil.example',
  'null',
  // Neither another port nor a name that only ends or begins alike is the same host.
  'http://gateway.example',
  'http://gateway.example:4001',
  'http://evilgateway.example:4000',
  'http://gateway.example.evil.example:4000',
  'http://gateway.example:4000@evil.example',
  'http://gateway.example:4000/',
  'file://gateway.example:4000',
  'evilhttps://app.example',
  'https://app.example.evil.example',
  'https://app.example, https://evil.example',
] as const;

describe('Over plain HTTP, a page of another origin', () => {
  it.each(foreign)('gets nothing by GET, and spends nothing: %s', async (origin) => {
    const calls = door.calls();
    for (const path of [QUERY, LIVE]) {
      const accept = path === LIVE ? { accept: 'text/event-stream' } : {};
      const { status, answer } = await send(path, from(origin, accept));
      expect([status, answer]).toEqual([403, expect.stringContaining('"code":"FORBIDDEN"')]);
    }
    const upload = await send('/files/a.txt', { method: 'PUT', body: 'x', ...from(origin) });
    expect(upload.status).toBe(403);
    expect((await send('/schema.graphql', from(origin))).status).toBe(403);
    expect(door.calls()).toBe(calls);
  });

  it('cannot hide behind an image, a script or a frame, which name no origin', async () => {
    const calls = door.calls();
    const referers = ['http://evil.example/page', 'http://gateway.example/', 'about:blank', ''];
    for (const path of [QUERY, LIVE]) {
      expect((await send(path, from(null))).status).toBe(403);
      for (const referer of referers) {
        expect((await send(path, from(null, { referer }))).status).toBe(403);
      }
      // What a page may add without a preflight.
      const simple = { accept: 'text/event-stream', 'content-type': 'text/plain' };
      expect((await send(path, from(null, simple))).status).toBe(403);
      // A browser adds that by itself, of an address with a password in it.
      const basic = { authorization: 'Basic YTpi' };
      expect((await send(path, from(null, basic))).status).toBe(403);
    }
    expect(door.calls()).toBe(calls);
  });
});

describe('Over plain HTTP, a GET is answered', () => {
  const own = [
    ['http://gateway.example:4000', HOST],
    // What ends TLS in front talks plain HTTP to the gateway.
    ['https://gateway.example:4000', HOST],
    ['https://gateway.example', 'gateway.example'],
    ['https://gateway.example', 'gateway.example:443'],
    ['http://gateway.example', 'gateway.example:80'],
    ['http://gateway.example:4000', 'GATEWAY.Example:4000'],
    ['http://[2001:db8::7]:4000', '[2001:db8::7]:4000'],
    ['http://[2001:db8::7]:4000', '[2001:DB8:0::7]:4000'],
    ['http://192.0.2.7:4000', '192.0.2.7:4000'],
  ] as const;

  it.each(own)('to a page of %s, of a gateway asked as %s', async (origin, host) => {
    expect((await send(QUERY, from(origin, { host }))).status).toBe(200);
    const referer = `${origin}/page`;
    expect((await send(QUERY, from(null, { host, referer }))).status).toBe(200);
    const upload = { method: 'PUT', body: 'x', ...from(origin, { host }) };
    expect((await send('/files/a.txt', upload)).status).toBe(201);
  });

  it('to a page of the host that a proxy was asked for', async () => {
    const proxied = { host: 'gateway:4000', 'x-forwarded-host': 'www.example, inner.example' };
    expect((await send(QUERY, from('https://www.example', proxied))).status).toBe(200);
    expect((await send(QUERY, from('https://inner.example', proxied))).status).toBe(200);
    expect((await send(QUERY, from('https://evil.example', proxied))).status).toBe(403);
  });

  it('by turns, to a page of one host and not of another', async () => {
    const origin = 'https://www.example';
    const referer = `${origin}/page`;
    const pages = [from(origin), from(null, { referer })];
    const hosts: [status: number, headers: Record<string, string>][] = [
      [200, { host: 'www.example' }],
      [403, { host: 'inner.example' }],
      [200, { host: 'inner.example', 'x-forwarded-host': 'www.example' }],
      [403, { host: 'inner.example', 'x-forwarded-host': 'evil.example' }],
      [403, { host: HOST }],
    ];
    for (let round = 0; round < 2; round += 1) {
      for (const { headers } of pages) {
        for (const [status, host] of hosts) {
          expect((await send(QUERY, { headers: { ...headers, ...host } })).status).toBe(status);
        }
        const other = { ...from(null).headers, referer: 'https://evil.example/' };
        expect((await send(QUERY, { headers: { ...other, host: 'www.example' } })).status).toBe(
          403,
        );
      }
    }
  });

  it('to a page of a listed origin', async () => {
    expect((await send(QUERY, from(LISTED))).status).toBe(200);
    const accept = 'text/event-stream';
    expect((await send(LIVE, from(LISTED, { accept }))).status).toBe(200);
    const { status } = await send(QUERY, from(null, { referer: `${LISTED}/` }));
    expect(status).toBe(200);
  });

  it.each([
    ['a preflight', { 'apollo-require-preflight': 'true' }],
    ['another preflight', { 'x-graphql-yoga-csrf': '1' }],
    ['a preflight for a token', { authorization: 'Bearer any' }],
  ])('to a browser that has asked first: %s', async (_, headers) => {
    expect((await send(QUERY, from(null, headers))).status).toBe(200);
  });

  it('to what is no browser, and names no page', async () => {
    expect((await send(QUERY)).status).toBe(200);
    expect((await send(QUERY, { headers: { 'user-agent': 'curl/8.5.0' } })).status).toBe(200);
  });

  it('to a browser that opens a page or the schema by its address', async () => {
    expect((await send('/graphql', from(null, { accept: 'text/html' }))).status).toBe(200);
    expect((await send('/schema.graphql', from(null))).status).toBe(200);
  });
});

describe('Where a browser marks what it sends', () => {
  const marked = (site: string, more = {}) => from(null, { 'sec-fetch-site': site, ...more });

  it.each(['cross-site', 'same-site', 'Cross-Site', 'unknown'])(
    '%s is refused on every path, whatever else it says',
    async (site) => {
      const calls = door.calls();
      for (const more of [{}, { origin: `http://${HOST}` }, { referer: `http://${HOST}/` }]) {
        expect((await send(QUERY, marked(site, more))).status).toBe(403);
        expect((await send(LIVE, marked(site, more))).status).toBe(403);
        expect((await send('/schema.graphql', marked(site, more))).status).toBe(403);
        const upload = { method: 'PUT', body: 'x', ...marked(site, more) };
        expect((await send('/files/a.txt', upload)).status).toBe(403);
      }
      expect(door.calls()).toBe(calls);
      expect((await send(QUERY, marked(site, { origin: LISTED }))).status).toBe(200);
    },
  );

  it.each(['same-origin', 'none'])('%s is answered', async (site) => {
    expect((await send(QUERY, marked(site))).status).toBe(200);
  });
});
