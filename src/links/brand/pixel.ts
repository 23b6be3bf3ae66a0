import { pageDecoder } from '../../upstream/decode/page.ts';
import type { RowReader } from '../../upstream/decode/row-reader.ts';
import type { Known, List, Row, Write } from '../../upstream/request.ts';
import { touches } from '../touches.ts';
import { given, openWritten } from '../written.ts';

/** How requests and answers spell each pixel type: eight with the suffix, five without. */
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

/** A tracking pixel. Implements: Link API > Resources > Pixel. */
export interface Pixel extends Row {
  /** `null` for a type that is not documented: `typeName` still names it. */
  readonly type: PixelType | null;
  /** As the upstream spells it. */
  readonly typeName: string | null;
  readonly name: string | null;
  readonly tag: string | null;
  readonly date: string | null;
}

const typesBySpelling = new Map<string, PixelType>(
  (Object.keys(pixelTypes) as PixelType[]).map((type) => [pixelTypes[type], type]),
);

/** @throws DecodeError when the pixel has no id. */
function decodePixel(row: RowReader): Pixel {
  return {
    id: row.id(),
    ...decodeType(row),
    name: row.text('name'),
    tag: row.text('tag'),
    date: row.time('date'),
  };
}

function decodeType(row: RowReader): Pick<Pixel, 'type' | 'typeName'> {
  const typeName = row.text('type');
  const type = typesBySpelling.get(typeName?.trim().toLowerCase() ?? '') ?? null;
  if (typeName !== null && type === null) row.surprise('type');
  return { type, typeName };
}

/**
 * All pixels. 1 upstream call a page.
 * Implements: Link API > Pixels > List pixels.
 */
export const pixels: List<Pixel> = {
  resource: 'pixels',
  tags: ['pixels'],
  path: '/api/pixels',
  paged: true,
  decode: pageDecoder({ resource: 'pixels', keys: ['pixels'], decodeRow: decodePixel }),
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
 * Makes a pixel. 1 upstream call.
 * Implements: Link API > Pixels > POST /api/pixel/add.
 */
export function createPixel(input: CreatePixel): Write<Known<Pixel>> {
  return {
    method: 'POST',
    path: '/api/pixel/add',
    body: { type: pixelTypes[input.type], name: input.name, tag: input.tag },
    decode: (body, context) => {
      const row = openWritten(body, 'pixels', context);
      return decodeWritten(row, row.id(), input);
    },
    touches: touches.createPixel,
    check: 'Query.pixels',
  };
}

/**
 * Changes a pixel, all but its type. 1 upstream call.
 * Implements: Link API > Pixels > PUT /api/pixel/:id/update.
 */
export function updatePixel(id: number, input: UpdatePixel): Write<Known<Pixel>> {
  return {
    method: 'PUT',
    path: `/api/pixel/${id}/update`,
    body: given({ name: input.name, tag: input.tag }),
    decode: (body, context) => decodeWritten(openWritten(body, 'pixels', context), id, input),
    touches: touches.updatePixel,
    check: 'Query.pixels',
  };
}

/**
 * Removes a pixel. 1 upstream call.
 * Implements: Link API > Pixels > DELETE /api/pixel/:id/delete.
 */
export function deletePixel(id: number): Write<{ readonly id: number }> {
  return {
    method: 'DELETE',
    path: `/api/pixel/${id}/delete`,
    decode: () => ({ id }),
    touches: touches.deletePixel,
    check: 'Query.pixels',
  };
}

/** Members from a write's answer, else from its input; the others stay unknown. */
function decodeWritten(
  row: RowReader,
  id: number,
  { type, name, tag }: UpdatePixel & { readonly type?: PixelType },
): Known<Pixel> {
  const givenType = type && { type, typeName: pixelTypes[type] };
  return {
    id,
    ...(row.has('type') ? decodeType(row) : givenType),
    name: row.has('name') ? row.text('name') : (name ?? undefined),
    tag: row.has('tag') ? row.text('tag') : tag,
    date: row.has('date') ? row.time('date') : undefined,
  };
}
