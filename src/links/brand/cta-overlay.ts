import { pageDecoder } from '../../upstream/decode/envelope.ts';
import { type RowOf, text, time } from '../../upstream/decode/fields.ts';
import type { List } from '../../upstream/request.ts';

const fields = {
  // As the upstream spells it, e.g. `message`; the documents give no full list.
  type: text('type'),
  name: text('name'),
  date: time('date'),
};

/** A call-to-action overlay. Implements: Link API > Resources > CTA overlay. */
export type CtaOverlay = RowOf<typeof fields>;

/**
 * All CTA overlays. 1 upstream request per page.
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
    fields,
  }),
};
