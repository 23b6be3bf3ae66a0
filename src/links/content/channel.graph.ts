import type { GraphQLResolveInfo } from 'graphql';
import { builder, connectionOf, databaseId } from '../../graph/builder.ts';
import { changeField, deletion, expectedOf, updateField } from '../../graph/change.ts';
import { InputChecks } from '../../graph/checks.ts';
import type { GraphContext } from '../../graph/context.ts';
import { shownLazily } from '../../graph/fields.ts';
import { parseId } from '../../graph/ids/global-id.ts';
import { choiceFilter, dayFilter, flagFilter } from '../../graph/lists/filters.ts';
import { connectionArgs, listField } from '../../graph/lists/list-field.ts';
import { listTable } from '../../graph/lists/list-table.ts';
import { byId, byNumber, byText, byTime } from '../../graph/lists/orders.ts';
import { resultOf } from '../../graph/result.ts';
import { colorForm } from '../../graph/rows/expectation.ts';
import { selectedFields } from '../../graph/rows/selection.ts';
import { type AtOnce, andThen } from '../../scheduling/at-once.ts';
import type { Known } from '../../upstream/request.ts';
import {
  assignItemToChannel,
  type Channel,
  type ChannelItem,
  channelItems,
  channels,
  createChannel,
  deleteChannel,
  updateChannel,
} from './channel.ts';
import { ChannelItemRef, ChannelItemTypeRef, checkItem } from './channel-item.graph.ts';

/** Fields of a channel, besides its items, that resolve without its row in the list. */
const WITHOUT_ROW = new Set(['__typename', 'id', 'databaseId']);

/**
 * Reads a channel for a field that returns one. If the operation selects only its items, they are read instead of
 * the list: their response shows that the channel exists.
 */
function findChannel(
  id: number,
  { links }: GraphContext,
  info: GraphQLResolveInfo,
): AtOnce<Known<Channel> | null> {
  const selected = selectedFields(info, 'Channel');
  const onlyItems =
    selected.delete('items') && [...selected].every((name) => WITHOUT_ROW.has(name));
  if (!onlyItems) return links.find(channels, id);
  return andThen(links.connection(channelItems(id), { first: 0 }), (items) => items && { id });
}

/** The type of `Query.channels`. */
export const ChannelRef = builder.objectRef<Known<Channel>>('Channel');

const itemTable = listTable<ChannelItem>('ChannelItem', {
  rows: 'channel items',
  search: { in: 'title or link', texts: ({ title, link }) => [title, link] },
  order: {
    TITLE: byText('title', 'Title of the item.'),
    TYPE: byText('type', 'Kind of the item: bio pages, then links, then QR codes.'),
    CREATED_AT: byTime('date', 'Creation date.'),
  },
  filters: [
    choiceFilter('type', ChannelItemTypeRef, ({ type }) => type, 'Only items of this kind.'),
    dayFilter('createdAt', ({ date }) => date, 'Only items created in this range of dates.'),
  ],
});

builder.node(ChannelRef, {
  description: 'A group of links, bio pages and QR codes.',
  id: { resolve: (row) => row.id, parse: Number },
  loadWithoutCache: findChannel,
  fields: (t) => ({
    databaseId: t.exposeInt('id', databaseId),
    ...shownLazily(t, channels, 'String', {
      name: 'Name of the channel; null if it has none.',
      description: 'Description; null if it has none.',
      color: 'Color of the badge as `#RRGGBB`; null for the default color.',
    }),
    ...shownLazily(t, channels, 'Boolean', {
      starred: 'Whether the channel is a favorite; null if the API does not provide it.',
    }),
    items: t.connection(
      {
        type: ChannelItemRef,
        nullable: true,
        description:
          'The items of the channel; null if the channel was deleted. Costs 1 upstream request per channel and page if not cached.',
        args: connectionArgs(t.arg, itemTable),
        resolve: (channel, args, { links }) =>
          links.connection(channelItems(channel.id), args, itemTable.view(args)),
      },
      ...connectionOf('ChannelItem', 'channel items'),
    ),
  }),
});

listField('channels', ChannelRef, channels, {
  rows: 'channels',
  description:
    'The account’s channels. Costs 1 upstream request per page if not cached. The items of a channel cost upstream requests only if they are selected.',
  search: { in: 'name or description', texts: ({ name, description }) => [name, description] },
  order: {
    NAME: byText('name', 'Name of the channel.'),
    STARRED: byNumber('starred', 'Whether the channel is a favorite: false before true.'),
    ID: byId,
  },
  filters: [
    flagFilter(
      'starred',
      ({ starred }) => starred,
      'Only channels that are favorites (true), or are not (false).',
    ),
  ],
});

