import { GatewayError } from '../../errors.ts';
import { builder } from '../../graph/builder.ts';
import type { GraphContext } from '../../graph/context.ts';
import type { Source } from '../../graph/rows/source.ts';
import {
  type AtOnce,
  andThen,
  type Steps,
  takeAll,
  takeSteps,
  until,
} from '../../scheduling/at-once.ts';
import { loopTurns } from '../../scheduling/loop-turns.ts';
import type { CachedRows } from '../../upstream/lists/views/whole.ts';
import type { List, Row } from '../../upstream/request.ts';
import { ChannelRef } from './channel.graph.ts';
import { type Channel, type ChannelItem, channelItems, channels, itemKey } from './channel.ts';
import { ChannelEntryRef } from './channel-item.graph.ts';
import { QrCodeRef } from './qr-code.graph.ts';

/** The channels of each item, by `itemKey`. */
interface Membership {
  readonly channels: ReadonlyMap<string, readonly Channel[]>;
  readonly complete: boolean;
}

interface ChannelsOfItem {
  readonly nodes: readonly Channel[];
  readonly complete: boolean;
}

const ChannelsOfItemRef = builder.objectRef<ChannelsOfItem>('ChannelsOfItem').implement({
  description: 'The channels that contain an item. Costs what the field that returns it costs.',
  fields: (t) => ({
    nodes: t.field({
      type: [ChannelRef],
      nullable: false,
      description:
        'The channels, in the order of the list of channels. Costs no extra upstream request.',
      resolve: ({ nodes }) => [...nodes],
    }),
    complete: t.exposeBoolean('complete', {
      nullable: false,
      description:
        'Whether these are all channels that contain the item, as of the age of the cached data. False only with `cachedOnly`, if the list of channels or the items of any channel are not cached completely. Costs no extra upstream request.',
    }),
  }),
});

/** The field of an item and of a QR code. */
const field = {
  type: ChannelsOfItemRef,
  nullable: true,
  semanticNonNull: true,
  description:
    'The channels that contain it. The API cannot be asked for them, so the items of all channels are read, once for all rows of an operation. Costs 1 upstream request for each uncached page of the list of channels, and for each uncached page of the items of each channel; if they do not fit, it fails with `OPERATION_TOO_EXPENSIVE`. Costs no upstream request with `cachedOnly`.',
} as const;

const cachedOnlyDescription =
  'Whether to use only what is cached by the process that responds. Costs no upstream request. The result can be incomplete: see `complete`.';

builder.objectField(QrCodeRef, 'channels', (t) =>
  t.field({
    ...field,
    args: {
      cachedOnly: t.arg.boolean({ defaultValue: false, description: cachedOnlyDescription }),
    },
    resolve: ({ id }, args, context) => channelsOf({ type: 'QR', id }, args, context),
  }),
);

builder.interfaceField(ChannelEntryRef, 'channels', (t) =>
  t.field({
    ...field,
    args: {
      cachedOnly: t.arg.boolean({ defaultValue: false, description: cachedOnlyDescription }),
    },
    resolve: channelsOf,
  }),
);

function channelsOf(
  { type, id }: Pick<ChannelItem, 'type' | 'id'>,
  { cachedOnly }: { readonly cachedOnly?: boolean | null | undefined },
  { links, viewer }: GraphContext,
): AtOnce<ChannelsOfItem> {
  const membership = cachedOnly
    ? links.derive('cached membership', () => takeSteps(index(cached(links), viewer.name)))
    : links.derive('membership', () => takeSteps(index(all(links), viewer.name)));
  const key = itemKey(type, id);
  return andThen(membership, (found) => ({
    nodes: found.channels.get(key) ?? [],
    complete: found.complete,
  }));
}

/** Reads the rows of a list in one of the two ways. */
type ReadRows = <R extends Row>(list: List<R>) => AtOnce<CachedRows<R>>;

function cached(links: Source): ReadRows {
  return (list) => links.cachedRows(list);
}

function all(links: Source): ReadRows {
  return (list) => andThen(links.whole(list), (rows) => ({ rows, complete: true }));
}

/**
 * Which channels each item is in. Shares the event loop with other callers: there can be hundreds of thousands of
 * items.
 */
function* index(read: ReadRows, caller: string): Steps<Membership> {
  const list = yield* until(read(channels));
  const items = yield* until(readItems(list.rows, read));
  const found = new Map<string, Channel[]>();
  for (const [n, channel] of list.rows.entries()) {
    for (const item of items[n]?.rows ?? []) {
      const key = itemKey(item.type, item.id);
      const known = found.get(key);
      if (known) known.push(channel);
      else found.set(key, [channel]);
    }
    const wait = loopTurns.pause(caller);
    if (wait) yield wait;
  }
  return { channels: found, complete: list.complete && items.every(({ complete }) => complete) };
}

/** The items of all channels, requested together. */
function readItems(
  rows: readonly Channel[],
  read: ReadRows,
): AtOnce<readonly CachedRows<ChannelItem>[]> {
  const items = takeAll(rows.map(({ id }) => readOne(channelItems(id), read)));
  return items instanceof Promise ? items.catch(tooExpensive) : items;
}

function* readOne<R extends Row>(list: List<R>, read: ReadRows): Steps<CachedRows<R>> {
  return yield* until(read(list));
}

/** Advises what is possible here, where no fewer items can be requested. */
function tooExpensive(error: unknown): never {
  if (!(error instanceof GatewayError) || error.code !== 'OPERATION_TOO_EXPENSIVE') throw error;
  const { left, limit, needed } = error.details as Readonly<Record<string, number>>;
  const message =
    needed === undefined
      ? 'The items of all channels do not fit into this operation.'
      : `The items of all channels need ${needed} upstream requests; ${left} of ${limit} remain for this operation.`;
  throw new GatewayError(error.code, `${message} Set "cachedOnly" to use only what is cached.`, {
    details: error.details,
  });
}
