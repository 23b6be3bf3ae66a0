import type { OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { type AcceptedCodings, type Coding, forbidsTransform } from './codings.ts';
import { compressed, MIN_BYTES } from './compress.ts';
import { GzipPieces } from './gzip-pieces.ts';

/** Types that compress well. What is packed already, as pictures are, would only grow. */
const COMPRESSIBLE =
  /^(text\/|multipart\/mixed|image\/svg\+xml|application\/(([\w.-]+\+)?(json|xml)|javascript|openmetrics-text))/i;

type Done = () => void;
type Chunk = string | Uint8Array | null;
type HeadersToSend = OutgoingHttpHeaders | OutgoingHttpHeader[];

/** The methods of a response by which its head and body are written. */
type Writer = Pick<ServerResponse, 'writeHead' | 'flushHeaders'> & {
  write(chunk: Chunk, encoding?: BufferEncoding | Done | null, done?: Done | null): boolean;
  end(chunk?: Chunk | Done, encoding?: BufferEncoding | Done | null, done?: Done | null): unknown;
};

/**
 * Compresses the response that a handler writes: a body of known length as a whole with its new length, any other
 * in pieces, each of which is sent at once. Headers decide: a body that has a coding, is of another type or must
 * not be transformed is sent unchanged. So is a response with secrets, which has `no-transform`: the length of
 * data that is compressed together with text from another party reveals how similar both are (BREACH).
 *
 * The headers are sent with the first bytes of the body. `write`, `drain` and `writableLength` report the client's
 * state as without compression: nothing is buffered here.
 */
export function encodeResponse(response: ServerResponse, accepted: AcceptedCodings): void {
  const encoder = new ResponseEncoder(response, accepted);
  Object.assign(response, {
    writeHead: encoder.writeHead.bind(encoder),
    flushHeaders: encoder.flushHeaders.bind(encoder),
    write: encoder.write.bind(encoder),
    end: encoder.end.bind(encoder),
  });
}

class ResponseEncoder {
  readonly #response: ServerResponse;
  readonly #accepted: AcceptedCodings;
  /** Node's own. */
  readonly #own: Writer;
  /** Until the first bytes of the body: then all data goes to Node, in pieces if there are several. */
  #isOpen = true;
  #pieces: GzipPieces | null = null;

  constructor(response: ServerResponse, accepted: AcceptedCodings) {
    this.#response = response;
    this.#accepted = accepted;
    this.#own = {
      writeHead: response.writeHead.bind(response),
      flushHeaders: response.flushHeaders.bind(response),
      write: response.write.bind(response) as Writer['write'],
      end: response.end.bind(response) as Writer['end'],
    };
  }

  /** Also called by Node, if the headers have not been written. */
  writeHead(status: number, ...more: [(string | HeadersToSend)?, HeadersToSend?]): ServerResponse {
    const response = this.#response;
    if (!this.#isOpen) {
      (this.#own.writeHead as (...all: unknown[]) => unknown)(status, ...more);
      return response;
    }
    const [message, headers] = typeof more[0] === 'string' ? more : [undefined, more[0]];
    response.statusCode = status;
    if (typeof message === 'string') response.statusMessage = message;
    setHeaders(response, headers);
    return response;
  }

  flushHeaders(): void {
    if (this.#isOpen) this.#begin(null);
    this.#own.flushHeaders();
  }

  write(chunk: Chunk, encoding?: BufferEncoding | Done | null, done?: Done | null): boolean {
    const [characters, callback] = argumentsOf(encoding, done);
    const bytes = bytesOf(chunk, characters);
    if (this.#isOpen) {
      const isWhole = Number(this.#response.getHeader('content-length')) === bytes.length;
      const coding = this.#begin(isWhole ? bytes : null);
      if (coding) {
        return this.#response.destroyed || this.#own.write(this.#packed(bytes, coding), callback);
      }
    }
    const sent = this.#pieces && bytes.length > 0 ? this.#pieces.piece(bytes) : bytes;
    return this.#own.write(sent, callback);
  }

  end(
    chunk?: Chunk | Done,
    encoding?: BufferEncoding | Done | null,
    done?: Done | null,
  ): ServerResponse {
    const [characters, callback] =
      typeof chunk === 'function' ? [undefined, chunk] : argumentsOf(encoding, done);
    const bytes = bytesOf(typeof chunk === 'function' ? null : (chunk ?? null), characters);
    if (this.#isOpen) {
      const coding = this.#begin(bytes);
      if (coding) {
        // Who has left takes nothing more.
        if (!this.#response.destroyed) this.#own.end(this.#packed(bytes, coding), callback);
        return this.#response;
      }
    }
    this.#finish(bytes, callback);
    return this.#response;
  }

  /** Determines how the body is sent; `whole` is all of it, or null if its length is unknown. */
  #begin(whole: Buffer | null): Coding | null {
    this.#isOpen = false;
    const response = this.#response;
    if (!this.#mayEncode()) return null;
    const { pieces, refusesIdentity, whole: coding } = this.#accepted;
    const length = Number(response.getHeader('content-length') ?? whole?.length ?? Number.NaN);
    if (length <= MIN_BYTES && !(refusesIdentity && length > 0)) return null;
    if (whole && whole.length > 0) return coding;
    if (response.req.method === 'HEAD') {
      // The same as for a GET, whose length is unknown here.
      if (coding && length > 0) this.#setCoding(coding, null);
    } else if (!whole && pieces) {
      this.#pieces = new GzipPieces();
      this.#setCoding(pieces, null);
    }
    return null;
  }

  /** Whether the body may be compressed by what its head says, which then gets the `Vary` that says so. */
  #mayEncode(): boolean {
    const response = this.#response;
    const header = (name: string): string => String(response.getHeader(name) ?? '');
    // Yoga sets this header for events, to prevent buffering: it is not a coding.
    if (header('content-encoding') === 'none') response.removeHeader('content-encoding');
    const { statusCode } = response;
    const isKnown = statusCode === 304;
    if (!isKnown && !COMPRESSIBLE.test(header('content-type'))) return false;
    if (response.hasHeader('content-encoding') || response.hasHeader('content-range')) return false;
    if (forbidsTransform(header('cache-control'))) return false;
    if (!/(^|[\s,])(accept-encoding|\*)($|[\s,])/i.test(header('vary'))) {
      response.appendHeader('Vary', 'Accept-Encoding');
    }
    return !isKnown;
  }

  #setCoding(coding: Coding, bytes: number | null): void {
    this.#response.setHeader('Content-Encoding', coding);
    if (bytes === null) this.#response.removeHeader('Content-Length');
    else this.#response.setHeader('Content-Length', bytes);
  }

  /** A whole body as it is sent, with the headers that say so. */
  #packed(bytes: Buffer, coding: Coding): Buffer {
    const packed = compressed(bytes, coding);
    if (packed.length >= bytes.length) return bytes;
    this.#setCoding(coding, packed.length);
    return packed;
  }

  #finish(bytes: Buffer, done: Done | null): void {
    const pieces = this.#pieces;
    if (!pieces) this.#own.end(bytes.length > 0 ? bytes : null, done);
    else if (bytes.length === 0) this.#own.end(pieces.end(), done);
    else this.#own.end(Buffer.concat([pieces.piece(bytes), pieces.end()]), done);
  }
}