builder.queryField('channel', (t) =>
  t.field({
    type: ChannelRef,
    description:
      'A channel; null if it does not exist. Costs no upstream request if the page that contains it is cached; otherwise 1 for each page from the first to that page. If only `items` is selected, only the items cost upstream requests.',
    args: {
      id: t.arg.id({ required: true, description: 'The channel’s `id` or `databaseId`.' }),
    },
    resolve: (_root, { id }, context, info) => findChannel(parseId('Channel', id), context, info),
  }),
);

const whichChannel = 'The channel’s `id` or `databaseId`.';

const CreateChannelInput = builder.inputType('CreateChannelInput', {
  description: 'The channel to create. The API sets default values for omitted members.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Display name of the channel.' }),
    description: t.string({ description: 'What the channel is for.' }),
    color: t.string({ description: 'Color of the badge as `#RRGGBB` or `#RGB`.' }),
    starred: t.boolean({ description: 'Whether the channel is a favorite.' }),
  }),
});

const UpdateChannelInput = builder.inputType('UpdateChannelInput', {
  description:
    'Changes to a channel. At least one member besides `id` is required. Omitted or null members stay unchanged.',
  fields: (t) => ({
    id: t.id({ required: true, description: whichChannel }),
    name: t.string({ description: 'Display name of the channel.' }),
    description: t.string({ description: 'What the channel is for.' }),
    color: t.string({ description: 'Color of the badge as `#RRGGBB` or `#RGB`.' }),
    starred: t.boolean({ description: 'Whether the channel is a favorite.' }),
  }),
});

const expectedChannel = expectedOf<Channel>('Channel', 'a channel', {
  name: { type: 'String', description: 'Display name of the channel.', of: ({ name }) => name },
  description: {
    type: 'String',
    description: 'Text about the channel.',
    of: ({ description }) => description,
  },
  color: {
    type: 'String',
    description: 'Color of the badge, as `#RRGGBB` or `#RGB`.',
    of: (row) => row.color,
    form: colorForm,
  },
  starred: {
    type: 'Boolean',
    description: 'Whether the channel is a favorite.',
    of: ({ starred }) => starred,
  },
});

builder.mutationFields((t) => ({
  createChannel: changeField(t, ChannelRef, {
    result: 'CreateChannelResult',
    description:
      'Creates a channel. Costs 1 upstream request, plus a read of the channel for selected fields that neither the response nor the input contains.',
    input: [CreateChannelInput, 'Values of the new channel.'],
    check(checks, input) {
      checks.notBlank('name', input.name);
      checks.hexColor('color', input.color);
    },
    send: (input, { links }) => links.write(createChannel(input)),
  }),
  updateChannel: updateField(t, ChannelRef, channels, {
    result: 'UpdateChannelResult',
    description:
      'Changes a channel. Costs 1 upstream request, plus a read of the channel for selected fields that the input does not contain.',
    input: [UpdateChannelInput, 'The changes.'],
    expected: expectedChannel,
    anyOf: ['name', 'description', 'color', 'starred'],
    check(checks, { name, color }) {
      checks.notBlank('name', name);
      checks.hexColor('color', color);
    },
    write: updateChannel,
  }),
  deleteChannel: deletion(t, 'Channel', deleteChannel, {
    result: 'DeleteChannelResult',
    description: 'Deletes a channel; its items are kept. Costs 1 upstream request.',
    which: whichChannel,
  }),
  assignItemToChannel: t.field({
    ...resultOf(ChannelRef, 'AssignItemToChannelResult'),
    description:
      'Adds a short link, a bio page or a QR code to a channel. The API cannot remove it again. Costs 1 upstream request, plus a read of the channel if its fields are selected.',
    args: {
      channelId: t.arg.id({ required: true, description: whichChannel }),
      type: t.arg({
        type: ChannelItemTypeRef,
        description:
          'Kind of the item. Required if the item is given by its integer; otherwise the `id` says it.',
      }),
      item: t.arg.id({
        description:
          'The item: the `id` or `databaseId` of a channel item, or of a QR code. Required unless `itemId` is set. An ID of another type costs no upstream request.',
      }),
      itemId: t.arg.int({
        description: 'The item’s integer ID in the upstream API. Required unless `item` is set.',
      }),
    },
    resolve: (_root, { channelId, ...args }, { links }) => {
      const checks = new InputChecks();
      const id = checks.id('channelId', 'Channel', channelId);
      const item = checkItem(checks, args);
      checks.done();
      return links.write(assignItemToChannel(id, item));
    },
  }),
}));
