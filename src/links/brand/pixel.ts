import { pageDecoder } from '../../upstream/decode/envelope.ts';
import { field, parseText, type RowOf, text, time } from '../../upstream/decode/fields.ts';
import type { Known, List, Row, Write } from '../../upstream/request.ts';
import { creation, repeatable } from '../evidence.ts';
import { sameText, sameValue } from '../likeness.ts';
import { touches } from '../touches.ts';
import { given, removal, writtenDecoder } from '../written.ts';

/** The spelling of each pixel type in requests and responses: eight with the suffix, five without. */
export const pixelTypes = {
  GTM: 'gtmpixel',
  GA: 'gapixel',
  FB: 'fbpixel',
  ADWORDS: 'adwordspixel',
  LINKEDIN: 'linkedinpixel',
  TWITTER: 'twitterpixel',
  ADROLL: 'adrollpixel',
  QUORA: 'quorapixel',
  PINTEREST: 'pinterest',
  BING: 'bing',
  SNAPCHAT: 'snapchat',
  REDDIT: 'reddit',
  TIKTOK: 'tiktok',
} as const;

/** The network that a pixel reports to. */
export type PixelType = keyof typeof pixelTypes;

const typesBySpelling = new Map<string, PixelType>(
  (Object.keys(pixelTypes) as PixelType[]).map((type) => [pixelTypes[type], type]),
);

const fields = {
  // `null` for a type that is not documented: `typeName` still names it.
  type: field(['type'], (value): PixelType | null | undefined => {
    const typeName = parseText(value);
    // A value that is not a string is reported once, for `typeName`.
    return typeName === undefined ? null : typesBySpelling.get(typeName.trim().toLowerCase());
  }),
  // As the upstream spells it.
  typeName: text('type'),
  name: text('name'),
  tag: text('tag'),
  date: time('date'),
};

/** A tracking pixel. Implements: Link API > Resources > Pixel. */
export type Pixel = RowOf<typeof fields>;

/**
 * All pixels. 1 upstream request per page.
 * Implements: Link API > Pixels > List pixels.
 */
export const pixels: List<Pixel> = {
  resource: 'pixels',
  tags: ['pixels'],
  path: '/api/pixels',
  paged: true,
  decode: pageDecoder({ resource: 'pixels', keys: ['pixels'], fields }),
};

/** The pixel to make. */
export interface CreatePixel {
  readonly type: PixelType;
  readonly name: string;
  /** The network's own identifier of the pixel. */
  readonly tag: string;
}

/** What to change of a pixel; the name stays unless given. */
export interface UpdatePixel {
  readonly name?: string | null | undefined;
  /** The upstream wants it even when it stays as it is. */
  readonly tag: string;
}

/**
 * Creates a pixel. 1 upstream request.
 * Implements: Link API > Pixels > POST /api/pixel/add.
 */
export function createPixel(input: CreatePixel): Write<Known<Pixel>> {
  return {
    method: 'POST',
    path: '/api/pixel/add',
    body: { type: pixelTypes[input.type], name: input.name, tag: input.tag },
    decode: writtenDecoder('pixels', fields, { ...input, typeName: pixelTypes[input.type] }),
    touches: touches.createPixel,
    check: 'Query.pixels',
    evidence: creation(
      pixels,
      { name: sameText(input.name), type: sameValue(input.type), tag: sameText(input.tag) },
      { createdAt: ({ date }) => date },
    ),
  };
}

/**
 * Changes a pixel, except its type. 1 upstream request.
 * Implements: Link API > Pixels > PUT /api/pixel/:id/update.
 */
export function updatePixel(id: number, input: UpdatePixel): Write<Known<Pixel>> {
  return {
    method: 'PUT',
    path: `/api/pixel/${id}/update`,
    body: given({ name: input.name, tag: input.tag }),
    decode: writtenDecoder('pixels', fields, input, id),
    touches: touches.updatePixel,
    check: 'Query.pixels',
    row: `pixel:${id}`,
    evidence: repeatable,
  };
}

/**
 * Deletes a pixel. 1 upstream request.
 * Implements: Link API > Pixels > DELETE /api/pixel/:id/delete.
 */
export function deletePixel(id: number): Write<Row> {
  return removal('/api/pixel', id, {
    touches: touches.deletePixel,
    check: 'Query.pixels',
    row: `pixel:${id}`,
  });
}
