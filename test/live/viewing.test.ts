import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../support/door.ts';
import { tempFolder } from '../support/folder.ts';
import { LiveViewer, type Looking } from '../support/live-viewer.ts';

const MINUTE = 60_000;
const CHANNELS = 'query Channels @live { channels(first: 3) { nodes { id databaseId name } } }';

interface Channels {
  readonly channels: {
    readonly nodes: readonly { readonly databaseId: number; readonly name: string }[];
  };
}

let door: Door;

async function open(env: Readonly<Record<string, string>> = {}): Promise<void> {
  door = await openDoor({ AUTH_MODE: 'none', ...env });
}

/** Looks at a query, and waits for its first result. */
const look = (looking: Looking): Promise<LiveViewer> => LiveViewer.begun(door.url, looking);

const rename = (id: number, name: string) =>
  door.ask(`mutation { updateChannel(input: { id: ${id}, name: "${name}" }) { __typename } }`);

/** Renames a channel without the gateway. */
async function renameElsewhere(id: number, name: string): Promise<void> {
  const { key, url } = door.sandbox.links;
  await fetch(`${url}/api/channel/${id}/update`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name }),
  });
}

async function runs(): Promise<number> {
  const { text } = await door.send('/metrics');
  return Number(/^gateway_live_runs_total (\d+)/m.exec(text)?.[1] ?? 0);
}

