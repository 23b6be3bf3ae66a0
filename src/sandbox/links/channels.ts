import { Refusal } from '../http/answer.ts';
import {
  existing,
  type LinksContext,
  type LinksRoutes,
  listPage,
  members,
  ok,
  optionalFlag,
  optionalText,
  requiredText,
} from './context.ts';
import type { Channel, ItemType } from './store.ts';

function viewChannel({ id, name, description, color, starred }: Channel) {
  return { id, name, description, color, starred };
}

/** An item of a channel; undefined if it was deleted. Implements: Link API > Channel item. */
function viewItem(context: LinksContext, type: ItemType, id: number) {
  const { store, account } = context;
  if (type === 'qr') {
    const qr = store.qrs.find(account.id, id);
    if (!qr) return undefined;
    const link = `${store.url}/qr/${qr.alias}`;
    return { type, id, title: qr.name, preview: `${link}.png`, link, date: qr.date.slice(0, 10) };
  }
  const row = (type === 'bio' ? store.bios : store.links).find(account.id, id);
  if (!row) return undefined;
  const preview = `${store.url}/media/preview/${row.alias}.svg`;
  const link = `${store.url}/${type === 'bio' ? 'bio' : 'l'}/${row.alias}`;
  return { type, id, title: row.title, preview, link, date: row.date.slice(0, 10) };
}

function find(context: LinksContext, id: string | undefined): Channel {
  return existing(context.store.channels.find(context.account.id, Number(id)), 'Channel');
}

function hexColor(body: Record<string, unknown>): string | undefined {
  const color = optionalText(body, 'color');
  if (color !== undefined && !/^#([0-9a-f]{3}|[0-9a-f]{6})$/i.test(color))
    throw new Refusal(400, 'The color must be a HEX code such as #1F2A44');
  return color;
}

/** Implements: Link API > Channels. */
export const channelRoutes: LinksRoutes = {
  'GET /api/channels': (context) =>
    listPage(context, 'channels', context.store.channels.of(context.account.id), viewChannel),
  'GET /api/channel/:id': (context, { id }) => {
    const items = find(context, id)
      .items.map((item) => viewItem(context, item.type, item.id))
      .filter((item) => item !== undefined)
      .toReversed();
    return listPage(context, 'items', items, (item) => item);
  },
  'POST /api/channel/add': (context) => {
    const body = members(context);
    const channel = context.store.channels.add({
      owner: context.account.id,
      name: requiredText(body, 'name'),
      description: optionalText(body, 'description') ?? '',
      color: hexColor(body) ?? '#4C6FFF',
      starred: optionalFlag(body, 'starred') ?? false,
      items: [],
    });
    return ok(viewChannel(channel));
  },
  'POST /api/channel/:channelid/assign/:type/:itemid': (context, { channelid, type, itemid }) => {
    const channel = find(context, channelid);
    if (type !== 'links' && type !== 'bio' && type !== 'qr')
      throw new Refusal(400, 'The type must be links, bio or qr');
    const id = Number(itemid);
    existing(viewItem(context, type, id), 'Item');
    // A channel contains an item at most once: assigning it again changes nothing.
    if (!channel.items.some((item) => item.type === type && item.id === id))
      channel.items.push({ type, id });
    return ok({ message: 'Item successfully added to the channel.' });
  },
  'PUT /api/channel/:id/update': (context, { id }) => {
    const channel = find(context, id);
    const body = members(context);
    if (body['name'] !== undefined && body['name'] !== null) requiredText(body, 'name');
    // Atomic: all members are validated before the first one is written.
    Object.assign(channel, {
      name: optionalText(body, 'name') ?? channel.name,
      description: optionalText(body, 'description') ?? channel.description,
      color: hexColor(body) ?? channel.color,
      starred: optionalFlag(body, 'starred') ?? channel.starred,
    });
    return ok({ message: 'Channel has been updated successfully.' });
  },
  'DELETE /api/channel/:id/delete': (context, { id }) => {
    // The items are rows of other tables: only the assignments are removed.
    context.store.channels.remove(context.account.id, find(context, id).id);
    return ok({ message: 'Channel has been deleted successfully.' });
  },
};
