import { afterEach, describe, expect, it } from 'vitest';
import { type Door, openDoor, type Reply } from '../support/door.ts';

const doors: Door[] = [];
afterEach(() => Promise.all(doors.splice(0).map((door) => door.close())));

/** A gateway whose cache holds what a caller with a good key has read of the marketplace. */
async function warm(): Promise<Door> {
  const door = await openDoor({ AUTH_MODE: 'passthrough' });
  doors.push(door);
  const { errors } = await door.ask(
    '{ seller { username } items { nodes { id name } } item(id: 1) { name } }',
    door.sandbox.links.keys.free,
  );
  expect(errors).toEqual([]);
  return door;
}

/** Everything of the marketplace that can be asked for. */
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
    const door = await warm();
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

  it.each(FIELDS)('is told by a dry run of { %s } to be admitted first', async (field) => {
    const door = await warm();
    const before = door.calls();
    const reply = await door.ask(`{ ${field} }`, 'made-up', price);
    expect(reply.code).toBe('UPSTREAM_UNAUTHENTICATED');
    expect(reply.errors[0]?.message).toMatch(/has not accepted this key yet/);
    expect(plan(reply)).toEqual({
      calls: 1,
      callsByUpstream: { LINKS: 1, MARKET: 0 },
      saved: { cache: 0, coalesced: 0 },
      exact: false,
      fits: true,
      startsInMs: 0,
      // What a key of its own would take: nothing of the gateway's own queue.
      readyInMs: 200,
      requests: [expect.objectContaining({ upstream: 'LINKS', resource: 'account', calls: 1 })],
      more: 0,
    });
    expect(door.calls()).toBe(before);
  });

  it('sees nothing in a dry run that is delivered in parts', async () => {
    const door = await warm();
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
    const door = await warm();
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

describe('a key that the upstream has accepted', () => {
  it('is told what an operation would cost, without a request', async () => {
    const door = await warm();
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
        readyInMs: 0,
        requests: [],
        more: 0,
      },
    ]);
    expect(door.calls()).toBe(before);
  });

  it('finds a row of a page that is cached without another request', async () => {
    const door = await warm();
    const { pro } = door.sandbox.links.keys;
    const { data } = await door.ask('{ items { nodes { databaseId } } account { id } }', pro);
    const { nodes } = (data ?? {})['items'] as { nodes: { databaseId: number }[] };
    const before = door.calls();
    const found = await door.ask(`{ item(id: ${nodes.at(-1)?.databaseId}) { name } }`, pro);
    expect([found.errors, door.calls()]).toEqual([[], before]);
  });

  it('sees the marketplace’s budget', async () => {
    const door = await warm();
    const { errors, data } = await door.ask(
      '{ rateLimit(upstream: MARKET) { used } }',
      door.sandbox.links.keys.pro,
    );
    expect([errors, data]).toEqual([[], { rateLimit: { used: expect.any(Number) } }]);
  });
});
