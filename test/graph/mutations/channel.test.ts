import { describe, expect, it } from 'vitest';
import type { Row } from '../../support/gateway.ts';
import { globalIdOf, Stage } from './story.ts';

/** A channel of which its items are selected. */
interface Items {
  readonly items: { readonly nodes: readonly Row[] };
}

/** Every field of a channel but its items. */
const fields = 'id databaseId name description color starred';
/** The call that this takes. */
const page = 'GET /api/channels?limit=100&page=1';

/** Two that are seeded. */
const [trade, menus] = [21, 65] as const;

/** Reads what stands in a channel. */
const itemsQuery = (id: number): string =>
  `{ channel(id: ${id}) { items(first: 500) { nodes { ... on ChannelEntry { type databaseId } } } } }`;

/** The read of a channel's only page of items. */
const itemsPage = (id: number): string => `GET /api/channel/${id}?limit=100&page=1`;

/** Names items by type and id, e.g. `LINKS:1041`. */
function keys({ items: { nodes } }: Items): string[] {
  return nodes.map(({ type, databaseId }) => `${String(type)}:${String(databaseId)}`);
}

/** A stage for stories of channels. */
class ChannelStage extends Stage {
  /** A channel by each of the three ways to one. */
  async found(id: number): Promise<unknown[]> {
    const data = await this.world.data(
      `query ($id: ID!, $text: ID!) {
        node(id: $id) { ... on Channel { ${fields} } }
        channel(id: $id) { ${fields} }
        same: channel(id: $text) { ${fields} }
      }`,
      { id: globalIdOf('Channel', id), text: String(id) },
    );
    return [data['node'], data['channel'], data['same']];
  }

  /** What stands in a channel, e.g. `LINKS:1041`; null when there is no such channel. */
  async itemsOf(id: number): Promise<string[] | null> {
    const { channel } = await this.world.data<{ channel: Items | null }>(itemsQuery(id));
    return channel && keys(channel);
  }

  /** The calls it takes to read what stands in a channel now. */
  async costOfItems(id: number): Promise<string[]> {
    this.world.forgetCalls();
    await this.itemsOf(id);
    return this.world.calls();
  }
}

const stage = new ChannelStage();

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
    for (const id of [String(trade), globalIdOf('Channel', trade)]) {
      const { result, calls } = await stage.change(
        `assignItemToChannel(channelId: "${id}", type: ${type}, itemId: ${item})`,
        'Channel { id databaseId }',
      );
      expect(result).toEqual({
        __typename: 'Channel',
        id: globalIdOf('Channel', trade),
        databaseId: trade,
      });
      const request = `/api/channel/${trade}/assign/${spelling}/${item}`;
      expect(calls).toEqual([`POST ${request}`]);
      expect(stage.written).toEqual([{ method: 'POST', path: request }]);
    }
    expect((await stage.itemsOf(trade))?.filter((key) => key === `${type}:${item}`)).toHaveLength(
      1,
    );
  });

  it.each([
    ['links', `item: "${globalIdOf('LinkItem', link)}"`, link],
    ['bio', `item: "${globalIdOf('BioItem', 61)}", type: BIO`, 61],
    ['qr', `item: "${globalIdOf('QrItem', 440)}"`, 440],
    ['qr', `item: "${globalIdOf('QrCode', 440)}", itemId: 440`, 440],
    ['qr', 'item: "440", type: QR', 440],
  ])('takes an item of type %s by %s', async (spelling, given, item) => {
    await stage.change(`assignItemToChannel(channelId: ${trade}, ${given})`, 'Channel { id }');
    const request = `/api/channel/${trade}/assign/${spelling}/${item}`;
    expect(stage.written).toEqual([{ method: 'POST', path: request }]);
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
    await stage.found(trade);
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
    await stage.found(trade);
    await stage.change(mutation, 'Channel { id }');
    stage.world.forgetCalls();
    await stage.found(trade);
    expect(stage.world.calls()).toEqual([]);
  });
});

describe('Mutation.createChannel', () => {
  const path = '/api/channel/add';
  const mutation = 'createChannel(input: { name: "Tea & scones" })';
  /** What the sandbox, seeded alike each time, calls the next channel. */
  const next = 115;

  it('drops the word that it is missing also when the outcome is not known', async () => {
    expect(await stage.itemsOf(next)).toBeNull();
    stage.sandbox.links.fault({ kind: 'drop', applied: true, path });
    const { errors } = await stage.change(mutation, 'Channel { id }');
    expect(errors[0]?.extensions).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect(await stage.itemsOf(next)).toEqual([]);
  });

  it('leaves what is kept of other channels’ items', async () => {
    await stage.itemsOf(trade);
    await stage.change(mutation, 'Channel { id }');
    expect(await stage.costOfItems(trade)).toEqual([]);
  });
});

describe('Mutation.updateChannel', () => {
  it('leaves the kept items', async () => {
    await stage.itemsOf(trade);
    await stage.change(`updateChannel(input: { id: ${trade}, name: "Fair" })`, 'Channel { id }');
    expect(await stage.costOfItems(trade)).toEqual([]);
  });
});

describe('Mutation.deleteChannel', () => {
  it('removes its items, and leaves the other channels they stand in, at no further call', async () => {
    const kept = await stage.itemsOf(menus);
    expect(kept).toContain('QR:301');
    expect(await stage.itemsOf(trade)).toContain('QR:301');
    await stage.change(`deleteChannel(id: ${trade})`, 'Deleted { deletedId }');
    expect(await stage.itemsOf(trade)).toBeNull();
    expect(await stage.costOfItems(menus)).toEqual([]);
    expect(await stage.itemsOf(menus)).toEqual(kept);
    const { qrCode } = await stage.world.data('{ qrCode(id: 301) { databaseId } }');
    expect(qrCode).toEqual({ databaseId: 301 });
  });
});

describe('Query.channel', () => {
  it('reads of a channel nothing but its items when nothing else is selected', async () => {
    expect(await stage.costOfItems(trade)).toEqual([itemsPage(trade)]);
  });

  it('answers null for a channel that is not there, whatever is selected', async () => {
    expect(await stage.itemsOf(999_999)).toBeNull();
    expect(await stage.found(999_999)).toEqual([null, null, null]);
  });
});
