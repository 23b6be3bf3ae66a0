import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Caller, HandClock, rowsOf, startRoomy } from './caller.ts';

const clock = new HandClock();
let api: Caller;
beforeAll(async () => {
  api = await startRoomy({ clock });
});
beforeEach(() => api.sandbox.reset());
afterAll(() => api.sandbox.close());

const user = async (id: number) => (await api.get(`/api/user/${id}`)).body.data;

describe('admin endpoints', () => {
  it.each([
    ['GET', '/api/plans'],
    ['PUT', '/api/plan/2/user/32'],
    ['GET', '/api/users'],
    ['GET', '/api/user/32'],
    ['POST', '/api/user/add'],
    ['DELETE', '/api/user/32/delete'],
    ['GET', '/api/user/login/32'],
  ])('%s %s refuses users without admin privileges', async (method, path) => {
    for (const key of [api.sandbox.links.keys.pro, api.sandbox.links.keys.free])
      expect(await api.as(key).send(method, path)).toMatchObject({
        status: 403,
        body: { error: 1, message: expect.any(String) },
      });
  });
});

describe('plans', () => {
  it('have prices, null for the free one, and all limits', async () => {
    const reply = await api.get('/api/plans');
    expect(reply.body.error).toBe(0);
    const plans = rowsOf(reply);
    expect(plans.map(({ free }) => free)).toEqual([true, false, false]);
    const counted = ['team', 'splash', 'overlay', 'pixels', 'domain'];
    const plain = 'custom multiple alias device geo bundle parameters export api'.split(' ');
    for (const plan of plans) {
      if (plan.free) expect(plan.prices).toBeNull();
      else expect(Object.keys(plan.prices ?? {})).toEqual(['monthly', 'yearly', 'lifetime']);
      const limits = plan.limits;
      for (const name of ['links', 'clicks', 'retention'])
        expect(limits[name]).toBeTypeOf('number');
      const enabled = expect.stringMatching(/^[01]$/);
      for (const name of plain) expect(limits[name]).toEqual({ enabled });
      for (const name of counted)
        expect(limits[name]).toEqual({ enabled, count: expect.stringMatching(/^\d+$/) });
      expect(Object.keys(limits)).toHaveLength(17);
    }
  });

  it.each([
    ['monthly', '2025-12-20 12:00:00'],
    ['yearly', '2026-11-20 12:00:00'],
    ['lifetime', null],
  ])('set the end of a %s subscription', async (type, expires) => {
    const { body } = await api.put('/api/plan/3/user/32', { type });
    expect(body).toEqual({ error: 0, message: expect.any(String) });
    expect(await user(32)).toMatchObject({ planid: 3, status: 'pro', expires });
  });

  it('take an end that is given, and make the user free again', async () => {
    const expiration = '2027-01-31 10:00:00';
    await api.put('/api/plan/2/user/32', { type: 'monthly', expiration });
    expect(await user(32)).toMatchObject({ planid: 2, status: 'pro', expires: expiration });
    await api.put('/api/plan/1/user/32', { type: 'monthly' });
    expect(await user(32)).toMatchObject({ planid: 1, status: 'free', expires: null });
  });

  it('refuse bad input', async () => {
    const refused = async (path: string, body: unknown) =>
      expect((await api.put(path, body)).body.error).toBe(1);
    await refused('/api/plan/9/user/32', { type: 'monthly' });
    await refused('/api/plan/2/user/9999', { type: 'monthly' });
    await refused('/api/plan/2/user/32', {});
    await refused('/api/plan/2/user/32', { type: 'weekly' });
    await refused('/api/plan/2/user/32', { type: 'monthly', expiration: '2027-02-30 10:00:00' });
    await refused('/api/plan/2/user/32', { type: 'monthly', expiration: '2027-02-20' });
    expect(await user(32)).toMatchObject({ planid: 1, status: 'free' });
  });
});

