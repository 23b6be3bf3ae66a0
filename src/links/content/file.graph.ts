import type { InputFault } from '../../errors.ts';
import { builder, databaseId } from '../../graph/builder.ts';
import { changeField } from '../../graph/change.ts';
import { fault, type InputChecks } from '../../graph/checks.ts';
import { createdTime, lazily, shownLazily } from '../../graph/fields.ts';
import { historyArguments, historyCost, historyType, spanOf } from '../../graph/history.graph.ts';
import { timeFilter } from '../../graph/lists/filters.ts';
import { listField } from '../../graph/lists/list-field.ts';
import { byId, byNumber, byText, byTime } from '../../graph/lists/orders.ts';
import { lookupField } from '../../graph/lookup.ts';
import { parseDay } from '../../upstream/decode/fields.ts';
import type { ByteStream, Known } from '../../upstream/request.ts';
import { type File, files, type UploadFile, uploadFile } from './file.ts';
import { checkDomain, withDomain } from './upload-domain.graph.ts';

/** Fields that an upload's response omits are read from the list of all files. */
const all = files();

/** The type of `Query.files`. */
export const FileRef = builder.objectRef<Known<File>>('File');

builder.node(FileRef, {
  description:
    'An uploaded file with a short URL for downloads. The API cannot change or delete files.',
  id: { resolve: (row) => row.id, parse: Number },
  loadWithoutCache: (id, { links }) => links.find(all, id),
  fields: (t) => ({
    databaseId: t.exposeInt('id', databaseId),
    ...shownLazily(t, all, 'String', { name: 'Name of the file; null if it has none.' }),
    ...shownLazily(t, all, 'Int', {
      downloads: 'Number of downloads; null if the API does not provide it.',
    }),
    ...shownLazily(t, all, 'String', {
      shortUrl: 'Download URL; null if the API does not provide it.',
    }),
    ...createdTime(t, lazily(all, 'date'), 'Upload time'),
  }),
});

listField<Known<File>, File>(
  'files',
  FileRef,
  ({ search }) => files(search as string | null | undefined),
  {
    rows: 'files',
    description:
      'The account’s uploaded files. Costs 1 upstream request per page if not cached. Each value of `search` is cached as a separate list.',
    args: (arg) => ({
      search: arg.string({
        description:
          'Only files whose name matches this text, by the rules of the API. A blank text matches all files.',
      }),
    }),
    order: {
      NAME: byText('name', 'Name of the file.'),
      DOWNLOADS: byNumber('downloads', 'How often it was downloaded.'),
      CREATED_AT: byTime('date', 'Upload time.'),
      ID: byId,
    },
    filters: [
      timeFilter('createdAt', ({ date }) => date, 'Only files uploaded in this range of time.'),
    ],
  },
);

lookupField('file', FileRef, all, { what: 'An uploaded file', whose: 'The file’s' });

const UploadFileInput = builder.inputType('UploadFileInput', {
  description: 'A small file to upload. The API sets default values for omitted members.',
  fields: (t) => ({
    file: t.field({
      type: 'Upload',
      required: true,
      description: 'The file. Send a file of more than a few megabytes to `PUT /files/:filename`.',
    }),
    filename: t.string({
      description: 'File name with an extension. Defaults to the name of the uploaded part.',
    }),
    name: t.string({ description: 'Name of the file in the account.' }),
    custom: t.string({ description: 'Last part of the short URL.' }),
    domain: t.string({
      description:
        'A branded domain of the account for the short URL, or its `id` or `databaseId`: an ID costs a read of the domain if not cached.',
    }),
    password: t.string({ description: 'Password required for a download.' }),
    expiry: t.field({ type: 'Date', description: 'Last day on which the file can be downloaded.' }),
    maxDownloads: t.int({ description: 'Maximum number of downloads.' }),
  }),
});

