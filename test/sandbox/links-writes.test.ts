import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Caller, type ListKey, type Members, type Reply, startRoomy } from './caller.ts';

let api: Caller;
beforeAll(async () => {
  api = await startRoomy();
});
beforeEach(() => api.sandbox.reset());
afterAll(() => api.sandbox.close());

const newest = async (path: string, key: ListKey): Promise<Members> =>
  (await api.get(`${path}?limit=1`)).body.data[key][0] as Members;

function expectRefusal({ status, body }: Reply, word: string, wanted = 400): void {
  expect(status).toBe(wanted);
  expect(body).toEqual({ error: 1, message: expect.stringContaining(word) });
}

describe('account update', () => {
  it('changes the email', async () => {
    const { body } = await api.put('/api/account/update', { email: 'new@studio.com' });
    expect(body).toEqual({ error: 0, message: expect.any(String) });
    expect((await api.get('/api/account')).body.data.email).toBe('new@studio.com');
  });

  it('refuses bad input and changes nothing', async () => {
    const before = (await api.get('/api/account')).body;
    expectRefusal(await api.put('/api/account/update', {}), 'required');
    expectRefusal(await api.put('/api/account/update', { email: 'nobody' }), 'email');
    expectRefusal(
      await api.put('/api/account/update', { email: 'a@b.com', password: '1234' }),
      'at least 5',
    );
    expectRefusal(
      await api.put('/api/account/update', { email: 'wren@wrenceramics.com' }),
      'email',
    );
    expectRefusal(await api.put('/api/account/update', '{"email":'), 'JSON');
    expectRefusal(await api.put('/api/account/update', []), 'JSON');
    expect((await api.get('/api/account')).body).toEqual(before);
  });
});

describe('domains', () => {
  it('are added, updated and deleted', async () => {
    const add = await api.post('/api/domain/add', {
      domain: 'https://l.example.com/',
      redirectroot: 'https://example.com',
    });
    expect(add.body).toEqual({ error: 0, id: expect.any(Number) });
    const { id } = add.body;
    expect(await newest('/api/domains', 'domains')).toEqual({
      id,
      domain: 'https://l.example.com',
      redirectroot: 'https://example.com',
      redirect404: '',
    });
    const update = { redirect404: 'https://example.com/404' };
    expect((await api.put(`/api/domain/${id}/update`, update)).body).toEqual({
      error: 0,
      message: expect.any(String),
    });
    expect(await newest('/api/domains', 'domains')).toMatchObject({
      redirectroot: 'https://example.com',
      ...update,
    });
    expect((await api.delete(`/api/domain/${id}/delete`)).body.error).toBe(0);
    expect((await newest('/api/domains', 'domains')).id).not.toBe(id);
    expectRefusal(await api.delete(`/api/domain/${id}/delete`), 'Domain', 404);
    expectRefusal(await api.put(`/api/domain/${id}/update`, update), 'Domain', 404);
  });

  it.each([
    [{}, 'required'],
    [{ domain: 'l.example.com' }, 'http or https'],
    [{ domain: 5 }, 'string'],
    [{ domain: 'https://go.harbour.com' }, 'already'],
    [{ domain: 'https://not.pointing.invalid' }, 'does not point'],
    [{ domain: 'https://l.example.com', redirect404: 'nowhere' }, 'redirect404'],
  ])('refuse %j', async (body, word) => {
    expectRefusal(await api.post('/api/domain/add', body), word);
    expect((await api.get('/api/domains')).body.data.result).toBe(23);
  });
});

