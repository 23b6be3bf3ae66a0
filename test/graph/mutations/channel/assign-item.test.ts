import { describe, expect, it } from 'vitest';
import type { Row } from '../../../support/gateway.ts';
import { behavesWhenDisturbed, yeses } from '../story.ts';
import {
  ChannelStage,
  fields,
  globalId,
  type Items,
  itemsPage,
  itemsQuery,
  keys,
  menus,
  page,
  trade,
} from './channels.ts';

const stage = new ChannelStage();
const idOf = (type: string, id: number) => Buffer.from(`${type}:${id}`).toString('base64url');

describe('Mutation.assignItemToChannel', () => {
  /** Links that stand in other channels only: 1172 in two of them. */
  const [link, shared] = [1053, 1172];
  const path = `/api/channel/${trade}/assign/links/${link}`;
  const mutation = `assignItemToChannel(channelId: ${trade}, type: LINKS, itemId: ${link})`;

  it.each([
    ['LINKS', 'links', link],
    ['BIO', 'bio', 61],
    ['QR', 'qr', 440],
  ])('puts an item of type %s into a channel at 1 call', async (type, spelling, item) => {
    for (const id of [String(trade), globalId(trade)]) {
      const { result, calls } = await stage.change(
        `assignItemToChannel(channelId: "${id}", type: ${type}, itemId: ${item})`,
        'Channel { id databaseId }',
      );
      expect(result).toEqual({ __typename: 'Channel', id: globalId(trade), databaseId: trade });
      const request = `/api/channel/${trade}/assign/${spelling}/${item}`;
      expect(calls).toEqual([`POST ${request}`]);
      expect(stage.written).toEqual([{ method: 'POST', path: request }]);
    }
    expect((await stage.itemsOf(trade))?.filter((key) => key === `${type}:${item}`)).toHaveLength(
      1,
    );
  });

  it.each([
    ['links', `item: "${idOf('LinkItem', link)}"`, link],
    ['bio', `item: "${idOf('BioItem', 61)}", type: BIO`, 61],
    ['qr', `item: "${idOf('QrItem', 440)}"`, 440],
    ['qr', `item: "${idOf('QrCode', 440)}", itemId: 440`, 440],
    ['qr', 'item: "440", type: QR', 440],
  ])('takes an item of type %s by %s', async (spelling, given, item) => {
    await stage.change(`assignItemToChannel(channelId: ${trade}, ${given})`, 'Channel { id }');
    const request = `/api/channel/${trade}/assign/${spelling}/${item}`;
    expect(stage.written).toEqual([{ method: 'POST', path: request }]);
  });

  it.each([
    ['no item', 'type: QR', [], 'must have at least one of `item`, `itemId`.'],
    ['an integer without a type', 'itemId: 440', ['type'], 'is required for an integer ID.'],
    ['an integer ID without a type', 'item: "440"', ['type'], 'is required for an integer ID.'],
    [
      'another type',
      `type: BIO, item: "${idOf('QrCode', 440)}"`,
      ['item'],
      'needs the ID of a BioItem.',
    ],
    [
      'what is no item',
      `item: "${idOf('Campaign', 53)}"`,
      ['item'],
      'needs the ID of a LinkItem or a BioItem or a',
    ],
    [
      'two items',
      `item: "${idOf('QrItem', 440)}", itemId: 7`,
      ['item'],
      'is another ID than `itemId`',
    ],
  ])('refuses %s, and spends no call', async (_, given, at, message) => {
    const { result, calls } = await stage.change(
      `assignItemToChannel(channelId: ${trade}, ${given})`,
      'Channel { id }',
    );
    expect(result.issues).toEqual([{ path: at, message: expect.stringContaining(message) }]);
    expect(calls).toEqual([]);
  });

  it('shows in the items it answers itself, and in those that were kept, at 1 page', async () => {
    const before = await stage.itemsOf(trade);
    expect(before).not.toContain(`LINKS:${link}`);
    const { result, calls } = await stage.change(
      mutation,
      'Channel { items { nodes { ... on ChannelEntry { type databaseId } } } }',
    );
    const after = [`LINKS:${link}`, ...(before ?? [])];
    expect(keys(result as unknown as Items)).toEqual(after);
    expect(calls).toEqual([`POST ${path}`, itemsPage(trade)]);
    expect(await stage.costOfItems(trade)).toEqual([]);
    expect(await stage.itemsOf(trade)).toEqual(after);
  });

  it('reads of the channel what is selected, with one page', async () => {
    const [row] = (await stage.found(trade)) as Row[];
    const { result, calls } = await stage.change(mutation, `Channel { ${fields} }`);
    expect(result).toEqual({ __typename: 'Channel', ...row });
    // The row itself has not changed, and is still kept.
    expect(calls).toEqual([`POST ${path}`]);
    const other = await stage.open();
    const again = await stage.change(mutation, `Channel { ${fields} }`, other);
    expect(again.calls).toEqual([`POST ${path}`, page]);
  });

  it('leaves what is kept of other channels, unless the item stands there', async () => {
    const [holding, holdingToo, without] = [54, menus, 29];
    for (const id of [trade, holding, holdingToo, without]) await stage.itemsOf(id);
    await stage.change(
      `assignItemToChannel(channelId: ${trade}, type: LINKS, itemId: ${shared})`,
      'Channel { id }',
    );
    expect(await stage.costOfItems(without)).toEqual([]);
    expect(await stage.costOfItems(holding)).toEqual([itemsPage(holding)]);
    expect(await stage.costOfItems(holdingToo)).toEqual([itemsPage(holdingToo)]);
    expect(await stage.costOfItems(trade)).toEqual([itemsPage(trade)]);
  });

  it('believes an upstream that takes the item out of the channel where it stood', async () => {
    const holding = 54;
    expect(await stage.itemsOf(holding)).toContain(`LINKS:${shared}`);
    await stage.change(
      `assignItemToChannel(channelId: ${trade}, type: LINKS, itemId: ${shared})`,
      'Channel { id }',
    );
    stage.sandbox.links.fault({
      kind: 'answer',
      path: `/api/channel/${holding}`,
      rewrite: (answer) => {
        const { data } = answer.body as { data: { items: Row[] } };
        data.items = data.items.filter(({ type, id }) => type !== 'links' || id !== shared);
        return answer;
      },
    });
    expect(await stage.itemsOf(holding)).not.toContain(`LINKS:${shared}`);
  });

  it('keeps nothing of another channel’s items that were on their way meanwhile', async () => {
    const other = 29;
    // The very first request of a gateway goes alone.
    await stage.channels();
    let release = (): void => {};
    const until = new Promise<void>((resolve) => {
      release = resolve;
    });
    const query = { kind: 'hold', until, applied: true, times: 1 } as const;
    stage.sandbox.links.fault({ ...query, path: `/api/channel/${other}` });
    const early = stage.itemsOf(other);
    await stage.met('hold');
    await stage.change(mutation, 'Channel { id }');
    const late = stage.itemsOf(other);
    release();
    expect(await early).toEqual(await late);
    expect(stage.world.calls()).toEqual([`POST ${path}`, itemsPage(other)]);
    expect(await stage.costOfItems(other)).toEqual([]);
  });

  it('leaves the kept list of channels', async () => {
    await stage.channels();
    await stage.change(mutation, 'Channel { id }');
    stage.world.forgetCalls();
    await stage.channels();
    expect(stage.world.calls()).toEqual([]);
  });

  it.each([
    [999_999, link, 'Channel does not exist'],
    [trade, 999_999, 'Item does not exist'],
  ])('passes on why channel %i takes no link %i', async (channel, item, message) => {
    const { result, calls } = await stage.change(
      `assignItemToChannel(channelId: ${channel}, type: LINKS, itemId: ${item})`,
      'Channel { id }',
    );
    expect(result).toEqual({ __typename: 'Rejected', message, upstream: 'LINKS' });
    expect(calls).toHaveLength(1);
  });

  it('finds every fault of its arguments, and spends no call', async () => {
    const { result, calls } = await stage.change(
      'assignItemToChannel(channelId: "x", type: QR, itemId: 0)',
      'Channel { id }',
    );
    expect(result.issues?.map((issue) => issue.path)).toEqual([['channelId'], ['itemId']]);
    expect(calls).toEqual([]);
  });

  it.each(yeses({ message: 'Assigned.' }))('understands success %s', async (_, body, status) => {
    stage.answer(path, body, status);
    const { result, calls } = await stage.change(mutation, 'Channel { databaseId }');
    expect(result).toEqual({ __typename: 'Channel', databaseId: trade });
    expect(calls).toHaveLength(1);
  });

  behavesWhenDisturbed(stage, {
    mutation,
    typename: 'Channel',
    wire: { method: 'POST', path },
    check: 'Channel.items',
    look: itemsQuery(trade),
    times: ({ channel }: { readonly channel: Items }) =>
      keys(channel).filter((key) => key === `LINKS:${link}`).length,
  });
});
