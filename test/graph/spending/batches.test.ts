import { describe, expect, it } from 'vitest';
import {
  type AnswerError,
  PLENTY,
  startWorld,
  type World,
  type WorldOptions,
} from '../../support/gateway.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const LIMIT = 30;

/** A fresh gateway whose operations may make this many calls, on an API that sends `maxLimit` rows a page. */
async function fresh(options: WorldOptions = {}, maxLimit = 100): Promise<World> {
  const world = await startWorld({
    ...options,
    env: { OPERATION_MAX_CALLS: String(LIMIT), ...options.env },
    sandbox: { maxLimit, limit: { requests: PLENTY } },
  });
  return world;
}

const codes = (errors: readonly AnswerError[]) => [
  ...new Set(errors.map(({ extensions }) => extensions?.code)),
];

/** Asks, and reports what was sent for it and how it was refused. */
async function cost(world: World, query: string, headers: Record<string, string> = {}) {
  world.forgetCalls();
  const { data, errors, receipt, text } = await world.ask(query, {}, headers);
  return { calls: world.calls(), data, errors, first: errors[0], receipt, text };
}

describe('a batch of reads that is more than the operation may still spend', () => {
  it('is refused whole: the statistics of all QR codes cost one page and nothing more', async () => {
    const world = await fresh();
    const query = '{ qrCodes(first: 500) { nodes { databaseId statistics { clicks } } } }';
    const { calls, data, errors, first } = await cost(world, query);
    expect(calls).toEqual(['GET /api/qr?limit=100&page=1']);
    const { nodes } = data['qrCodes'] as { nodes: { statistics: unknown }[] };
    expect(nodes.length).toBeGreaterThan(LIMIT);
    expect(errors).toHaveLength(nodes.length);
    expect(codes(errors)).toEqual(['OPERATION_TOO_EXPENSIVE']);
    expect(first?.extensions).toEqual({
      code: 'OPERATION_TOO_EXPENSIVE',
      upstream: 'LINKS',
      limit: LIMIT,
      needed: nodes.length,
      left: LIMIT - 1,
    });
    expect(first?.message).toContain(`${nodes.length} upstream requests`);
    expect(first?.message).toContain(`at most ${LIMIT - 1}`);
    // As many as it says can be had.
    const fits = `{ qrCodes(first: ${LIMIT - 1}) { nodes { statistics { clicks } } } }`;
    expect(await cost(world, fits)).toMatchObject({ errors: [] });
  });

  it('says the whole of it once, and each further field briefly where it belongs', async () => {
    const { errors, text } = await cost(
      await fresh(),
      '{ qrCodes(first: 500) { nodes { statistics { clicks } } } }',
    );
    for (const [n, { path, extensions, message }] of errors.entries()) {
      expect(path).toEqual(['qrCodes', 'nodes', n, 'statistics']);
      if (n === 0) continue;
      expect(message).toBe('Rejected together with `qrCodes.nodes[0].statistics`.');
      expect(Object.keys(extensions ?? {}).sort()).toEqual(['code', 'upstream']);
    }
    expect(text.length / errors.length).toBeLessThan(300);
  });

  it.each([
    [
      'items of channels',
      '{ channels(first: 100) { nodes { items { totalCount } } } users { username } }',
      2,
    ],
    ['plans of users, which are one list, fit', '{ users { plan { name } } }', 2],
    [
      'rows by their ids',
      `{ nodes(ids: ${JSON.stringify(ids('User', 200))}) { id } }`,
      // The API has no page of users smaller than the whole list.
      1,
    ],
    [
      'aliases of single reads',
      `{ ${Array.from({ length: 40 }, (_, n) => `a${n}: channel(id: ${n + 1}) { items { totalCount } }`).join(' ')} }`,
      0,
    ],
  ])('%s', async (_what, query, calls) => {
    expect(
      (await cost(await fresh({ env: { OPERATION_MAX_CALLS: '25' } }), query)).calls,
    ).toHaveLength(calls);
  });

  it('is refused where parents name the rows', async () => {
    // 20 channels with their items fit; the QR codes on them, one read each, do not any more.
    const { calls, errors, first } = await cost(
      await fresh(),
      `{ channels(first: 20) { nodes { items(first: 50) { nodes {
        ... on QrItem { qrCode { statistics { clicks } } } } } } } }`,
    );
    expect(codes(errors)).toEqual(['OPERATION_TOO_EXPENSIVE']);
    expect(first?.extensions).toMatchObject({ limit: LIMIT });
    const statistics = calls.filter((call) => /\/api\/qr\/\d+$/.test(call));
    expect(statistics.length).toBeLessThanOrEqual(LIMIT - 21);
  });

  it.each(['first', 'last'])(
    'is refused for a window from the %s that needs too many pages',
    async (side) => {
      const world = await fresh({}, 1);
      const { calls, errors, first } = await cost(
        world,
        `{ qrCodes(${side}: 50) { nodes { name } } }`,
      );
      expect(errors).toHaveLength(1);
      expect(first?.extensions).toMatchObject({ code: 'OPERATION_TOO_EXPENSIVE', limit: LIMIT });
      expect(first?.message).toMatch(/\d+ fewer items/);
      expect(calls.length).toBeLessThanOrEqual(2);
    },
  );

  it('leaves what was refused to an operation that asks for less', async () => {
    const world = await fresh({}, 1);
    const { first } = await cost(world, '{ qrCodes(first: 50) { nodes { name } } }');
    const { needed = 0, left = 0 } = (first?.extensions ?? {}) as Record<string, number>;
    const fits = `{ qrCodes(first: ${50 - (needed - left)}) { nodes { name } } }`;
    expect((await cost(world, fits)).errors).toEqual([]);
  });

  it('counts with another batch of the operation, and lets go on what fits', async () => {
    const { calls, data, errors } = await cost(
      await fresh(),
      `{ channels(first: 20) { nodes { items { totalCount } } }
         qrCodes(first: 20) { nodes { statistics { clicks } } } }`,
    );
    expect(errors).toHaveLength(20);
    expect(calls).toHaveLength(22);
    const of = (list: string, member: string) =>
      (data[list] as { nodes: Record<string, unknown>[] }).nodes.filter((row) => row[member]);
    const answered = [of('channels', 'items').length, of('qrCodes', 'statistics').length];
    expect(new Set(answered)).toEqual(new Set([0, 20]));
  });

  it('counts no read twice, and none that the cache answers', async () => {
    const world = await fresh();
    await cost(world, '{ qrCodes(first: 25) { nodes { statistics { clicks } } } }');
    const again = await cost(
      world,
      `{ a: qrCodes(first: 40) { nodes { statistics { clicks } } }
         b: qrCodes(first: 45) { nodes { statistics { uniqueClicks } } } }`,
      { prefer: 'wait=0' },
    );
    expect(codes(again.errors)).not.toContain('OPERATION_TOO_EXPENSIVE');
    const same = Array.from(
      { length: 40 },
      (_, n) => `a${n}: qrCode(id: 1) { statistics { clicks } }`,
    );
    const twins = await cost(await fresh(), `{ ${same.join(' ')} }`);
    expect([twins.calls.length, twins.errors]).toEqual([1, []]);
  });

  it('counts no read that somebody else has under way', async () => {
    const world = await fresh();
    const others = Array.from(
      { length: 25 },
      (_, n) => `a${n}: qrCode(id: ${n + 1}) { statistics { clicks } }`,
    );
    const mine = Array.from(
      { length: 40 },
      (_, n) => `a${n}: qrCode(id: ${n + 1}) { statistics { clicks } }`,
    );
    const [, { errors }] = await Promise.all([
      world.ask(`{ ${others.join(' ')} }`),
      world.ask(`{ ${mine.join(' ')} }`, {}, { prefer: 'wait=0' }),
    ]);
    expect(codes(errors)).not.toContain('OPERATION_TOO_EXPENSIVE');
  });

  it('leaves older answers to be served where those beside them are refused', async () => {
    const clock = new VirtualClock();
    const env = { 'ttl.qrStatistics': '1000', staleWhileRevalidateMs: '0' };
    const world = await fresh({ clock, env });
    const ask = (first: number) =>
      cost(world, `{ qrCodes(first: ${first}) { nodes { statistics { clicks } } } }`);
    await ask(20);
    await clock.advance(2000);
    const { calls, errors, receipt } = await ask(70);
    expect([calls, errors.length, receipt.stale]).toEqual([[], 50, 20]);
    expect(errors[0]?.extensions).toMatchObject({ needed: 50, left: LIMIT });
  });

  it('is served from older answers where there are some, which are renewed as far as it goes', async () => {
    const clock = new VirtualClock();
    const env = { 'ttl.qrStatistics': '1000', staleWhileRevalidateMs: '0' };
    const world = await fresh({ clock, env });
    const ask = (first: number) =>
      cost(world, `{ qrCodes(first: ${first}) { nodes { statistics { clicks } } } }`);
    await ask(20);
    await clock.advance(2000);
    // 20 are old by now and 20 were never read: those come first, and 10 are left for the others.
    const { calls, errors, receipt } = await ask(40);
    expect([calls.length, errors, receipt.stale]).toEqual([30, [], 10]);
    await clock.advance(2000);
    // All that is left goes to the 30 that were never read.
    const more = await ask(70);
    expect([more.calls.length, more.errors, more.receipt.stale]).toEqual([30, [], 40]);
    await clock.advance(2000);
    const all = await cost(
      world,
      `{ users { username } qrCodes(first: 70) { nodes { statistics { clicks } } } }`,
    );
    expect([all.calls.length, all.errors, all.receipt.stale]).toEqual([30, [], 41]);
  });

  it.each([
    [
      '@stream',
      '{ qrCodes(first: 100) { nodes @stream(initialCount: 2) { statistics { clicks } } } }',
    ],
    [
      '@defer',
      '{ qrCodes(first: 100) { nodes { databaseId ... @defer { statistics { clicks } } } } }',
    ],
  ])('is refused in an answer in parts too: %s', async (_what, query) => {
    const world = await fresh();
    const response = await world.gateway.fetch(
      new Request('http://gateway/graphql', {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'multipart/mixed' },
        body: JSON.stringify({ query }),
      }),
    );
    expect(await response.text()).toContain('Needs 70 upstream requests');
    expect(world.calls()).toHaveLength(1);
  });
});