describe('campaigns', () => {
  it('carry their name under domain when created and updated', async () => {
    const add = await api.post('/api/campaign/add', {
      name: 'Winter letters',
      slug: 'Winter Letters',
      public: true,
    });
    const { id } = add.body;
    expect(add.body).toEqual({
      error: 0,
      id: expect.any(Number),
      domain: 'Winter letters',
      public: true,
      rotator: expect.stringMatching(/\/r\/winter-letters$/),
      list: expect.stringMatching(/^http/),
    });
    const update = await api.put(`/api/campaign/${id}/update`, { name: 'Snow', public: false });
    expect(update.body).toEqual({ ...add.body, domain: 'Snow', public: false });
    expect(await newest('/api/campaigns', 'campaigns')).toMatchObject({ id, name: 'Snow' });
    expect((await api.delete(`/api/campaign/${id}/delete`)).body.error).toBe(0);
    expectRefusal(await api.delete(`/api/campaign/${id}/delete`), 'Campaign', 404);
  });

  it('need no member at all, and then have no rotator', async () => {
    const { body } = await api.post('/api/campaign/add');
    expect(body).toMatchObject({ error: 0, domain: expect.any(String), rotator: false });
  });

  it('refuse bad input', async () => {
    const { id } = (await api.post('/api/campaign/add', { slug: 'mine' })).body;
    expectRefusal(await api.post('/api/campaign/add', { slug: 'mine' }), 'slug');
    expectRefusal(await api.post('/api/campaign/add', { public: 'maybe' }), 'public');
    expectRefusal(await api.put(`/api/campaign/${id}/update`, { slug: 'x' }), 'name');
    expectRefusal(await api.put('/api/campaign/9999/update', { name: 'x' }), 'Campaign', 404);
  });

  it('take links that exist, and show them on their page', async () => {
    const { id, list } = (await api.post('/api/campaign/add', { public: true })).body;
    const items = (await api.get('/api/channel/104?limit=1')).body.data.items;
    const link = items[0] as Members;
    const answer = await api.post(`/api/campaign/${id}/assign/${link.id}`);
    expect(answer.body).toEqual({ error: 0, message: expect.any(String) });
    expect(await (await fetch(list)).text()).toContain(link.link);
    expectRefusal(await api.post(`/api/campaign/${id}/assign/999999`), 'Link', 404);
    expectRefusal(await api.post(`/api/campaign/999999/assign/${link.id}`), 'Campaign', 404);
  });
});

describe('channels', () => {
  it('are created and updated', async () => {
    const add = await api.post('/api/channel/add', { name: 'New', color: '#aabbcc' });
    const { id } = add.body;
    expect(add.body).toEqual({
      error: 0,
      id: expect.any(Number),
      name: 'New',
      description: '',
      color: '#aabbcc',
      starred: false,
    });
    const update = { description: 'Later', starred: true };
    expect((await api.put(`/api/channel/${id}/update`, update)).body).toEqual({
      error: 0,
      message: expect.any(String),
    });
    const { error: _, ...row } = add.body;
    expect(await newest('/api/channels', 'channels')).toEqual({ ...row, ...update });
  });

  it('refuse bad input and change nothing', async () => {
    const before = await newest('/api/channels', 'channels');
    const { id } = before;
    expectRefusal(await api.post('/api/channel/add', { color: '#fff' }), 'name');
    expectRefusal(await api.post('/api/channel/add', { name: 'x', color: 'red' }), 'HEX');
    expectRefusal(
      await api.put(`/api/channel/${id}/update`, { starred: true, name: 'y', color: 'red' }),
      'HEX',
    );
    expectRefusal(await api.put(`/api/channel/${id}/update`, { name: '' }), 'name');
    expectRefusal(await api.put('/api/channel/9999/update', {}), 'Channel', 404);
    expect(await newest('/api/channels', 'channels')).toEqual(before);
  });

  it('take links, bio pages and QR codes, and lose them when deleted', async () => {
    const { id } = (await api.post('/api/channel/add', { name: 'Mixed' })).body;
    const sample = (await api.get('/api/channel/54?limit=100')).body.data.items;
    for (const type of ['links', 'bio', 'qr']) {
      const item = sample.find((row) => row.type === type);
      const path = `/api/channel/${id}/assign/${type}/${item?.id}`;
      expect((await api.post(path)).body).toEqual({ error: 0, message: expect.any(String) });
      // Once more changes nothing.
      expect((await api.post(path)).body.error).toBe(0);
      const { data } = (await api.get(`/api/channel/${id}`)).body;
      expect(data.items?.[0]).toEqual(item);
    }
    expect((await api.get(`/api/channel/${id}`)).body.data.result).toBe(3);
    expectRefusal(await api.post(`/api/channel/${id}/assign/page/1050`), 'type');
    expectRefusal(await api.post(`/api/channel/${id}/assign/qr/99999`), 'Item', 404);
    expect((await api.delete(`/api/channel/${id}/delete`)).body.error).toBe(0);
    expectRefusal(await api.get(`/api/channel/${id}`), 'Channel', 404);
    const qr = sample.find((row) => row.type === 'qr');
    expect((await api.get(`/api/qr/${qr?.id}`)).status).toBe(200);
  });

  it('no longer show a QR code that was deleted', async () => {
    const items = (await api.get('/api/channel/99?limit=1')).body.data.items;
    await api.delete(`/api/qr/${items[0]?.id}/delete`);
    expect((await api.get('/api/channel/99')).body.data.result).toBe(23);
  });
});

