import { pageDecoder } from '../../upstream/decode/page.ts';
import type { RowReader } from '../../upstream/decode/row-reader.ts';
import type { ByteStream, Known, List, Row, Write } from '../../upstream/request.ts';
import { touches } from '../touches.ts';
import { given, openWritten } from '../written.ts';

/** An uploaded file. Implements: Link API > Resources > File. */
export interface File extends Row {
  readonly name: string | null;
  readonly downloads: number | null;
  /** A URL. */
  readonly shortUrl: string | null;
  readonly date: string | null;
}

/** @throws DecodeError when the file has no id. */
function decodeFile(row: RowReader): File {
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

/** What to call a file and how to guard its download. */
export interface UploadFile {
  /** With its extension, from which the upstream derives the type. */
  readonly filename: string;
  readonly name?: string | null | undefined;
  /** What its short URL ends with. */
  readonly custom?: string | null | undefined;
  /** One of the account's branded domains, for its short URL. */
  readonly domain?: string | null | undefined;
  readonly password?: string | null | undefined;
  /** Last day of its download, as `YYYY-MM-DD`. */
  readonly expiry?: string | null | undefined;
  readonly maxDownloads?: number | null | undefined;
}

/**
 * Uploads a file. 1 upstream call, whatever its size; the only call whose body is not JSON.
 * Implements: Link API > Files > POST /api/files/upload/:filename.
 */
export function uploadFile(input: UploadFile, bytes: ByteStream): Write<Known<File>> {
  const { custom, domain, password, expiry, maxDownloads } = input;
  const query = given({
    name: input.name,
    custom,
    domain,
    password,
    expiry,
    maxdownloads: maxDownloads?.toString(),
  });
  return {
    method: 'POST',
    path: `/api/files/upload/${encodeURIComponent(input.filename)}`,
    query,
    stream: bytes,
    decode: (body, context) => {
      const row = openWritten(body, 'files', context);
      return {
        // Some installations put it under the key "1".
        id: (row.has('id') ? null : row.integer('1')) ?? row.id(),
        name: row.has('name') ? row.text('name') : (input.name ?? undefined),
        shortUrl: row.has('shorturl') ? row.text('shorturl') : undefined,
      };
    },
    touches: touches.uploadFile,
    check: 'Query.files',
  };
}