builder.mutationField('uploadFile', (t) =>
  changeField(t, FileRef, {
    result: 'UploadFileResult',
    description:
      'Uploads a small file, in a request that follows the GraphQL multipart request specification. Costs 1 upstream request, plus a read of the file for selected fields that the response does not contain.',
    input: [UploadFileInput, 'The file and its options.'],
    check(checks, { file, ...options }, { uploadInlineMaxBytes }) {
      const upload = { ...options, filename: options.filename ?? file.name };
      if (file.size === 0) checks.issue('file', fault('EMPTY', 'is empty.'));
      if (file.size > uploadInlineMaxBytes)
        checks.issue('file', tooLargeInline(uploadInlineMaxBytes));
      checkUpload(checks, upload);
      return upload;
    },
    async send({ file }, { dryRun, links }, upload) {
      const isPlanned = dryRun !== undefined;
      const resolved = await withDomain(upload, links, { base: ['input'], isPlanned });
      return links.write(uploadFile(resolved, streamOf(new Uint8Array(await file.arrayBuffer()))));
    },
  }),
);

/** The issue of a file that is too large for a GraphQL request. */
function tooLargeInline(maxBytes: number): InputFault {
  const message = `must not be larger than ${maxBytes} bytes. Send a larger file as the body of PUT /files/:filename.`;
  return fault('TOO_LARGE', message, { maxBytes });
}

/** Validates the options of an upload, in the order of `UploadFileInput`. No upstream request. */
export function checkUpload(checks: InputChecks, upload: UploadFile): void {
  const { filename, domain, expiry, maxDownloads } = upload;
  const found = filenameFault(filename);
  if (found) checks.issue('filename', found);
  checks.notBlank('name', upload.name);
  if (upload.name != null && hidesCharacters(upload.name)) {
    const message = 'must not contain control characters or invisible characters.';
    checks.issue('name', fault('INVALID_FILENAME', message));
  }
  checks.slug('custom', upload.custom);
  if (domain != null) checkDomain(checks, domain);
  checks.notBlank('password', upload.password);
  if (expiry != null && !(expiry.length === 10 && parseDay(expiry) === expiry)) {
    const message = 'must be a date, e.g. `2026-01-31`.';
    checks.issue('expiry', fault('INVALID_DATE', message));
  }
  if (maxDownloads != null) checks.positive('maxDownloads', maxDownloads);
}

/** The limit of most file systems. */
const MAX_FILENAME_BYTES = 255;

/**
 * Accepts only a single path segment, so that no name can point to another place upstream, and only what
 * can be seen, so that no name reads as another one.
 */
function filenameFault(name: string): InputFault | null {
  if (/[/\\]/.test(name) || hidesCharacters(name)) {
    const message =
      'must be a file name without slashes, backslashes, control characters and invisible characters.';
    return fault('INVALID_FILENAME', message);
  }
  if (!/^[^.\s].*\.[\p{L}\p{N}]{1,16}$/u.test(name)) {
    return fault('INVALID_FILENAME', 'must be a file name with an extension, e.g. `report.pdf`.');
  }
  if (Buffer.byteLength(name) <= MAX_FILENAME_BYTES) return null;
  const message = `must not be longer than ${MAX_FILENAME_BYTES} bytes.`;
  return fault('TOO_LONG', message, { maxBytes: MAX_FILENAME_BYTES });
}

/**
 * Whether a text has invisible characters, or characters that reorder others: control characters, lone surrogates
 * (`Cs`, which have no percent-encoding), marks of direction (`Cf`), line separators, and those that fonts do not
 * draw. Inside an emoji, a joiner or a variation selector is visible.
 */
function hidesCharacters(text: string): boolean {
  const seen = text.replace(
    /(?<=\p{Extended_Pictographic}|\p{Emoji_Modifier}|\uFE0F)\u200D(?=\p{Extended_Pictographic})|(?<=\p{Extended_Pictographic})\uFE0F/gu,
    '',
  );
  return /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u.test(seen);
}

const PIECE_BYTES = 64 * 1024;

/** Streams bytes in pieces, so that every piece that the upstream takes counts as progress. */
function streamOf(bytes: Uint8Array): ByteStream {
  return {
    length: bytes.length,
    async *open() {
      for (let start = 0; start < bytes.length; start += PIECE_BYTES) {
        yield bytes.subarray(start, start + PIECE_BYTES);
      }
    },
  };
}

builder.objectField(FileRef, 'downloadHistory', (t) =>
  t.field({
    ...historyType,
    description: `\`downloads\` over time. ${historyCost}`,
    args: historyArguments(t.arg),
    resolve: ({ date, id }, args, { links }) =>
      links.history({ count: 'downloads', id, origin: date }, spanOf(args)),
  }),
);
