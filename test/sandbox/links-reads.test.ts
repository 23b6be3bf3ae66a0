import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Caller, type ListKey, type Members, startRoomy } from './caller.ts';

let api: Caller;
beforeAll(async () => {
  api = await startRoomy();
});
beforeEach(() => api.sandbox.reset());
afterAll(() => api.sandbox.close());

const STAMP = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/;
const stamp = expect.stringMatching(STAMP);
const url = expect.stringMatching(/^https?:\/\//);
const text = expect.any(String);
const integer = expect.any(Number);
const flag = expect.any(Boolean);

const LISTS = [
  ['/api/domains', 'domains', { id: integer, domain: url, redirectroot: text, redirect404: text }],
  ['/api/overlay', 'cta', { id: integer, type: text, name: text, date: stamp }],
  [
    '/api/campaigns',
    'campaigns',
    { id: integer, name: text, public: flag, rotator: expect.anything(), list: url },
  ],
  [
    '/api/channels',
    'channels',
    { id: integer, name: text, description: text, color: text, starred: flag },
  ],
  ['/api/splash', 'splash', { id: integer, name: text, date: stamp }],
  ['/api/pixels', 'pixels', { id: integer, type: text, name: text, tag: text, date: stamp }],
  ['/api/qr', 'qrs', { id: integer, link: url, scans: integer, name: text, date: stamp }],
] as const;

async function all(path: string, key: ListKey): Promise<Members[]> {
  const rows: Members[] = [];
  for (let page: number | null = 1; page !== null; ) {
    const { data }: { data: Members } = (await api.get(`${path}?limit=100&page=${page}`)).body;
    rows.push(...data[key]);
    page = data.nextpage;
  }
  return rows;
}

describe('account', () => {
  it('is read with the members of the document and no others', async () => {
    const { status, body } = await api.get('/api/account');
    expect(status).toBe(200);
    expect(body).toEqual({
      error: 0,
      data: {
        id: 12,
        email: text,
        username: 'studio',
        avatar: url,
        status: 'pro',
        expires: expect.toSatisfy((value) => value === null || STAMP.test(String(value))),
        registered: stamp,
      },
    });
  });
});

describe.each(LISTS)('GET %s', (path, key, row) => {
  it('pages inside data, with error as the string 0', async () => {
    const { status, body } = await api.get(`${path}?limit=5&page=2`);
    expect(status).toBe(200);
    expect(body.error).toBe('0');
    const { [key]: rows, ...members } = body.data;
    const result = members.result;
    expect(result).toBeGreaterThanOrEqual(20);
    const maxpage = Math.ceil(result / 5);
    expect(members).toEqual({ result, perpage: 5, currentpage: 2, nextpage: 3, maxpage });
    expect(rows).toHaveLength(5);
    for (const entry of rows) expect(entry).toEqual(row);
  });

  it('gives every row exactly once, newest first', async () => {
    const rows = await all(path, key);
    const ids = rows.map((entry) => entry.id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toEqual(ids.toSorted((a, b) => b - a));
    for (const entry of rows) expect(entry).toEqual(row);
  });

  it('takes 15 rows when not told, and no more than 100', async () => {
    expect((await api.get(path)).body.data).toMatchObject({ perpage: 15, currentpage: 1 });
    for (const odd of ['limit=0', 'limit=-3', 'limit=many', 'page=0', 'page=x'])
      expect((await api.get(`${path}?${odd}`)).body.data).toMatchObject({
        perpage: 15,
        currentpage: 1,
      });
    expect((await api.get(`${path}?limit=5000`)).body.data.perpage).toBe(100);
  });

  it('ends with nextpage null, and has nothing past the end', async () => {
    const { maxpage } = (await api.get(path)).body.data;
    const last = (await api.get(`${path}?page=${maxpage}`)).body.data;
    expect(last.nextpage).toBeNull();
    expect(last[key]?.length).toBeGreaterThan(0);
    const past = (await api.get(`${path}?page=${maxpage + 1}`)).body;
    expect(past).toMatchObject({ error: '0', data: { [key]: [], nextpage: null } });
  });
});

describe('GET /api/channel/:id', () => {
  it('gives the items with the members of the document', async () => {
    const channels = await all('/api/channels', 'channels');
    const sizes: number[] = [];
    const types = new Set<string>();
    for (const { id } of channels) {
      const items = await all(`/api/channel/${id}`, 'items');
      sizes.push(items.length);
      for (const item of items) {
        types.add(item.type);
        expect(item).toEqual({
          type: expect.stringMatching(/^(links|bio|qr)$/),
          id: integer,
          title: text,
          preview: url,
          link: url,
          date: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
        });
      }
    }
    expect(channels.length).toBeGreaterThanOrEqual(25);
    expect([...types].sort()).toEqual(['bio', 'links', 'qr']);
    expect(Math.max(...sizes)).toBeGreaterThan(100);
    expect(Math.min(...sizes)).toBe(0);
    expect(sizes.filter((size) => size >= 5).length).toBeGreaterThan(20);
  });

  it('holds 24 QR codes in one channel, each of which can be read', async () => {
    const items = await all('/api/channel/99', 'items');
    expect(items.length).toBe(24);
    for (const { id, type, title, date } of items) {
      expect(type).toBe('qr');
      const { body } = await api.get(`/api/qr/${id}`);
      expect(body.details).toMatchObject({ id, name: title });
      expect(body.details.date).toContain(date);
    }
  });

  it('fails for a channel that is not there', async () => {
    const { status, body } = await api.get('/api/channel/999999');
    expect(status).toBe(404);
    expect(body).toEqual({ error: 1, message: 'Channel does not exist' });
  });
});

describe('GET /api/files', () => {
  it('pages at the top level, with nextpage null at the end', async () => {
    const { body } = await api.get('/api/files?limit=10&page=2');
    expect(body).toEqual({
      error: 0,
      result: 23,
      perpage: 10,
      currentpage: 2,
      nextpage: 3,
      maxpage: 3,
      list: expect.any(Array),
    });
    for (const file of body.list)
      expect(file).toEqual({
        id: integer,
        name: text,
        downloads: integer,
        shorturl: url,
        date: stamp,
      });
    const last = (await api.get('/api/files?limit=10&page=3')).body;
    expect(last.nextpage).toBeNull();
    expect(last.list).toHaveLength(3);
  });

  it('searches by name', async () => {
    const { body } = await api.get('/api/files?name=MENU');
    expect(body.list.map(({ name }) => name)).toEqual(['Menu autumn']);
    expect((await api.get('/api/files?name=nowhere')).body).toMatchObject({ result: 0, list: [] });
  });
});

describe('GET /api/qr/:id', () => {
  it('gives details and statistics, counts of which are strings', async () => {
    const [newest] = await all('/api/qr', 'qrs');
    const { body } = await api.get(`/api/qr/${newest?.id}`);
    const top = expect.toSatisfy((map: object) =>
      Object.values(map).every((count) => typeof count === 'string' && /^\d+$/.test(count)),
    );
    expect(body).toEqual({
      error: 0,
      details: newest,
      data: {
        clicks: integer,
        uniqueClicks: integer,
        topCountries: top,
        topReferrers: top,
        topBrowsers: top,
        topOs: top,
        socialCount: { facebook: integer, twitter: integer, instagram: integer },
      },
    });
  });

  it('fails for a code that is not there', async () => {
    expect(await api.get('/api/qr/1')).toMatchObject({ status: 404, body: { error: 1 } });
  });
});

describe('authentication', () => {
  it.each([
    ['without a key', undefined, 'An API key is required'],
    ['with a key nobody has', 'f'.repeat(40), 'The API key is not valid'],
  ])('refuses requests %s', async (_, key, message) => {
    const { status, body } = await api.as(key ?? '').get('/api/account');
    expect(status).toBe(401);
    expect(body).toEqual({ error: 1, message });
  });

  it('refuses a key that has expired', async () => {
    const { status, body } = await api.as(api.sandbox.links.keys.expired).get('/api/account');
    expect(status).toBe(401);
    expect(body).toEqual({ error: 1, message: 'The API key has expired' });
  });

  it('shows every account its own rows only', async () => {
    const pro = api.as(api.sandbox.links.keys.pro);
    for (const [path, key] of LISTS) {
      const mine = new Set((await all(path, key)).map(({ id }) => id));
      const { body } = await pro.get(`${path}?limit=100`);
      const theirs = body.data[key].map(({ id }) => id);
      expect(theirs.length).toBeLessThan(mine.size);
      expect(theirs.filter((id) => mine.has(id))).toEqual([]);
    }
    expect((await pro.get('/api/channel/99')).status).toBe(404);
    expect((await pro.delete('/api/channel/99/delete')).status).toBe(404);
    expect((await api.get('/api/channel/99')).status).toBe(200);
  });
});

describe('paths', () => {
  it('answers 404 and 405 in the failure form', async () => {
    for (const path of ['/api', '/api/nothing', '/api/qr/abc', '/api/channel/1/assign/qr'])
      expect(await api.get(path)).toMatchObject({ status: 404, body: { error: 1 } });
    expect(await api.get('/api/domain/add')).toMatchObject({ status: 405, body: { error: 1 } });
    expect(await api.delete('/api/account')).toMatchObject({ status: 405, body: { error: 1 } });
  });
});
