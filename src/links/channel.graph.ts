import type { GraphQLResolveInfo } from 'graphql';
import { builder, connectionOf, databaseId } from '../graph/builder.ts';
import type { GraphContext } from '../graph/context.ts';
import { parseId } from '../graph/identifier.ts';
import { selectedFields } from '../graph/selection.ts';
import {
  type Channel as ChannelRow,
  channelItems,
  channels,
  type ChannelItem as ItemRow,
  type ChannelItemType as ItemType,
} from './channel.ts';
import { findQrCode, QrCode } from './qr-code.graph.ts';

/** A channel of which nothing but its id has been read. */
type BareChannel = Pick<ChannelRow, 'id'> & Partial<ChannelRow>;

/** What can be said of a channel without its row in the list. */
const WITHOUT_ROW = new Set(['__typename', 'id', 'databaseId', 'items']);

/**
 * Reads a channel for a field that selects on it. Where only its items are asked for, they are read
 * and the list is not: that they can be read shows that the channel exists.
 */
async function findChannel(
  id: number,
  { links }: GraphContext,
  info: GraphQLResolveInfo,
): Promise<BareChannel | null> {
  const selected = [...selectedFields(info, 'Channel')];
  const needsRow = selected.some((name) => !WITHOUT_ROW.has(name));
  if (needsRow) return links.find(channels, id);
  const items = await links.connection(channelItems(id), { first: 0 });
  return items && { id };
}

export const ChannelItemType = builder.enumType('ChannelItemType', {
  description: 'What kind of thing stands in a channel.',
  values: {
    LINKS: { description: 'A short link.' },
    BIO: { description: 'A bio page.' },
    QR: { description: 'A QR code.' },
  } satisfies Record<ItemType, { description: string }>,
});

const ChannelEntry = builder.interfaceRef<ItemRow>('ChannelEntry').implement({
  description: 'What all kinds of channel items have in common.',
  fields: (t) => ({
    type: t.expose('type', {
      type: ChannelItemType,
      nullable: false,
      description: 'The kind of thing it is.',
    }),
    databaseId: t.exposeInt('id', {
      nullable: false,
      description: 'The id in the link-management API, unique within its type only.',
    }),
    title: t.exposeString('title', { description: 'What it is called.' }),
    preview: t.exposeString('preview', { description: 'URL of a picture of it.' }),
    link: t.exposeString('link', { description: 'URL where it lives.' }),
    date: t.expose('date', { type: 'Date', description: 'The day it was made.' }),
  }),
});

const LinkItem = builder.objectRef<ItemRow>('LinkItem').implement({
  description: 'A short link in a channel.',
  interfaces: [ChannelEntry],
});

const BioItem = builder.objectRef<ItemRow>('BioItem').implement({
  description: 'A bio page in a channel.',
  interfaces: [ChannelEntry],
});

const QrItem = builder.objectRef<ItemRow>('QrItem').implement({
  description: 'A QR code in a channel.',
  interfaces: [ChannelEntry],
  fields: (t) => ({
    qrCode: t.field({
      type: QrCode,
      description:
        'The QR code itself; null when it is gone. All those of one answer are read together, in pages or one by one, whichever takes fewer upstream calls.',
      resolve: (item, _args, context, info) => findQrCode(item.id, context, info),
    }),
  }),
});

const typenames: Readonly<Record<ItemType, string>> = {
  LINKS: 'LinkItem',
  BIO: 'BioItem',
  QR: 'QrItem',
};

const ChannelItem = builder.unionType('ChannelItem', {
  description: 'What stands in a channel. `ChannelEntry` has what all of them share.',
  types: [LinkItem, BioItem, QrItem],
  resolveType: (item) => typenames[item.type],
});

export const Channel = builder.objectRef<BareChannel>('Channel');

builder.node(Channel, {
  description: 'A group of links, bio pages and QR codes.',
  id: { resolve: (row) => row.id, parse: Number },
  loadWithoutCache: findChannel,
  fields: (t) => ({
    databaseId: t.exposeInt('id', databaseId),
    name: t.exposeString('name', { description: 'What the account calls it.' }),
    description: t.exposeString('description', { description: 'What it is for.' }),
    color: t.exposeString('color', { description: 'Color of its badge as `#RRGGBB`.' }),
    starred: t.exposeBoolean('starred', { description: 'Whether it is marked as a favorite.' }),
    items: t.connection(
      {
        type: ChannelItem,
        nullable: true,
        description:
          'What stands in the channel. Costs 1 upstream call for each channel and page not kept.',
        resolve: (channel, window, { links }) => links.connection(channelItems(channel.id), window),
      },
      ...connectionOf('ChannelItem', 'channel items'),
    ),
  }),
});

builder.queryFields((t) => ({
  channels: t.connection(
    {
      type: Channel,
      nullable: true,
      description:
        'The account’s channels. Costs 1 upstream call for each page not kept, and nothing for their items unless those are selected.',
      resolve: (_root, window, { links }) => links.connection(channels, window),
    },
    ...connectionOf('Channel', 'channels'),
  ),
  channel: t.field({
    type: Channel,
    description:
      'One channel; null when there is none of this id. Costs nothing while the page that holds it is kept, else 1 upstream call for each page up to it, and none of those when only its items are selected.',
    args: {
      id: t.arg.id({ required: true, description: 'Global id, or the upstream’s integer.' }),
    },
    resolve: (_root, { id }, context, info) => findChannel(parseId('Channel', id), context, info),
  }),
}));
