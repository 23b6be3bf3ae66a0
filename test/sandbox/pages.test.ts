import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Caller, reply, rowsOf, startRoomy } from './caller.ts';

let api: Caller;
beforeAll(async () => {
  api = await startRoomy();
});
afterAll(() => api.sandbox.close());

const KINDS = /^(image\/svg\+xml|image\/png|audio\/wav|video\/mp4|text\/html)/;

/** Every address of the sandbox itself anywhere in an answer. */
function addresses(value: unknown): string[] {
  if (typeof value === 'string') return value.startsWith('http://127.0.0.1:') ? [value] : [];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(addresses) : [];
}

async function load(url: string): Promise<{ type: string; body: Buffer }> {
  const response = await fetch(url);
  expect(response.status, url).toBe(200);
  const type = response.headers.get('content-type') ?? '';
  const body = Buffer.from(await response.arrayBuffer());
  expect(type, url).toMatch(KINDS);
  return { type, body };
}

describe('addresses in the data', () => {
  it('of the marketplace all load, as what they are', async () => {
    const { url, key } = api.sandbox.market;
    const read = async (path: string) =>
      (await reply(await fetch(`${url}${path}?api_key=${key}`))).body;
    const all = [await read('/api/account/details'), await read('/api/items/all')];
    const urls = new Set(all.flatMap(addresses));
    expect(urls.size).toBeGreaterThan(130);
    for (const address of urls) {
      const { type, body } = await load(address);
      if (address.endsWith('.wav')) expect(body.subarray(0, 4).toString()).toBe('RIFF');
      if (address.endsWith('.mp4')) expect(body.subarray(4, 8).toString()).toBe('ftyp');
      if (address.endsWith('.svg')) expect(body.toString()).toMatch(/^<svg .*<\/svg>$/s);
      if (address.includes('/demo/')) expect(type).toContain('text/html');
    }
  });

  it('of the link service all load: avatars, previews, links, bio pages', async () => {
    const urls = new Set<string>();
    for (const { avatar } of rowsOf(await api.get('/api/users'))) urls.add(avatar);
    for (const id of [104, 99, 31, 76]) {
      const { body } = await api.get(`/api/channel/${id}?limit=20`);
      for (const address of addresses(body)) urls.add(address);
    }
    expect(urls.size).toBeGreaterThan(90);
    for (const address of urls) await load(address);
  });

  it('of campaigns load when public', async () => {
    const { data } = (await api.get('/api/campaigns?limit=100')).body;
    for (const { list, rotator, public: open } of data.campaigns) {
      expect((await fetch(list)).status).toBe(open ? 200 : 404);
      if (rotator) await load(rotator);
    }
  });

  it('draw the same picture every time, and no picture of nothing', async () => {
    const url = `${api.sandbox.links.url}/media/avatar/studio.svg`;
    expect((await load(url)).body.equals((await load(url)).body)).toBe(true);
    for (const path of [
      '/media/avatar/nobody.svg',
      '/media/mural/studio.svg',
      '/l/none',
      '/bio/none',
    ])
      expect((await fetch(api.sandbox.links.url + path)).status).toBe(404);
    expect((await fetch(url, { method: 'POST' })).status).toBe(405);
  });
});

describe('the index page', () => {
  it('lists what is there, and its links work', async () => {
    for (const { url } of [api.sandbox.links, api.sandbox.market]) {
      const html = (await load(`${url}/`)).body.toString();
      expect(html).toContain('<td>GET</td>');
      expect(html).toContain('curl ');
      for (const [, address = ''] of html.matchAll(/href="([^"]+)"/g))
        expect((await fetch(address)).status, address).toBe(200);
    }
  });
});

describe('a path prefix', () => {
  it('stands before everything, addresses in the data included', async () => {
    const other = await startRoomy({ pathPrefix: '/s' });
    try {
      const { url } = other.sandbox.links;
      expect(url).toMatch(/\/s$/);
      const { body } = await other.get('/api/account');
      expect(body.data.avatar).toContain(`${url}/media/`);
      await load(body.data.avatar);
      expect(other.sandbox.links.requests[0]?.path).toBe('/api/account');
      expect((await fetch(`${new URL(url).origin}/api/account`)).status).toBe(404);
      expect((await fetch(`${new URL(url).origin}/sapi/account`)).status).toBe(404);
    } finally {
      await other.sandbox.close();
    }
  });
});

describe('options', () => {
  it('cut limit lower', async () => {
    const other = await startRoomy({ maxLimit: 10 });
    try {
      expect((await other.get('/api/qr')).body.data.perpage).toBe(10);
      expect((await other.get('/api/qr?limit=50')).body.data.perpage).toBe(10);
    } finally {
      await other.sandbox.close();
    }
  });

  it('reject a port in use', async () => {
    const port = Number(new URL(api.sandbox.links.url).port);
    await expect(startRoomy({ linksPort: port })).rejects.toThrow('EADDRINUSE');
    await expect(startRoomy({ marketPort: port })).rejects.toThrow('EADDRINUSE');
  });
});
