import { pageDecoder } from '../../upstream/decode/page.ts';
import type { RowReader } from '../../upstream/decode/row-reader.ts';
import type { List, Row } from '../../upstream/request.ts';

/** A custom splash page. Implements: Link API > Resources > Custom splash page. */
export interface SplashPage extends Row {
  readonly name: string | null;
  readonly date: string | null;
}

/** @throws DecodeError when the splash page has no id. */
function decodeSplashPage(row: RowReader): SplashPage {
  return { id: row.id(), name: row.text('name'), date: row.time('date') };
}

/**
 * All custom splash pages. 1 upstream call a page.
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
    decodeRow: decodeSplashPage,
  }),
};
