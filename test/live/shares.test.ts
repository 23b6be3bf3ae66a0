import { beforeEach, describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../support/door.ts';
import { tokenFile } from '../support/folder.ts';
import { LiveViewer } from '../support/live-viewer.ts';

const MIB = 1024 * 1024;
const callers = ['greedy', 'other', ...Array.from({ length: 8 }, (_, n) => `greedy${n}`)];
const file = tokenFile(...callers.map((name) => ({ name, role: 'editor' }) as const));

let door: Door;
async function open(env: Readonly<Record<string, string>> = {}): Promise<void> {
  // An eighth of it, 1 MiB, is for live queries.
  const limits = { CACHE_MAX_BYTES: String(8 * MIB), OPERATION_MAX_CALLS: '1000' };
  door = await openDoor({ AUTH_MODE: 'token', AUTH_TOKENS_FILE: file, ...limits, ...env });
}
beforeEach(() => open());

const fields = 'id databaseId name category description options tags version';
/** A query with some 50 kB to show, and that no other is equal to. */
const heavy = (n: number): string => {
  const items = `items(first: ${100 + n}) { nodes { ${fields} } }`;
  return `query @live { a: ${items} b: ${items} c: ${items} d: ${items} }`;
};
/** A query that watches 45 entries which no other does. */
const broad = (n: number): string => {
  const searches = Array.from(
    { length: 45 },
    (_, i) => `a${i}: files(search: "${n}-${i}") { totalCount }`,
  );
  return `query @live { ${searches.join(' ')} }`;
};
const LIGHT = 'query @live { account { username } }';

const look = (token: string, query: string): LiveViewer =>
  LiveViewer.open(door.url, { query, token });

/** Waits until it shows something, or is sent away. */
const settled = (viewer: LiveViewer): Promise<LiveViewer> =>
  viewer.until(({ ended, revision }) => ended || revision > 0).catch(() => viewer);

async function gauge(name: string): Promise<number> {
  const { text } = await door.send('/metrics');
  return Number(new RegExp(`^gateway_live_${name} (\\d+)`, 'm').exec(text)?.[1]);
}

describe('whatever one caller looks at', () => {
  it('leaves others room for their own, for what is looked at already, and to come back', async () => {
    const mine = await settled(look('other', 'query Mine @live { account { username id } }'));
    const greedy = await Promise.all(
      Array.from({ length: 24 }, (_, n) => settled(look('greedy', heavy(n)))),
    );
    const admitted = greedy.filter(({ revision }) => revision > 0);
    expect(admitted.length).toBeGreaterThan(5);
    expect(admitted.length).toBeLessThan(24);
    mine.close();
    await door.clock.settle();
    for (const viewer of [
      look('other', LIGHT),
      look('other', heavy(70)),
      look('other', heavy(greedy.findIndex(({ revision }) => revision > 0))),
      look('other', 'query Mine @live { account { username id } }'),
    ]) {
      await settled(viewer);
      expect([viewer.status, viewer.ended, viewer.told.slice(0, 99)]).toEqual([
        200,
        false,
        expect.anything(),
      ]);
    }
  });

  it('leaves room when several callers take all that they can', async () => {
    for (const token of callers.filter((name) => name !== 'other')) {
      const viewers = Array.from({ length: 4 }, (_, n) =>
        look(token, heavy(4 * callers.indexOf(token) + n)),
      );
      await Promise.all(viewers.map(settled));
    }
    expect(await gauge('bytes')).toBeLessThan(MIB);
    const other = await settled(look('other', LIGHT));
    expect(other.ended).toBe(false);
  });

  it('never takes more than there is, however much is opened at once', async () => {
    const viewers = Array.from({ length: 60 }, (_, n) => look('greedy', heavy(n)));
    let most = 0;
    const all = Promise.all(viewers.map(settled)).then(() => true);
    while (!(await Promise.race([all, door.clock.settle()])))
      most = Math.max(most, await gauge('bytes'));
    expect(most).toBeGreaterThan(MIB / 4);
    expect(most).toBeLessThan(MIB);
    expect(await gauge('bytes')).toBeLessThan(MIB);
    const refused = viewers.filter(({ ended }) => ended);
    expect(refused.length).toBeGreaterThan(30);
    for (const { events, status, told } of refused) {
      if (status === 429) expect(told).toContain('TOO_MANY_STREAMS');
      else expect(events.at(-1)?.retryMs).toBe(15_000);
    }
  });

  it('is watched in no more entries than one caller may have, however much is opened at once', async () => {
    // One caller may have 500.
    const viewers = Array.from({ length: 12 }, (_, n) => look('greedy', broad(n)));
    await Promise.all(viewers.map(settled));
    expect(viewers.filter(({ ended }) => !ended)).toHaveLength(await gauge('groups'));
    expect(await gauge('groups')).toBeLessThanOrEqual(500 / 45);
    expect(await gauge('groups')).toBeGreaterThan(2);
    expect((await settled(look('other', broad(30)))).ended).toBe(false);
  });

  it('counts for another viewer who has room for it before it ends', async () => {
    await door.close();
    await open({ 'ttl.items': '60000', liveMaxAgeMs: '3600000' });
    await Promise.all(Array.from({ length: 24 }, (_, n) => settled(look('greedy', heavy(n)))));
    const other = await settled(look('other', heavy(0)));
    // What these take is no longer free, so that the first has more than its share.
    for (const [n, token] of callers.entries()) {
      if (n > 1) await Promise.all([100, 101].map((m) => settled(look(token, heavy(m + 2 * n)))));
    }
    const before = await gauge('groups');
    await door.clock.advance(120_000);
    expect(await gauge('groups')).toBeLessThan(before);
    expect(other.ended).toBe(false);
  });

  it('counts for the next who looks when it has gone', async () => {
    const viewers = Array.from({ length: 8 }, (_, n) => look('greedy', heavy(n)));
    await Promise.all(viewers.map(settled));
    const same = await Promise.all(
      viewers.filter(({ ended }) => !ended).map(() => settled(look('other', heavy(0)))),
    );
    for (const viewer of viewers) viewer.close();
    await door.clock.advance(10_000);
    expect(same.every(({ ended }) => !ended)).toBe(true);
    expect(await gauge('groups')).toBe(1);
    const bytes = await gauge('bytes');
    for (const viewer of same) viewer.close();
    await door.clock.advance(10_000);
    expect(bytes).toBeGreaterThan(1000);
    expect(await gauge('bytes')).toBe(0);
  });
});

it('shows a change to one caller before it has shown it in all the queries of another', async () => {
  const PIXELS = 'pixels(first: 1) { nodes { name } }';
  const queries = Array.from(
    { length: 36 },
    (_, n) => `query @live { ${PIXELS} a${n}: __typename }`,
  );
  const arrived: string[] = [];
  const sees = (token: string, viewer: LiveViewer): Promise<unknown> =>
    viewer.until(({ revision }) => revision > 1).then(() => arrived.push(token));
  const greedy = await Promise.all(queries.map((query) => settled(look('greedy', query))));
  const other = await settled(look('other', `query @live { ${PIXELS} }`));
  const all = Promise.all([
    ...greedy.map((viewer) => sees('greedy', viewer)),
    sees('other', other),
  ]);
  await door.ask(
    'mutation { createPixel(input: { type: GTM, name: "x", tag: "GTM-1" }) { __typename } }',
    'greedy',
  );
  await all;
  expect(arrived).toHaveLength(37);
  expect(arrived.indexOf('other')).toBeLessThan(6);
});

it('keeps what one caller watches fresh beside the many entries of another', async () => {
  await door.close();
  const ttls = { 'ttl.files': '2000', 'ttl.account': '2000' };
  await open({ ...ttls, LINKS_RATE_LIMIT: '100', MAX_WAIT_MS: '60000' });
  // Without headers of its own that say how much it allows: it counts in real time.
  door.sandbox.links.fault({ kind: 'answer', rewrite: (answer) => ({ ...answer, headers: {} }) });
  const greedy = [0, 1].map((n) => look('greedy', broad(n)));
  const other = look('other', LIGHT);
  while (![...greedy, other].every(({ revision }) => revision > 0)) await door.clock.advance(1000);
  const reads = (path: string): number =>
    door.sandbox.links.requests.filter((request) => request.path === path).length;
  await door.clock.advance(61_000);
  door.sandbox.links.clearLog();
  await door.clock.advance(30_000);
  // Every 2 s, and a turn's wait or two; what the other watches comes up once in a minute.
  expect(reads('/api/account')).toBeGreaterThanOrEqual(4);
  expect(reads('/api/files')).toBeGreaterThan(10);
});
