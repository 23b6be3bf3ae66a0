import { beforeAll, describe, expect, it } from 'vitest';
import { type Door, openDoor, type Reply } from '../support/door.ts';
import { LiveViewer } from '../support/live-viewer.ts';
import { until } from '../support/uploads.ts';

/** A gateway whose cache holds what a caller with a good key has read of the marketplace. */
let door: Door;
beforeAll(async () => {
  door = await openDoor({ AUTH_MODE: 'passthrough' });
  const { errors } = await door.ask(
    '{ seller { username } items { nodes { id name } } item(id: 1) { name } }',
    door.sandbox.links.keys.free,
  );
  expect(errors).toEqual([]);
});

const FIELDS = [
  'seller { username }',
  'items { nodes { id name } }',
  'item(id: 1) { name }',
  'node(id: "SXRlbTox") { id }',
  'purchase(code: "x") { code }',
  'rateLimit(upstream: MARKET) { used remaining }',
];

const price = { headers: { 'x-gateway-dry-run': '1' } };

function plan({ text }: Reply): Record<string, unknown> {
  return JSON.parse(text).extensions.plan;
}

describe('a made-up key', () => {
  it.each(FIELDS)('is refused before anything is looked up for { %s }', async (field) => {
    const { links, market } = door.sandbox;
    links.clearLog();
    market.clearLog();
    const { code, data, text } = await door.ask(`{ ${field} }`, 'made-up');
    expect([code, Object.values(data ?? { none: null })]).toEqual([
      'UPSTREAM_UNAUTHENTICATED',
      [null],
    ]);
    expect(JSON.parse(text).extensions.upstream.saved).toEqual({ cache: 0, coalesced: 0 });
    expect([links.requests.length, market.requests.length]).toEqual([1, 0]);
  });

  it.each(FIELDS)('is refused a dry run of { %s } before its admission', async (field) => {
    const before = door.calls();
    const reply = await door.ask(`{ ${field} }`, 'made-up', price);
    expect(reply.code).toBe('UPSTREAM_UNAUTHENTICATED');
    expect(reply.errors[0]?.message).toMatch(/has not verified this key yet/);
    expect(plan(reply)).toEqual({
      calls: 1,
      callsByUpstream: { LINKS: 1, MARKET: 0 },
      saved: { cache: 0, coalesced: 0 },
      exact: false,
      fits: true,
      // What a key of its own would take: nothing of the gateway's own queue.
      startsInMs: 0,
      requests: [expect.objectContaining({ upstream: 'LINKS', resource: 'account', calls: 1 })],
      more: 0,
    });
    expect(door.calls()).toBe(before);
  });

  it('sees nothing in a dry run that is delivered in parts', async () => {
    const query = '{ account { id } ... @defer { seller { username } items { nodes { name } } } }';
    for (const accept of ['multipart/mixed', 'application/json', 'text/event-stream']) {
      const { text } = await door.ask(query, 'made-up', {
        headers: { ...price.headers, accept },
      });
      expect(text).not.toContain('"username"');
      expect(text).not.toMatch(/"cache":[1-9]/);
    }
  });

  it('learns nothing from tags of answers: a dry run has none', async () => {
    const get = (key: string, query: string, headers: Record<string, string> = {}) =>
      door.send(`/graphql?query=${encodeURIComponent(query)}`, {
        headers: { authorization: `Bearer ${key}`, 'x-graphql-yoga-csrf': '1', ...headers },
      });
    const { free } = door.sandbox.links.keys;
    const query = '{ seller { username } }';
    for (const key of [free, 'made-up']) {
      const { headers } = await get(key, query, price.headers);
      expect([headers.get('etag'), headers.get('age'), headers.get('cache-control')]).toEqual([
        null,
        null,
        'no-store',
      ]);
    }
    const own = (await get(free, query)).headers.get('etag');
    expect((await get(free, query, { 'if-none-match': own ?? '' })).status).toBe(304);
    expect((await get('made-up', query, { 'if-none-match': own ?? '' })).status).not.toBe(304);
  });
});

/** All ways to ask for an operation, and what comes back of each as text. */
const WAYS: Readonly<
  Record<string, (query: string, key: string, etag: string) => Promise<string>>
