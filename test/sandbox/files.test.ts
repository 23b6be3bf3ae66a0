import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Caller, HandClock, type Members, startRoomy, until } from './caller.ts';

const clock = new HandClock();
let api: Caller;
beforeAll(async () => {
  api = await startRoomy({ clock });
});
beforeEach(() => api.sandbox.reset());
afterAll(() => api.sandbox.close());

// Every byte value, among them those that are no text.
const BYTES = Uint8Array.from({ length: 70_000 }, (_, index) => (index * 31 + (index >> 8)) % 256);

const upload = (name: string, query = '', body: Uint8Array | string = BYTES) =>
  api.post(`/api/files/upload/${name}${query && `?${query}`}`, body);
const newest = async () => (await api.get('/api/files?limit=1')).body.list[0] as Members;

describe('upload', () => {
  it('keeps the bytes as they are and serves them at the short URL', async () => {
    const { status, body } = await upload('pattern%20one.bin', 'name=A%20pattern');
    expect(status).toBe(200);
    expect(body).toEqual({ error: 0, id: expect.any(Number), shorturl: expect.any(String) });
    expect(await newest()).toEqual({
      id: body.id,
      name: 'A pattern',
      downloads: 0,
      shorturl: body.shorturl,
      date: '2025-11-20 12:00:00',
    });
    const download = await fetch(body.shorturl);
    expect(download.headers.get('content-disposition')).toContain('pattern%20one.bin');
    expect(new Uint8Array(await download.arrayBuffer())).toEqual(BYTES);
    expect((await newest()).downloads).toBe(1);
  });

  it('serves also a large one whole', async () => {
    const large = Buffer.alloc(9_000_000, BYTES);
    const { body } = await upload('large.bin', '', large);
    expect(api.sandbox.links.requests.at(-1)?.body).toBe(large.length);
    const [one, two] = await Promise.all([fetch(body.shorturl), fetch(body.shorturl)]);
    for (const download of [one, two]) {
      expect(large.equals(Buffer.from(await download.arrayBuffer()))).toBe(true);
    }
    const head = await fetch(body.shorturl, { method: 'HEAD' });
    expect(head.headers.get('content-length')).toBe(String(large.length));
  });

  it('is not read as JSON, and is logged as a number of bytes', async () => {
    expect((await upload('data.json', '', '{"broken":')).body.error).toBe(0);
    expect(api.sandbox.links.requests.at(-1)?.body).toBe(10);
  });

  it('takes an alias of its own, once', async () => {
    const { body } = await upload('a.png', 'custom=price-list');
    expect(body.shorturl).toBe(`${api.sandbox.links.url}/f/price-list`);
    const again = await upload('b.png', 'custom=price-list');
    expect(again.body).toEqual({ error: 1, message: expect.stringContaining('alias') });
    expect((await upload('b.png', 'custom=a/b')).body.error).toBe(1);
  });

  it('takes a branded domain of the account', async () => {
    const { body } = await upload('a.png', 'domain=go.harbour.com');
    expect(body.shorturl).toMatch(/^https:\/\/go\.harbour\.com\/f\//);
    expect((await upload('a.png', 'domain=go.elsewhere.com')).body.error).toBe(1);
  });

  it('asks for the password', async () => {
    const { shorturl } = (await upload('a.txt', 'password=rye%20bread', 'secret')).body;
    const asked = await fetch(shorturl);
    expect(asked.status).toBe(401);
    expect(await asked.text()).toContain('type="password"');
    expect((await fetch(`${shorturl}?password=wrong`)).status).toBe(401);
    expect((await newest()).downloads).toBe(0);
    const good = await fetch(`${shorturl}?password=rye+bread`);
    expect(await good.text()).toBe('secret');
  });

  it('ends after its last day', async () => {
    const { shorturl } = (await upload('a.txt', 'expiry=2025-11-20', 'x')).body;
    clock.move(12 * 3_600_000 - 1);
    expect((await fetch(shorturl)).status).toBe(200);
    clock.move(1);
    expect((await fetch(shorturl)).status).toBe(410);
  });

  it('ends after as many downloads as allowed', async () => {
    const { shorturl } = (await upload('a.txt', 'maxdownloads=2', 'x')).body;
    const statuses = [];
    for (let time = 0; time < 3; time++) statuses.push((await fetch(shorturl)).status);
    expect(statuses).toEqual([200, 200, 410]);
    expect((await newest()).downloads).toBe(2);
  });

  it.each([
    ['noextension', ''],
    ['a.txt', 'expiry=2025-02-30'],
    ['a.txt', 'expiry=soon'],
    ['a.txt', 'maxdownloads=0'],
    ['a.txt', 'maxdownloads=two'],
  ])('refuses %s?%s', async (name, query) => {
    const before = (await api.get('/api/files')).body.result;
    expect(await upload(name, query)).toMatchObject({ status: 400, body: { error: 1 } });
    expect((await api.get('/api/files')).body.result).toBe(before);
  });

  it('refuses an empty file and a request without a key', async () => {
    expect((await upload('a.txt', '', '')).body.error).toBe(1);
    const stranger = await api.as('').post('/api/files/upload/a.txt', 'x');
    expect(stranger.status).toBe(401);
  });

  it('leaves nothing when it is interrupted', async () => {
    const before = (await api.get('/api/files')).body.result;
    api.sandbox.links.clearLog();
    const { hostname, port } = new URL(api.sandbox.links.url);
    const socket = connect(Number(port), hostname);
    socket.write(
      `POST /api/files/upload/half.bin HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${api.key}\r\ncontent-length: 1000\r\n\r\nhalf`,
    );
    await until(() => api.sandbox.links.requests.length === 1);
    socket.destroy();
    expect((await api.get('/api/files')).body.result).toBe(before);
    expect(api.sandbox.links.requests[0]).toMatchObject({
      status: 0,
      path: '/api/files/upload/half.bin',
    });
  });
});

describe('seeded files', () => {
  it('can all be downloaded', async () => {
    const files = (await api.get('/api/files?limit=100')).body.list;
    for (const { shorturl, downloads, name } of files as Members[]) {
      const response = await fetch(shorturl);
      expect(response.status).toBe(200);
      expect((await response.arrayBuffer()).byteLength).toBeGreaterThan(0);
      const { list } = (await api.get(`/api/files?name=${encodeURIComponent(name)}`)).body;
      expect(list[0]?.downloads).toBe(downloads + 1);
    }
    expect((await fetch(`${api.sandbox.links.url}/f/nothing`)).status).toBe(404);
  });
});
