import { describe, expect, it } from 'vitest';
import { behavesWhenDisturbed } from '../story.ts';
import { ChannelStage, type Channels, globalId, itemsQuery, menus, trade } from './channels.ts';

const stage = new ChannelStage();

describe('Mutation.deleteChannel', () => {
  const path = `/api/channel/${trade}/delete`;

  it('removes the channel and its items from every later read, at 1 call', async () => {
    const before = await stage.channels();
    expect(await stage.itemsOf(trade)).toContain('QR:301');
    const { result, calls } = await stage.change(
      `deleteChannel(id: "${globalId(trade)}")`,
      'Deleted { deletedId databaseId }',
    );
    expect(result).toEqual({
      __typename: 'Deleted',
      deletedId: globalId(trade),
      databaseId: trade,
    });
    expect(calls).toEqual([`DELETE ${path}`]);
    expect(stage.written).toEqual([{ method: 'DELETE', path }]);
    expect(await stage.itemsOf(trade)).toBeNull();
    expect(await stage.found(trade)).toEqual([null, null, null]);
    const after = await stage.channels();
    expect(after.totalCount).toBe(before.totalCount - 1);
    expect(after.nodes).toEqual(before.nodes.filter(({ databaseId }) => databaseId !== trade));
  });

  it('leaves the items themselves, and the other channels they stand in, at no further call', async () => {
    const kept = await stage.itemsOf(menus);
    expect(kept).toContain('QR:301');
    await stage.change(`deleteChannel(id: ${trade})`, 'Deleted { deletedId }');
    expect(await stage.costOfItems(menus)).toEqual([]);
    expect(await stage.itemsOf(menus)).toEqual(kept);
    const { qrCode } = await stage.world.data('{ qrCode(id: 301) { databaseId } }');
    expect(qrCode).toEqual({ databaseId: 301 });
  });

  it('passes on that there is no such channel', async () => {
    const { result } = await stage.change('deleteChannel(id: 999999)', 'Deleted { deletedId }');
    expect(result).toMatchObject({ __typename: 'Rejected', message: 'Channel does not exist' });
  });

  it('finds the fault of an id, and spends no call', async () => {
    const { result, calls } = await stage.change('deleteChannel(id: "0")', 'Deleted { deletedId }');
    expect(result.issues).toEqual([{ path: ['id'], message: expect.any(String) }]);
    expect(calls).toEqual([]);
  });

  behavesWhenDisturbed(stage, {
    mutation: `deleteChannel(id: ${trade})`,
    typename: 'Deleted',
    wire: { method: 'DELETE', path },
    check: 'Query.channels',
    look: `{ channels(first: 500) { totalCount nodes { databaseId } } ${itemsQuery(trade).slice(1)}`,
    times: (data: Channels & { readonly channel: unknown }) => {
      const listed = data.channels.nodes.some(({ databaseId }) => databaseId === trade);
      expect(data.channel === null).toBe(!listed);
      return listed ? 0 : 1;
    },
  });
});
