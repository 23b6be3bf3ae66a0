import type { IncomingMessage, ServerResponse } from 'node:http';
import { requireRole, type Viewer } from '../auth/viewer.ts';
import { BadUserInput, BudgetExhausted, GatewayError, InvalidInput } from '../errors.ts';
import { fault } from '../graph/checks.ts';
import { encodeGlobalId } from '../graph/ids/global-id.ts';
import { keyedLinks, type WriteWithKey } from '../graph/keyed/keyed-fields.ts';
import type { Source } from '../graph/rows/source.ts';
import type { MaskError } from '../graphql/mask-error.ts';
import type { Admission } from '../http/door/admission.ts';
import { expectsContinue, lingering } from '../http/door/body/linger.ts';
import { asksForDryRun, type Callers, dryRunHeader } from '../http/door/caller.ts';
import {
  idempotencyKeyHeader,
  readIdempotencyKey,
  replayedHeader,
} from '../http/door/headers/idempotency-key.ts';
import type { Handler, Routes } from '../http/door/route.ts';
import { jsonAnswer, respond } from '../http/respond.ts';
import { uploadFile } from '../links/content/file.ts';
import { withDomain } from '../links/content/upload-domain.graph.ts';
import { type AtOnce, inBackground } from '../scheduling/at-once.ts';
import type { Clock } from '../scheduling/clock.ts';
import { loopTurns } from '../scheduling/loop-turns.ts';
import type { KeyState } from '../upstream/budget/budgets.ts';
import type { Caller } from '../upstream/operation.ts';
import { SpentPieces } from './spent-pieces.ts';
import { refusalOf } from './upload-answer.ts';
import { UploadBody, uploadTooLarge } from './upload-body.ts';
import { observeUpload, type UploadObservers } from './upload-observation.ts';
import { readUpload } from './upload-options.ts';
import type { UploadPlace, UploadPlaces } from './upload-places.ts';

/** The dependencies of the route for uploads. */
interface FilesOptions extends UploadObservers {
  readonly callers: Callers;
  /** The link API as a viewer and the caller of one request see it. */
  readonly linksFor: (viewer: Viewer, caller: Caller) => Source;
  /** Uploads that may be under way. */
  readonly places: UploadPlaces;
  /** Largest file. */
  readonly maxBytes: number;
  readonly maskError: MaskError;
}

/**
 * `PUT /files/:filename` streams a file of any size to the upstream. Only its first bytes are read before the
 * upload has its slot under the rate limit, and then it is read no faster than the upstream accepts it; a slot is
 * requested when the first bytes have arrived. Costs 1 upstream request, plus the read of a domain that is given by
 * its id and not cached. Responds with `{ id, databaseId, shortUrl
 * }` and status 201, or with `{ errors }` in the format of `/graphql`. A body that ends early, or grows too large,
 * aborts the upstream's request instead of ending it.
 * Implements: Link API > Files > POST /api/files/upload/:filename.
 */
export function filesRoute(options: FilesOptions): Routes {
  const spent = new SpentPieces();
  const answer: Handler = (request, response, admission) => {
    if (request.method === 'PUT') {
      inBackground(upload(request, response, { ...options, admission }, spent));
      return;
    }
    const Allow = 'PUT, OPTIONS';
    if (request.method === 'OPTIONS') {
      const headers = { Allow, ...admission.preflightHeaders('PUT') };
      respond(response, { status: 204, headers });
    } else {
      const error = new GatewayError('BAD_USER_INPUT', 'Upload files with PUT.');
      const refusal = refusalOf(error, options.maskError).answer;
      respond(response, { ...refusal, status: 405, headers: { Allow } }, lingering(options.clock));
    }
  };
  return { '/files/': { answer, audience: 'callers', limitsBody: true, inTurn: true } };
}

