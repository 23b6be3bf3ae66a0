import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Caller, type ListKey, startRoomy } from './caller.ts';

let api: Caller;
let other: Caller;
beforeAll(async () => {
  api = await startRoomy();
  other = await startRoomy();
});
afterAll(async () => {
  await api.sandbox.close();
  await other.sandbox.close();
});

const LISTS: readonly (readonly [path: string, key: ListKey])[] = [
  ['/api/domains', 'domains'],
  ['/api/channels', 'channels'],
  ['/api/campaigns', 'campaigns'],
  ['/api/pixels', 'pixels'],
  ['/api/qr', 'qrs'],
];

/** All that an admin sees of a sandbox, whatever its address. */
async function everything({ sandbox: { links }, ...caller }: Caller): Promise<string> {
  const headers = { authorization: `Bearer ${caller.key}` };
  const text = async (path: string) => (await fetch(links.url + path, { headers })).text();
  const lists = LISTS.map(([path]) => `${path}?limit=100`);
  const channels = [...(await text('/api/channels?limit=100')).matchAll(/"id":(\d+)/g)];
  const paths = ['/api/account', '/api/users', '/api/plans', '/api/files', ...lists];
  for (const [, id] of channels) paths.push(`/api/channel/${id}?limit=100`);
  const texts: string[] = [];
  for (const path of paths) texts.push(await text(path));
  return texts
    .join('\n')
    .replaceAll(links.url, '')
    .replaceAll(links.url.replaceAll('/', '\\/'), '');
}

it('what is written is in one sandbox alone, and gone after a reset', async () => {
  const before = await everything(api);
  const ids: number[] = [];
  for (const [path, key] of LISTS) {
    ids.push((await api.get(`${path}?limit=1`)).body.data[key][0]?.id ?? 0);
  }
  const [domain, channel, campaign, pixel, qr] = ids;
  const answers = [
    await api.put('/api/account/update', { email: 'new@studio.com' }),
    await api.put('/api/plan/1/user/31', { type: 'monthly' }),
    await api.put(`/api/domain/${domain}/update`, { redirect404: 'https://example.com/404' }),
    await api.put(`/api/channel/${channel}/update`, { name: 'Another' }),
    await api.post(`/api/channel/${channel}/assign/qr/${qr}`),
    await api.put(`/api/campaign/${campaign}/update`, { name: 'Another' }),
    await api.put(`/api/pixel/${pixel}/update`, { name: 'Another', tag: 'another-tag' }),
    await api.delete(`/api/qr/${qr}/delete`),
  ];
  for (const { body } of answers) expect(body).toMatchObject({ error: 0 });
  expect(await everything(api)).not.toBe(before);
  expect(await everything(other)).toBe(before);
  api.sandbox.reset();
  expect(api.sandbox.links.requests).toEqual([]);
  expect(await everything(api)).toBe(before);
});