> = {
  POST: async (query, key) => (await door.ask(query, key)).text,
  'POST by a browser': async (query, key) => {
    const headers = { origin: door.url, 'sec-fetch-site': 'same-origin', 'user-agent': 'Mozilla' };
    return (await door.ask(query, key, { headers })).text;
  },
  GET: get,
  'GET by a browser': (query, key, etag) =>
    get(query, key, etag, { 'sec-fetch-site': 'same-origin', accept: '*/*' }),
  'a dry run': async (query, key) => (await door.ask(query, key, price)).text,
  'in parts': async (query, key) => {
    const parts = query.replace('{', '{ ... @defer {').replace(/}$/, '} }');
    return (await door.ask(parts, key, { headers: { accept: 'multipart/mixed' } })).text;
  },
  'as a stream': async (query, key) =>
    (await door.ask(query, key, { headers: { accept: 'text/event-stream' } })).text,
  'as a live query': async (query, key) => {
    const viewer = LiveViewer.open(door.url, { query: `query @live ${query}`, token: key });
    await until(() => viewer.events.length > 0 || viewer.ended);
    viewer.close();
    return JSON.stringify(viewer.document) + viewer.text;
  },
};

async function get(
  query: string,
  key: string,
  etag: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  const reply = await door.send(`/graphql?query=${encodeURIComponent(query)}`, {
    headers: {
      authorization: `Bearer ${key}`,
      accept: 'application/graphql-response+json',
      'x-graphql-yoga-csrf': '1',
      'if-none-match': etag,
      ...headers,
    },
  });
  return `${reply.status} ${reply.headers.get('etag')} ${reply.headers.get('age')} ${reply.text}`;
}

describe('what a good key has made known', () => {
  const query =
    '{ seller { username } items { nodes { name } } item(id: 1) { name } node(id: "SXRlbTox") { id } }';
  // Often enough that its answer is remembered, in every form in which it is.
  beforeAll(async () => {
    for (let time = 0; time < 3; time += 1) {
      for (const each of Object.values(WAYS)) {
        await each(query, door.sandbox.links.keys.free, '"none"');
      }
    }
  });

  it.each(Object.keys(WAYS))('is withheld from an invented key that asks by %s', async (name) => {
    const way = WAYS[name] as (typeof WAYS)[string];
    const { free } = door.sandbox.links.keys;
    const told = await way(query, free, '"none"');
    const tag = / ((?:W\/)?"[^ ]+") /.exec(await get(query, free, '"none"'))?.[1] ?? '';
    expect(await get(query, free, tag)).toMatch(/^304 /);
    const { seller, items } = (await door.ask(query, free)).data as {
      readonly seller: { readonly username: string };
      readonly items: { readonly nodes: readonly { readonly name: string }[] };
    };
    const secrets = [seller.username, ...items.nodes.map((each) => each.name)];
    if (name !== 'a dry run') expect(told).toContain(seller.username);
    const { market } = door.sandbox;
    market.clearLog();
    for (const [nth, etag] of ['"none"', tag].entries()) {
      const text = await way(query, `${name.replaceAll(' ', '-')}-${nth}`, etag);
      expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
      expect(text).toContain('UPSTREAM_UNAUTHENTICATED');
      expect(text).not.toMatch(/^304|"cache":[1-9]/);
      expect(text).not.toContain(tag);
    }
    expect(market.requests).toEqual([]);
  });
});

describe('a key that the upstream has accepted', () => {
  it('gets the cost of an operation without a request', async () => {
    const before = door.calls();
    const reply = await door.ask('{ seller { username } }', door.sandbox.links.keys.free, price);
    expect([reply.errors, plan(reply)]).toEqual([
      [],
      {
        calls: 0,
        callsByUpstream: { LINKS: 0, MARKET: 0 },
        saved: { cache: 2, coalesced: 0 },
        exact: true,
        fits: true,
        startsInMs: 0,
        requests: [],
        more: 0,
      },
    ]);
    expect(door.calls()).toBe(before);
  });

  it('finds a row of a page that is cached without another request', async () => {
    const { pro } = door.sandbox.links.keys;
    const { data } = await door.ask('{ items { nodes { databaseId } } account { id } }', pro);
    const { nodes } = (data ?? {})['items'] as { nodes: { databaseId: number }[] };
    const before = door.calls();
    const found = await door.ask(`{ item(id: ${nodes.at(-1)?.databaseId}) { name } }`, pro);
    expect([found.errors, door.calls()]).toEqual([[], before]);
  });

  it('sees the marketplace’s budget', async () => {
    const { errors, data } = await door.ask(
      '{ rateLimit(upstream: MARKET) { used } }',
      door.sandbox.links.keys.pro,
    );
    expect([errors, data]).toEqual([[], { rateLimit: { used: expect.any(Number) } }]);
  });
});
