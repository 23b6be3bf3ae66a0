import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Fault, type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { type Connection, PLENTY, type Row, startWorld, type World } from '../support/gateway.ts';

let sandbox: Sandbox;
const worlds: World[] = [];

beforeAll(async () => {
  sandbox = await startSandbox({ limit: { requests: PLENTY } });
});
afterAll(() => sandbox.close());
afterEach(async () => {
  await Promise.all(worlds.splice(0).map((world) => world.close()));
  sandbox.reset();
});

/** A gateway that knows nothing yet and is not patient. */
async function start(
  env: Readonly<Record<string, string>> = {},
  only?: 'links' | 'market',
): Promise<World> {
  const impatient = { LINKS_TIMEOUT_MS: '300', MARKET_TIMEOUT_MS: '300' };
  const world = await startWorld({
    on: sandbox,
    env: { ...impatient, ...env },
    ...(only ? { only } : {}),
  });
  worlds.push(world);
  return world;
}

/** Every field of Query that asks an upstream, by the upstream. */
const fields: Readonly<Record<'links' | 'market', readonly string[]>> = {
  links: [
    'account { id }',
    'domains { totalCount }',
    'overlays { totalCount }',
    'campaigns { totalCount }',
    'campaign(id: 1) { name }',
    'channels { totalCount }',
    'channel(id: 1) { name }',
    'items_of_channel: channel(id: 21) { items { totalCount } }',
    'splashPages { totalCount }',
    'files { totalCount }',
    'pixels { totalCount }',
    'qrCodes { totalCount }',
    'qrCode(id: 301) { name }',
    'statistics: qrCode(id: 302) { statistics { clicks } }',
    'plans { id }',
    'users { id }',
    'user(id: 12) { id }',
    'node(id: "UGl4ZWw6Mjc") { id }',
  ],
  market: [
    'seller { email }',
    'items { totalCount }',
    'item(id: 204117) { name }',
    'purchase(code: "7c0e2f64-3b1d-4c57-9a6e-51f0d2b8e913") { code }',
  ],
};

const nameOf = (field: string): string => /^\w+/.exec(field)?.[0] ?? '';

/** Words that stand in every answer below that an upstream gives, and must never come out. */
const LEAK = 'SQLSTATE[42S02] at /var/www/html/app/Http/Controller.php:77';

type Scripted = Fault extends infer One
  ? One extends unknown
    ? Omit<One, 'path' | 'times'>
    : never
  : never;

const answering = (status: number, body: unknown): Scripted => ({
  kind: 'answer',
  rewrite: () => ({ status, headers: { 'content-type': 'application/json' }, body }),
});

/** Everything that can go wrong, and the codes it may have, first for the link API. */
const faults: Readonly<
  Record<
    string,
    {
      readonly fault: Scripted;
      readonly codes: readonly string[];
      /** Headers of a caller who does not want to wait until a refusal lifts. */
      readonly patience?: { readonly prefer: string };
    }
  >
> = {
  'refuses with 429': {
    fault: { kind: 'refuse-429' },
    codes: ['BUDGET_EXHAUSTED'],
    patience: { prefer: 'wait=1' },
  },
  'fails with 500': { fault: { kind: 'error-500' }, codes: ['UPSTREAM_UNAVAILABLE'] },
  'never answers': { fault: { kind: 'hang' }, codes: ['UPSTREAM_TIMEOUT'] },
  'breaks off in the middle': {
    fault: { kind: 'truncated' },
    codes: ['UPSTREAM_UNAVAILABLE', 'UPSTREAM_INVALID_RESPONSE'],
  },
  'drops the connection': { fault: { kind: 'drop' }, codes: ['UPSTREAM_UNAVAILABLE'] },
  'answers HTML': {
    fault: { kind: 'html', html: `<html><body>${LEAK}</body></html>` },
    codes: ['UPSTREAM_INVALID_RESPONSE'],
  },
  'answers HTML with 503': {
    fault: { kind: 'html', status: 503, html: `<html>${LEAK}</html>` },
    codes: ['UPSTREAM_UNAVAILABLE'],
  },
  'answers HTML with 404': {
    fault: { kind: 'html', status: 404 },
    codes: ['UPSTREAM_INVALID_RESPONSE'],
  },
  'answers an empty body': { fault: { kind: 'empty' }, codes: ['UPSTREAM_INVALID_RESPONSE'] },
  'answers an empty body with 502': {
    fault: { kind: 'empty', status: 502 },
    codes: ['UPSTREAM_UNAVAILABLE'],
  },
  'does not know the key': {
    fault: answering(401, { error: 1, message: 'Invalid API key', status: 'error', msg: LEAK }),
    codes: ['UPSTREAM_UNAUTHENTICATED'],
  },
  'forbids it': {
    fault: answering(403, { error: 1, message: `Forbidden. ${LEAK}`, status: 'error', msg: LEAK }),
    codes: ['UPSTREAM_FORBIDDEN'],
  },
  'answers JSON about something else': {
    fault: answering(200, { error: 0, status: 'success', weather: LEAK }),
    codes: ['UPSTREAM_INVALID_RESPONSE'],
  },
  'answers JSON that is no object': {
    fault: answering(200, [LEAK]),
    codes: ['UPSTREAM_INVALID_RESPONSE'],
  },
  'answers with 500 and a stack': {
    fault: answering(500, { message: LEAK, exception: 'QueryException', trace: [{ file: LEAK }] }),
    codes: ['UPSTREAM_UNAVAILABLE'],
  },
};