async function upload(
  request: IncomingMessage,
  response: ServerResponse,
  options: FilesOptions & { readonly admission: Admission },
  spent: SpentPieces,
): Promise<void> {
  const running = observeUpload(request, response, options);
  const { clock, maxBytes } = options;
  const left = new AbortController();
  response.once('close', () => left.abort());
  let place: UploadPlace | undefined;
  const body = new UploadBody({
    request,
    clock,
    maxBytes,
    hold: (bytes) => place?.hold(bytes) ?? false,
    onSpent: (bytes) => spent.add(bytes),
    onStart: () => {
      if (expectsContinue(request)) response.writeContinue();
    },
    onLost: (reason) => left.abort(reason),
  });
  try {
    const { caller, links, viewer } = await callerOf(request, left.signal, options);
    running.of(caller);
    refuseDryRun(request);
    refusePart(request);
    const key = readIdempotencyKey(request.headers[idempotencyKeyHeader]?.toString());
    const input = readUpload(request.url ?? '');
    if (body.length !== null && body.length > maxBytes) throw uploadTooLarge(maxBytes);
    if (body.length === 0) throw emptyFile();
    const budget = await links.budgetState(async () => {});
    place = options.places.take(caller.name, {
      name: viewer.linksCredential?.partition ?? '',
      accepted: budget?.accepted ?? true,
    });
    // A replay needs no slot.
    if (key === null) refuseLate(budget, caller, clock);
    await body.begin();
    if (body.bytes === 0) throw emptyFile();
    await loopTurns.turn(caller.name);
    let isReplayed = false;
    const onReplayed = () => {
      isReplayed = true;
    };
    const asked = { key, viewer, links, input: { ...input, ...body.outline }, onReplayed };
    const { id, shortUrl = null } = await running.run(async () =>
      (await linksOf(asked)).write(uploadFile(await withDomain(input, links), body)),
    );
    body.close();
    const file = { id: encodeGlobalId('File', id), databaseId: id, shortUrl };
    const headers = isReplayed ? { [replayedHeader]: 'true' } : {};
    respond(response, { ...jsonAnswer(201, file), headers }, lingering(clock));
    running.ended(201, null);
  } catch (error) {
    // A failure of the body also aborts the upstream's request, whose error is only the consequence.
    const { answer, code } = refusalOf(body.fault ?? error, options.maskError);
    body.close();
    respond(response, answer, lingering(clock));
    running.ended(answer.status, code);
  } finally {
    place?.leave();
  }
}

/** The link API for an upload, under its idempotency key if it has one. */
function linksOf({
  key,
  onReplayed,
  ...asked
}: Pick<WriteWithKey, 'viewer' | 'links' | 'input'> & {
  readonly key: string | null;
  readonly onReplayed: () => void;
}): AtOnce<Source> {
  if (key === null) return asked.links;
  return keyedLinks({
    ...asked,
    key: { text: key, place: 1 },
    mutation: 'PUT /files',
    report: ({ outcome }) => {
      if (outcome === 'REPLAYED') onReplayed();
    },
  });
}

function emptyFile(): InvalidInput {
  return new InvalidInput([{ path: ['file'], ...fault('EMPTY', 'is empty.') }]);
}

/**
 * Rejects an upload whose turn would come too late before its first bytes are sent.
 * @throws BudgetExhausted `BUDGET_EXHAUSTED`, without a request.
 */
function refuseLate(key: KeyState | null, { maxWaitMs }: Caller, clock: Clock): void {
  const waitMs = Math.ceil(key?.budget.estimate('write', '') ?? 0);
  if (waitMs <= maxWaitMs) return;
  const reason = key?.budget.exhaustedBy(maxWaitMs);
  throw new BudgetExhausted('LINKS', waitMs, new Date(clock.wall() + waitMs), reason);
}

/**
 * The uploading caller, and the link API on behalf of this request. The checks have the same order as those of
 * `/graphql`.
 * @throws GatewayError `FORBIDDEN` for a page of an origin or a role that may not upload.
 * @throws GraphQLError `UNAUTHENTICATED`.
 */
async function callerOf(
  request: IncomingMessage,
  signal: AbortSignal,
  { admission, callers, linksFor }: FilesOptions & { readonly admission: Admission },
): Promise<{ readonly viewer: Viewer; readonly caller: Caller; readonly links: Source }> {
  admission.refuseForeign();
  const viewer = await admission.identify();
  requireRole(viewer, 'editor', 'Uploading a file');
  const caller = callers.callerOf(viewer, { prefer: request.headers.prefer?.toString(), signal });
  return { viewer, caller, links: linksFor(viewer, caller) };
}

/**
 * A part would be taken for the whole file.
 * Implements: RFC 9110 section 14.5.
 * @throws BadUserInput `BAD_USER_INPUT`.
 */
function refusePart({ headers }: IncomingMessage): void {
  if (headers['content-range'] === undefined) return;
  throw new BadUserInput('A file must be sent whole. Remove the header Content-Range.');
}

/** @throws BadUserInput `BAD_USER_INPUT`: an upload that was only to be priced must not happen. */
function refuseDryRun({ headers }: IncomingMessage): void {
  const dryRun = headers[dryRunHeader]?.toString();
  if (dryRun === undefined || !asksForDryRun(dryRun)) return;
  throw new BadUserInput(
    'Uploads have no dry run: an upload costs 1 upstream request. Remove the header X-Gateway-Dry-Run.',
  );
}
