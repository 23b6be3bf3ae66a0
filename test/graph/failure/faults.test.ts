import { describe, expect, it } from 'vitest';
import type { Fault } from '../../../src/sandbox/sandbox.ts';
import type { Connection, Row } from '../../support/gateway.ts';
import { FailureStage, fields, impatient } from './failure-stage.ts';

const stage = new FailureStage();

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
  'answers JSON that is not an object': {
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
    stage.sandbox.links.key,
    stage.sandbox.market.key,
    new URL(stage.sandbox.links.url).host,
    new URL(stage.sandbox.market.url).host,
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
      const { ask } = await stage.start(fault.kind === 'hang' ? impatient : {});
      stage.sandbox[api].fault(fault);
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
        expect(message).toMatch(
          /^The (rate limit of the )?(link-management|marketplace) API .*\.$/,
        );
      }
      expect(data).toEqual(Object.fromEntries(fields[api].map((field) => [nameOf(field), null])));
    },
  );

  it.each(fields[api].map((field) => [nameOf(field), field]))(
    'breaks, %s fails alone and the other API’s fields are intact',
    async (name, field) => {
      const { ask } = await stage.start();
      stage.sandbox[api].fault({ kind: 'error-500' });
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
    const { ask, calls } = await stage.start({}, other);
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
    expect(stage.sandbox[api].requests).toEqual([]);
    expect(calls()).toHaveLength(2);
  });
});

describe('When the link API', () => {
  it('refuses with HTTP 200 and error 429, every field of it says when to come back', async () => {
    const { ask } = await stage.start();
    stage.sandbox.links.fault({ kind: 'refuse-200', retryAfter: 40 });
    const prefer = 'wait=1';
    const { errors, text } = await ask(`{ ${fields.links.join(' ')} }`, {}, { prefer });
    expectNoLeak(text);
    expect(errors).toHaveLength(fields.links.length);
    for (const { extensions } of errors) {
      expect(extensions).toMatchObject({ code: 'BUDGET_EXHAUSTED', upstream: 'LINKS' });
      expect(extensions?.['retryAfterMs']).toBeGreaterThan(0);
      expect(extensions?.['retryAfterMs']).toBeLessThanOrEqual(41_000);
    }
    // Two go first at a start. After the refusal nothing else is sent.
    expect(stage.sandbox.links.requests).toHaveLength(2);
  });

  it('rejects a list, the field is null and the upstream’s sentence stays inside', async () => {
    const { ask } = await stage.start();
    stage.sandbox.links.fault(answering(200, { error: 1, message: LEAK }));
    const { errors, text } = await ask('{ campaigns { totalCount } account { id } plans { id } }');
    expectNoLeak(text);
    expect(errors.map(({ extensions }) => extensions?.code)).toEqual(
      Array.from({ length: 3 }, () => 'UPSTREAM_REJECTED'),
    );
  });

  it('breaks one path only, every field that does not need it is intact', async () => {
    const { ask } = await stage.start();
    const { data } = await ask<{ channels: Connection<{ databaseId: number }> }>(
      '{ channels(first: 4) { nodes { databaseId } } }',
    );
    const broken = data.channels.nodes[2]?.databaseId;
    stage.sandbox.links.fault({ kind: 'error-500', path: `/api/channel/${broken}` });
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
    const { data } = await stage.start();
    const { pixels, plans } = await data<{ pixels: Connection<Row>; plans: Row[] }>(
      '{ pixels(first: 1) { nodes { id } } plans { id } }',
    );
    const { ask } = await stage.start();
    stage.sandbox.links.fault({ kind: 'error-500', path: '/api/pixels' });
    const ids = [plans[0]?.['id'], pixels.nodes[0]?.['id'], plans[1]?.['id']];
    const answer = await ask('query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids });
    expect(answer.data).toEqual({ nodes: [plans[0], null, plans[1]] });
    expect(answer.errors).toMatchObject([
      { path: ['nodes', 1], extensions: { code: 'UPSTREAM_UNAVAILABLE' } },
    ]);
  });

  it('breaks for the plans, users are answered without them', async () => {
    const { ask } = await stage.start();
    stage.sandbox.links.fault({ kind: 'html', path: '/api/plans' });
    const { data, errors } = await ask<{ users: { username: string; plan: null }[] }>(
      '{ users { username plan { name } } }',
    );
    expect(data.users.length).toBeGreaterThan(10);
    expect(data.users.every(({ username, plan }) => username && plan === null)).toBe(true);
    expect(new Set(errors.map(({ extensions }) => extensions?.code))).toEqual(
      new Set(['UPSTREAM_INVALID_RESPONSE']),
    );
    expect(stage.sandbox.links.requests.filter(({ path }) => path === '/api/plans')).toHaveLength(
      1,
    );
  });
});
