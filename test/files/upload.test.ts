import { request } from 'node:http';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import type { World } from '../support/gateway.ts';
import { code, uploadWorlds } from '../support/upload-worlds.ts';
import { beginUpload, someBytes, until, upload, uploadAnswer } from '../support/uploads.ts';

const worlds = uploadWorlds({ uploadMaxBytes: '4000000' });
const { listed, open, received } = worlds;
let sandbox: Sandbox;
let world: World;
let url: string;
beforeEach(() => {
  ({ sandbox, world, url } = worlds.current());
});

const BYTES = someBytes(300_000);

describe('PUT /files/:filename', () => {
  it('passes the bytes on as they are, and answers where they can be had', async () => {
    const before = await listed();
    const answer = await upload(url, '/files/pattern.bin', BYTES);
    expect(answer).toMatchObject({ status: 201, databaseId: expect.any(Number) });
    expect(Object.keys(answer).sort()).toEqual([
      'databaseId',
      'headers',
      'id',
      'shortUrl',
      'status',
    ]);
    const download = await fetch(String(answer.shortUrl));
    expect(new Uint8Array(await download.arrayBuffer())).toEqual(BYTES);
    const { totalCount, nodes } = await listed();
    expect(totalCount).toBe(before.totalCount + 1);
    expect(nodes[0]).toMatchObject({ id: answer.id, name: 'pattern.bin' });
  });

  it('passes more bytes on than are ever held, none lost and none twice', async () => {
    const large = someBytes(3_999_999);
    const answer = await upload(url, '/files/large.bin', large);
    const download = await fetch(String(answer.shortUrl));
    expect(Buffer.from(await download.arrayBuffer()).equals(large)).toBe(true);
  });

  it('is one request upstream, of a known length and no particular type', async () => {
    await upload(url, '/files/a.json', '{"broken":', { 'content-type': 'application/json' });
    const [{ headers, ...entry } = { headers: {} }, ...others] = received();
    expect(others).toEqual([]);
    expect(entry).toMatchObject({ path: '/api/files/upload/a.json', query: {}, body: 10 });
    expect(headers).toMatchObject({
      'content-length': '10',
      'content-type': 'application/octet-stream',
    });
  });

  it('takes a body of unknown length', async () => {
    const sent = beginUpload(url, '/files/a.bin');
    sent.write(BYTES);
    sent.end(BYTES);
    expect((await uploadAnswer(sent)).status).toBe(201);
    expect(received()).toMatchObject([{ body: 2 * BYTES.length }]);
    expect(received()[0]?.headers).toMatchObject({ 'transfer-encoding': 'chunked' });
  });

  it('passes on what has come before the rest has', async () => {
    const sent = beginUpload(url, '/files/a.bin', { 'content-length': 2 * BYTES.length });
    sent.write(BYTES);
    // The sandbox notes a request when its head is there, and that leaves with the first bytes.
    await until(() => received().length === 1);
    sent.end(BYTES);
    expect((await uploadAnswer(sent)).status).toBe(201);
  });

  it.each(['bytes 0-9/300000', 'bytes 0-299999/300000', 'bytes */300000', 'parts 1', ''])(
    'takes no part for the whole: Content-Range: %s',
    async (range) => {
      const answer = await upload(url, '/files/a.bin', BYTES, { 'content-range': range });
      expect([answer.status, code(answer)]).toEqual([400, 'BAD_USER_INPUT']);
      expect(received()).toEqual([]);
    },
  );

  it.each([
    'résumé №1 — 100% ü?.txt',
    'a+b c.tar.gz',
    "it's (new) 日本語.pdf",
    'emoji 👩‍👩‍👧 ❤️ 👩🏽‍🚀.png',
    'مرحبا שלום.pdf',
  ])('keeps the name %s', async (name) => {
    const answer = await upload(url, `/files/${encodeURIComponent(name)}`, 'x');
    expect(answer.status).toBe(201);
    expect(received()[0]?.path).toBe(`/api/files/upload/${encodeURIComponent(name)}`);
    expect((await listed()).nodes[0]).toMatchObject({ name });
    const download = await fetch(String(answer.shortUrl));
    expect(download.headers.get('content-disposition')).toContain(encodeURIComponent(name));
  });

  it('sends the options that were given, in the upstream’s spelling', async () => {
    const options = new URLSearchParams({
      name: 'Price list & more',
      custom: 'prices',
      domain: 'go.harbour.com',
      password: 'rye bread',
      expiry: '2039-01-31',
      maxDownloads: '2',
    });
    const answer = await upload(url, `/files/a.txt?${options}`, 'x');
    expect(answer).toMatchObject({ status: 201, shortUrl: 'https://go.harbour.com/f/prices' });
    expect(received()[0]?.query).toEqual({
      name: 'Price list & more',
      custom: 'prices',
      domain: 'go.harbour.com',
      password: 'rye bread',
      expiry: '2039-01-31',
      maxdownloads: '2',
    });
  });

  it('takes a domain by its id, and refuses that of anything else', async () => {
    const { data } = await world.links<{ data: { domains: { id: number }[] } }>('/api/domains');
    const global = (type: string) =>
      Buffer.from(`${type}:${data.domains[0]?.id}`).toString('base64url');
    const answer = await upload(url, `/files/a.txt?domain=${global('BrandedDomain')}`, 'x');
    expect(answer.status).toBe(201);
    expect(received()[0]?.query).toEqual({ domain: expect.stringMatching(/^https:\/\//) });
    expect(await upload(url, `/files/a.txt?domain=${global('Channel')}`, 'x')).toMatchObject({
      status: 400,
    });
    expect(received()).toHaveLength(1);
  });

  it('guards the download as it was told', async () => {
    const guarded = await upload(url, '/files/a.txt?password=rye&maxdownloads=1', 'secret');
    const at = String(guarded.shortUrl);
    expect((await fetch(at)).status).toBe(401);
    expect(await (await fetch(`${at}?password=rye`)).text()).toBe('secret');
    expect((await fetch(`${at}?password=rye`)).status).toBe(410);
    const expired = await upload(url, '/files/a.txt?expiry=2020-01-31', 'secret');
    expect((await fetch(String(expired.shortUrl))).status).toBe(410);
  });

  it.each([
    ['noextension', '', ['filename']],
    ['..', '', ['filename']],
    ['.htaccess', '', ['filename']],
    ['..%2F..%2Fetc%2Fa.txt', '', ['filename']],
    ['a/b.txt', '', ['filename']],
    ['a%5Cb.txt', '', ['filename']],
    ['a%00.txt', '', ['filename']],
    ['a%0D%0A.txt', '', ['filename']],
    ['a%C2%85.txt', '', ['filename']],
    ['invoice-%E2%80%AEgpj.exe', '', ['filename']],
    ['a%E2%81%A6b%E2%81%A9.txt', '', ['filename']],
    ['a%D8%9C.txt', '', ['filename']],
    ['pay%E2%80%8Bpal.txt', '', ['filename']],
    ['pay%E2%80%8Dpal.txt', '', ['filename']],
    ['pay%E2%81%A0pal.txt', '', ['filename']],
    ['%EF%BB%BFa.txt', '', ['filename']],
    ['a%C2%ADb.txt', '', ['filename']],
    ['a%E2%80%A8b.txt', '', ['filename']],
    ['a%E3%85%A4.txt', '', ['filename']],
    ['a%EF%B8%8F.txt', '', ['filename']],
    ['a%F3%A0%81%A1.txt', '', ['filename']],
    ['a.txt', 'name=gpj%E2%80%AE', ['name']],
    ['a.txt', 'name=a%0Ab', ['name']],
    ['%E0%A4%A.txt', '', ['filename']],
    ['%ED%A0%80.txt', '', ['filename']],
    [`${'a'.repeat(252)}.txt`, '', ['filename']],
    ['', '', ['filename']],
    ['a.txt', 'pasword=x', ['pasword']],
    ['a.txt', '__proto__=x', ['__proto__']],
    ['a.txt', 'name=x&name=y', ['name']],
    ['a.txt', 'maxDownloads=1&maxdownloads=2', ['maxdownloads']],
    ['a.txt', 'maxDownloads=0', ['maxDownloads']],
    ['a.txt', 'maxDownloads=1e3', ['maxDownloads']],
    ['a.txt', 'password=', ['password']],
    ['a.txt', 'custom=a/b', ['custom']],
    ['a.txt', 'domain=go.harbour.com/x', ['domain']],
    ['a.txt', 'domain=ftp://go.harbour.com', ['domain']],
    ['a.txt', 'expiry=2025-02-30', ['expiry']],
    ['..', 'expiry=soon&maxDownloads=-1&name=%20', ['filename', 'name', 'expiry', 'maxDownloads']],
  ])('finds what is wrong with %s?%s, and spends no call', async (name, query, members) => {
    // As it is: a URL parser would resolve the dots.
    const sent = request({
      port: new URL(url).port,
      path: `/files/${name}?${query}`,
      method: 'PUT',
    });
    sent.end('x');
    const answer = await uploadAnswer(sent);
    expect([answer.status, code(answer)]).toEqual([400, 'BAD_USER_INPUT']);
    const issues = answer.errors?.[0]?.extensions?.['issues'] as { path: string[] }[];
    expect(issues.map(({ path }) => path[0])).toEqual(members);
    expect(world.calls()).toEqual([]);
  });

  it('refuses an empty file', async () => {
    const answer = await upload(url, '/files/a.txt', '');
    expect([answer.status, code(answer)]).toEqual([400, 'BAD_USER_INPUT']);
    expect(world.calls()).toEqual([]);
  });

  it('says why the upstream refuses, and changes nothing', async () => {
    await upload(url, '/files/a.txt?custom=prices', 'x');
    const answer = await upload(url, '/files/b.txt?custom=prices', 'x');
    expect([answer.status, code(answer)]).toEqual([422, 'UPSTREAM_REJECTED']);
    expect(answer.errors?.[0]?.message).toBe('The custom alias is already taken');
    expect((await listed()).nodes[0]).toMatchObject({ name: 'a.txt' });
  });

  it('finds the id also under the key 1', async () => {
    sandbox.links.fault({
      kind: 'answer',
      rewrite: ({ status, headers }) => ({ status, headers, body: { error: '0', 1: '77' } }),
    });
    const answer = await upload(url, '/files/a.txt', 'x');
    expect(answer).toMatchObject({ status: 201, databaseId: 77, shortUrl: null });
  });

  it('says so when there is no link API', async () => {
    const { url } = await open({ only: 'market' });
    const answer = await upload(url, '/files/a.txt', 'x');
    expect([answer.status, code(answer)]).toEqual([503, 'UPSTREAM_NOT_CONFIGURED']);
  });
});

describe('the size of a file', () => {
  const sendings = {
    'a known length': (to: string, bytes: Uint8Array) => upload(to, '/files/a.bin', bytes),
    'an unknown length': (to: string, bytes: Uint8Array) => {
      const sent = beginUpload(to, '/files/a.bin');
      const answered = uploadAnswer(sent);
      sent.end(bytes);
      return answered;
    },
    'an unknown length in pieces': (to: string, bytes: Uint8Array) => {
      const sent = beginUpload(to, '/files/a.bin');
      const answered = uploadAnswer(sent);
      for (let at = 0; at < bytes.length; at += 16_384) sent.write(bytes.subarray(at, at + 16_384));
      sent.end();
      return answered;
    },
  };
  const names = Object.keys(sendings) as (keyof typeof sendings)[];

  // Less and more than is read before the upload asks for its turn, and just as much.
  it.each([1, 50_000, 65_536, 200_000].flatMap((max) => names.map((name) => [max, name] as const)))(
    'may be up to %d bytes and not one more, sent with %s',
    async (max, name) => {
      const { url: to } = await open({ env: { uploadMaxBytes: String(max) } });
      for (const size of [max - 1, max].filter((each) => each > 0)) {
        const answer = await sendings[name](to, someBytes(size));
        expect(answer).toMatchObject({ status: 201 });
        const download = await fetch(String(answer.shortUrl));
        expect((await download.arrayBuffer()).byteLength).toBe(size);
      }
      const before = await listed();
      const refused = await sendings[name](to, someBytes(max + 1));
      expect([refused.status, code(refused)]).toEqual([413, 'BAD_USER_INPUT']);
      expect(refused.errors?.[0]?.message).toContain(`${max} bytes`);
      expect((await listed()).totalCount).toBe(before.totalCount);
    },
  );
});

describe('a file that is too large', () => {
  it('is refused by its announced length, before a byte of it and without a call', async () => {
    const sent = beginUpload(url, '/files/a.bin', {
      'content-length': 4_000_001,
      expect: '100-continue',
    });
    let asked = false;
    sent.on('continue', () => {
      asked = true;
    });
    sent.flushHeaders();
    const answer = await uploadAnswer(sent);
    expect([answer.status, code(answer)]).toEqual([413, 'BAD_USER_INPUT']);
    expect(answer.errors?.[0]?.message).toContain('4000000 bytes');
    expect(asked).toBe(false);
    expect(world.calls()).toEqual([]);
  });

  it('is refused also when it is sent unasked, so that its sender sees the answer', async () => {
    const answer = await upload(url, '/files/a.bin', new Uint8Array(4_000_001));
    expect(answer.status).toBe(413);
    expect(world.calls()).toEqual([]);
  });

  it('is cut off when it grows past the limit, and nothing of it stays', async () => {
    const before = await listed();
    const sent = beginUpload(url, '/files/a.bin');
    const answered = uploadAnswer(sent);
    const piece = someBytes(1_000_000);
    for (let count = 0; count < 6; count += 1) sent.write(piece);
    const answer = await answered;
    expect([answer.status, code(answer)]).toEqual([413, 'BAD_USER_INPUT']);
    sent.destroy();
    expect(received()).toMatchObject([{ status: 0 }]);
    expect((await listed()).totalCount).toBe(before.totalCount);
  });
});
