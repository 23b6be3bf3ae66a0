import { beforeEach, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import type { AnswerError, Row, World } from '../../support/gateway.ts';
import { code, uploadWorlds } from '../../support/upload-worlds.ts';
import { asTimePasses, someBytes, until } from '../../support/uploads.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const worlds = uploadWorlds({ UPLOAD_INLINE_MAX_BYTES: '400000' });
const { open, received } = worlds;
let sandbox: Sandbox;
let world: World;
let url: string;
beforeEach(() => {
  ({ sandbox, world, url } = worlds.current());
});

interface Reply {
  readonly status: number;
  readonly data?: { readonly uploadFile: Row };
  readonly errors?: readonly AnswerError[];
}

const preflighted: Readonly<Record<string, string>> = { 'apollo-require-preflight': 'true' };

/** Sends a multipart request with these parts, in this order. */
async function send(
  parts: readonly (readonly [name: string, part: string | File])[],
  { to = url, headers = preflighted } = {},
): Promise<Reply> {
  const body = new FormData();
  for (const [name, part] of parts) body.append(name, part);
  const response = await fetch(`${to}/graphql`, { method: 'POST', headers, body });
  return { status: response.status, ...((await response.json()) as object) };
}

const operation = `mutation ($input: UploadFileInput!) {
  uploadFile(input: $input) {
    __typename
    ... on File { id databaseId name shortUrl }
    ... on InvalidInput { message issues { path message } }
    ... on Rejected { message upstream }
  }
}`;

/** Uploads a file the way clients do. */
function uploadFile(
  file: File,
  input: Row = {},
  { to = url, query = operation } = {},
): Promise<Reply> {
  return send(
    [
      ['operations', JSON.stringify({ query, variables: { input: { ...input, file: null } } })],
      ['map', '{"0":["variables.input.file"]}'],
      ['0', file],
    ],
    { to },
  );
}

const BYTES = someBytes(300_000);
const file = (name = 'pattern.bin', bytes: Uint8Array<ArrayBuffer> | string = BYTES): File =>
  new File([bytes], name);
const downloaded = async ({ data }: Reply) =>
  new Uint8Array(await (await fetch(String(data?.uploadFile['shortUrl']))).arrayBuffer());

describe('Mutation.uploadFile', () => {
  it('sends the bytes as they are in one request', async () => {
    const reply = await uploadFile(file(), { name: 'A pattern' });
    expect(reply).toMatchObject({
      status: 200,
      data: { uploadFile: { __typename: 'File', name: 'A pattern' } },
    });
    expect(await downloaded(reply)).toEqual(BYTES);
    expect(world.calls()).toEqual(['POST /api/files/upload/pattern.bin?name=A+pattern']);
    expect(received()).toMatchObject([{ body: BYTES.length }]);
    expect(received()[0]?.headers).toMatchObject({
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
    const before = await world.data<Lists>(query);
    const { data } = await uploadFile(file());
    const after = await world.data<Lists>(query);
    expect(after.all.totalCount).toBe(before.all.totalCount + 1);
    expect(after.found.totalCount).toBe(before.found.totalCount + 1);
    expect(after.found.nodes).toContainEqual({ name: 'pattern.bin' });
    const { node } = await world.data<{ node: Row }>(
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
    const { data } = await uploadFile(file('other.txt', 'x'), input);
    expect(data?.uploadFile).toMatchObject({
      name: 'Sizes & more',
      shortUrl: 'https://go.harbour.com/f/sizes',
    });
    const { maxDownloads, filename, ...rest } = input;
    expect(received()).toMatchObject([
      { path: `/api/files/upload/${encodeURIComponent(filename)}`, query: rest },
    ]);
    expect(received()[0]?.query).toEqual({ ...rest, maxdownloads: String(maxDownloads) });
    await uploadFile(file('plain.txt', 'x'), { name: null });
    expect(received()[1]?.query).toEqual({});
  });

  it('guards the download as it was told', async () => {
    const guarded = await uploadFile(file('a.txt', 'secret'), { password: 'rye', maxDownloads: 1 });
    const at = String(guarded.data?.uploadFile['shortUrl']);
    expect((await fetch(at)).status).toBe(401);
    expect(await (await fetch(`${at}?password=rye`)).text()).toBe('secret');
    expect((await fetch(`${at}?password=rye`)).status).toBe(410);
    const expired = await uploadFile(file('a.txt', 'secret'), { expiry: '2020-01-31' });
    expect((await fetch(String(expired.data?.uploadFile['shortUrl']))).status).toBe(410);
  });

  it('reads what it was not told with one call for everything', async () => {
    const query = operation.replace('shortUrl', 'shortUrl downloads date');
    const { data } = await uploadFile(file(), {}, { query });
    expect(data?.uploadFile).toMatchObject({
      name: 'pattern.bin',
      downloads: 0,
      date: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    });
    expect(world.calls()).toEqual([
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
    sandbox.links.fault({
      kind: 'answer',
      method: 'POST',
      rewrite: ({ headers }) => ({ status: 200, headers, body }),
    });
    const { data } = await uploadFile(file(), { name: 'A pattern' });
    expect(data?.uploadFile).toMatchObject({
      databaseId: 77,
      name: 'A pattern',
      shortUrl: 'https://s.example/f/a',
    });
  });

  it('says why the upstream refuses', async () => {
    await uploadFile(file(), { custom: 'prices' });
    const { data } = await uploadFile(file(), { custom: 'prices' });
    expect(data?.uploadFile).toEqual({
      __typename: 'Rejected',
      message: 'The custom alias is already taken',
      upstream: 'LINKS',
    });
  });

  it('lists every fault of its input, and spends no call', async () => {
    const { data } = await uploadFile(file('a.txt', ''), {
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
    expect(world.calls()).toEqual([]);
  });

  it('finds fault with the name that a file brings along', async () => {
    const { data } = await uploadFile(file('noextension'));
    expect(data?.uploadFile).toMatchObject({
      issues: [{ path: ['input', 'filename'], message: expect.stringContaining('extension') }],
    });
  });

  it('is told of no day that no calendar has', async () => {
    const reply = await uploadFile(file(), { expiry: '2025-02-30' });
    expect(code(reply)).toBe('BAD_USER_INPUT');
    expect(world.calls()).toEqual([]);
  });

  it('is never repeated when its answer is lost', async () => {
    sandbox.links.fault({ kind: 'drop', applied: true, times: 1 });
    const reply = await uploadFile(file('lost.bin'));
    expect(code(reply)).toBe('OUTCOME_UNKNOWN');
    expect(received()).toHaveLength(1);
    const { files } = await world.data<{ files: { nodes: Row[] } }>(
      '{ files(first: 1) { nodes { name } } }',
    );
    expect(files.nodes).toEqual([{ name: 'lost.bin' }]);
  });

  it('goes again after a refusal for the rate limit', async () => {
    const clock = new VirtualClock();
    const { url } = await open({ clock, env: { LINKS_TIMEOUT_MS: '86400000' } });
    sandbox.links.fault({ kind: 'refuse-429', retryAfter: 2, times: 1 });
    const uploading = uploadFile(file(), {}, { to: url });
    await until(() => received()[0]?.fault !== undefined);
    expect(await downloaded(await asTimePasses(clock, uploading))).toEqual(BYTES);
    expect(received()).toMatchObject([{ refused: true }, { refused: false }]);
  });
});

describe('a file too large for the mutation', () => {
  const large = file('large.bin', someBytes(400_001));

  it('is a fault of its input, which names the way for it', async () => {
    const { data } = await uploadFile(large);
    expect(data?.uploadFile).toMatchObject({
      issues: [
        { path: ['input', 'file'], message: expect.stringContaining('PUT /files/:filename') },
      ],
    });
    expect(world.calls()).toEqual([]);
  });

  it('is refused unread when the request is larger than any could be', async () => {
    const reply = await uploadFile(file('large.bin', someBytes(2_000_000)));
    expect([reply.status, code(reply)]).toEqual([413, 'BAD_USER_INPUT']);
    expect(reply.errors?.[0]?.message).toContain('PUT /files/:filename');
  });

  it('does not make room for larger operations', async () => {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ query: '{ __typename }' }).padEnd(1024 * 1024 + 1);
    const response = await fetch(`${url}/graphql`, { method: 'POST', headers, body });
    expect(response.status).toBe(413);
  });
});

describe('a multipart request', () => {
  const operations = JSON.stringify({ query: operation, variables: { input: { file: null } } });
  const map = '{"0":["variables.input.file"]}';
  const part = file('a.txt', 'x');

  it('needs a header that no form of another page can send', async () => {
    const parts = [
      ['operations', operations] as const,
      ['map', map] as const,
      ['0', part] as const,
    ];
    const reply = await send(parts, { headers: {} });
    expect([reply.status, code(reply)]).toEqual([403, 'FORBIDDEN']);
    expect(world.calls()).toEqual([]);
  });

  it.each<[string, [string, string | File][]]>([
    [
      'without operations',
      [
        ['map', map],
        ['0', part],
      ],
    ],
    [
      'whose operations are no JSON',
      [
        ['operations', '{'],
        ['map', map],
        ['0', part],
      ],
    ],
    [
      'whose operations are null',
      [
        ['operations', 'null'],
        ['map', map],
        ['0', part],
      ],
    ],
    [
      'whose operations are a text',
      [
        ['operations', '"a"'],
        ['map', map],
        ['0', part],
      ],
    ],
    [
      'whose operations are a list',
      [
        ['operations', `[${operations}]`],
        ['map', map],
        ['0', part],
      ],
    ],
    [
      'whose operations are a file',
      [
        ['operations', part],
        ['map', map],
        ['0', part],
      ],
    ],
    [
      'whose map is no JSON',
      [
        ['operations', operations],
        ['map', '{'],
        ['0', part],
      ],
    ],
    [
      'whose map is a file',
      [
        ['operations', operations],
        ['map', part],
        ['0', part],
      ],
    ],
    [
      'whose map holds no lists',
      [
        ['operations', operations],
        ['map', '{"0":1}'],
        ['0', part],
      ],
    ],
    [
      'whose map holds no paths',
      [
        ['operations', operations],
        ['map', '{"0":[1]}'],
        ['0', part],
      ],
    ],
    [
      'without a map',
      [
        ['operations', operations],
        ['0', part],
      ],
    ],
    [
      'without its file',
      [
        ['operations', operations],
        ['map', map],
      ],
    ],
    [
      'with a text for a file',
      [
        ['operations', operations],
        ['map', map],
        ['0', 'x'],
      ],
    ],
    [
      'with a file in the wrong place',
      [
        ['operations', operations],
        ['map', '{"0":["variables.__proto__.file"]}'],
        ['0', part],
      ],
    ],
  ])('%s is the caller’s mistake', async (_, parts) => {
    const reply = await send(parts);
    expect([reply.status, code(reply)]).toEqual([400, 'BAD_USER_INPUT']);
    expect(world.calls()).toEqual([]);
  });

  it.each([
    ['that ends too early', 'multipart/form-data; boundary=x', '--x\r\nContent-Disposition: form'],
    ['without a boundary', 'multipart/form-data', 'anything'],
    ['of another boundary', 'multipart/form-data; boundary=x', '--y\r\n\r\n--y--'],
    ['without a body', 'multipart/form-data; boundary=x', ''],
  ])('%s is the caller’s mistake', async (_, type, body) => {
    const headers = { ...preflighted, 'content-type': type };
    const response = await fetch(`${url}/graphql`, { method: 'POST', headers, body });
    expect(response.status).toBe(400);
    expect(code((await response.json()) as Reply)).toBe('BAD_USER_INPUT');
  });
});
