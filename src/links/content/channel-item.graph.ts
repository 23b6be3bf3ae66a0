import { builder } from '../../graph/builder.ts';
import type { ChannelItem as ItemRow, ChannelItemType as ItemType } from './channel.ts';
import { findQrCode, QrCode } from './qr-code.graph.ts';

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

export const ChannelItem = builder.unionType('ChannelItem', {
  description: 'What stands in a channel. `ChannelEntry` has what all of them share.',
  types: [LinkItem, BioItem, QrItem],
  resolveType: (item) => typenames[item.type],
});
