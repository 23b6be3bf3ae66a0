import type { IncomingMessage } from 'node:http';
import { GraphQLError } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { Clock } from '../../../scheduling/clock.ts';

/** A body that is no larger stays with its request until the answer ends. */
const KEPT_BYTES = 4096;
/** How long a request may take to send its body, in milliseconds. Uploads have a rule of their own. */
const BODY_MS = 60_000;

/** Bytes that a request's body may have. */
export interface BodyLimits {
  /** Of an operation without files. */
  readonly maxBodyBytes: number;
  /**
   * Of an operation with files, as a multipart request.
   * @default the same, so that there is hardly room for a file
   */
  readonly maxMultipartBytes?: number;
}

/** Largest GraphQL request without files. */
const MAX_BODY_BYTES = 1024 * 1024;

/** The limits of requests that may carry one file of that size. */
export function bodyLimits(maxFileBytes: number): BodyLimits {
  return { maxBodyBytes: MAX_BODY_BYTES, maxMultipartBytes: MAX_BODY_BYTES + maxFileBytes };
}

/** Whether a content type is that of an operation with files. */
export function isMultipart(contentType: string | null | undefined): boolean {
  return /^multipart\/form-data\b/i.test(contentType ?? '');
}

/** The limit that holds for a request of this content type. */
export function bodyLimit(
  contentType: string | null | undefined,
  { maxBodyBytes, maxMultipartBytes = maxBodyBytes }: BodyLimits,
): number {
  return isMultipart(contentType) ? maxMultipartBytes : maxBodyBytes;
}

/** `BAD_USER_INPUT` with status 413. */
export function bodyTooLarge(maxBytes: number): GraphQLError {
  const message = `The request body is larger than ${maxBytes} bytes. Files have a way of their own: PUT /files/:filename.`;
  return new GraphQLError(message, {
    extensions: {
      code: 'BAD_USER_INPUT',
      // The rest of the body may still arrive, so the connection cannot be used again.
      http: { status: 413, headers: { connection: 'close' } },
    },
  });
}

/** Ends the connection of a request whose body takes longer than a minute. */
export function limitBodyTime(request: IncomingMessage, clock: Clock): void {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
  if (length === undefined && encoding === undefined) return;
  const cancel = clock.after(BODY_MS, () => {
    if (!request.complete) request.destroy();
  });
  request.once('close', cancel);
}

/** The bytes of bodies that were read here, by the request that they came with. */
const bytesOfBodies = new WeakMap<Request, number>();

/** How many bytes a body had, once it has been read; `undefined` for a small one that announced its length. */
export function bytesRead(request: Request): number | undefined {
  return bytesOfBodies.get(request);
}

/**
 * Limits bodies by their announced length, and counts those that announce none. Yoga's own limit wraps
 * every body in a transform stream, which costs two thirds of all throughput. Large ones are read here too: what
 * Yoga's request reads of its body it keeps until its answer ends, in three forms.
 */
export function useBodyLimit(limits: BodyLimits): Plugin {
  return {
    onRequestParse({ request, requestParser, setRequestParser, fetchAPI }) {
      const parse = requestParser;
      const body = request.body;
      const maxBytes = bodyLimit(request.headers.get('content-type'), limits);
      const announced = request.headers.get('content-length');
      if (Number(announced) > maxBytes) {
        throw bodyTooLarge(maxBytes);
      }
      if (!parse || !body || (announced !== null && Number(announced) <= KEPT_BYTES)) {
        return;
      }
      setRequestParser(async () => {
        const bytes = await readAll(body, maxBytes);
        bytesOfBodies.set(request, bytes.byteLength);
        const { url, method, headers, signal } = request;
        return parse(new fetchAPI.Request(url, { method, headers, signal, body: bytes }));
      });
    },
  };
}

async function readAll(
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Not `for await`: leaving that loop early closes the connection before the refusal is sent.
  const reader = body.getReader();
  for (;;) {
    const { done, value: chunk } = await reader.read();
    if (done) {
      break;
    }
    size += chunk.byteLength;
    if (size > maxBytes) {
      throw bodyTooLarge(maxBytes);
    }
    chunks.push(chunk);
  }
  const bytes = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return bytes;
}
