import { pageDecoder } from '../../upstream/decode/envelope.ts';
import { choice, day, flag, type RowOf, required, text } from '../../upstream/decode/fields.ts';
import type { Known, List, Row, Write } from '../../upstream/request.ts';
import { creation, refusedAgain, repeatable } from '../evidence.ts';
import { sameColor, sameFlag, sameText } from '../likeness.ts';
import { channelItemsInFlight, channelItemTag, channelItemTags, touches } from '../touches.ts';
import { given, removal, writtenDecoder } from '../written.ts';

const fields = {
  name: text('name'),
  description: text('description'),
  // The badge's color as `#RRGGBB`.
  color: text('color'),
  starred: flag('starred'),
};

/** A group of links, bio pages and QR codes. Implements: Link API > Resources > Channel. */
export type Channel = RowOf<typeof fields>;

/**
 * All channels. 1 upstream request per page. The API has no read of one channel: it is found in the list.
 * Implements: Link API > Channels > List channels.
 */
export const channels: List<Channel> = {
  resource: 'channels',
  tags: ['channels'],
  path: '/api/channels',
  paged: true,
  decode: pageDecoder({ resource: 'channels', keys: ['channels'], fields }),
};

/** What kind of thing a channel item is. */
export type ChannelItemType = 'LINKS' | 'BIO' | 'QR';

/** How paths spell each type of channel item. */
const channelItemTypes: Readonly<Record<ChannelItemType, string>> = {
  LINKS: 'links',
  BIO: 'bio',
  QR: 'qr',
};

/** Types by their spelling in responses: installations differ in the plural. */
const readableTypes: Readonly<Record<string, ChannelItemType>> = {
  links: 'LINKS',
  link: 'LINKS',
  bio: 'BIO',
  bios: 'BIO',
  qr: 'QR',
  qrs: 'QR',
};

const itemFields = {
  type: required(choice(readableTypes, 'type'), 'links, bio or qr'),
  title: text('title'),
  // A URL.
  preview: text('preview'),
  // A URL.
  link: text('link'),
  date: day('date'),
};

/**
 * What a channel contains. `id` is unique within its `type` only: a link and a QR code of one channel
 * may both be number 7, so `type` and `id` together identify an item.
 * Implements: Link API > Resources > Channel item.
 */
export type ChannelItem = RowOf<typeof itemFields>;

/**
 * The items of one channel, absent if the channel does not exist. 1 upstream request per page.
 * Implements: Link API > Channels > List channel items.
 */
export function channelItems(channelId: number): List<ChannelItem> {
  return {
    resource: 'channelItems',
    tags: ['channelItems', `channel:${channelId}:items`],
    ownTag: `channel:${channelId}:items`,
    rowTags: (items) => channelItemTags(keysOf(items)),
    inFlightTags: [channelItemsInFlight],
    identities: keysOf,
    path: `/api/channel/${channelId}`,
    about: channelId,
    paged: true,
    absentIsNull: true,
    decode: decodeItems,
  };
}

/** An item's key, unique over all types, e.g. `QR:7`. */
export function itemKey(type: ChannelItemType, id: number): string {
  return `${type}:${id}`;
}

function keysOf(items: readonly ChannelItem[]): string[] {
  return items.map(({ id, type }) => itemKey(type, id));
}

const decodeItems = pageDecoder({
  resource: 'channelItems',
  keys: ['items'],
  fields: itemFields,
});

/** Values of a channel; missing and `null` members stay unchanged. */
export interface UpdateChannel {
  readonly name?: string | null | undefined;
  readonly description?: string | null | undefined;
  /** The badge's color as HEX digits. */
  readonly color?: string | null | undefined;
  readonly starred?: boolean | null | undefined;
}

/** The channel to make. */
export interface CreateChannel extends UpdateChannel {
  readonly name: string;
}

/**
 * Creates a channel. 1 upstream request.
 * Implements: Link API > Channels > POST /api/channel/add.
 */
export function createChannel(input: CreateChannel): Write<Known<Channel>> {
  return {
    method: 'POST',
    path: '/api/channel/add',
    body: bodyOf(input),
    decode: writtenDecoder('channels', fields, input),
    touches: (created) => touches.createChannel({ id: created?.id }),
    check: 'Query.channels',
    evidence: creation(channels, {
      name: sameText(input.name),
      description: sameText(input.description),
      color: sameColor(input.color),
      starred: sameFlag(input.starred),
    }),
  };
}

/**
 * Changes a channel. 1 upstream request.
 * Implements: Link API > Channels > PUT /api/channel/:id/update.
 */
export function updateChannel(id: number, input: UpdateChannel): Write<Known<Channel>> {
  return {
    method: 'PUT',
    path: `/api/channel/${id}/update`,
    body: bodyOf(input),
    decode: writtenDecoder('channels', fields, input, id),
    touches: touches.updateChannel,
    check: 'Query.channels',
    row: `channel:${id}`,
    evidence: repeatable,
  };
}

/**
 * Deletes a channel, but none of its items. 1 upstream request.
 * Implements: Link API > Channels > DELETE /api/channel/:id/delete.
 */
export function deleteChannel(id: number): Write<Row> {
  return removal('/api/channel', id, {
    touches: () => touches.deleteChannel({ id }),
    check: 'Query.channels',
    row: `channel:${id}`,
  });
}

/**
 * Adds an item to a channel. 1 upstream request.
 * Implements: Link API > Channels > POST /api/channel/:channelid/assign/:type/:itemid.
 */
export function assignItemToChannel(
  id: number,
  item: Pick<ChannelItem, 'type' | 'id'>,
): Write<Known<Channel>> {
  return {
    method: 'POST',
    path: `/api/channel/${id}/assign/${channelItemTypes[item.type]}/${item.id}`,
    decode: () => ({ id }),
    touches: () => touches.assignItemToChannel({ id, item: itemKey(item.type, item.id) }),
    leaves: channelItemTag(itemKey(item.type, item.id)),
    check: 'Channel.items',
    // Not the channel, whose other items and members a second request does not change.
    row: `item:${itemKey(item.type, item.id)}`,
    evidence: refusedAgain,
  };
}

function bodyOf({ name, description, color, starred }: UpdateChannel): Record<string, unknown> {
  return given({ name, description, color, starred });
}
