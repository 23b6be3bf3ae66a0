import { beforeAll, describe, expect, it } from 'vitest';
import { channelItems } from '../../src/links/content/channel.ts';
import { qrCodes } from '../../src/links/content/qr-code.ts';
import type { OperationPlan } from '../../src/upstream/dry-run/dry-run.ts';
import { nameOf } from '../../src/upstream/lists/read-pages.ts';
import { type Door, openDoor } from '../support/door.ts';

const cursorOf = (list: Parameters<typeof nameOf>[0]) => {
  return (text: string): string => Buffer.from(`${nameOf(list)}/${text}`).toString('base64url');
};
const ofCodes = cursorOf(qrCodes);
const ofItems = cursorOf(channelItems(99));

/** Cursors that the gateway never gave out; the first four cannot be read at all. */
const FORGED = [
  'c1:4000000000:0:100:5',
  'c1:-3:0:100:5',
  'c1:NaN:0:100:5',
  'c1:0:0:100:5',
  'c1:999999999:999999999:999999999:5',
  'c1:900000:3:1:5',
  'c2:77777:3:100:999999999:5;6,7;8,9',
];

async function open(env: Record<string, string> = {}): Promise<Door> {
  const door = await openDoor({ AUTH_MODE: 'none', LOG_LEVEL: 'silent', ...env });
  return door;
}

async function planOf(
  door: Door,
  query: string,
  variables: Record<string, unknown> = {},
  value = '1',
): Promise<{ readonly plan: OperationPlan; readonly text: string }> {
  const before = door.calls();
  const headers = { 'x-gateway-dry-run': value };
  const { data, text } = await door.ask(query, null, { headers, variables });
  expect([data, door.calls() - before]).toEqual([null, 0]);
  return { plan: JSON.parse(text).extensions.plan, text };
}

describe('The header of a dry run', () => {
  let door: Door;
  beforeAll(async () => {
    door = await open();
  });

  it.each(['1', 'true', 'TRUE', 'yes', 'on', '2', 'dry', ' 1 ', '0, 1'])(
    'never executes with the value %j',
    async (value) => {
      const write = 'mutation { createCampaign(input: { name: "Dry" }) { __typename } }';
      expect((await planOf(door, write, {}, value)).plan).toMatchObject({ calls: 1 });
    },
  );

  it.each(['0', 'false', 'False', ''])('executes with the value %j', async (value) => {
    const { data } = await door.ask('{ plans { name } }', null, {
      headers: { 'x-gateway-dry-run': value },
    });
    expect(data).toMatchObject({ plans: expect.any(Array) });
  });

  it('is refused for an upload, of which nothing is sent', async () => {
    const before = door.calls();
    const put = (value: string) =>
      door.send('/files/a.txt', {
        method: 'PUT',
        body: 'text',
        headers: { 'x-gateway-dry-run': value },
      });
    expect(await put('true')).toMatchObject({ status: 400, code: 'BAD_USER_INPUT' });
    expect(door.calls()).toBe(before);
    expect((await put('0')).status).toBe(201);
  });
});

describe('A dry run of rows that are not known', () => {
  it('makes up one row for hundreds, and counts them all', async () => {
    const door = await open({ OPERATION_MAX_NODES: '1000000' });
    const { plan } = await planOf(
      door,
      '{ channels(first: 200) { nodes { items(first: 120) { nodes { ... on QrItem { qrCode { statistics { clicks } } } } } } } }',
    );
    expect(plan).toMatchObject({ calls: 2 + 200 * 2 + 200 * 120, exact: false });
  });

  it('counts rows that several windows show once', async () => {
    const window = (first: number) =>
      `channels(first: ${first}) { nodes { items { totalCount } } }`;
    const { plan } = await planOf(
      await open(),
      `{ a: ${window(10)} b: ${window(30)} c: ${window(20)} d: ${window(30)} }`,
    );
    expect(plan.calls).toBe(1 + 30);
  });

  it('has a small answer, whatever is wrong how often', async () => {
    const door = await open();
    await door.ask('{ channels(first: 100) { nodes { name } } }');
    const { text } = await planOf(
      door,
      '{ channels(first: 100) { nodes { a: items(first: -1) { totalCount } b: items(after: "?") { totalCount } } } }',
    );
    expect(JSON.parse(text).errors).toHaveLength(2);
    expect(text.length).toBeLessThan(2000);
  });
});

