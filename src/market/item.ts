import { pageDecoder } from '../upstream/decode/page.ts';
import { type RowReader, readSingle } from '../upstream/decode/row-reader.ts';
import { asMap } from '../upstream/decode/scalars.ts';
import type { List, Read, Row } from '../upstream/request.ts';

/** Something for sale. Implements: Marketplace API > Resources > Item. */
export interface Item extends Row {
  readonly name: string | null;
  readonly description: string | null;
  readonly category: string | null;
  readonly subCategory: string | null;
  readonly options: readonly string[];
  readonly version: string | null;
  /** A URL. */
  readonly demoLink: string | null;
  readonly tags: readonly string[];
  readonly media: ItemMedia | null;
  readonly price: ItemPrice | null;
  readonly currency: string | null;
  readonly publishedAt: string | null;
}

/** The kind of preview that an item has. */
export type ItemMediaKind = 'IMAGE' | 'VIDEO' | 'AUDIO';

/** Every member but `kind` is a URL. */
export interface ItemMedia {
  readonly kind: ItemMediaKind;
  readonly thumbnail: string | null;
  readonly previewImage: string | null;
  readonly previewVideo: string | null;
  readonly previewAudio: string | null;
  readonly screenshots: readonly string[];
}

/** In the item's `currency`. */
export interface ItemPrice {
  readonly regular: number | null;
  readonly extended: number | null;
}

/** @throws DecodeError when the item has no id. */
export function decodeItem(row: RowReader): Item {
  const media = row.map('media');
  const price = row.map('price');
  return {
    id: row.id(),
    name: row.text('name'),
    description: row.text('description'),
    category: row.text('category'),
    subCategory: row.text('sub_category'),
    // A list as documented, an object with numbers for keys, or `null`.
    options: row.texts('options'),
    version: row.text('version'),
    demoLink: row.text('demo_link'),
    // A list as documented, or the seller's own text, separated by commas.
    tags: row.words('tags'),
    media: media === null || media.empty ? null : decodeMedia(media),
    price: price === null || price.empty ? null : decodePrice(price),
    currency: row.text('currency'),
    publishedAt: row.time('published_at'),
  };
}

/** Derives the kind from the previews, since no member names it. */
function decodeMedia(row: RowReader): ItemMedia {
  const previewVideo = row.link('preview_video');
  const previewAudio = row.link('preview_audio');
  return {
    kind: previewAudio ? 'AUDIO' : previewVideo ? 'VIDEO' : 'IMAGE',
    thumbnail: row.link('thumbnail'),
    previewImage: row.link('preview_image'),
    previewVideo,
    previewAudio,
    screenshots: row.texts('screenshots'),
  };
}

function decodePrice(row: RowReader): ItemPrice {
  return { regular: row.number('regular'), extended: row.number('extended') };
}

/**
 * One item; `null` when there is none of this id. 1 upstream call.
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
      // "No items found" may answer a single read as well; the judge makes an empty list of it.
      const { item: single, items: list } = asMap(body) ?? {};
      if (single === undefined && Array.isArray(list) && list.length === 0) return null;
      const row = readSingle(body, ['item'], 'items', context);
      return row && decodeItem(row);
    },
  };
}

/**
 * All items of the seller, which the upstream returns as a whole. 1 upstream call.
 * Implements: Marketplace API > Endpoints > GET /api/items/all.
 */
export const items: List<Item> = {
  resource: 'items',
  tags: ['items'],
  path: '/api/items/all',
  paged: false,
  decode: pageDecoder({ resource: 'items', keys: ['items'], decodeRow: decodeItem }),
  single: item,
};
