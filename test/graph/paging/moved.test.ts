import { describe, expect, it } from 'vitest';
import { type Connection, startWorld, type World } from '../../support/gateway.ts';
import { overStandIn, type StandIn, upTo } from './stand-in.ts';

interface Items {
  readonly channel: { readonly items: Connection<{ readonly databaseId: number }> };
}

const MOVE = (item: number) =>
  `mutation { assignItemToChannel(channelId: "2", type: QR, itemId: ${item}) { __typename } }`;
const DELETE = (item: number) => `mutation { deleteQrCode(id: "${item}") { __typename } }`;

/** A channel with 25 items on three pages, all of them cached, which an item then leaves. */
describe.each([
  ['moved into another channel', MOVE],
  ['deleted', DELETE],
])('A channel whose item was %s', (_, leave) => {
  let upstream: StandIn;
  let world: World;

  overStandIn(async (...stage) => {
    [upstream, world] = stage;
    upstream.channels = upTo(3);
    upstream.qrs = upTo(60);
    const codes = (from: number, to: number) =>
      upTo(60)
        .filter((id) => id >= from && id <= to)
        .map((id) => ({ type: 'qr' as const, id }));
    upstream.items.set(1, codes(1, 25)).set(2, codes(30, 32)).set(3, codes(40, 55));
    for (const channel of [1, 2, 3]) await items('first: 500', channel);
  });

  async function items(window: string, channel = 1) {
    const data = await world.data<Items>(
      `{ channel(id: "${channel}") { items(${window}) { totalCount nodes { ... on ChannelEntry { databaseId } } } } }`,
    );
    const { totalCount, nodes } = data.channel.items;
    return { totalCount, ids: nodes.map(({ databaseId }) => databaseId) };
  }

  it.each([3, 10, 11, 15, 25])(
    'has one item less in every window, from number %i on',
    async (id) => {
      const left = upTo(25).filter((each) => each !== id);
      for (const [window, ids] of [
        ['last: 4', left.slice(-4)],
        ['first: 4', left.slice(0, 4)],
        ['first: 25', left],
        ['first: 14', left.slice(0, 14)],
      ] as const) {
        await world.close();
        const env = { LINKS_BASE_URL: upstream.baseUrl, LINKS_PAGE_SIZE: '10' };
        world = await startWorld({ only: 'links', env });
        upstream.qrs = upTo(60);
        upstream.items.set(
          1,
          upTo(25).map((each) => ({ type: 'qr', id: each })),
        );
        await items('first: 500');
        await world.data(leave(id));
        expect(await items(window), window).toEqual({ totalCount: 24, ids });
      }
    },
  );

  it('leaves the pages of other channels as they are', async () => {
    await world.data(leave(3));
    upstream.log.length = 0;
    expect((await items('first: 25', 3)).totalCount).toBe(16);
    expect(upstream.log).toEqual([]);
  });
});
