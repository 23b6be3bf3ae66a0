import { builder } from '../../graph/builder.ts';
import { fault, type InputChecks } from '../../graph/checks.ts';
import { enumOf, shown } from '../../graph/fields.ts';
import { encodeGlobalId } from '../../graph/ids/global-id.ts';
import type { ChannelItem, ChannelItemType } from './channel.ts';
import { findQrCode, QrCodeRef } from './qr-code.graph.ts';

/** The type of `ChannelEntry.type` and of an argument of `Mutation.assignItemToChannel`. */
export const ChannelItemTypeRef = enumOf<ChannelItemType>(
  'ChannelItemType',
  'The kind of a channel item.',
  {
    LINKS: 'A short link.',
    BIO: 'A bio page.',
    QR: 'A QR code.',
  },
);

/** The types of the graph for the types of the API. */
const typenames: Readonly<Record<ChannelItemType, string>> = {
  LINKS: 'LinkItem',
  BIO: 'BioItem',
  QR: 'QrItem',
};

/** The type of what all kinds of channel items have in common. */
export const ChannelEntryRef = builder.interfaceRef<ChannelItem>('ChannelEntry').implement({
  description: 'The fields that all kinds of channel items have.',
  fields: (t) => ({
    id: t.id({
      nullable: false,
      description:
        'Opaque, globally unique ID, equal in all channels that contain the item. Use it as a key in a client’s cache. `node` does not accept it, because the API cannot return a single channel item.',
      resolve: ({ type, id }) => encodeGlobalId(typenames[type], id),
    }),
    type: t.expose('type', {
      type: ChannelItemTypeRef,
      nullable: false,
      description: 'Kind of the item.',
    }),
    databaseId: t.exposeInt('id', {
      nullable: false,
      description: 'ID in the link-management API, unique within its type only.',
    }),
    ...shown(t, 'String', {
      title: 'Title; null if it has none.',
      preview: 'URL of a preview image; null if it has none.',
      link: 'URL that opens the item; null if the API does not provide it.',
    }),
    ...shown(t, 'Date', { date: 'Creation date; null if the API does not provide it.' }),
  }),
});

const LinkItemRef = builder.objectRef<ChannelItem>('LinkItem').implement({
  description:
    'A short link in a channel. The API has no further data about links, and no list of them.',
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
        'The QR code; null if it was deleted. The gateway reads the QR codes of an operation either by list pages or one by one, whichever costs fewer upstream requests. Costs no upstream request while cached.',
      resolve: (item, _args, context, info) =>
        findQrCode(item.id, context, info, ['channels', 'channelItems']),
    }),
  }),
});

/** The node type of `Channel.items`. */
export const ChannelItemRef = builder.unionType('ChannelItem', {
  description: 'An item of a channel. `ChannelEntry` has the fields that all kinds have.',
  types: [LinkItemRef, BioItemRef, QrItemRef],
  resolveType: (item) => typenames[item.type],
});

/** The types whose ids name a channel item: those of items, and the row that an item stands for. */
const typesOfItems: Readonly<Record<string, ChannelItemType>> = {
  LinkItem: 'LINKS',
  BioItem: 'BIO',
  QrItem: 'QR',
  QrCode: 'QR',
};

/** The item that `type` with `itemId`, or `item`, names. Its type and `type` must agree, if both are given. */
export function checkItem(
  checks: InputChecks,
  given: {
    readonly type?: ChannelItemType | null | undefined;
    readonly item?: string | null | undefined;
    readonly itemId?: number | null | undefined;
  },
): Pick<ChannelItem, 'type' | 'id'> {
  const { item, itemId, type } = given;
  const ofType = Object.keys(typesOfItems).filter((each) => !type || typesOfItems[each] === type);
  const [first = '', ...others] = ofType;
  const { id, typename } = checks.eitherId(['item', 'itemId'], [first, ...others], {
    item,
    itemId,
  });
  const known = type ?? (typename === null ? undefined : typesOfItems[typename]);
  if (!known && id > 0) {
    checks.issue('type', fault('REQUIRED', 'is required for an integer ID.'));
  }
  return { type: known ?? 'LINKS', id };
}