describe('pixels', () => {
  it('are added, updated and deleted', async () => {
    const add = await api.post('/api/pixel/add', { type: 'tiktok', name: 'Shop', tag: 'C123' });
    expect(add.body).toEqual({ error: 0, id: expect.any(Number) });
    const { id } = add.body;
    expect((await api.put(`/api/pixel/${id}/update`, { tag: 'C456' })).body).toEqual({
      error: 0,
      message: expect.any(String),
    });
    expect(await newest('/api/pixels', 'pixels')).toMatchObject({
      id,
      type: 'tiktok',
      name: 'Shop',
      tag: 'C456',
    });
    expect((await api.delete(`/api/pixel/${id}/delete`)).body.error).toBe(0);
    expectRefusal(await api.delete(`/api/pixel/${id}/delete`), 'Pixel', 404);
  });

  it.each([
    [{ name: 'a', tag: 'b' }, 'type'],
    [{ type: 'tiktokpixel', name: 'a', tag: 'b' }, 'type'],
    [{ type: 'bing', tag: 'b' }, 'name'],
    [{ type: 'bing', name: 'a' }, 'tag'],
  ])('refuse %j', async (body, word) => {
    expectRefusal(await api.post('/api/pixel/add', body), word);
  });

  it('need a tag to be updated', async () => {
    const { id } = await newest('/api/pixels', 'pixels');
    expectRefusal(await api.put(`/api/pixel/${id}/update`, { name: 'x' }), 'tag');
  });
});

describe('rows of another account', () => {
  const LISTS = [
    ['domain', '/api/domains', 'domains'],
    ['campaign', '/api/campaigns', 'campaigns'],
    ['channel', '/api/channels', 'channels'],
    ['pixel', '/api/pixels', 'pixels'],
    ['qr', '/api/qr', 'qrs'],
  ] as const;
  it.each(LISTS)('are out of reach: %s', async (noun, path, key) => {
    const before = await newest(path, key);
    const pro = api.as(api.sandbox.links.keys.pro);
    const body = { name: 'Mine', tag: 'mine', data: 'https://mine.com' };
    expect((await pro.put(`/api/${noun}/${before.id}/update`, body)).status).toBe(404);
    expect((await pro.delete(`/api/${noun}/${before.id}/delete`)).status).toBe(404);
    expect(await newest(path, key)).toEqual(before);
  });

  it('cannot be put into own channels and campaigns', async () => {
    const pro = api.as(api.sandbox.links.keys.pro);
    const channel = (await pro.get('/api/channels?limit=1')).body.data.channels[0] as Members;
    const campaign = (await pro.get('/api/campaigns?limit=1')).body.data.campaigns[0] as Members;
    const items = (await api.get('/api/channel/54?limit=100')).body.data.items;
    for (const { type, id } of items) {
      const path = `/api/channel/${channel.id}/assign/${type}/${id}`;
      expectRefusal(await pro.post(path), 'Item', 404);
      if (type === 'links')
        expectRefusal(await pro.post(`/api/campaign/${campaign.id}/assign/${id}`), 'Link', 404);
    }
  });
});