/** As Node does it: one that is given in a list twice is there twice. */
function setHeaders(response: ServerResponse, headers: HeadersToSend | undefined): void {
  if (!Array.isArray(headers)) {
    for (const [name, value] of Object.entries(headers ?? {})) {
      if (value !== undefined) response.setHeader(name, value);
    }
    return;
  }
  const names = headers.filter((_, index) => index % 2 === 0).map(String);
  for (const name of names) response.removeHeader(name);
  for (const [index, name] of names.entries()) {
    response.appendHeader(name, String(headers[2 * index + 1]));
  }
}

/** The encoding of the characters and the callback, of arguments of which each can be left out. */
function argumentsOf(
  encoding: BufferEncoding | Done | null | undefined,
  done: Done | null | undefined,
): [BufferEncoding | undefined, Done | null] {
  return typeof encoding === 'function'
    ? [undefined, encoding]
    : [encoding ?? undefined, done ?? null];
}

function bytesOf(chunk: Chunk, characters: BufferEncoding | undefined): Buffer {
  if (chunk === null) return NO_BYTES;
  if (typeof chunk === 'string') return Buffer.from(chunk, characters);
  if (Buffer.isBuffer(chunk)) return chunk;
  return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
}

const NO_BYTES = Buffer.alloc(0);
