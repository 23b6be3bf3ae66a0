import { builder } from '../../graph/builder.ts';
import { encodeGlobalId } from '../../graph/ids/global-id.ts';
import type { ChannelItem, ChannelItemType } from './channel.ts';
import { findQrCode, QrCodeRef } from './qr-code.graph.ts';

/** The type of `ChannelEntry.type` and of an argument of `Mutation.assignItemToChannel`. */
export const ChannelItemTypeRef = builder.enumType('ChannelItemType', {
  description: 'What kind of thing a channel contains.',
  values: {
    LINKS: { description: 'A short link.' },
    BIO: { description: 'A bio page.' },
    QR: { description: 'A QR code.' },
  } satisfies Record<ChannelItemType, { description: string }>,
});

/** The types of the graph for the types of the API. */
const typenames: Readonly<Record<ChannelItemType, string>> = {
  LINKS: 'LinkItem',
  BIO: 'BioItem',
  QR: 'QrItem',
};

const ChannelEntryRef = builder.interfaceRef<ChannelItem>('ChannelEntry').implement({
  description: 'The fields that all kinds of channel items share.',
  fields: (t) => ({
    id: t.id({
      nullable: false,
      description:
        'Opaque id, unique over the whole graph, and the same in each channel that has the item: for a client’s cache. `node` does not take it, since no API reads an item by itself.',
      resolve: ({ type, id }) => encodeGlobalId(typenames[type], id),
    }),
    type: t.expose('type', {
      type: ChannelItemTypeRef,
      nullable: false,
      description: 'The kind of thing it is.',
    }),
    databaseId: t.exposeInt('id', {
      nullable: false,
      description: 'The id in the link-management API, unique within its type only.',
    }),
    title: t.exposeString('title', {
      description: 'What it is called; null when it has no title.',
    }),
    preview: t.exposeString('preview', {
      description: 'URL of a picture of it; null when there is none.',
    }),
    link: t.exposeString('link', {
      description: 'URL that opens it; null when the upstream does not say.',
    }),
    date: t.expose('date', {
      type: 'Date',
      description: 'The day it was made; null when the upstream does not say.',
    }),
  }),
});

const LinkItemRef = builder.objectRef<ChannelItem>('LinkItem').implement({
  description: 'A short link in a channel.',
  interfaces: [ChannelEntryRef],
});

const BioItemRef = builder.objectRef<ChannelItem>('BioItem').implement({
  description: 'A bio page in a channel.',
  interfaces: [ChannelEntryRef],
});

const QrItemRef = builder.objectRef<ChannelItem>('QrItem').implement({
  description: 'A QR code in a channel.',
  interfaces: [ChannelEntryRef],
  fields: (t) => ({
    qrCode: t.field({
      type: QrCodeRef,
      description:
        'The QR code itself; null when it is gone. All those of one answer are read together, in pages or one by one, whichever takes fewer upstream calls.',
      resolve: (item, _args, context, info) =>
        findQrCode(item.id, context, info, ['channels', 'channelItems']),
    }),
  }),
});

/** The node type of `Channel.items`. */
export const ChannelItemRef = builder.unionType('ChannelItem', {
  description: 'An item of a channel. `ChannelEntry` has the fields that all kinds share.',
  types: [LinkItemRef, BioItemRef, QrItemRef],
  resolveType: (item) => typenames[item.type],
});
