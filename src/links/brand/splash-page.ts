import { pageDecoder } from '../../upstream/decode/envelope.ts';
import { type RowOf, text, time } from '../../upstream/decode/fields.ts';
import type { List } from '../../upstream/request.ts';

const fields = { name: text('name'), date: time('date') };

/** A custom splash page. Implements: Link API > Resources > Custom splash page. */
export type SplashPage = RowOf<typeof fields>;

/**
 * All custom splash pages. 1 upstream request per page.
 * Implements: Link API > Custom splash > List splash pages.
 */
export const splashPages: List<SplashPage> = {
  resource: 'splashPages',
  tags: ['splashPages'],
  path: '/api/splash',
  paged: true,
  decode: pageDecoder({
    resource: 'splashPages',
    keys: ['splash', 'splashes'],
    fields,
  }),
};
