import { builder, connectionOf, databaseId } from '../graph/builder.ts';
import { parseId } from '../graph/ids/global-id.ts';
import { type Item, type ItemMedia, type ItemMediaKind, type ItemPrice, items } from './item.ts';
import { matchItem } from './item-filter.ts';

const ItemMediaKindRef = builder.enumType('ItemMediaKind', {
  description: 'What kind of media an item is previewed by.',
  values: {
    IMAGE: { description: 'A picture.' },
    VIDEO: { description: 'A film, with or without sound.' },
    AUDIO: { description: 'A sound.' },
  } satisfies Record<ItemMediaKind, { description: string }>,
});

const ItemMediaRef = builder.objectRef<ItemMedia>('ItemMedia').implement({
  description: 'How an item is previewed.',
  fields: (t) => ({
    kind: t.expose('kind', {
      type: ItemMediaKindRef,
      nullable: false,
      description: 'Derived from the previews, since the upstream does not name it.',
    }),
    thumbnail: t.exposeString('thumbnail', {
      description: 'URL of a small picture; null when there is none.',
    }),
    previewImage: t.exposeString('previewImage', {
      description: 'URL of a large picture; null for sounds.',
    }),
    previewVideo: t.exposeString('previewVideo', {
      description: 'URL of a video; null for anything else.',
    }),
    previewAudio: t.exposeString('previewAudio', {
      description: 'URL of a sound; null for anything else.',
    }),
    screenshots: t.field({
      type: ['String'],
      nullable: false,
      description: 'URLs of further pictures; empty when there are none.',
      resolve: (media) => [...media.screenshots],
    }),
  }),
});

const ItemPriceRef = builder.objectRef<ItemPrice>('ItemPrice').implement({
  description: 'What an item costs, by license, in the item’s `currency`.',
  fields: (t) => ({
    regular: t.exposeFloat('regular', {
      description: 'With a regular license; null when it is not sold so.',
    }),
    extended: t.exposeFloat('extended', {
      description: 'With an extended license; null when it is not sold so.',
    }),
  }),
});

/** The type of `Query.item` and `Purchase.item`. */
export const ItemRef = builder.objectRef<Item>('Item');

builder.node(ItemRef, {
  description: 'Something the seller offers on the marketplace.',
  id: { resolve: (row) => row.id, parse: Number },
  loadWithoutCache: (id, { market }) => market.find(items, id),
  fields: (t) => ({
    databaseId: t.exposeInt('id', databaseId),
    name: t.exposeString('name', {
      description: 'What it is sold as; null when the upstream does not say.',
    }),
    description: t.exposeString('description', {
      description: 'What it is; can hold HTML, and is null when it has none.',
    }),
    category: t.exposeString('category', {
      description: 'Its category in the marketplace; null when it is in none.',
    }),
    subCategory: t.exposeString('subCategory', {
      description: 'Its part of the category; null when it is in none.',
    }),
    options: t.field({
      type: ['String'],
      nullable: false,
      description: 'What the seller ticked; empty when nothing.',
      resolve: (item) => [...item.options],
    }),
    version: t.exposeString('version', {
      description: 'Its own version, e.g. `1.0.0`; null when it has none.',
    }),
    demoLink: t.exposeString('demoLink', {
      description: 'URL where it can be tried; null when it cannot.',
    }),
    tags: t.field({
      type: ['String'],
      nullable: false,
      description: 'Words it is found by; empty when there are none.',
      resolve: (item) => [...item.tags],
    }),
    media: t.expose('media', {
      type: ItemMediaRef,
      description: 'How it is previewed; null when it is not.',
    }),
    price: t.expose('price', {
      type: ItemPriceRef,
      description: 'What it costs; null when the upstream does not say.',
    }),
    currency: t.exposeString('currency', {
      description: 'Currency code of its price; null when the upstream does not say.',
    }),
    publishedAt: t.expose('publishedAt', {
      type: 'DateTime',
      description: 'When it was first offered; null when the upstream does not say.',
    }),
  }),
});

builder.queryFields((t) => ({
  items: t.connection(
    {
      type: ItemRef,
      nullable: true,
      semanticNonNull: true,
      description:
        'What the seller offers. The marketplace returns its whole list at once, so every window, search and filter together cost 1 marketplace call, then none while cached.',
      args: {
        search: t.arg.string({
          description:
            'Only items with all these words in name, description, category or tags; case does not matter.',
        }),
        category: t.arg.string({
          description: 'Only items of this category or sub-category; case does not matter.',
        }),
        tag: t.arg.string({ description: 'Only items with this tag; case does not matter.' }),
      },
      resolve: (_root, { search, category, tag, ...window }, { market }) =>
        market.connection(items, window, matchItem({ search, category, tag })),
    },
    ...connectionOf('Item', 'items'),
  ),
  item: t.field({
    type: ItemRef,
    description:
      'One item; null when there is none of this id. Costs nothing while the list is cached, else 1 marketplace call.',
    args: {
      id: t.arg.id({ required: true, description: 'Global id, or the upstream’s integer.' }),
    },
    resolve: (_root, { id }, { market }) => market.find(items, parseId('Item', id)),
  }),
}));