function expectNoLeak(text: string): void {
  const secrets = [
    sandbox.links.key,
    sandbox.market.key,
    new URL(sandbox.links.url).host,
    new URL(sandbox.market.url).host,
    'api_key',
    'Bearer',
    'SQLSTATE',
    '/var/www',
    '/api/',
    'node_modules',
    'QueryException',
    'weather',
    '<html',
    'ECONN',
    'INTERNAL_SERVER_ERROR',
  ];
  for (const secret of secrets) expect(text).not.toContain(secret);
}

describe.each(['links', 'market'] as const)('When the %s API', (api) => {
  it.each(Object.entries(faults))(
    '%s, every field of it is null with a coded error that says nothing of the upstream’s',
    async (_title, { fault, codes, patience }) => {
      const { ask } = await start();
      sandbox[api].fault(fault);
      const { data, errors, text } = await ask(`{ ${fields[api].join(' ')} }`, {}, patience);
      expectNoLeak(text);
      const broken = errors.map(({ path }) => path?.[0]);
      expect(broken.map(String).toSorted(), text).toEqual(fields[api].map(nameOf).toSorted());
      const first = errors.find(({ path }) => path?.[0] === nameOf(fields[api][0] ?? ''));
      expect(codes, text).toContain(first?.extensions?.code);
      for (const { extensions, message } of errors) {
        // After some failures an API counts as out of order, and is not asked for a while.
        expect([...codes, 'UPSTREAM_UNAVAILABLE'], text).toContain(extensions?.code);
        expect(extensions).toMatchObject({ upstream: api.toUpperCase() });
        expect(message).toMatch(/^The (link-management|marketplace) API .*\.$/);
      }
      expect(data).toEqual(Object.fromEntries(fields[api].map((field) => [nameOf(field), null])));
    },
  );

  it.each(fields[api].map((field) => [nameOf(field), field]))(
    'breaks, %s fails alone and the other API’s fields are intact',
    async (name, field) => {
      const { ask } = await start();
      sandbox[api].fault({ kind: 'error-500' });
      const other = api === 'links' ? fields.market : fields.links.slice(0, 2);
      const { data, errors } = await ask(`{ ${field} ${other.join(' ')} }`);
      expect(errors).toMatchObject([
        { path: [name], extensions: { code: 'UPSTREAM_UNAVAILABLE', upstream: api.toUpperCase() } },
      ]);
      for (const each of other) expect(data[nameOf(each)]).toEqual(expect.any(Object));
    },
  );

  it('is not configured, its fields say so and the other’s are intact', async () => {
    const other = api === 'links' ? 'market' : 'links';
    const { ask, calls } = await start({}, other);
    const name = api.toUpperCase();
    const working = fields[other].slice(0, 2);
    const { data, errors } = await ask(
      `{ ${fields[api].join(' ')} ${working.join(' ')} rateLimit(upstream: ${name}) { limit used remaining queued cost } }`,
    );
    expect(errors.map(({ path }) => String(path?.[0])).toSorted()).toEqual(
      fields[api].map(nameOf).toSorted(),
    );
    for (const { extensions } of errors) {
      expect(extensions).toEqual({ code: 'UPSTREAM_NOT_CONFIGURED', upstream: name });
    }
    for (const each of working) expect(data[nameOf(each)]).toEqual(expect.any(Object));
    expect(data['rateLimit']).toEqual({ limit: 0, used: 0, remaining: 0, queued: 0, cost: 0 });
    expect(sandbox[api].requests).toEqual([]);
    expect(calls()).toHaveLength(2);
  });
});

