import { pageDecoder } from '../../upstream/decode/page.ts';
import type { RowReader } from '../../upstream/decode/row-reader.ts';
import type { List, Row } from '../../upstream/request.ts';

/** A call-to-action overlay. Implements: Link API > Resources > CTA overlay. */
export interface CtaOverlay extends Row {
  /** As the upstream spells it, e.g. `message`; the documents give no full list. */
  readonly type: string | null;
  readonly name: string | null;
  readonly date: string | null;
}

/** @throws DecodeError when the overlay has no id. */
function decodeCtaOverlay(row: RowReader): CtaOverlay {
  return {
    id: row.id(),
    type: row.text('type'),
    name: row.text('name'),
    date: row.time('date'),
  };
}

/**
 * All CTA overlays. 1 upstream call a page.
 * Implements: Link API > CTA overlays > List overlays.
 */
export const overlays: List<CtaOverlay> = {
  resource: 'overlays',
  tags: ['overlays'],
  path: '/api/overlay',
  paged: true,
  // Documented as `cta`; some installations name the list after the path.
  decode: pageDecoder({
    resource: 'overlays',
    keys: ['cta', 'overlay', 'overlays'],
    decodeRow: decodeCtaOverlay,
  }),
};
