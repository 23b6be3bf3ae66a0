import { describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../support/door.ts';
import { LiveViewer, type Looking } from '../support/live-viewer.ts';

const CHANNELS = 'query @live { channels(first: 50) { nodes { id databaseId name } } }';

interface Channels {
  readonly channels: {
    readonly nodes: readonly { readonly databaseId: number; readonly name: string }[];
  };
}

let door: Door;

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
    const slow = look({ query, readsAges: false });
    await slow.until(({ revision }) => revision > 0);
    slow.stall();
    for (let n = 0; n < 80; n += 1) {
      await rename(watcher, `name ${n}`);
      await watcher.until(({ document }) => JSON.stringify(document).includes(`"name ${n}"`));
    }
    slow.goOn();
    await slow.until(({ document }) => JSON.stringify(document).includes('"name 79"'));
    expect(slow.document).toEqual(watcher.document);
    // What the sockets of both sides hold is on its way.
    expect(slow.named('next').length).toBeLessThan(60);
  });
});

describe('a process that stops', () => {
  it('informs its viewers when to come back, not all at once', async () => {
    await open();
    const all = await Promise.all(
      Array.from({ length: 30 }, (_, n) => begun({ query: CHANNELS, readsAges: n % 2 === 0 })),
    );
    await door.gateway.close();
    for (const viewer of all) await viewer.untilEnded();
    const times = all.map(({ events }) => events.at(-1)?.retryMs ?? 0);
    expect(Math.min(...times)).toBeGreaterThan(0);
    expect(new Set(times).size).toBeGreaterThan(10);
    for (const { events } of all) expect(events.at(-1)?.name).toBe('comment');
  });
});
