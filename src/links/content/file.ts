import { pageDecoder } from '../../upstream/decode/envelope.ts';
import {
  count,
  integer,
  isPresent,
  type RowOf,
  readField,
  text,
  time,
} from '../../upstream/decode/fields.ts';
import type { ByteStream, Count, Known, List, Write } from '../../upstream/request.ts';
import { creation } from '../evidence.ts';
import { sameSlug, sameText } from '../likeness.ts';
import { touches } from '../touches.ts';
import { given, openWritten, writtenDecoder } from '../written.ts';

const fields = {
  name: text('name'),
  downloads: count('downloads'),
  // A URL.
  shortUrl: text('shorturl'),
  date: time('date'),
};

/** An uploaded file. Implements: Link API > Resources > File. */
export type File = RowOf<typeof fields>;

/** Its downloads over time. */
const downloadCount: Count<File> = {
  name: 'downloads',
  value: ({ downloads }) => downloads,
  origin: ({ date }) => date,
};

/**
 * All files, or those whose name the upstream matches with `search`; a blank search matches all. 1 upstream
 * request per page. Implements: Link API > Files > List files.
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
    count: downloadCount,
  };
}

/** The only list with its paging members at the top level. */
const decodeFiles = pageDecoder({
  resource: 'files',
  keys: ['list', 'files'],
  fields,
});

/** The name of a file and the options for its download. */
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
 * Uploads a file. 1 upstream request, whatever its size; the only request whose body is not JSON.
 * Implements: Link API > Files > POST /api/files/upload/:filename.
 */
export function uploadFile(input: UploadFile, bytes: ByteStream): Write<Known<File>> {
  const { filename, custom, domain, password, expiry, maxDownloads } = input;
  const stem = filename.replace(/\.[^.]+$/, '');
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
    path: `/api/files/upload/${encodeURIComponent(filename)}`,
    query,
    stream: bytes,
    decode: (body, context) => {
      const answer = openWritten(body, 'files', context);
      // Some installations put the id under the key "1".
      const id = isPresent(answer.members['id']) ? null : readField(integer('1'), answer);
      const { name, shortUrl } = fields;
      return writtenDecoder('files', { name, shortUrl }, { name: input.name }, id)(body, context);
    },
    touches: touches.uploadFile,
    check: 'Query.files',
    // The list of all files, since the documents do not say which names a search finds.
    evidence: creation(
      files(),
      {
        name: input.name == null ? sameText(filename, stem) : sameText(input.name),
        shortUrl: sameSlug(custom),
      },
      { createdAt: ({ date }) => date, unique: custom == null ? null : 'shortUrl' },
    ),
  };
}
