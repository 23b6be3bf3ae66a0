import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Viewer } from '../auth/viewer.ts';
import { reasonOf } from '../errors.ts';
import type { MaskError } from '../graphql/mask-error.ts';
import { type ByteRange, requestedRange } from '../http/byte-range.ts';
import type { Admission } from '../http/door/admission.ts';
import { lingering } from '../http/door/body/linger.ts';
import { holdsETag } from '../http/door/headers/etag.ts';
import type { Handler, Routes } from '../http/door/route.ts';
import type { Codings } from '../http/encoding/codings.ts';
import { errorAnswer, respond } from '../http/respond.ts';
import { OutputRemoved, type StoredJob } from '../jobs/stored-jobs.ts';
import { inBackground } from '../scheduling/at-once.ts';
import type { Clock } from '../scheduling/clock.ts';
import { SharedPool } from '../scheduling/shared-pool.ts';
import { SpentPieces } from './spent-pieces.ts';
import { TooManyTransfers } from './upload-places.ts';

/** The output of a job, to be downloaded. */
export interface JobDownload {
  readonly output: Pick<StoredJob, 'id' | 'outputBytes' | 'pieces'>;
  /** The name of the file without its extension: that of a field of the graph. */
  readonly name: string;
  readonly format: 'JSONL' | 'CSV';
  /** Whether no more lines will follow. */
  readonly isComplete: boolean;
}

/** The dependencies of the route for the output of jobs. */
interface JobDataOptions {
  readonly clock: Clock;
  readonly codings: Codings;
  /** A job that a viewer may see; `null` if there is none. */
  readonly find: (viewer: Viewer, id: string) => JobDownload | null;
  readonly maskError: MaskError;
}

/** Downloads at a time, of all callers and of one: each holds up to 256 KiB, and 300 KiB more with compression. */
const MOST_OF_ALL = 32;
const MOST_OF_ONE = 4;
/** A file up to this size is not compressed, in bytes. */
const MIN_GZIP_BYTES = 1024;
/** The only level whose speed is about that of a network. */
const GZIP_LEVEL = 1;

const PATH = /^\/jobs\/([0-9a-z-]{1,40})\/data$/;
const TYPES = { JSONL: 'application/jsonl', CSV: 'text/csv; charset=utf-8; header=present' };
const EXTENSIONS = { JSONL: 'jsonl', CSV: 'csv' };