describe('When the link API', () => {
  it('refuses with HTTP 200 and error 429, every field of it says when to come back', async () => {
    const { ask } = await start();
    sandbox.links.fault({ kind: 'refuse-200', retryAfter: 40 });
    const prefer = 'wait=1';
    const { errors, text } = await ask(`{ ${fields.links.join(' ')} }`, {}, { prefer });
    expectNoLeak(text);
    expect(errors).toHaveLength(fields.links.length);
    for (const { extensions } of errors) {
      expect(extensions).toMatchObject({ code: 'BUDGET_EXHAUSTED', upstream: 'LINKS' });
      expect(extensions?.['retryAfterMs']).toBeGreaterThan(0);
      expect(extensions?.['retryAfterMs']).toBeLessThanOrEqual(41_000);
    }
    // After the refusal nothing else is sent.
    expect(sandbox.links.requests).toHaveLength(1);
  });

  it('rejects a list, the field is null and the upstream’s sentence stays inside', async () => {
    const { ask } = await start();
    sandbox.links.fault(answering(200, { error: 1, message: LEAK }));
    const { errors, text } = await ask('{ campaigns { totalCount } account { id } plans { id } }');
    expectNoLeak(text);
    expect(errors.map(({ extensions }) => extensions?.code)).toEqual(
      Array.from({ length: 3 }, () => 'UPSTREAM_REJECTED'),
    );
  });

  it('breaks one path only, every field that does not need it is intact', async () => {
    const { ask } = await start();
    const { data } = await ask<{ channels: Connection<{ databaseId: number }> }>(
      '{ channels(first: 4) { nodes { databaseId } } }',
    );
    const broken = data.channels.nodes[2]?.databaseId;
    sandbox.links.fault({ kind: 'error-500', path: `/api/channel/${broken}` });
    const answer = await ask<{
      account: Row;
      channels: Connection<{ name: string; items: Row | null }>;
    }>('{ account { id } channels(first: 4) { nodes { name items(first: 1) { totalCount } } } }');
    expect(answer.errors).toMatchObject([
      {
        path: ['channels', 'nodes', 2, 'items'],
        extensions: { code: 'UPSTREAM_UNAVAILABLE', upstream: 'LINKS' },
      },
    ]);
    expect(answer.data.account).toEqual({ id: expect.any(String) });
    expect(answer.data.channels.nodes.map(({ items }) => items !== null)).toEqual([
      true,
      true,
      false,
      true,
    ]);
    for (const { name } of answer.data.channels.nodes) expect(name).not.toBe('');
  });

  it('breaks for one of several nodes, the others are found', async () => {
    const { data } = await start();
    const { pixels, plans } = await data<{ pixels: Connection<Row>; plans: Row[] }>(
      '{ pixels(first: 1) { nodes { id } } plans { id } }',
    );
    const { ask } = await start();
    sandbox.links.fault({ kind: 'error-500', path: '/api/pixels' });
    const ids = [plans[0]?.['id'], pixels.nodes[0]?.['id'], plans[1]?.['id']];
    const answer = await ask('query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids });
    expect(answer.data).toEqual({ nodes: [plans[0], null, plans[1]] });
    expect(answer.errors).toMatchObject([
      { path: ['nodes', 1], extensions: { code: 'UPSTREAM_UNAVAILABLE' } },
    ]);
  });

  it('breaks for the plans, users are answered without them', async () => {
    const { ask } = await start();
    sandbox.links.fault({ kind: 'html', path: '/api/plans' });
    const { data, errors } = await ask<{ users: { username: string; plan: null }[] }>(
      '{ users { username plan { name } } }',
    );
    expect(data.users.length).toBeGreaterThan(10);
    expect(data.users.every(({ username, plan }) => username && plan === null)).toBe(true);
    expect(new Set(errors.map(({ extensions }) => extensions?.code))).toEqual(
      new Set(['UPSTREAM_INVALID_RESPONSE']),
    );
    expect(sandbox.links.requests.filter(({ path }) => path === '/api/plans')).toHaveLength(1);
  });
});

describe('A malformed member', () => {
  /** Scripts every row of a list. */
  function rows(path: string, key: string, edit: (row: Record<string, unknown>) => void): void {
    sandbox.links.fault({
      kind: 'answer',
      path,
      rewrite: (answer) => {
        const body = answer.body as Record<string, unknown> & { data?: Record<string, unknown> };
        for (const row of (body.data ?? body)[key] as Record<string, unknown>[]) edit(row);
        return answer;
      },
    });
  }

  it('is null without an error, and the rest of its row is intact', async () => {
    const { ask } = await start();
    rows('/api/qr', 'qrs', (row) =>
      Object.assign(row, { scans: { many: 1 }, date: 'soon', link: 7 }),
    );
    const { data, errors } = await ask<{ qrCodes: Connection<Row> }>(
      '{ qrCodes(first: 3) { nodes { databaseId name scans date link } } }',
    );
    expect(errors).toEqual([]);
    for (const row of data.qrCodes.nodes) {
      expect(row).toMatchObject({ name: expect.stringMatching(/\w/), scans: null, date: null });
    }
  });

  it('is null without an error for a number too large for the graph', async () => {
    const { ask } = await start();
    rows('/api/qr', 'qrs', (row) => Object.assign(row, { scans: 5_000_000_000 }));
    rows('/api/files', 'list', (row) => Object.assign(row, { downloads: '99999999999999' }));
    const { data, errors, text } = await ask<{ qrCodes: Connection<Row>; files: Connection<Row> }>(
      '{ qrCodes(first: 1) { nodes { name scans } } files(first: 1) { nodes { name downloads } } }',
    );
    expect(errors, text).toEqual([]);
    expect(data.qrCodes.nodes).toEqual([{ name: expect.any(String), scans: null }]);
    expect(data.files.nodes).toEqual([{ name: expect.any(String), downloads: null }]);
  });

  it('is left out of a list of counts, and the rest of the statistics are intact', async () => {
    const { ask } = await start();
    sandbox.links.fault({
      kind: 'answer',
      path: '/api/qr/301',
      rewrite: (answer) => {
        const { data } = answer.body as { data: Record<string, unknown> };
        data['topCountries'] = { Germany: '3', Nowhere: 'many', Everywhere: 9_000_000_000 };
        data['clicks'] = { all: 3 };
        return answer;
      },
    });
    const { data, errors, text } = await ask(
      '{ qrCode(id: 301) { statistics { clicks topCountries { label count } } } }',
    );
    expect(errors, text).toEqual([]);
    expect(data).toEqual({
      qrCode: { statistics: { clicks: null, topCountries: [{ label: 'Germany', count: 3 }] } },
    });
  });

  it('of an unknown kind has no type and keeps the upstream’s word for it', async () => {
    const { ask } = await start();
    rows('/api/pixels', 'pixels', (row) => Object.assign(row, { type: 'mastodonpixel' }));
    const { data, errors } = await ask<{ pixels: Connection<Row> }>(
      '{ pixels(first: 1) { nodes { type typeName name } } }',
    );
    expect(errors).toEqual([]);
    expect(data.pixels.nodes).toEqual([
      { type: null, typeName: 'mastodonpixel', name: expect.any(String) },
    ]);
  });
});

describe('An outage', () => {
  it('that is over is forgotten: errors are never kept', async () => {
    const { ask } = await start();
    const restore = sandbox.links.fault({ kind: 'error-500' });
    expect((await ask('{ account { id } }')).errors).toHaveLength(1);
    restore();
    expect((await ask('{ account { username } }')).errors).toEqual([]);
  });

  it('met by many requests at once closes the API for as long as one met by few', async () => {
    const { ask } = await start();
    // The first request of all goes alone; what is tested is what those beside each other do.
    await ask('{ account { id } }');
    sandbox.links.fault({ kind: 'hang' });
    await ask(`{ ${fields.links.slice(1).join(' ')} }`);
    const { errors } = await ask('{ overlays { totalCount } }');
    expect(errors).toMatchObject([{ extensions: { code: 'UPSTREAM_UNAVAILABLE' } }]);
    expect(errors[0]?.extensions?.['retryAfterMs']).toBeLessThanOrEqual(1000);
  });

  it('of a field that is kept shows the kept answer and says how much of it is stale', async () => {
    const { ask } = await start({ TTL_ACCOUNT_MS: '0' });
    const { data } = await ask('{ account { id email } }');
    sandbox.links.fault({ kind: 'drop' });
    const answer = await ask('{ account { id email } }');
    expect(answer.errors).toEqual([]);
    expect(answer.data).toEqual(data);
    expect(answer.receipt.stale).toBe(1);
  });
});
