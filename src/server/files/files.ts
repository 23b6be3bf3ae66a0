import type { IncomingMessage, ServerResponse } from 'node:http';
import { requireRole, type Viewer } from '../../auth/viewer.ts';
import type { Clock } from '../../clock.ts';
import {
  BadUserInput,
  BudgetExhausted,
  GatewayError,
  InvalidInput,
  UpstreamRejected,
} from '../../errors.ts';
import { fault } from '../../graph/checks.ts';
import { encodeGlobalId } from '../../graph/global-id.ts';
import type { Source } from '../../graph/source.ts';
import { uploadFile } from '../../links/content/file.ts';
import type { Caller } from '../../upstream/operation.ts';
import type { Callers } from '../door/caller.ts';
import { endLingering, expectsContinue } from '../door/linger.ts';
import { headerOf, type Origins } from '../door/origins.ts';
import type { MaskError } from '../graphql/mask-error.ts';
import { asksForDryRun, dryRunHeader } from '../graphql/use-dry-run.ts';
import { UploadBody, UploadFault, uploadTooLarge } from './upload-body.ts';
import { readUpload } from './upload-options.ts';

/** What the route for uploads is made of. */
export interface FilesOptions {
  readonly callers: Callers;
  /** The link API as a viewer and the caller of one request see it. */
  readonly linksFor: (viewer: Viewer, caller: Caller) => Source;
  readonly clock: Clock;
  /** Largest file. */
  readonly maxBytes: number;
  readonly origins: Origins;
  readonly maskError: MaskError;
}

/** Answers everything under `/files/`. `Expect: 100-continue` is left to it. */
export type FilesRoute = (request: IncomingMessage, response: ServerResponse) => void;

/** The status for a code where it differs from what `/graphql` answers. */
const statusByCode: Readonly<Record<string, number>> = {
  UPSTREAM_REJECTED: 422,
  UPSTREAM_INVALID_RESPONSE: 502,
  UPSTREAM_TIMEOUT: 504,
  // Proxies send a PUT again after 502 to 504.
  OUTCOME_UNKNOWN: 500,
};

/**
 * `PUT /files/:filename` streams a file of any size to the upstream. The body is not read before the
 * upload has its slot under the rate limit, and then no faster than the upstream takes it. 1 upstream
 * call. Answers `{ id, databaseId, shortUrl }` with status 201, or `{ errors }` as `/graphql` has them.
 * A body that ends early, or grows too large, cuts the upstream's request off instead of ending it.
 * Implements: Link API > Files > POST /api/files/upload/:filename.
 */
export function createFilesRoute(options: FilesOptions): FilesRoute {
  return (request, response) => {
    if (request.method === 'PUT') {
      void upload(request, response, options);
      return;
    }
    response.setHeader('Allow', 'PUT, OPTIONS');
    if (request.method === 'OPTIONS') {
      response.writeHead(204, options.origins.preflightHeaders(headerOf(request), 'PUT')).end();
    } else {
      const error = new GatewayError('BAD_USER_INPUT', 'Files are uploaded with PUT.');
      fail(request, response, options, error, 405);
    }
  };
}

async function upload(
  request: IncomingMessage,
  response: ServerResponse,
  options: FilesOptions,
): Promise<void> {
  const { clock, maxBytes } = options;
  const left = new AbortController();
  response.once('close', () => left.abort());
  const body = new UploadBody({
    request,
    clock,
    maxBytes,
    onStart: () => {
      if (expectsContinue(request)) response.writeContinue();
    },
    onLost: (reason) => left.abort(reason),
  });
  try {
    const links = await linksOf(request, left.signal, options);
    refuseDryRun(request);
    const input = readUpload(request.url ?? '');
    if (body.length !== null && body.length > maxBytes) throw uploadTooLarge(maxBytes);
    if (body.length === 0) {
      throw new InvalidInput([{ path: ['file'], ...fault('EMPTY', 'is empty.') }]);
    }
    const { id, shortUrl = null } = await links.write(uploadFile(input, body));
    const file = { id: encodeGlobalId('File', id), databaseId: id, shortUrl };
    answer(request, response, options, { status: 201, body: file });
  } catch (error) {
    // A fault of the body also breaks the upstream's request, whose error is only the consequence.
    fail(request, response, options, body.fault ?? error);
  }
}

/**
 * The link API on behalf of a request. The checks of `/graphql` come in the same order.
 * @throws GatewayError `FORBIDDEN` for a page of an origin or a role that may not upload.
 * @throws GraphQLError `UNAUTHENTICATED`.
 */
async function linksOf(
  request: IncomingMessage,
  signal: AbortSignal,
  { callers, linksFor, origins }: FilesOptions,
): Promise<Source> {
  const header = headerOf(request);
  origins.refuseForeign(header);
  const viewer = await callers.identify(header('authorization'), request);
  requireRole(viewer, 'editor', 'Uploading a file');
  return linksFor(viewer, callers.callerOf(viewer, { prefer: header('prefer'), signal }));
}

/** @throws BadUserInput `BAD_USER_INPUT`: an upload that was only to be priced must not happen. */
function refuseDryRun({ headers }: IncomingMessage): void {
  if (!asksForDryRun(headers[dryRunHeader]?.toString())) return;
  throw new BadUserInput(
    'An upload has no dry run: it always costs 1 request. Leave the header out.',
  );
}

function fail(
  request: IncomingMessage,
  response: ServerResponse,
  options: FilesOptions,
  error: unknown,
  status?: number,
): void {
  const { message, extensions } = options.maskError(error);
  const { code, http, ...details } = extensions;
  const { status: usual, headers = {} } = (http ?? {}) as {
    readonly status?: number;
    readonly headers?: Readonly<Record<string, string>>;
  };
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  const shown = error instanceof UpstreamRejected ? error.reason : message;
  if (error instanceof BudgetExhausted) {
    const { retryAfterMs } = error.details;
    response.setHeader('Retry-After', Math.ceil(Number(retryAfterMs) / 1000));
  }
  answer(request, response, options, {
    status:
      status ??
      (error instanceof UploadFault ? error.status : (statusByCode[String(code)] ?? usual ?? 500)),
    body: { errors: [{ message: shown, extensions: { code, ...details } }] },
  });
}

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { clock }: FilesOptions,
  { status, body }: { readonly status: number; readonly body: object },
): void {
  if (response.destroyed) return;
  response.statusCode = status;
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.setHeader('Cache-Control', 'no-store');
  endLingering(request, response, clock, JSON.stringify(body));
}
