import { describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { jobWorld } from './job-world.ts';

type Line = Readonly<Record<string, unknown>>;

const CHANNELS = '{ channels { nodes { id databaseId name } } }';
const NESTED = `{ channels { nodes { id name items(first: 100) { nodes {
  ... on LinkItem { id title } ... on QrItem { id title } ... on BioItem { id title }
} } } } }`;

const linesOf = (text: string): Line[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);

/** Sends a request to the link API itself. */
async function direct(
  { links }: Sandbox,
  method: 'DELETE' | 'POST',
  path: string,
  body?: unknown,
): Promise<{ readonly id: number }> {
  const response = await fetch(`${links.url}/api/${path}`, {
    method,
    headers: {
      authorization: `Bearer ${links.key}`,
      'content-type': 'application/json',
      'user-agent': 'a test',
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return (await response.json()) as { id: number };
}

describe('an export', () => {
  it('has each row of the list once, and costs a request for each page', async () => {
    const world = await jobWorld();
    for (let at = 0; at < 230; at += 1) {
      await direct(world.sandbox, 'POST', 'channel/add', { name: `added ${at}` });
    }
    const id = await world.exports(CHANNELS);
    const done = await world.until(id, 'DONE');
    const text = await (await world.output(id)).text();
    const lines = linesOf(text);
    const { data } = await world.send<{ channels: { totalCount: number } }>(
      '{ channels(first: 1) { totalCount } }',
    );
    const total = data.channels.totalCount;
    expect(total).toBeGreaterThan(230);
    expect(new Set(lines.map((line) => line['id'])).size).toBe(total);
    expect(lines).toHaveLength(total);
    expect(done).toMatchObject({
      name: 'channels',
      rowsDone: total,
      rowsTotal: total,
      failures: 0,
      callsSpent: Math.ceil(total / 100),
      callsLeft: null,
      readyAt: null,
      bytes: Buffer.byteLength(text),
      createdBy: 'eve',
      error: null,
    });
    expect(done.asOf?.oldest && done.asOf.oldest <= done.asOf.newest).toBe(true);
  });

  it('has inner lists within the row, as far as the query states', async () => {
    const world = await jobWorld();
    const id = await world.exports(NESTED);
    await world.until(id, 'DONE');
    const { data } = await world.send<{ channels: { nodes: Line[] } }>(
      NESTED.replace('channels {', 'channels(first: 100) {'),
    );
    expect(linesOf(await (await world.output(id)).text())).toEqual(data.channels.nodes);
  });

  it('is the same file, whenever the gateway is restarted', async () => {
    const world = await jobWorld();
    const first = await world.exports(NESTED);
    const undisturbed = await world.until(first, 'DONE');
    const text = await (await world.output(first)).text();
    world.world.forgetCalls();
    const second = await world.exports(NESTED);
    let restarts = 0;
    for (;;) {
      const { rowsDone, state } = await world.job(second);
      if (state === 'DONE') break;
      if (rowsDone > 4 * restarts) {
        await world.restart();
        restarts += 1;
      }
    }
    expect(restarts).toBeGreaterThan(2);
    expect(await (await world.output(second)).text()).toBe(text);
    const { callsSpent } = await world.job(second);
    expect(callsSpent).toBeLessThanOrEqual(undisturbed.callsSpent + restarts);
  });

  it('has each row that stays once, while others are added and deleted', async () => {
    const clock = new VirtualClock();
    const world = await jobWorld({ clock });
    const made: number[] = [];
    for (let at = 0; at < 300; at += 1) {
      made.push((await direct(world.sandbox, 'POST', 'channel/add', { name: `row ${at}` })).id);
    }
    const id = await world.exports('{ channels { nodes { databaseId } } }', { maxPerMinute: 1 });
    const gone = new Set<number>();
    for (let step = 0; (await world.job(id)).state !== 'DONE'; step += 1) {
      for (let at = 0; at < 10; at += 1) {
        await direct(world.sandbox, 'POST', 'channel/add', { name: `new ${step} ${at}` });
        const victim = made[(step * 37 + at * 29) % made.length];
        if (victim === undefined || gone.has(victim)) continue;
        gone.add(victim);
        await direct(world.sandbox, 'DELETE', `channel/${victim}/delete`);
      }
      await clock.advance(60_000);
    }
    const rows = linesOf(await (await world.output(id)).text()).map((line) => line['databaseId']);
    expect(new Set(rows).size).toBe(rows.length);
    const stayed = made.filter((each) => !gone.has(each));
    expect(gone.size).toBeGreaterThan(10);
    expect(stayed.filter((each) => !rows.includes(each))).toEqual([]);
  });

  it('writes CSV that a spreadsheet does not execute', async () => {
    const world = await jobWorld();
    await direct(world.sandbox, 'POST', 'channel/add', { name: '=1+1,"x"' });
    const id = await world.exports(CHANNELS, { format: 'CSV' });
    await world.until(id, 'DONE');
    const response = await world.output(id);
    expect(response.headers.get('content-disposition')).toBe('attachment; filename="channels.csv"');
    const rows = (await response.text()).split('\r\n');
    expect(rows[0]).toBe('id,databaseId,name,__errors');
    expect(rows.filter((row) => row.includes('1+1'))).toEqual([
      expect.stringMatching(/^\w+,\d+,"'=1\+1,""x""",$/),
    ]);
  });

  it('tries again while the API fails, then writes the error into the line', async () => {
    const clock = new VirtualClock();
    const world = await jobWorld({ clock });
    const { data } = await world.send<{ qrCodes: { nodes: { databaseId: number }[] } }>(
      '{ qrCodes(first: 3) { nodes { databaseId } } }',
    );
    const broken = data.qrCodes.nodes[1]?.databaseId;
    world.sandbox.links.fault({ kind: 'error-500', path: `/api/qr/${broken}` });
    const id = await world.exports('{ qrCodes { nodes { databaseId statistics { clicks } } } }');
    const done = await world.until(id, 'DONE');
    const lines = linesOf(await (await world.output(id)).text());
    expect(lines.filter((line) => '__errors' in line)).toMatchObject([
      {
        databaseId: broken,
        statistics: null,
        __errors: [{ path: ['statistics'], extensions: { code: 'UPSTREAM_UNAVAILABLE' } }],
      },
    ]);
    expect(done).toMatchObject({ failures: 1, rowsDone: lines.length });
  });

  const refused: readonly (readonly [query: string, reason: RegExp])[] = [
    ['{ channels(first: 3) { nodes { id } } }', /reads all of "channels"/],
    ['{ account { username } }', /one list at its root/],
    ['{ a: channels { nodes { id } } b: pixels { nodes { id } } }', /one list at its root/],
    ['{ channels { totalCount } }', /Select "nodes"/],
    ['{ channels { nodes { items { nodes { __typename } } } } }', /Add "first" to it/],
    [
      '{ channels { ...All } } fragment All on ChannelConnection { nodes { items { totalCount } } }',
      /Add "first"/,
    ],
    ['{ nonsense { id } }', /Cannot query field "nonsense"/],
    ['{ channels {', /cannot be parsed/],
    [
      'mutation { createPixel(input: {name: "a", tag: "b", type: GTM}) { __typename } }',
      /needs a query, not a mutation/,
    ],
    ['query @live { channels { nodes { id } } }', /@live/],
    ['{ users { id } }', /one query returns all of it/],
    ['{ plans { id } }', /one query returns all of it/],
    ['{ nodes(ids: ["Q2hhbm5lbDoxMDQ"]) { id } }', /one query returns all of it/],
    ['{ jobs { nodes { id } } }', /"jobs" reads nothing from the APIs/],
    ['{ jobs(state: DONE) { edges { node { name } } } }', /"jobs" reads nothing/],
    ['{ channels @skip(if: true) { nodes { id } } }', /"channels" reads nothing/],
    ['{ rateLimit(upstream: LINKS) { limit } }', /one list at its root/],
    ['{ node(id: "Q2hhbm5lbDoxMDQ") { id } }', /one list at its root/],
    ['{ usage { calls } }', /one list at its root/],
    ['{ job(id: "Sm9iOjE") { id } }', /one list at its root/],
    ['{ totalCountHistory(list: CHANNELS) { at } }', /one query returns all of it/],
  ];

  it('refuses what is no list of the APIs, with the reason', async () => {
    const world = await jobWorld();
    for (const [query, reason] of refused) {
      await expect(world.exports(query, {}, 'boss'), query).rejects.toThrow(reason);
    }
    expect(world.world.calls()).toEqual([]);
  });
});
