import type { Row } from '../../../support/gateway.ts';
import { Stage } from '../story.ts';

/** What `list` answers. */
export interface Channels {
  readonly channels: { readonly nodes: readonly Row[]; readonly totalCount: number };
}

/** A channel of which its items are selected. */
export interface Items {
  readonly items: { readonly nodes: readonly Row[] };
}

/** Every field of a channel but its items. */
export const fields = 'id databaseId name description color starred';
/** Reads all of them. */
export const list = `{ channels(first: 500) { totalCount nodes { ${fields} } } }`;
/** The call that this takes. */
export const page = 'GET /api/channels?limit=100&page=1';

/** Two that are seeded. */
export const [trade, menus] = [21, 65] as const;

/** The global ID of a channel. */
export const globalId = (id: number): string => Buffer.from(`Channel:${id}`).toString('base64url');

/** Reads what stands in a channel. */
export const itemsQuery = (id: number): string =>
  `{ channel(id: ${id}) { items(first: 500) { nodes { ... on ChannelEntry { type databaseId } } } } }`;

/** The read of a channel's only page of items. */
export const itemsPage = (id: number): string => `GET /api/channel/${id}?limit=100&page=1`;

/** Names items by type and id, e.g. `LINKS:1041`. */
export function keys({ items: { nodes } }: Items): string[] {
  return nodes.map(({ type, databaseId }) => `${String(type)}:${String(databaseId)}`);
}

/** A stage for stories of channels. */
export class ChannelStage extends Stage {
  /** Every channel, in the order of the list. */
  async channels(): Promise<Channels['channels']> {
    return (await this.world.data<Channels>(list)).channels;
  }

  /** A channel by each of the three ways to one. */
  async found(id: number): Promise<unknown[]> {
    const data = await this.world.data(
      `query ($id: ID!, $text: ID!) {
        node(id: $id) { ... on Channel { ${fields} } }
        channel(id: $id) { ${fields} }
        same: channel(id: $text) { ${fields} }
      }`,
      { id: globalId(id), text: String(id) },
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
