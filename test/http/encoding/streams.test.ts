import { beforeEach, describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../../support/door.ts';
import { LiveViewer } from '../../support/live-viewer.ts';

const CHANNELS = `query @live { account { username } channels(first: 8) { nodes {
  id name items(first: 5) { totalCount nodes { ... on ChannelEntry { title link } } } } } }`;
const GZIP = { 'accept-encoding': 'gzip, deflate, br' };

let door: Door;
beforeEach(async () => {
  door = await openDoor({ AUTH_MODE: 'none' });
});

/** Gives the first channel another name. */
const rename = async (name: string): Promise<void> => {
  const first = await door.ask('{ channels(first: 1) { nodes { id } } }');
  const { id } = (first.data as { channels: { nodes: [{ id: string }] } }).channels.nodes[0];
  const mutation =
    'mutation ($id: ID!, $name: String!) { updateChannel(input: { id: $id, name: $name }) { __typename } }';
  const { errors } = await door.ask(mutation, null, { variables: { id, name } });
  expect(errors).toEqual([]);
};

describe('A live query', () => {
  it('is sent in gzip, each event at once', async () => {
    const packed = await LiveViewer.begun(door.url, { query: CHANNELS, headers: GZIP });
    const plain = await LiveViewer.begun(door.url, { query: CHANNELS });
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(packed.headers.vary?.split(', ')).toContain('Accept-Encoding');
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(plain.headers.vary?.split(', ')).toContain('Accept-Encoding');
    for (const name of ['One name', 'Another name']) {
      const { revision } = packed;
      await rename(name);
      // It has come to the viewer though nothing follows on it.
      for (const each of [packed, plain]) await each.until((viewer) => viewer.revision > revision);
      expect(JSON.stringify(packed.data)).toContain(name);
      expect(packed.document).toEqual(plain.document);
    }
  });

  it('is kept alive by heartbeats, which leave at once as well', async () => {
    const viewer = await LiveViewer.begun(door.url, {
      query: CHANNELS,
      readsAges: false,
      headers: GZIP,
    });
    const { length } = viewer.events;
    for (let n = 0; n < 60 && viewer.events.length === length; n += 1)
      await door.clock.advance(1000);
    expect(viewer.events.at(-1)?.name).toBe('comment');
  });

  it('ends in gzip as it should, with its last words', async () => {
    const viewer = await LiveViewer.begun(door.url, { query: CHANNELS, headers: GZIP });
    const closed = door.gateway.close();
    await viewer.untilEnded();
    await closed;
    // A decoder that misses the end of the body would have failed.
    expect(viewer.events.at(-1)?.retryMs).toBeGreaterThan(0);
  });
});
