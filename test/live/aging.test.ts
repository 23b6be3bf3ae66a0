import { describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../support/door.ts';
import { LiveViewer, type Looking } from '../support/live-viewer.ts';

const CHANNELS = 'query @live { channels(first: 50) { nodes { id databaseId name } } }';
const MAX_AGE_MS = 60_000;

let door: Door;

async function open(maxAgeMs = MAX_AGE_MS): Promise<void> {
  door = await openDoor({ AUTH_MODE: 'none', liveMaxAgeMs: String(maxAgeMs) });
}

const begun = (looking: Looking = { query: CHANNELS }): Promise<LiveViewer> =>
  LiveViewer.begun(door.url, looking);

async function streams(): Promise<number> {
  const { text } = await door.send('/metrics');
  return Number(/^gateway_live_streams (\d+)/m.exec(text)?.[1]);
}

/** More than the sockets of both sides hold. */
const names = Array.from({ length: 40 }, (_, n) => `name${n}: name`).join(' ');
const LARGE = `query @live {
  qrCodes(first: 500) { nodes { id ${names} } }
  channels(first: 1) { nodes { databaseId name } }
}`;

/** A viewer of much who takes nothing more, for whom more waits than the sockets hold. */
async function stalled(): Promise<LiveViewer> {
  const watcher = await begun({ query: LARGE, readsAges: false });
  const viewer = await begun({ query: LARGE, readsAges: false });
  viewer.stall();
  const { channels } = watcher.data as {
    channels: { nodes: readonly { databaseId: number }[] };
  };
  for (let n = 0; n < 40; n += 1) {
    const input = `{ id: ${channels.nodes[0]?.databaseId}, name: "name ${n}" }`;
    await door.ask(`mutation { updateChannel(input: ${input}) { __typename } }`);
    await watcher.until(({ document }) => JSON.stringify(document).includes(`"name ${n}"`));
  }
  watcher.close();
  return viewer;
}

describe('a stream that has been open for long', () => {
  it('ends with when to come back, and not together with those that were opened with it', async () => {
    await open();
    const all = await Promise.all(
      Array.from({ length: 40 }, (_, n) => begun({ query: CHANNELS, readsAges: n % 2 === 0 })),
    );
    await door.clock.advance(MAX_AGE_MS * 0.75 - 1000);
    expect(all.filter(({ ended }) => ended)).toEqual([]);
    const endedBy: number[] = [];
    while (door.clock.now() < MAX_AGE_MS + 3000) {
      await door.clock.advance(1000);
      endedBy.push(all.filter(({ ended }) => ended).length);
    }
    expect(endedBy.at(-1)).toBe(40);
    const atOnce = endedBy.map((count, n) => count - (endedBy[n - 1] ?? 0));
    expect(Math.max(...atOnce)).toBeLessThanOrEqual(5);
    for (const { events } of all) expect(events.at(-1)?.retryMs).toBe(1000);
    expect(await streams()).toBe(0);
  });

  it('is followed by the next one at no upstream cost', async () => {
    await open();
    const before = await begun();
    while (!before.ended) await door.clock.advance(1000);
    await door.clock.advance(before.events.at(-1)?.retryMs ?? 0);
    const calls = door.calls();
    const viewer = await begun();
    expect(viewer.data).toEqual(before.data);
    expect(door.calls()).toBe(calls);
    expect(door.log()).toContain('"reason":"maximum age reached"');
  });

  it('is cut off a few seconds later where its viewer does not take the end', async () => {
    // Long before connections that take nothing are cut off anyway.
    await open(8000);
    const viewer = await stalled();
    await door.clock.advance(15_000);
    expect(await streams()).toBe(0);
    viewer.goOn();
    await viewer.untilEnded();
  });
});
