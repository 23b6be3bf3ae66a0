import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../clock.ts';
import { UpstreamRejected } from '../errors.ts';
import { headOf, type MaskError } from '../graphql/mask-error.ts';
import { endLingering } from '../http/door/linger.ts';
import { UploadFault } from './upload-body.ts';
import { TooManyUploads } from './upload-places.ts';

/** The status for a code where it differs from what `/graphql` answers. */
const statusByCode: Readonly<Record<string, number>> = {
  UPSTREAM_REJECTED: 422,
  UPSTREAM_INVALID_RESPONSE: 502,
  UPSTREAM_TIMEOUT: 504,
  // Proxies send a PUT again after 502 to 504.
  OUTCOME_UNKNOWN: 500,
};

/** What an upload is answered. */
interface UploadAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: object;
}

/** What an upload is answered that came to nothing: as `/graphql` has it, but for the status. */
export function refusalOf(
  error: unknown,
  maskError: MaskError,
): UploadAnswer & { readonly code: string } {
  const masked = maskError(error);
  const { message } = masked;
  const { code, http: _, ...details } = masked.extensions;
  const { status: usual, headers = {} } = headOf(masked);
  const own =
    error instanceof UploadFault || error instanceof TooManyUploads ? error.status : undefined;
  const shown = error instanceof UpstreamRejected ? error.reason : message;
  return {
    status: own ?? statusByCode[String(code)] ?? usual ?? 500,
    code: String(code),
    headers,
    body: { errors: [{ message: shown, extensions: { code, ...details } }] },
  };
}

/** Sends the answer to an upload whose body may still be coming, unless its sender has left. */
export function answerUpload(
  request: IncomingMessage,
  response: ServerResponse,
  clock: Clock,
  { status, headers = {}, body }: UploadAnswer,
): void {
  if (response.destroyed) return;
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.setHeader('Cache-Control', 'no-store');
  endLingering(request, response, clock, JSON.stringify(body));
}
