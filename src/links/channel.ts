import type { List, Row } from '../upstream/call.ts';
import { DecodeError, type RowReader } from '../upstream/decode.ts';
import { pageDecoder } from '../upstream/page.ts';

/** A group of links, bio pages and QR codes. Implements: Link API > Resources > Channel. */
export interface Channel extends Row {
  readonly name: string | null;
  readonly description: string | null;
  /** The badge's color as `#RRGGBB`. */
  readonly color: string | null;
  readonly starred: boolean | null;
}

/** @throws DecodeError when the channel has no id. */
export function decodeChannel(row: RowReader): Channel {
  return {
    id: row.id(),
    name: row.text('name'),
    description: row.text('description'),
    color: row.text('color'),
    starred: row.flag('starred'),
  };
}

/**
 * All channels. 1 upstream call a page. The API has no read of one channel: it is found in the list.
 * Implements: Link API > Channels > List channels.
 */
export const channels: List<Channel> = {
  resource: 'channels',
  tags: ['channels'],
  path: '/api/channels',
  paged: true,
  decode: pageDecoder({ resource: 'channels', keys: ['channels'], decodeRow: decodeChannel }),
};

export type ChannelItemType = 'LINKS' | 'BIO' | 'QR';

/** The spelling in paths and answers of each type of channel item. */
export const channelItemTypes: Readonly<Record<ChannelItemType, string>> = {
  LINKS: 'links',
  BIO: 'bio',
  QR: 'qr',
};

/** Installations differ in the plural. */
const readableTypes: Readonly<Record<string, ChannelItemType>> = {
  links: 'LINKS',
  link: 'LINKS',
  bio: 'BIO',
  bios: 'BIO',
  qr: 'QR',
  qrs: 'QR',
};

/**
 * What stands in a channel. `id` is the item's id within its `type` and no more: a link and a QR code of
 * one channel may both be number 7, so only the two together name an item.
 * Implements: Link API > Resources > Channel item.
 */
export interface ChannelItem extends Row {
  readonly type: ChannelItemType;
  readonly title: string | null;
  /** A URL. */
  readonly preview: string | null;
  /** A URL. */
  readonly link: string | null;
  /** `YYYY-MM-DD`. */
  readonly date: string | null;
}

/** @throws DecodeError when the item has no id, or a type that is not one of the three. */
export function decodeChannelItem(row: RowReader): ChannelItem {
  const id = row.id();
  const type = row.choice(readableTypes, 'type');
  if (!type) throw new DecodeError('channelItems.type', 'links, bio or qr');
  return {
    id,
    type,
    title: row.text('title'),
    preview: row.text('preview'),
    link: row.text('link'),
    date: row.day('date'),
  };
}

/**
 * The items of one channel, absent when there is no such channel. 1 upstream call a page.
 * Implements: Link API > Channels > List channel items.
 */
export function channelItems(channelId: number): List<ChannelItem> {
  return {
    resource: 'channelItems',
    tags: ['channelItems', `channel:${channelId}:items`],
    path: `/api/channel/${channelId}`,
    paged: true,
    absentIsNull: true,
    decode: decodeItems,
    identity: ({ type, id }) => `${type}:${id}`,
  };
}

const decodeItems = pageDecoder({
  resource: 'channelItems',
  keys: ['items'],
  decodeRow: decodeChannelItem,
});