describe('a live query', () => {
  it('begins with the result, and sends it again when something is changed', async () => {
    await open();
    const viewer = await look({ query: CHANNELS });
    const [channel] = (viewer.data as Channels).channels.nodes;
    expect(viewer.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    await rename(channel?.databaseId ?? 0, 'Renamed');
    await viewer.until(({ revision }) => revision === 2);
    expect(viewer.named('next')).toHaveLength(2);
    const { data } = await door.ask(CHANNELS);
    expect(viewer.document).toEqual({ data });
  });

  it('shows what is changed elsewhere after its ttl, and costs one call for each', async () => {
    await open();
    const viewer = await look({ query: CHANNELS });
    const [channel] = (viewer.data as Channels).channels.nodes;
    await renameElsewhere(channel?.databaseId ?? 0, 'Elsewhere');
    const calls = door.calls();
    await door.clock.advance(MINUTE + 1000);
    await viewer.until(({ revision }) => revision === 2);
    expect((viewer.data as Channels).channels.nodes[0]?.name).toBe('Elsewhere');
    expect(door.calls()).toBe(calls + 1);
  });

  it('says how old it is by now when it is read again and is equal', async () => {
    await open();
    const viewer = await look({ query: CHANNELS });
    await door.clock.advance(MINUTE + 1000);
    await viewer.until(
      () => (viewer.named('age').at(-1)?.data?.extensions?.live?.ageMs ?? MINUTE) < 5000,
    );
    expect(viewer.revision).toBe(1);
    expect(viewer.named('next')).toHaveLength(1);
  });

  it('reports its age and when it is read next', async () => {
    await open();
    const viewer = await look({ query: CHANNELS });
    expect(viewer.events[0]?.data?.extensions?.live).toEqual({
      revision: 1,
      ageMs: expect.any(Number),
      nextRefreshInMs: expect.any(Number),
    });
    await door.clock.advance(20_000);
    await viewer.until(() => viewer.named('age').length > 0);
    const { ageMs = 0, nextRefreshInMs } = viewer.named('age')[0]?.data?.extensions?.live ?? {};
    expect(ageMs + (nextRefreshInMs ?? 0)).toBe(MINUTE);
  });

  it('is run once for all who look at the same, and once for each change', async () => {
    await open();
    const first = await look({ query: CHANNELS });
    const others = await Promise.all(Array.from({ length: 20 }, () => look({ query: CHANNELS })));
    expect(await runs()).toBe(1);
    const [channel] = (first.data as Channels).channels.nodes;
    await rename(channel?.databaseId ?? 0, 'Renamed');
    await Promise.all([first, ...others].map((each) => each.until((it) => it.revision === 2)));
    expect(await runs()).toBe(2);
    for (const other of others) expect(other.document).toEqual(first.document);
  });

  it('is another for other variables and for another role', async () => {
    await open();
    const query = 'query ($first: Int) @live { channels(first: $first) { nodes { id name } } }';
    const one = await look({ query, variables: { first: 1 } });
    const two = await look({ query, variables: { first: 2 } });
    expect((one.data as Channels).channels.nodes).toHaveLength(1);
    expect((two.data as Channels).channels.nodes).toHaveLength(2);
    expect(await runs()).toBe(2);
  });

  it('has one event for changes that come sooner than its throttle', async () => {
    await open();
    const query = CHANNELS.replace('@live', '@live(throttle: 2000)');
    const viewer = await look({ query });
    const [channel] = (viewer.data as Channels).channels.nodes;
    const id = channel?.databaseId ?? 0;
    for (const name of ['a', 'b', 'c']) await rename(id, name);
    expect(viewer.revision).toBe(1);
    await door.clock.advance(2000);
    await viewer.until(({ revision }) => revision === 2);
    expect((viewer.data as Channels).channels.nodes[0]?.name).toBe('c');
  });

  it('has only results and heartbeats for a client that reads no ages', async () => {
    await open();
    const viewer = await look({ query: CHANNELS, readsAges: false });
    const [channel] = (viewer.data as Channels).channels.nodes;
    await rename(channel?.databaseId ?? 0, 'Renamed');
    await viewer.until(({ revision }) => revision === 2);
    await door.clock.advance(MINUTE + 1000);
    await viewer.until(() => viewer.named('comment').length > 0);
    expect(new Set(viewer.events.map(({ name }) => name))).toEqual(new Set(['next', 'comment']));
    expect((viewer.data as Channels).channels.nodes[0]?.name).toBe('Renamed');
  });

  it('is answered once for a client that reads no events, and priced by a dry run', async () => {
    await open();
    const plain = await door.ask(CHANNELS);
    expect(plain.headers.get('content-type')).toContain('json');
    expect(plain.errors).toEqual([]);
    const accept = 'text/event-stream;live=age, application/json';
    const dry = await door.ask(CHANNELS, null, { headers: { accept, 'x-gateway-dry-run': '1' } });
    expect(dry.text).toContain('"plan"');
  });

  it('can be asked for by its id alone, where nothing else is answered too', async () => {
    const folder = tempFolder();
    const file = join(folder, 'operations.json');
    writeFileSync(file, JSON.stringify({ channels: CHANNELS }));
    await open({ PERSISTED_OPERATIONS_FILE: file });
    rmSync(folder, { recursive: true });
    const viewer = await look({ body: { documentId: 'channels' } });
    const [channel] = (viewer.data as Channels).channels.nodes;
    expect(channel?.name).toEqual(expect.any(String));
    const refused = LiveViewer.open(door.url, { query: CHANNELS });
    await refused.untilEnded();
    expect(refused.told).toContain('FORBIDDEN');
  });

  it('has all parts that could come later in its first result', async () => {
    await open();
    const query =
      'query @live { account { username } ...Later @defer } fragment Later on Query { channels(first: 2) { nodes @stream(initialCount: 0) { name } } }';
    const viewer = await look({ query });
    expect(viewer.named('next')).toHaveLength(1);
    expect((viewer.data as Channels).channels.nodes).toHaveLength(2);
  });

  it('waits for the result that follows from a write, and never begins with one from before', async () => {
    await open();
    const viewer = await look({ query: CHANNELS });
    const [channel] = (viewer.data as Channels).channels.nodes;
    for (let n = 0; n < 20; n += 1) {
      await rename(channel?.databaseId ?? 0, `name ${n}`);
      const late = await look({ query: CHANNELS });
      expect((late.data as Channels).channels.nodes[0]?.name).toBe(`name ${n}`);
      late.close();
    }
  });

  it('begins with what was written before, also while a run from before that write is under way', async () => {
    await open();
    const viewer = await look({ query: CHANNELS });
    const id = (viewer.data as Channels).channels.nodes[0]?.databaseId ?? 0;
    const reads = (): number =>
      door.sandbox.links.requests.filter(({ path }) => path === '/api/channels').length;
    const before = reads();
    let release = (): void => {};
    const until = new Promise<void>((resolve) => {
      release = resolve;
    });
    const path = '/api/channels';
    door.sandbox.links.fault({ kind: 'hold', until, path, times: 1, applied: true });
    await rename(id, 'first');
    while (reads() === before) await door.clock.settle();
    await rename(id, 'second');
    const late = LiveViewer.open(door.url, { query: CHANNELS });
    while (!(await door.send('/metrics')).text.includes('gateway_live_streams 2\n'));
    release();
    await late.until(({ revision }) => revision > 0);
    expect((late.data as Channels).channels.nodes[0]?.name).toBe('second');
    await viewer.until(({ told }) => told.includes('second'));
  });

  it('hears something every 15 seconds', async () => {
    await open({ 'ttl.channels': String(60 * MINUTE) });
    const viewer = await look({ query: CHANNELS });
    for (let count = 1; count <= 4; count += 1) {
      await door.clock.advance(16_000);
      await viewer.until(() => viewer.named('age').length === count);
    }
  });

  it('is refreshed no more once no caller has looked at it for a while', async () => {
    await open();
    const viewer = await look({ query: CHANNELS });
    await door.clock.advance(3 * MINUTE);
    viewer.close();
    await door.clock.advance(10_000);
    const calls = door.calls();
    await door.clock.advance(60 * MINUTE);
    expect(door.calls()).toBe(calls);
    expect((await door.send('/metrics')).text).toMatch(/^gateway_live_groups 0$/m);
  });

  it('shows a part that fails as an error, and the rest; and all of it once it does not fail', async () => {
    await open();
    const mend = door.sandbox.links.fault({ kind: 'error-500', path: /channels/ });
    const query =
      'query @live { channels(first: 1) { nodes { name } } campaigns(first: 1) { nodes { name } } }';
    const viewer = await look({ query });
    expect(viewer.document.errors?.[0]?.extensions?.code).toBe('UPSTREAM_UNAVAILABLE');
    expect((viewer.data as Record<string, unknown>)['campaigns']).not.toBeNull();
    mend();
    await door.clock.advance(5 * MINUTE);
    await viewer.until(({ document }) => document.errors === undefined);
    expect((viewer.data as Channels).channels.nodes).toHaveLength(1);
  });

  it('is logged when it begins and when it ends, with nothing of what it asks', async () => {
    await open({ LOG_LEVEL: 'info' });
    const viewer = await look({
      query: 'query Search($text: String) @live { files(search: $text) { totalCount } }',
      variables: { text: 'a secret word' },
    });
    viewer.close();
    const lines = async (): Promise<Record<string, unknown>[]> =>
      door
        .log()
        .split('\n')
        .filter((line) => line.includes('live query'))
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    while ((await lines()).length < 2) await door.clock.settle();
    expect(await lines()).toMatchObject([
      { msg: 'live query started', operation: 'Search', caller: '127.0.0.1' },
      { msg: 'live query ended', operation: 'Search', events: 1, reason: 'client disconnected' },
    ]);
    expect(door.log()).not.toContain('secret word');
  });
});
