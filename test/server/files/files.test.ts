import { request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts';
import {
  PLENTY,
  type Row,
  startWorld,
  type World,
  type WorldOptions,
} from '../../support/gateway.ts';
import {
  asTimePasses,
  beginUpload,
  someBytes,
  until,
  upload,
  uploadAnswer,
} from '../../support/uploads.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ limit: { requests: PLENTY } });
});
afterAll(() => sandbox.close());

const opened: World[] = [];
let world: World;
let url: string;
beforeEach(async () => {
  sandbox.reset();
  ({ world, url } = await open());
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((each) => each.close()));
});

/** A gateway that listens, with small limits for what is usually large. */
async function open(options: WorldOptions = {}): Promise<{ world: World; url: string }> {
  const env = { PORT: '0', UPLOAD_MAX_BYTES: '4000000', ...options.env };
  const opening = await startWorld({
    ...(options.sandbox ? {} : { on: sandbox }),
    ...options,
    env,
  });
  opened.push(opening);
  return { world: opening, url: (await opening.gateway.listen()).url };
}

interface Files {
  readonly files: { readonly totalCount: number; readonly nodes: readonly Row[] };
}

const listing = '{ files(first: 1) { totalCount nodes { id name downloads shortUrl } } }';
const listed = async (of = world) => (await of.data<Files>(listing)).files;
const received = (by = sandbox) => by.links.requests.filter(({ method }) => method === 'POST');
const code = ({ errors }: { errors?: readonly { extensions?: Row }[] }) =>
  errors?.[0]?.extensions?.['code'];

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

  it.each(['résumé №1 — 100% ü?.txt', 'a+b c.tar.gz', "it's (new) 日本語.pdf", 'emoji 👩‍👩‍👧.png'])(
    'keeps the name %s',
    async (name) => {
      const answer = await upload(url, `/files/${encodeURIComponent(name)}`, 'x');
      expect(answer.status).toBe(201);
      expect(received()[0]?.path).toBe(`/api/files/upload/${encodeURIComponent(name)}`);
      expect((await listed()).nodes[0]).toMatchObject({ name });
      const download = await fetch(String(answer.shortUrl));
      expect(download.headers.get('content-disposition')).toContain(encodeURIComponent(name));
    },
  );

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

describe('an upload that is interrupted', () => {
  it('by its sender is cut off upstream too, not ended', async () => {
    const before = await listed();
    const sent = beginUpload(url, '/files/a.bin');
    sent.write(BYTES);
    await until(() => received().length === 1);
    sent.destroy();
    // Its slot is free again: the write is over for the gateway.
    expect((await listed()).totalCount).toBe(before.totalCount);
    expect(received()).toMatchObject([{ status: 0 }]);
  });

  it('short of its announced length is cut off upstream too', async () => {
    const before = await listed();
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.write(
      'PUT /files/a.bin HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nhalf',
    );
    await until(() => received().length === 1);
    socket.end();
    await text(socket);
    expect((await listed()).totalCount).toBe(before.totalCount);
    expect(received()).toMatchObject([{ status: 0 }]);
  });

  it('by silence is given up after half a minute', async () => {
    const clock = new VirtualClock();
    const { world, url } = await open({ clock, env: { LINKS_TIMEOUT_MS: '86400000' } });
    const before = await listed(world);
    const sent = beginUpload(url, '/files/a.bin', { 'content-length': 2 * BYTES.length });
    const answered = uploadAnswer(sent);
    sent.write(BYTES);
    await until(() => received().length === 1);
    await clock.advance(20_000);
    sent.write(BYTES.subarray(0, 1000));
    await clock.advance(29_000);
    await clock.advance(2_000);
    const answer = await answered;
    expect([answer.status, code(answer)]).toEqual([408, 'BAD_USER_INPUT']);
    expect(received()).toMatchObject([{ status: 0 }]);
    expect((await listed(world)).totalCount).toBe(before.totalCount);
    sent.destroy();
  });

  it('by the upstream has an unknown outcome', async () => {
    sandbox.links.fault({ kind: 'drop', applied: true, times: 1 });
    const answer = await upload(url, '/files/lost.bin', BYTES);
    expect([answer.status, code(answer)]).toEqual([500, 'OUTCOME_UNKNOWN']);
    expect(answer.errors?.[0]?.extensions).toMatchObject({ check: 'Query.files' });
    expect(received()).toHaveLength(1);
    expect((await listed()).nodes[0]).toMatchObject({ name: 'lost.bin' });
  });

  it('before it has begun has not happened', async () => {
    const { url } = await open({ env: { LINKS_BASE_URL: 'http://127.0.0.1:1' } });
    const answer = await upload(url, '/files/a.bin', BYTES);
    expect([answer.status, code(answer)]).toEqual([503, 'UPSTREAM_UNAVAILABLE']);
  });
});

describe('the time of an upload', () => {
  it('may be longer than that of a request, as long as bytes come', async () => {
    const clock = new VirtualClock();
    const { url } = await open({ clock });
    const piece = BYTES.subarray(0, 1000);
    const sent = beginUpload(url, '/files/a.bin', { 'content-length': 3 * piece.length });
    const answered = uploadAnswer(sent);
    for (let count = 0; count < 2; count += 1) {
      sent.write(piece);
      await until(() => received().length === 1);
      await clock.advance(12_000);
    }
    sent.end(piece);
    expect((await answered).status).toBe(201);
  });

  it('ends a while after its last byte, with an unknown outcome', async () => {
    const clock = new VirtualClock();
    const { url } = await open({ clock });
    sandbox.links.fault({ kind: 'hang', times: 1 });
    const answered = upload(url, '/files/a.bin', BYTES);
    await until(() => received()[0]?.fault === 'hang');
    await clock.advance(10_000);
    const answer = await answered;
    expect([answer.status, code(answer)]).toEqual([500, 'OUTCOME_UNKNOWN']);
  });
});

