import { describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../support/door.ts';
import { LiveViewer } from '../support/live-viewer.ts';

let door: Door;

interface Channels {
  readonly channels: {
    readonly totalCount: number;
    readonly nodes: readonly { readonly name: string }[];
  };
}

const QUERY = `query @live {
  channels(search: "live", orderBy: { field: NAME, direction: DESC }, offset: 1, first: 2) { totalCount nodes { name } }
}`;

describe('a live view of a list', () => {
  it('follows what changes anywhere in the list', async () => {
    door = await openDoor({ AUTH_MODE: 'none' });
    const add = (name: string) =>
      door.ask(
        `mutation { createChannel(input: { name: "${name}" }) { ... on Channel { databaseId } } }`,
      );
    for (const name of ['Live a', 'Live b', 'Live c']) await add(name);
    const viewer = await LiveViewer.begun(door.url, { query: QUERY });
    const shown = () => {
      const { nodes, totalCount } = (viewer.data as Channels).channels;
      return [totalCount, ...nodes.map(({ name }) => name)];
    };
    expect(shown()).toEqual([3, 'Live b', 'Live a']);
    await add('Live d');
    await viewer.until(({ revision }) => revision === 2);
    expect(shown()).toEqual([4, 'Live c', 'Live b']);
    const { key, url } = door.sandbox.links;
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ name: 'Live bb' });
    await fetch(`${url}/api/channel/add`, { method: 'POST', headers, body });
    await door.clock.advance(61_000);
    await viewer.until(({ revision }) => revision === 3);
    expect(shown()).toEqual([5, 'Live c', 'Live bb']);
    const { data } = await door.ask(QUERY.replace('@live', ''));
    expect(viewer.document).toEqual({ data });
  });
});