describe('Any number of dry runs and forged cursors', () => {
  const WARM = [
    '{ qrCodes(first: 5) { nodes { name } } files(first: 3) { nodes { name } } }',
    '{ channels(first: 3) { nodes { items(first: 3) { totalCount } } } account { username } }',
  ];
  const LATER = [
    '{ qrCode(id: 1) { name } qrCodes(first: 20) { nodes { name } } }',
    '{ channel(id: 99) { name items { totalCount } } files(first: 5) { totalCount } }',
    '{ users { plan { name } } pixels(last: 3) { nodes { name } } }',
  ];
  const ATTACKS = [
    '{ qrCodes(first: 500) { nodes { statistics { clicks } } } }',
    '{ channels(first: 100) { nodes { items(first: 500) { totalCount } } } }',
    'mutation { deletePixel(id: 3) { __typename } updateChannel(input: { id: 99, name: "x" }) { __typename } }',
  ];

  /** What an operator sees, and what operations cost from here on. */
  async function afterwards(door: Door) {
    const { cache, upstreams, waiting } = JSON.parse((await door.send('/console.json')).text);
    const metrics = (await door.send('/metrics')).text
      .split('\n')
      .filter((line) => /^gateway_(budget|cache|queue|upstream)/.test(line));
    const later = [];
    for (const query of LATER) {
      const before = door.calls();
      const { text } = await door.ask(query);
      later.push([text, door.calls() - before]);
    }
    return { cache, upstreams, waiting, metrics, later };
  }

  async function warm(): Promise<Door> {
    const door = await open({ LINKS_RATE_LIMIT: '1000', metrics: 'open' });
    for (const query of WARM) await door.ask(query);
    return door;
  }

  it('leave a gateway as it was: its state, what it answers, and what that costs', async () => {
    const [quiet, attacked] = [await warm(), await warm()];
    const listed = `query ($name: String, $after: String, $before: String) {
      files(first: 100, search: $name) { totalCount }
      qrCodes(first: 5, after: $after) { nodes { name statistics { clicks } } }
      channel(id: 99) { items(last: 5, before: $before) { totalCount } }
    }`;
    for (const query of ATTACKS) await planOf(attacked, query);
    for (let n = 0; n < 100; n += 1) {
      const text = `c1:${1_000_000 + n}:0:100:5`;
      const cursors = { after: ofCodes(text), before: ofItems(text) };
      await planOf(attacked, listed, { name: `${n}`, ...cursors });
    }
    for (const text of FORGED) {
      const cursors = { after: ofCodes(text), before: ofItems(text) };
      const variables = { name: 'x'.repeat(500_000), ...cursors };
      const { status } = await attacked.ask(listed, null, {
        headers: { 'x-gateway-dry-run': 'true' },
        variables,
      });
      expect(status).toBeLessThan(500);
    }
    expect(await afterwards(attacked)).toEqual(await afterwards(quiet));
  });

  it('cost little when they are meant, and no more when they are repeated', async () => {
    const door = await warm();
    for (const [n, before] of FORGED.map(ofCodes).entries()) {
      const calls = door.calls();
      const { code } = await door.ask(
        `{ qrCodes(last: 5, before: "${before}") { nodes { name } } }`,
      );
      expect(code).toBe(n < 4 ? 'BAD_USER_INPUT' : undefined);
      expect(door.calls() - calls).toBeLessThanOrEqual(n < 4 ? 0 : 3);
    }
  });
});