describe('users', () => {
  it('are listed with the members of the document, filtered and searched', async () => {
    const users = rowsOf(await api.get('/api/users'));
    expect(users.length).toBeGreaterThanOrEqual(20);
    for (const entry of users)
      expect(Object.keys(entry).sort()).toEqual(
        'apikey avatar email expires id planid registered status username'.split(' '),
      );
    const count = async (query: string) => rowsOf(await api.get(`/api/users?${query}`)).length;
    expect((await count('filter=free')) + (await count('filter=pro'))).toBe(users.length);
    expect(await count('filter=admin')).toBe(3);
    expect(await count('email=WRENCERAMICS')).toBe(1);
    expect(await count('filter=pro&email=wrenceramics')).toBe(0);
    expect((await api.get('/api/users?filter=gold')).body.error).toBe(1);
  });

  it('have keys of their own that work', async () => {
    const entry = await user(31);
    const { body } = await api.as(entry.apikey).get('/api/account');
    expect(body.data).toMatchObject({ id: 31, username: 'harbourcycles' });
    expect((await api.get('/api/user/9999')).status).toBe(404);
  });

  it('are added and deleted', async () => {
    const given = { username: 'ada.l', email: 'ada@example.com', password: '12345' };
    const { body } = await api.post('/api/user/add', { ...given, planid: 2 });
    const { username, email } = given;
    const id = body.data.id;
    expect(body).toEqual({
      error: 0,
      message: expect.any(String),
      data: { id: expect.any(Number), email, username },
    });
    const added = await user(id);
    expect(added).toMatchObject({ planid: 2, status: 'pro', registered: '2025-11-20 12:00:00' });
    const own = new Caller(api.sandbox, added.apikey);
    expect((await own.get('/api/qr')).body.data).toMatchObject({ result: 0, qrs: [] });
    expect((await api.delete(`/api/user/${id}/delete`)).body.error).toBe(0);
    expect((await own.get('/api/qr')).status).toBe(401);
    expect((await api.delete(`/api/user/${id}/delete`)).status).toBe(404);
    expect((await api.delete('/api/user/12/delete')).body.error).toBe(1);
  });

  it.each([
    [{ username: undefined }, 'username'],
    [{ username: 'a b' }, 'username'],
    [{ username: 'Studio' }, 'username'],
    [{ email: undefined }, 'email'],
    [{ email: 'ada@' }, 'email'],
    [{ email: 'STUDIO@larkspurfinch.com' }, 'email'],
    [{ password: undefined }, 'password'],
    [{ password: '1234' }, 'password'],
    [{ planid: 77 }, 'planid'],
    [{ expiration: 'tomorrow' }, 'expiration'],
  ])('refuse %j', async (fault, word) => {
    const good = { username: 'ada.l', email: 'ada@example.com', password: '12345' };
    const before = rowsOf(await api.get('/api/users')).length;
    const { status, body } = await api.post('/api/user/add', { ...good, ...fault });
    expect(status).toBe(400);
    expect(body).toEqual({ error: 1, message: expect.stringContaining(word) });
    expect(rowsOf(await api.get('/api/users')).length).toBe(before);
  });
});

describe('single sign-on', () => {
  const login = async () => {
    const { body } = await api.get('/api/user/login/31');
    expect(body).toEqual({ error: 0, url: expect.stringMatching(/\/login\/sso\/[\w-]{20,}$/) });
    return body.url;
  };

  it('signs in once', async () => {
    const address = await login();
    expect((await fetch(address, { method: 'HEAD' })).status).toBe(200);
    const first = await fetch(address);
    expect(first.status).toBe(200);
    expect(await first.text()).toContain('signed in as <strong>harbourcycles');
    expect((await fetch(address)).status).toBe(410);
  });

  it('ends after an hour', async () => {
    const [early, late] = [await login(), await login()];
    expect(early).not.toBe(late);
    clock.move(3_599_999);
    expect((await fetch(early)).status).toBe(200);
    clock.move(1);
    expect((await fetch(late)).status).toBe(410);
  });

  it('knows neither foreign tokens nor unknown users', async () => {
    expect((await fetch(`${api.sandbox.links.url}/login/sso/nonsense`)).status).toBe(404);
    expect((await api.get('/api/user/login/9999')).body.error).toBe(1);
  });
});
