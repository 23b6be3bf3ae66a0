import { GraphQLError } from 'graphql';
import { isObject } from '../../../storage/json.ts';

/** The types of a request body that is one operation as JSON. */
const JSON_TYPES = new Set(['application/json', 'application/graphql+json']);

/** Whether a content type is that of an operation as JSON; case and parameters do not matter. */
export function isJson(contentType: string | null | undefined): boolean {
  if (contentType === 'application/json') return true;
  const [type = ''] = (contentType ?? '').split(';', 1);
  return JSON_TYPES.has(type.trim().toLowerCase());
}

/** What is wrong with the members of an envelope besides its text, as a sentence; `null` if nothing is. */
export function envelopeFault({
  extensions,
  operationName,
  variables,
}: Readonly<Record<string, unknown>>): string | null {
  if (!isAbsent(variables) && !isObject(variables)) return '`variables` must be an object.';
  if (!isAbsent(extensions) && !isObject(extensions)) return '`extensions` must be an object.';
  if (isAbsent(operationName)) return null;
  const isName = typeof operationName === 'string' && operationName !== '';
  return isName ? null : '`operationName` must be a string.';
}

/** Whether a member of an envelope is left out, in either way. */
function isAbsent(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

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
  const message = `The request body is larger than ${maxBytes} bytes. Upload files with PUT /files/:filename.`;
  return new GraphQLError(message, {
    extensions: {
      code: 'BAD_USER_INPUT',
      // The rest of the body may still arrive, so the connection cannot be used again.
      http: { status: 413, headers: { connection: 'close' } },
    },
  });
}

/**
 * Reads a body of which only the largest size is known.
 * @throws GraphQLError `BAD_USER_INPUT` with status 413 once it is larger.
 */
export async function readBody(
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
