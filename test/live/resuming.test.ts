import { afterEach, describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../support/door.ts';
import { LiveViewer, type Looking } from '../support/live-viewer.ts';

const CHANNELS = 'query @live { channels(first: 50) { nodes { id databaseId name } } }';

interface Channels {
  readonly channels: {
    readonly nodes: readonly { readonly databaseId: number; readonly name: string }[];
  };
}

let door: Door;
afterEach(async () => {
  LiveViewer.closeAll();
  await door.close();
});

async function open(env: Readonly<Record<string, string>> = {}): Promise<void> {
  door = await openDoor({ AUTH_MODE: 'none', ...env });
}

function look(looking: Looking): LiveViewer {
  return LiveViewer.open(door.url, looking);
}

const begun = (looking: Looking): Promise<LiveViewer> => LiveViewer.begun(door.url, looking);

async function rename(viewer: LiveViewer, name: string, at = 0): Promise<void> {
  const channel = (viewer.data as Channels).channels.nodes[at];
  const input = `{ id: ${channel?.databaseId}, name: "${name}" }`;
  await door.ask(`mutation { updateChannel(input: ${input}) { __typename } }`);
}

/** Goes on where another viewer was cut off. */
function resume(after: LiveViewer, looking: Looking = { query: CHANNELS }): LiveViewer {
  const viewer = look({ ...looking, lastEventId: after.lastEventId ?? '' });
  viewer.document = after.document;
  viewer.revision = after.revision;
  return viewer;
}

describe('a viewer who comes back', () => {
  it('is told that nothing has changed, in a few bytes and without a call', async () => {
    await open();
    const before = await begun({ query: CHANNELS });
    before.close();
    const calls = door.calls();
    const viewer = await resume(before).until(({ events }) => events.length > 0);
    expect(viewer.events.map(({ name }) => name)).toEqual(['age']);
    expect(door.calls()).toBe(calls);
  });

  it('gets one patch for all that has changed meanwhile', async () => {
    await open();
    const watcher = await begun({ query: CHANNELS });
    const before = await begun({ query: CHANNELS });
    before.close();
    for (const [at, name] of ['a', 'b', 'c'].entries()) {
      await rename(watcher, name, at);
      await watcher.until(({ document }) => JSON.stringify(document).includes(`"${name}"`));
    }
    const viewer = await resume(before).until(({ revision }) => revision === 4);
    expect(viewer.events.map(({ name }) => name)).toEqual(['patch']);
    expect(viewer.document).toEqual(watcher.document);
  });

  it('gets the whole result where all who looked meanwhile did, and then patches', async () => {
    await open();
    const watcher = await begun({ query: CHANNELS, mode: 'whole' });
    const before = await begun({ query: CHANNELS, mode: 'whole' });
    before.close();
    await rename(watcher, 'a');
    await watcher.until(({ document }) => JSON.stringify(document).includes('"a"'));
    const viewer = await resume(before).until(({ events }) => events.length > 0);
    expect(viewer.events.map(({ name }) => name)).toEqual(['next']);
    await rename(watcher, 'b', 1);
    await viewer.until(({ document }) => JSON.stringify(document).includes('"b"'));
    await watcher.until(({ document }) => JSON.stringify(document).includes('"b"'));
    expect(viewer.events.map(({ name }) => name)).toContain('patch');
    expect(viewer.data).toEqual(watcher.data);
  });

  it('gets the whole result where that is shorter than the patches, or was another query’s', async () => {
    await open();
    const query = 'query @live { channels(first: 1) { nodes { id databaseId name } } }';
    const watcher = await begun({ query });
    const before = await begun({ query });
    before.close();
    for (let n = 0; n < 30; n += 1) {
      await rename(watcher, `name ${n}`);
      await watcher.until(({ document }) => JSON.stringify(document).includes(`"name ${n}"`));
    }
    const viewer = await resume(before, { query }).until(({ events }) => events.length > 0);
    expect(viewer.events[0]?.name).toBe('next');
    expect(viewer.document).toEqual(watcher.document);
    const other = await resume(before).until(({ events }) => events.length > 0);
    expect(other.events[0]?.name).toBe('next');
  });

  it('gets a snapshot at no cost when the query was let go of meanwhile', async () => {
    await open();
    const before = await begun({ query: CHANNELS });
    before.close();
    await door.clock.advance(20_000);
    const calls = door.calls();
    const viewer = await resume(before).until(({ events }) => events.length > 0);
    expect(viewer.document).toEqual(before.document);
    expect(door.calls()).toBe(calls);
  });

  it('gets the whole result where the same number stands for another one by now', async () => {
    await open();
    const before = await begun({ query: CHANNELS });
    await rename(before, 'before');
    await before.until(({ revision }) => revision === 2);
    before.close();
    await door.clock.advance(20_000);
    const other = await begun({ query: CHANNELS });
    await rename(other, 'after');
    await other.until(({ revision }) => revision === 2);
    const viewer = await resume(before).until(({ events }) => events.length > 0);
    expect(viewer.events[0]?.name).toBe('next');
    expect(viewer.document).toEqual(other.document);
  });

  it.each(['', 'x', 'a.b.1', '.'.repeat(2000), '1e9'])(
    'with an id that is none of ours gets the whole: %j',
    async (lastEventId) => {
      await open();
      const viewer = await begun({ query: CHANNELS, lastEventId });
      expect(viewer.events[0]?.name).toBe('next');
    },
  );

  it('with a revision that is yet to come gets the whole', async () => {
    await open();
    const before = await begun({ query: CHANNELS });
    const lastEventId = before.lastEventId?.replace(/\d+$/, '4000000000') ?? '';
    const viewer = await begun({ query: CHANNELS, lastEventId });
    expect(viewer.events[0]?.name).toBe('next');
  });
});

describe('a viewer who does not read', () => {
  it('gets the latest state when they do, and not what they have missed', async () => {
    await open();
    // More in all than sockets hold.
    const names = Array.from({ length: 40 }, (_, n) => `name${n}: name`).join(' ');
    const query = `query @live {
      qrCodes(first: 500) { nodes { id ${names} } }
      channels(first: 1) { nodes { id databaseId name } }
    }`;
    const watcher = await begun({ query });
    const slow = look({ query, mode: 'whole' });
    await slow.until(({ revision }) => revision > 0);
    slow.stall();
    for (let n = 0; n < 120; n += 1) {
      await rename(watcher, `name ${n}`);
      await watcher.until(({ document }) => JSON.stringify(document).includes(`"name ${n}"`));
    }
    slow.goOn();
    await slow.until(({ document }) => JSON.stringify(document).includes('"name 119"'));
    expect(slow.document).toEqual(watcher.document);
    // What the sockets of both sides hold is on its way.
    expect(slow.named('next').length).toBeLessThan(80);
  });
});

describe('a process that stops', () => {
  it('informs its viewers when to come back, not all at once', async () => {
    await open();
    const all = await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        begun({ query: CHANNELS, mode: n % 2 === 0 ? 'patch' : 'whole' }),
      ),
    );
    await door.gateway.close();
    for (const viewer of all) await viewer.untilEnded();
    const times = all.map(({ events }) => events.at(-1)?.retryMs ?? 0);
    expect(Math.min(...times)).toBeGreaterThan(0);
    expect(new Set(times).size).toBeGreaterThan(10);
    for (const [n, { events }] of all.entries()) {
      const last = events.at(-1);
      expect(last?.id).toBeNull();
      // A client that reads no patches comes back by itself unless it is told that all is complete.
      expect(last?.name).toBe(n % 2 === 0 ? 'complete' : 'comment');
      if (n % 2 === 0) expect(last?.data).toEqual({ reconnectInMs: last?.retryMs });
    }
  });
});