describe('OPERATION_MAX_CALLS', () => {
  it('lets an operator set less than the limit, for each operation and API', async () => {
    const world = await fresh({ env: { OPERATION_MAX_CALLS: '5' } });
    const one = await cost(world, '{ qrCodes(first: 10) { nodes { statistics { clicks } } } }');
    expect(one.calls).toHaveLength(1);
    expect(one.first?.extensions).toMatchObject({ limit: 5, needed: 10, left: 4 });
    const two = await cost(
      world,
      '{ qrCodes(first: 5) { nodes { statistics { clicks } } } seller { username } items { totalCount } }',
    );
    expect(two.errors).toEqual([]);
    expect(two.calls).toHaveLength(7);
  });

  it('raises nothing above the limit', async () => {
    const world = await startWorld({
      env: { LINKS_RATE_LIMIT: '30', OPERATION_MAX_CALLS: '1000' },
      sandbox: { limit: { requests: LIMIT } },
    });
    const { first } = await cost(
      world,
      '{ qrCodes(first: 100) { nodes { statistics { clicks } } } }',
    );
    expect(first?.extensions).toMatchObject({ limit: LIMIT });
  });

  it('is two thirds of a limit that the headers report', async () => {
    const world = await startWorld({
      env: { LINKS_RATE_LIMIT: '30' },
      sandbox: { limit: { requests: 12 } },
    });
    await world.ask('{ account { username } }');
    const { first } = await cost(
      world,
      '{ qrCodes(first: 20) { nodes { statistics { clicks } } } }',
    );
    expect(first?.extensions).toMatchObject({ code: 'OPERATION_TOO_EXPENSIVE', limit: 8 });
  });

  it('holds for a dry run too, whose plan shows that it does not fit', async () => {
    const world = await fresh({ env: { OPERATION_MAX_CALLS: '5' } });
    const plan = async (first: number) => {
      const { text } = await world.ask(
        `{ qrCodes(first: ${first}) { nodes { statistics { clicks } } } }`,
        {},
        { 'x-gateway-dry-run': '1' },
      );
      return JSON.parse(text).extensions.plan;
    };
    expect(await plan(4)).toMatchObject({ calls: 5, fits: true });
    expect(await plan(5)).toMatchObject({ calls: 6, fits: false, exact: false });
  });
});

function ids(type: string, count: number): string[] {
  return Array.from({ length: count }, (_, n) =>
    Buffer.from(`${type}:${n + 1}`).toString('base64url'),
  );
}
