import type { List, Row } from '../upstream/call.ts';
import type { RowReader } from '../upstream/decode.ts';
import { pageDecoder } from '../upstream/page.ts';

/** The spelling in requests and answers of each pixel type: eight with the suffix, five without. */
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

const typesBySpelling = new Map(
  (Object.keys(pixelTypes) as PixelType[]).map((type) => [pixelTypes[type] as string, type]),
);

/** @throws DecodeError when the pixel has no id. */
export function decodePixel(row: RowReader): Pixel {
  const typeName = row.text('type');
  const type = typesBySpelling.get(typeName?.trim().toLowerCase() ?? '') ?? null;
  if (typeName !== null && type === null) row.surprise('type');
  return {
    id: row.id(),
    type,
    typeName,
    name: row.text('name'),
    tag: row.text('tag'),
    date: row.time('date'),
  };
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