describe('the budget of an upload', () => {
  /** A gateway that may make one request a minute, and has made it. */
  async function openSpent(): Promise<{ world: World; url: string; clock: VirtualClock }> {
    const clock = new VirtualClock();
    // Whose headers do not say that there is more.
    const limit = { requests: PLENTY, resetFormat: 'none' as const };
    const opening = await open({ clock, sandbox: { limit }, env: { LINKS_RATE_LIMIT: '1' } });
    await opening.world.data('{ account { id } }');
    return { ...opening, clock };
  }

  const patient = {
    'content-length': BYTES.length,
    expect: '100-continue',
    prefer: 'wait=100',
  };

  it('is waited for before the body is asked for, as long as its sender wants', async () => {
    const { url, clock } = await openSpent();
    const sent = beginUpload(url, '/files/a.bin', patient);
    let asked = false;
    sent.on('continue', () => {
      asked = true;
      sent.end(BYTES);
    });
    const answered = uploadAnswer(sent);
    sent.flushHeaders();
    await clock.advance(59_000);
    expect(asked).toBe(false);
    await clock.advance(2_000);
    expect((await answered).status).toBe(201);
  });

  it('is told to be spent, and until when, without a byte of the body', async () => {
    const { url, world } = await openSpent();
    const { prefer: _, ...head } = patient;
    const sent = beginUpload(url, '/files/a.bin', head);
    let asked = false;
    sent.on('continue', () => {
      asked = true;
    });
    sent.flushHeaders();
    const answer = await uploadAnswer(sent);
    expect([answer.status, code(answer)]).toEqual([503, 'BUDGET_EXHAUSTED']);
    expect(answer.headers['retry-after']).toBe('60');
    expect(answer.errors?.[0]?.extensions).toMatchObject({ retryAfterMs: 60_000 });
    expect(asked).toBe(false);
    expect(received(world.sandbox)).toEqual([]);
  });

  it('is not spent on a sender who has left', async () => {
    const { url, world, clock } = await openSpent();
    const query = '{ rateLimit(upstream: LINKS) { queued } }';
    const queued = async (): Promise<unknown> =>
      (await world.data<{ rateLimit: Row }>(query)).rateLimit['queued'];
    const sent = beginUpload(url, '/files/a.bin', patient);
    sent.flushHeaders();
    await until(async () => (await queued()) === 1);
    sent.destroy();
    await until(async () => (await queued()) === 0);
    await clock.advance(120_000);
    expect(received(world.sandbox)).toEqual([]);
  });

  it.each(['refuse-429', 'refuse-200'] as const)(
    'that the upstream finds spent (%s) lets a small file go again',
    async (kind) => {
      const clock = new VirtualClock();
      const { url } = await open({ clock, env: { LINKS_TIMEOUT_MS: '86400000' } });
      sandbox.links.fault({ kind, retryAfter: 2, times: 1 });
      const uploading = upload(url, '/files/a.bin', BYTES);
      await until(() => received()[0]?.fault !== undefined);
      const answer = await asTimePasses(clock, uploading);
      expect(answer.status).toBe(201);
      expect(received()).toMatchObject([{ refused: true }, { refused: false }]);
      const download = await fetch(String(answer.shortUrl));
      expect(new Uint8Array(await download.arrayBuffer())).toEqual(BYTES);
    },
  );

  it('that the upstream finds spent sends back a large file, which has gone by', async () => {
    sandbox.links.fault({ kind: 'refuse-429', retryAfter: 7, times: 1 });
    const answer = await upload(url, '/files/a.bin', someBytes(3_000_000));
    expect([answer.status, code(answer)]).toEqual([503, 'BUDGET_EXHAUSTED']);
    expect(answer.headers['retry-after']).toBe('7');
    expect(received()).toHaveLength(1);
  });
});

describe('who may upload', () => {
  it.each(['GET', 'HEAD', 'POST', 'DELETE'])('nobody by %s', async (method) => {
    const response = await fetch(`${url}/files/a.txt`, { method });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'PUT, OPTIONS']);
    expect(world.calls()).toEqual([]);
  });

  const origin = 'https://app.example.com';

  it('a page of a listed origin, which asks first', async () => {
    const { url } = await open({ env: { CORS_ORIGINS: origin } });
    const preflight = await fetch(`${url}/files/a.txt`, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'PUT',
        'access-control-request-headers': 'content-type,prefer',
      },
    });
    expect(preflight.status).toBe(204);
    expect(Object.fromEntries(preflight.headers)).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'PUT',
      'access-control-allow-headers': 'content-type,prefer',
      vary: 'Origin',
    });
    const answer = await upload(url, '/files/a.txt', 'x', {
      origin,
      'sec-fetch-site': 'cross-site',
    });
    expect(answer.status).toBe(201);
    expect(answer.headers['access-control-allow-origin']).toBe(origin);
  });

  it('no page of another origin', async () => {
    const { url } = await open({ env: { CORS_ORIGINS: origin } });
    const foreign = { origin: 'https://elsewhere.example' };
    const preflight = await fetch(`${url}/files/a.txt`, { method: 'OPTIONS', headers: foreign });
    expect(preflight.headers.get('access-control-allow-origin')).toBe(null);
    expect(preflight.headers.get('access-control-allow-methods')).toBe(null);
    const marked = { ...foreign, 'sec-fetch-site': 'cross-site' };
    const answer = await upload(url, '/files/a.txt', 'x', marked);
    expect([answer.status, code(answer)]).toEqual([403, 'FORBIDDEN']);
    expect(received()).toEqual([]);
  });
});
