import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Codings } from '../../../src/http/encoding/codings.ts';
import { createBuiltPages } from '../../../src/http/pages/built-pages.ts';
import { tempFolder } from '../../support/folder.ts';
import { builtPages, describeWith } from '../../support/needs.ts';
import { askRaw } from '../../support/raw-reply.ts';

const pages = createBuiltPages(new Codings());
const page = pages.document('console');
const missing = pages.document('nothing');

/** A separate build, which tests can repeat. */
const root = tempFolder();
const folder = join(root, 'pages');
const own = createBuiltPages(new Codings(), folder);
const ownPage = own.document('own');
let server: Server;
let port = 0;

beforeAll(async () => {
  server = createServer((asked, response) => {
    if (asked.url === '/own') ownPage(asked, response);
    else if (asked.url?.startsWith('/own/')) own.asset(asked, response);
    else if (asked.url?.startsWith('/assets/')) pages.asset(asked, response);
    else (asked.url === '/nothing' ? missing : page)(asked, response);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => server.close());

/** Asks without a library that unpacks. */
async function ask(path: string, headers: Record<string, string> = {}, method = 'GET') {
  const { bytes, ...answer } = await askRaw(`http://127.0.0.1:${port}`, { path, headers, method });
  return { ...answer, body: bytes };
}

const asset = readdirSync('dist/pages/assets').find((name) => name.endsWith('.js')) ?? '';
const content = readFileSync(`dist/pages/assets/${asset}`);

describeWith(builtPages, 'an asset', () => {
  it.each([
    ['gzip, deflate, br', 'br', brotliDecompressSync],
    ['gzip;q=0.5, br;q=0', 'gzip', gunzipSync],
    ['identity', undefined, (body: Buffer) => body],
  ])('is sent to one that takes %s as %s', async (accepted, packing, unpack) => {
    const { body, headers, status } = await ask(`/assets/${asset}`, {
      'accept-encoding': accepted,
    });
    expect(status).toBe(200);
    expect(headers['content-encoding']).toBe(packing);
    expect(unpack(body).equals(content)).toBe(true);
    expect(headers).toMatchObject({
      'cache-control': 'public, max-age=31536000, immutable',
      'content-type': 'text/javascript; charset=utf-8',
      vary: 'Accept-Encoding',
    });
  });

  it.each([
    '/assets/../made-from',
    '/assets/%2e%2e%2fmade-from',
    '/assets/x.js',
    '/assets/',
    `/assets/${asset}.br`,
  ])('is nothing that is asked for by %s', async (path) => {
    expect((await ask(path)).status).toBe(404);
  });

  it('is read only', async () => {
    expect((await ask(`/assets/${asset}`, {}, 'POST')).status).toBe(405);
    const head = await ask(`/assets/${asset}`, {}, 'HEAD');
    expect([head.status, head.body.length]).toEqual([200, 0]);
  });
});

describeWith(builtPages, 'a page', () => {
  it('allows scripts of its own only', async () => {
    const { headers } = await ask('/');
    expect(headers['content-security-policy']).toContain("script-src 'self'");
    expect(headers['content-security-policy']).not.toMatch(/unsafe|https?:|\*/);
  });

  it('is not sent again to a browser that has it', async () => {
    const etag = String((await ask('/')).headers['etag']);
    const again = await ask('/', { 'if-none-match': etag });
    expect([again.status, again.body.length]).toEqual([304, 0]);
  });

  it('says what to do where it is not built, and has the browser ask again', async () => {
    const { body, headers, status } = await ask('/nothing');
    expect([status, body.toString()]).toEqual([503, expect.stringContaining('npm run build')]);
    expect(headers).toMatchObject({
      'retry-after': '1',
      refresh: '1',
      'cache-control': 'no-store',
    });
  });

  it('is the newest one that was built, with its assets', async () => {
    mkdirSync(join(folder, 'assets'), { recursive: true });
    for (const name of ['first', 'second']) {
      writeFileSync(join(folder, 'assets', `${name}.js`), name);
      writeFileSync(join(folder, 'own.html'), `<body>${name}</body>`);
      expect((await ask('/own')).body.toString()).toContain(name);
      expect((await ask(`/own/${name}.js`)).body.toString()).toBe(name);
    }
  });
});

describeWith(builtPages, 'the package for frontends', () => {
  const file = join(folder, '..', 'client', 'client.tgz');

  it('is the newest one that was built, in one piece', () => {
    expect(own.clientPackage().status).toBe(503);
    mkdirSync(dirname(file));
    const tags = ['first', 'second'].map((bytes) => {
      writeFileSync(file, bytes);
      const { content: served, status } = own.clientPackage();
      expect([status, served?.type, served?.encoding]).toEqual([
        200,
        'application/gzip',
        undefined,
      ]);
      expect(served?.body.toString()).toBe(bytes);
      return served?.etag;
    });
    expect(new Set(tags).size).toBe(2);
  });
});
