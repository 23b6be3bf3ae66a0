import { describe, expect, it } from 'vitest';
import type { Row } from '../../../support/gateway.ts';
import { asTimePasses, someBytes, until } from '../../../support/uploads.ts';
import { VirtualClock } from '../../../support/virtual-clock.ts';
import { BYTES, code, downloaded, file, operation, UploadStage } from './upload-stage.ts';

const stage = new UploadStage();

describe('Mutation.uploadFile', () => {
  it('sends the bytes as they are in one request', async () => {
    const reply = await stage.uploadFile(file(), { name: 'A pattern' });
    expect(reply).toMatchObject({
      status: 200,
      data: { uploadFile: { __typename: 'File', name: 'A pattern' } },
    });
    expect(Buffer.compare(await downloaded(reply), BYTES)).toBe(0);
    expect(stage.world.calls()).toEqual(['POST /api/files/upload/pattern.bin?name=A+pattern']);
    expect(stage.received()).toMatchObject([{ body: BYTES.length }]);
    expect(stage.received()[0]?.headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-length': String(BYTES.length),
    });
  });

  it('shows in every later list and search, also where they were kept', async () => {
    const query = `{
      all: files(first: 1) { totalCount nodes { name } }
      found: files(search: "pattern") { totalCount nodes { name } }
    }`;
    type Lists = Record<'all' | 'found', { totalCount: number; nodes: Row[] }>;
    const before = await stage.world.data<Lists>(query);
    const { data } = await stage.uploadFile(file());
    const after = await stage.world.data<Lists>(query);
    expect(after.all.totalCount).toBe(before.all.totalCount + 1);
    expect(after.found.totalCount).toBe(before.found.totalCount + 1);
    expect(after.found.nodes).toContainEqual({ name: 'pattern.bin' });
    const { node } = await stage.world.data<{ node: Row }>(
      'query ($id: ID!) { node(id: $id) { ... on File { name } } }',
      { id: data?.uploadFile['id'] },
    );
    expect(node).toEqual({ name: 'pattern.bin' });
  });

  it('sends the options that were given, in the upstream’s spelling', async () => {
    const input = {
      filename: 'Größe №1.txt',
      name: 'Sizes & more',
      custom: 'sizes',
      domain: 'https://go.harbour.com',
      password: 'rye bread',
      expiry: '2039-01-31',
      maxDownloads: 2,
    };
    const { data } = await stage.uploadFile(file('other.txt', 'x'), input);
    expect(data?.uploadFile).toMatchObject({
      name: 'Sizes & more',
      shortUrl: 'https://go.harbour.com/f/sizes',
    });
    const { maxDownloads, filename, ...rest } = input;
    expect(stage.received()).toMatchObject([
      { path: `/api/files/upload/${encodeURIComponent(filename)}`, query: rest },
    ]);
    expect(stage.received()[0]?.query).toEqual({ ...rest, maxdownloads: String(maxDownloads) });
    await stage.uploadFile(file('plain.txt', 'x'), { name: null });
    expect(stage.received()[1]?.query).toEqual({});
  });

  it('takes a domain by its id, at the read of the domains', async () => {
    const answer = await stage.world.links<{ data: { domains: Row[] } }>('/api/domains');
    const row = answer.data.domains[0] as { id: number; domain: string };
    const global = Buffer.from(`BrandedDomain:${row.id}`).toString('base64url');
    const calls: number[] = [];
    for (const domain of [global, String(row.id)]) {
      stage.world.forgetCalls();
      const { data } = await stage.uploadFile(file('a.txt', 'x'), { domain });
      expect(String(data?.uploadFile['shortUrl'])).toContain(`${row.domain}/`);
      expect(stage.received()[0]?.query).toEqual({ domain: row.domain });
      calls.push(stage.world.calls().filter((call) => call.includes('/api/domains')).length);
    }
    expect(calls).toEqual([1, 0]);
  });

  it.each([
    ['of another type', Buffer.from('Channel:7').toString('base64url'), 0],
    ['that no domain has', '999999', 1],
  ])('refuses the id of a domain %s, and uploads nothing', async (_, domain, reads) => {
    const { data } = await stage.uploadFile(file('a.txt', 'x'), { domain });
    expect(data?.uploadFile).toMatchObject({
      __typename: 'InvalidInput',
      issues: [{ path: ['input', 'domain'] }],
    });
    expect(stage.received()).toEqual([]);
    expect(stage.world.calls()).toHaveLength(reads);
  });

  it('guards the download as it was told', async () => {
    const guarded = await stage.uploadFile(file('a.txt', 'secret'), {
      password: 'rye',
      maxDownloads: 1,
    });
    const at = String(guarded.data?.uploadFile['shortUrl']);
    expect((await fetch(at)).status).toBe(401);
    expect(await (await fetch(`${at}?password=rye`)).text()).toBe('secret');
    expect((await fetch(`${at}?password=rye`)).status).toBe(410);
    const expired = await stage.uploadFile(file('a.txt', 'secret'), { expiry: '2020-01-31' });
    expect((await fetch(String(expired.data?.uploadFile['shortUrl']))).status).toBe(410);
  });

  it('takes a file of exactly the limit, and none that is one byte larger', async () => {
    for (const size of [399_999, 400_000]) {
      const reply = await stage.uploadFile(file('a.bin', someBytes(size)));
      expect(await downloaded(reply)).toHaveLength(size);
    }
    const { data } = await stage.uploadFile(file('a.bin', someBytes(400_001)));
    expect(data?.uploadFile).toMatchObject({
      __typename: 'InvalidInput',
      issues: [{ path: ['input', 'file'] }],
    });
    expect(stage.received()).toHaveLength(2);
  });

  it('reads what it was not told with one call for everything', async () => {
    const query = operation.replace('shortUrl', 'shortUrl downloads date');
    const { data } = await stage.uploadFile(file(), {}, { query });
    expect(data?.uploadFile).toMatchObject({
      name: 'pattern.bin',
      downloads: 0,
      date: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    });
    expect(stage.world.calls()).toEqual([
      'POST /api/files/upload/pattern.bin',
      'GET /api/files?limit=100&page=1',
    ]);
  });

  it.each([
    ['as documented', { error: 0, id: 77, shorturl: 'https://s.example/f/a' }],
    ['as text', { error: '0', id: '77', shorturl: 'https://s.example/f/a' }],
    ['under the key 1', { error: 0, 1: 77, shorturl: 'https://s.example/f/a' }],
    ['in `data`', { error: 0, data: { 1: '77', shorturl: 'https://s.example/f/a' } }],
  ])('finds the id %s', async (_, body) => {
    stage.sandbox.links.fault({
      kind: 'answer',
      method: 'POST',
      rewrite: ({ headers }) => ({ status: 200, headers, body }),
    });
    const { data } = await stage.uploadFile(file(), { name: 'A pattern' });
    expect(data?.uploadFile).toMatchObject({
      databaseId: 77,
      name: 'A pattern',
      shortUrl: 'https://s.example/f/a',
    });
  });

  it('says why the upstream refuses', async () => {
    await stage.uploadFile(file(), { custom: 'prices' });
    const { data } = await stage.uploadFile(file(), { custom: 'prices' });
    expect(data?.uploadFile).toEqual({
      __typename: 'Rejected',
      message: 'The custom alias is already taken',
      upstream: 'LINKS',
    });
  });

  it.each(['invoice-\u202Egpj.exe', 'pay\u200Bpal.txt', 'a\u0085.txt'])(
    'refuses a name that is not what is seen: %j',
    async (filename) => {
      for (const input of [{ filename }, { name: filename }]) {
        const { data } = await stage.uploadFile(file(), input);
        const [member] = Object.keys(input);
        expect(data?.uploadFile).toMatchObject({
          __typename: 'InvalidInput',
          issues: [{ path: ['input', member] }],
        });
      }
      const { data } = await stage.uploadFile(file('pay\u2060pal.txt'), {});
      expect(data?.uploadFile).toMatchObject({ issues: [{ path: ['input', 'filename'] }] });
    },
  );

  it('lists every fault of its input, and spends no call', async () => {
    const { data } = await stage.uploadFile(file('a.txt', ''), {
      filename: '../a',
      name: ' ',
      custom: 'a/b',
      domain: 'go.harbour.com/path',
      password: '',
      maxDownloads: 0,
    });
    expect(data?.uploadFile).toMatchObject({ __typename: 'InvalidInput' });
    const issues = data?.uploadFile['issues'] as readonly { path: string[] }[];
    const members = ['file', 'filename', 'name', 'custom', 'domain', 'password', 'maxDownloads'];
    expect(issues.map(({ path }) => path)).toEqual(members.map((member) => ['input', member]));
    expect(stage.world.calls()).toEqual([]);
  });

  it('finds fault with the name that a file brings along', async () => {
    const { data } = await stage.uploadFile(file('noextension'));
    expect(data?.uploadFile).toMatchObject({
      issues: [{ path: ['input', 'filename'], message: expect.stringContaining('extension') }],
    });
  });

  it('is told of no day that no calendar has', async () => {
    const reply = await stage.uploadFile(file(), { expiry: '2025-02-30' });
    expect(code(reply)).toBe('BAD_USER_INPUT');
    expect(stage.world.calls()).toEqual([]);
  });

  it('is never repeated when its answer is lost', async () => {
    stage.sandbox.links.fault({ kind: 'drop', applied: true, times: 1 });
    const reply = await stage.uploadFile(file('lost.bin'));
    expect(code(reply)).toBe('OUTCOME_UNKNOWN');
    expect(stage.received()).toHaveLength(1);
    const { files } = await stage.world.data<{ files: { nodes: Row[] } }>(
      '{ files(first: 1) { nodes { name } } }',
    );
    expect(files.nodes).toEqual([{ name: 'lost.bin' }]);
  });

  it('goes again after a refusal for the rate limit', async () => {
    const clock = new VirtualClock();
    const { url } = await stage.open({ clock, env: { LINKS_TIMEOUT_MS: '86400000' } });
    stage.sandbox.links.fault({ kind: 'refuse-429', retryAfter: 2, times: 1 });
    const uploading = stage.uploadFile(file(), {}, { to: url });
    await until(() => stage.received()[0]?.fault !== undefined);
    expect(Buffer.compare(await downloaded(await asTimePasses(clock, uploading)), BYTES)).toBe(0);
    expect(stage.received()).toMatchObject([{ refused: true }, { refused: false }]);
  });
});

describe('a file too large for the mutation', () => {
  const large = file('large.bin', someBytes(400_001));

  it('is a fault of its input, which names the way for it', async () => {
    const { data } = await stage.uploadFile(large);
    expect(data?.uploadFile).toMatchObject({
      issues: [
        { path: ['input', 'file'], message: expect.stringContaining('PUT /files/:filename') },
      ],
    });
    expect(stage.world.calls()).toEqual([]);
  });

  it('is refused unread when the request is larger than any could be', async () => {
    const reply = await stage.uploadFile(file('large.bin', someBytes(2_000_000)));
    expect([reply.status, code(reply)]).toEqual([413, 'BAD_USER_INPUT']);
    expect(reply.errors?.[0]?.message).toContain('PUT /files/:filename');
  });

  it('does not make room for larger operations', async () => {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ query: '{ __typename }' }).padEnd(1024 * 1024 + 1);
    const response = await fetch(`${stage.url}/graphql`, { method: 'POST', headers, body });
    expect(response.status).toBe(413);
  });
});
