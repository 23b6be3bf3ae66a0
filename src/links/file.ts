import type { List, Row } from '../upstream/call.ts';
import type { RowReader } from '../upstream/decode.ts';
import { pageDecoder } from '../upstream/page.ts';

/** An uploaded file. Implements: Link API > Resources > File. */
export interface File extends Row {
  readonly name: string | null;
  readonly downloads: number | null;
  /** A URL. */
  readonly shortUrl: string | null;
  readonly date: string | null;
}

/** @throws DecodeError when the file has no id. */
export function decodeFile(row: RowReader): File {
  return {
    id: row.id(),
    name: row.text('name'),
    downloads: row.integer('downloads'),
    shortUrl: row.text('shorturl'),
    date: row.time('date'),
  };
}

/**
 * All files, or those whose name the upstream finds for `search`; a blank search is none. 1 upstream
 * call a page. Implements: Link API > Files > List files.
 */
export function files(search?: string | null): List<File> {
  const name = search?.trim();
  return {
    resource: 'files',
    tags: ['files'],
    path: '/api/files',
    ...(name ? { query: { name } } : {}),
    paged: true,
    decode: decodeFiles,
  };
}

/** The one list whose paging members stand at the top level. */
const decodeFiles = pageDecoder({
  resource: 'files',
  keys: ['list', 'files'],
  decodeRow: decodeFile,
});
