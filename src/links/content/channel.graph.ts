import type { GraphQLResolveInfo } from 'graphql';
import { builder, connectionOf, databaseId, lazily, listField } from '../../graph/builder.ts';
import { InputChecks } from '../../graph/checks.ts';
import type { GraphContext } from '../../graph/context.ts';
import { parseId } from '../../graph/ids/global-id.ts';
import { deletion, resultOf } from '../../graph/result.ts';
import { selectedFields } from '../../graph/rows/selection.ts';
import { type AtOnce, andThen } from '../../scheduling/at-once.ts';
import type { Known } from '../../upstream/request.ts';
import {
  assignItemToChannel,
  type Channel,
  channelItems,
  channels,
  createChannel,
  deleteChannel,
  updateChannel,
} from './channel.ts';
import { ChannelItemRef, ChannelItemTypeRef } from './channel-item.graph.ts';

/** Fields of a channel, beside its items, that resolve without its row in the list. */
const WITHOUT_ROW = new Set(['__typename', 'id', 'databaseId']);

/**
 * Reads a channel for a field that returns one. Where the operation selects only its items, reads
 * them and not the list: their answer proves that the channel exists.
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

const ChannelRef = builder.objectRef<Known<Channel>>('Channel');

builder.node(ChannelRef, {
  description: 'A group of links, bio pages and QR codes.',
  id: { resolve: (row) => row.id, parse: Number },
  loadWithoutCache: findChannel,
  fields: (t) => ({
    databaseId: t.exposeInt('id', databaseId),
    name: t.string({
      description: 'What the account calls it; null when it has no name.',
      resolve: lazily(channels, 'name'),
    }),
    description: t.string({
      description: 'What it is for; null when it has none.',
      resolve: lazily(channels, 'description'),
    }),
    color: t.string({
      description: 'Color of its badge as `#RRGGBB`; null when it has none of its own.',
      resolve: lazily(channels, 'color'),
    }),
    starred: t.boolean({
      description: 'Whether it is marked as a favorite; null when the upstream does not say.',
      resolve: lazily(channels, 'starred'),
    }),
    items: t.connection(
      {
        type: ChannelItemRef,
        nullable: true,
        description:
          'The items of the channel; null when it is gone. Costs 1 upstream call for each channel and page not cached.',
        resolve: (channel, window, { links }) => links.connection(channelItems(channel.id), window),
      },
      ...connectionOf('ChannelItem', 'channel items'),
    ),
  }),
});

listField('channels', ChannelRef, channels, {
  rows: 'channels',
  description:
    'The account’s channels. Costs 1 upstream call for each page not cached, and nothing for their items unless those are selected.',
});

builder.queryField('channel', (t) =>
  t.field({
    type: ChannelRef,
    description:
      'One channel; null when there is none of this id. Costs nothing while the page that holds it is cached, else 1 upstream call for each page up to it, and none of those when only its items are selected.',
    args: {
      id: t.arg.id({ required: true, description: 'Global id, or the upstream’s integer.' }),
    },
    resolve: (_root, { id }, context, info) => findChannel(parseId('Channel', id), context, info),
  }),
);

const whichChannel = 'Which channel: global id, or the upstream’s integer.';

const CreateChannelInput = builder.inputType('CreateChannelInput', {
  description: 'A channel to make. The upstream chooses what is left out.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'What to call it.' }),
    description: t.string({ description: 'What it is for.' }),
    color: t.string({ description: 'Color of its badge as `#RRGGBB` or `#RGB`.' }),
    starred: t.boolean({ description: 'Whether to mark it as a favorite.' }),
  }),
});

const UpdateChannelInput = builder.inputType('UpdateChannelInput', {
  description:
    'What to change of a channel: at least one member. What is left out, or null, stays as it is.',
  fields: (t) => ({
    id: t.id({ required: true, description: whichChannel }),
    name: t.string({ description: 'What to call it.' }),
    description: t.string({ description: 'What it is for.' }),
    color: t.string({ description: 'Color of its badge as `#RRGGBB` or `#RGB`.' }),
    starred: t.boolean({ description: 'Whether to mark it as a favorite.' }),
  }),
});

builder.mutationFields((t) => ({
  createChannel: t.field({
    ...resultOf(ChannelRef, 'CreateChannelResult'),
    description:
      'Makes a channel. Costs 1 upstream call; what neither its answer nor the input holds is read when selected.',
    args: {
      input: t.arg({ type: CreateChannelInput, required: true, description: 'What to make.' }),
    },
    resolve: (_root, { input }, { links }) => {
      const checks = new InputChecks('input');
      checks.notBlank('name', input.name);
      checks.hexColor('color', input.color);
      checks.done();
      return links.write(createChannel(input));
    },
  }),
  updateChannel: t.field({
    ...resultOf(ChannelRef, 'UpdateChannelResult'),
    description:
      'Changes a channel. Costs 1 upstream call; what was not given is read when selected.',
    args: {
      input: t.arg({ type: UpdateChannelInput, required: true, description: 'What to change.' }),
    },
    resolve: (_root, { input }, { links }) => {
      const checks = new InputChecks('input');
      const { name, description, color, starred } = input;
      checks.anyGiven({ name, description, color, starred });
      const id = checks.id('id', 'Channel', input.id);
      checks.notBlank('name', name);
      checks.hexColor('color', color);
      checks.done();
      return links.write(updateChannel(id, input));
    },
  }),
  deleteChannel: deletion(t, 'Channel', deleteChannel, {
    result: 'DeleteChannelResult',
    description: 'Removes a channel; its items stay. Costs 1 upstream call.',
    which: whichChannel,
  }),
  assignItemToChannel: t.field({
    ...resultOf(ChannelRef, 'AssignItemToChannelResult'),
    description:
      'Puts a link, a bio page or a QR code into a channel. Costs 1 upstream call; fields selected on the channel are read afterwards.',
    args: {
      channelId: t.arg.id({ required: true, description: whichChannel }),
      type: t.arg({
        type: ChannelItemTypeRef,
        required: true,
        description: 'What kind of thing the item is.',
      }),
      itemId: t.arg.int({
        required: true,
        description: 'The upstream’s integer id of the item, within its type.',
      }),
    },
    resolve: (_root, { channelId, type, itemId }, { links }) => {
      const checks = new InputChecks();
      const id = checks.id('channelId', 'Channel', channelId);
      checks.positive('itemId', itemId);
      checks.done();
      return links.write(assignItemToChannel(id, { type, id: itemId }));
    },
  }),
}));