/** A status that is not an internal error, with its code and headers. */
class Refused extends Error {
  readonly status: number;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;
  constructor(status: number, code: string, message: string, headers = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

/**
 * `GET /jobs/:id/data` sends the output of a job, up to its last complete line while it runs. Its beginning never
 * changes: a client continues a download with `Range` and `If-Range`. Without `Range`, the body is compressed if the
 * client accepts that. A reader that takes nothing for 30 s is disconnected, as in all responses (`StallGuard`). Costs
 * no upstream request.
 * Implements: RFC 9110 sections 13 and 14, without conditions on dates.
 */
export function jobDataRoute(options: JobDataOptions): Routes {
  const places = new SharedPool(MOST_OF_ALL, MOST_OF_ONE);
  const handle: Handler = (request, response, admission) => {
    const Allow = 'GET, HEAD, OPTIONS';
    const { method } = request;
    if (method === 'OPTIONS') {
      const headers = { Allow, ...admission.preflightHeaders('GET, HEAD') };
      respond(response, { status: 204, headers });
      return;
    }
    const answered =
      method === 'GET' || method === 'HEAD'
        ? answer(request, response, { ...options, admission, places })
        : Promise.reject(new Refused(405, 'BAD_USER_INPUT', 'Download with GET.', { Allow }));
    inBackground(answered.catch((error: unknown) => refuse(response, error, options)));
  };
  return { '/jobs/': { answer: handle, audience: 'callers' } };
}

interface Terms extends JobDataOptions {
  readonly admission: Admission;
  readonly places: SharedPool;
}

/** Resolves when the response has ended. */
async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  terms: Terms,
): Promise<void> {
  const { admission, codings, find } = terms;
  const id = PATH.exec((request.url ?? '').split('?', 1)[0] ?? '')?.[1];
  if (id === undefined) throw notFound();
  admission.refuseForeign();
  const viewer = await admission.identify();
  const job = find(viewer, id);
  const size = job?.output.outputBytes ?? null;
  if (!job || size === null || response.destroyed) throw notFound();
  const { headers, method } = request;
  // A part is one of the bytes of the file. To HEAD it does not apply.
  const asked = method === 'GET' ? headers.range : undefined;
  const isGzip =
    asked === undefined && size > MIN_GZIP_BYTES && codings.packed(request, ['gzip']) === 'gzip';
  // Its lines never change, so its size identifies it.
  const etag = `"${job.output.id}-${size}${isGzip ? '-gzip' : ''}"`;
  const state = stateOf(headers, etag);
  if (state === 'CHANGED') throw new Refused(412, 'BAD_USER_INPUT', 'The file has changed.');
  // Otherwise it is a part of a file that has changed since its download has begun.
  const isSame = (headers['if-range']?.toString() ?? etag) === etag;
  const range = isSame && state === 'SEND' ? requestedRange(asked, size) : null;
  if (range === 'UNSATISFIABLE') throw unsatisfiable(size);
  const begin = (): void => {
    setHead(response, job, etag);
    if (state === 'KNOWN') response.statusCode = 304;
    else setBodyHead(response, job, { isGzip, range, size });
  };
  if (state === 'KNOWN' || method === 'HEAD') {
    begin();
    response.end();
    return;
  }
  await inPlace(viewer.name, terms.places, async () => {
    const { end, start } = range ?? { start: 0, end: size };
    const pieces = job.output.pieces(start, end);
    try {
      // A failure before the first byte can still be reported.
      const first = await pieces.next();
      if (response.destroyed) return;
      begin();
      await sendBody(response, after(first, pieces), isGzip);
    } finally {
      await pieces.return();
    }
  });
}

/** @throws TooManyTransfers `TOO_MANY_STREAMS` */
async function inPlace(
  caller: string,
  places: SharedPool,
  work: () => Promise<void>,
): Promise<void> {
  if (places.heldBy(caller) >= MOST_OF_ONE) throw new TooManyTransfers(429, 'download');
  if (!places.mayTake(caller)) throw new TooManyTransfers(503, 'download');
  places.add(caller, 1);
  try {
    await work();
  } finally {
    places.add(caller, -1);
  }
}

async function* after(
  { value }: IteratorResult<Buffer, void>,
  rest: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, void> {
  if (!value) return;
  yield value;
  const spent = new SpentPieces();
  for await (const piece of rest) {
    yield piece;
    spent.add(piece.length);
  }
}

/** Sends pieces, no faster than they are taken. A failure ends the connection: the client sees that bytes are missing. */
async function sendBody(
  response: ServerResponse,
  pieces: AsyncIterable<Buffer>,
  isGzip: boolean,
): Promise<void> {
  try {
    await (isGzip
      ? pipeline(pieces, createGzip({ level: GZIP_LEVEL }), response)
      : pipeline(pieces, response));
  } catch (error) {
    // The client has left.
    if (reasonOf(error) !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
}

/** What the conditions of a request mean: that it is refused, that the client has the file, or that it is sent. */
function stateOf(headers: IncomingHttpHeaders, etag: string): 'CHANGED' | 'KNOWN' | 'SEND' {
  const { 'if-match': match, 'if-none-match': noneMatch } = headers;
  const isSame = (each: string) => each.trim() === '*' || each.trim() === etag;
  if (match !== undefined && !match.split(',').some(isSame)) return 'CHANGED';
  return noneMatch !== undefined && holdsETag(noneMatch, etag) ? 'KNOWN' : 'SEND';
}

/** Sets the headers that a 304 has, too. */
function setHead(
  response: ServerResponse,
  { format, isComplete, name }: JobDownload,
  etag: string,
): void {
  response.setHeader('ETag', etag);
  // A tag is one of bytes, so they must not be compressed on their way.
  response.setHeader('Cache-Control', 'private, no-cache, no-transform');
  response.appendHeader('Vary', 'Accept-Encoding, Authorization');
  response.setHeader('Accept-Ranges', 'bytes');
  // Browsers save it under this name. A part has another one than the whole.
  const file = `${name}${isComplete ? '' : '.partial'}.${EXTENSIONS[format]}`;
  response.setHeader('Content-Disposition', `attachment; filename="${file}"`);
}

function setBodyHead(
  response: ServerResponse,
  { format }: JobDownload,
  of: { readonly isGzip: boolean; readonly range: ByteRange | null; readonly size: number },
): void {
  const { isGzip, range, size } = of;
  response.statusCode = range ? 206 : 200;
  response.setHeader('Content-Type', TYPES[format]);
  if (isGzip) response.setHeader('Content-Encoding', 'gzip');
  else response.setHeader('Content-Length', range ? range.end - range.start : size);
  if (range) response.setHeader('Content-Range', `bytes ${range.start}-${range.end - 1}/${size}`);
}

function notFound(): Refused {
  return new Refused(404, 'NOT_FOUND', 'There is no job with this id, or its output has expired.');
}

function unsatisfiable(size: number): Refused {
  const headers = { 'Content-Range': `bytes */${size}`, 'Accept-Ranges': 'bytes' };
  return new Refused(416, 'BAD_USER_INPUT', `The file has ${size} bytes so far.`, headers);
}

function refuse(response: ServerResponse, error: unknown, options: JobDataOptions): void {
  if (response.hasHeader('ETag')) {
    // The head of the file is set, and perhaps sent. The error is reported, but not shown.
    if (!(error instanceof OutputRemoved)) options.maskError(error);
    response.destroy();
    return;
  }
  const body = lingering(options.clock);
  const refused = error instanceof OutputRemoved ? notFound() : error;
  if (refused instanceof Refused) {
    const { code, headers, message, status } = refused;
    respond(
      response,
      errorAnswer({ message, extensions: { code, http: { status, headers } } }),
      body,
    );
    return;
  }
  const shown = errorAnswer(options.maskError(error));
  const status = error instanceof TooManyTransfers ? error.status : shown.status;
  respond(response, { ...shown, status }, body);
}
