import { builder, databaseId } from '../graph/builder.ts';
import { enumOf, shown } from '../graph/fields.ts';
import { amountFilter, choiceFilter, textFilter, timeFilter } from '../graph/lists/filters.ts';
import { listField } from '../graph/lists/list-field.ts';
import { byId, byText, byTime } from '../graph/lists/orders.ts';
import { lookupField } from '../graph/lookup.ts';
import { loopTurns } from '../scheduling/loop-turns.ts';
import { textOfHtml } from './html-text.ts';
import { type Item, type ItemMedia, type ItemMediaKind, type ItemPrice, items } from './item.ts';

const ItemMediaKindRef = enumOf<ItemMediaKind>(
  'ItemMediaKind',
  'The kind of media of an item’s preview.',
  {
    IMAGE: 'An image preview.',
    VIDEO: 'A video, with or without sound.',
    AUDIO: 'An audio preview.',
  },
);

const ItemMediaRef = builder.objectRef<ItemMedia>('ItemMedia').implement({
  description: 'Previews of an item.',
  fields: (t) => ({
    kind: t.expose('kind', {
      type: ItemMediaKindRef,
      nullable: false,
      description: 'Kind of media, derived from the previews because the API does not provide it.',
    }),
    ...shown(t, 'String', {
      thumbnail: 'URL of a small image; null if there is none.',
      previewImage: 'URL of a large image; null for audio.',
      previewVideo: 'URL of a video; null for all other kinds of media.',
      previewAudio: 'URL of an audio file; null for all other kinds of media.',
    }),
    ...shown(t, '[String!]!', { screenshots: 'URLs of screenshots; empty if there are none.' }),
  }),
});

const ItemPriceRef = builder.objectRef<ItemPrice>('ItemPrice').implement({
  description: 'Prices of an item by license, in the item’s `currency`.',
  fields: (t) =>
    shown(t, 'Float', {
      regular: 'Price of a regular license; null if not offered.',
      extended: 'Price of an extended license; null if not offered.',
    }),
});

/** Characters of HTML that are converted at once: a longer text waits for a turn, since there can be hundreds. */
const SHORT_HTML = 1000;

/** The type of `Query.item` and `Purchase.item`. */
export const ItemRef = builder.objectRef<Item>('Item');

builder.node(ItemRef, {
  description: 'An item that the seller offers on the marketplace.',
  id: { resolve: (row) => row.id, parse: Number },
  loadWithoutCache: (id, { market }) => market.find(items, id),
  fields: (t) => ({
    databaseId: t.exposeInt('id', databaseId),
    ...shown(t, 'String', {
      name: 'Name of the item; null if the API does not provide it.',
      description: 'Description, which can contain HTML; null if the item has none.',
    }),
    descriptionText: t.string({
      description:
        'Description as plain text: HTML without tags, each block on a line; null if the item has none. Of a description with more than 20,000 characters, the text of the first 20,000, followed by `…`. Costs no extra upstream request.',
      resolve: ({ description }, _args, { viewer }) => {
        if (description === null || description.length <= SHORT_HTML) {
          return description && textOfHtml(description);
        }
        return loopTurns.turn(viewer.name).then(() => textOfHtml(description));
      },
    }),
    ...shown(t, 'String', {
      category: 'Category on the marketplace; null if it has none.',
      subCategory: 'Subcategory on the marketplace; null if it has none.',
    }),
    ...shown(t, '[String!]!', {
      options: 'Options that the seller selected; empty if there are none.',
    }),
    ...shown(t, 'String', {
      version: 'Version of the item, e.g. `1.0.0`; null if it has none.',
      demoLink: 'URL of a demo; null if it has none.',
    }),
    ...shown(t, '[String!]!', { tags: 'Tags; empty if there are none.' }),
    media: t.expose('media', {
      type: ItemMediaRef,
      description: 'Previews; null if the item has none.',
    }),
    price: t.expose('price', {
      type: ItemPriceRef,
      description: 'Prices by license; null if the API does not provide them.',
    }),
    currency: t.exposeString('currency', {
      description: 'Currency code of the prices; null if the API does not provide it.',
    }),
    ...shown(t, 'DateTime', {
      publishedAt: 'Publication time; null if the API does not provide it.',
    }),
  }),
});

function regularPrice({ price }: Item): number | null {
  return price?.regular ?? null;
}

listField('items', ItemRef, items, {
  rows: 'items',
  upstream: 'market',
  paged: false,
  description:
    'The seller’s items. The marketplace returns all items in one response, so all pages, searches and filters share it. Costs 1 upstream request if not cached.',
  search: {
    in: 'name, description, category or tags',
    texts: ({ name, description, category, subCategory, tags }) => [
      name,
      description,
      category,
      subCategory,
      ...tags,
    ],
  },
  order: {
    NAME: byText('name', 'Name of the item.'),
    PRICE: { description: 'Price of a regular license.', value: regularPrice },
    CATEGORY: byText('category', 'Category on the marketplace.'),
    PUBLISHED_AT: byTime('publishedAt', 'Publication time.'),
    ID: byId,
  },
  filters: [
    textFilter(
      'category',
      ({ category, subCategory }) => [category, subCategory],
      'Only items of this category or subcategory. Not case-sensitive.',
    ),
    textFilter('tag', ({ tags }) => tags, 'Only items with this tag. Not case-sensitive.'),
    choiceFilter(
      'kind',
      ItemMediaKindRef,
      ({ media }) => media?.kind,
      'Only items whose media is of this kind.',
    ),
    amountFilter(['minPrice', 'maxPrice'], regularPrice, [
      'Only items whose regular license costs at least this, in the currency of the item.',
      'Only items whose regular license costs at most this, in the currency of the item.',
    ]),
    timeFilter(
      'publishedAt',
      ({ publishedAt }) => publishedAt,
      'Only items published in this range of time.',
    ),
  ],
});

lookupField('item', ItemRef, items, {
  what: 'An item',
  whose: 'The item’s',
  cost: 'Costs no upstream request while the list is cached, otherwise 1.',
  from: 'market',
});
