import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { asAgent } from '../auth/viewer.ts';
import { GatewayError } from '../errors.ts';
import type { MaskError } from '../graphql/mask-error.ts';
import type { Admission } from '../http/door/admission.ts';
import type { BodyPool } from '../http/door/body/body-pool.ts';
import { lingering } from '../http/door/body/linger.ts';
import { bodyTooLarge, readBody } from '../http/door/body/operation-body.ts';
import type { Handler, Routes } from '../http/door/route.ts';
import { errorAnswer, jsonAnswer, type PlainAnswer, respond } from '../http/respond.ts';
import { inBackground } from '../scheduling/at-once.ts';
import type { Clock } from '../scheduling/clock.ts';
import { loopTurns } from '../scheduling/loop-turns.ts';
import { SharedPool } from '../scheduling/shared-pool.ts';
import { jsonIn } from '../storage/json.ts';
import type { McpHandler } from './mcp-handler.ts';
import { challengeOf } from './resource-metadata.ts';

interface McpRouteOptions {
  readonly clock: Clock;
  /** Whether callers have tokens of an identity provider, which clients look for. */
  readonly hasProvider: boolean;
  /** Loads the protocol, whose library takes 10 MB. */
  readonly load: () => Promise<McpHandler>;
  readonly maskError: MaskError;
  readonly bodyPool: BodyPool;
}

/** Calls at a time, of all callers and of one: far more than agents make. */
const MOST_CALLS = 256;
const MOST_CALLS_OF_ONE = 64;
/** How long the calls under way will take is unknown. */
const RETRY_AFTER_MS = 1000;

/** Largest message: a part of what an operation may have, since a call keeps it in several forms. */
const MAX_MESSAGE_BYTES = 256 * 1024;
/** Levels of a message: more than any input of the graph has. */
const MAX_DEPTH = 64;

/** An error of JSON-RPC. */
interface RpcFault {
  readonly code: number;
  readonly message: string;
}

/** Bodies that are rejected before the library reads them. */
const INVALID_JSON = { code: -32_700, message: 'The request body is not valid JSON.' };
const TOO_DEEP = { code: -32_600, message: `The message has more than ${MAX_DEPTH} levels.` };
const BATCH = { code: -32_600, message: 'Send one message per request: there are no batches.' };

/**
 * `POST /mcp`: the graph for AI agents, by the Model Context Protocol. It has the same door as all other routes, and
 * all of its callers are in the class `agent`. What a call costs depends on its tool.
 */
export function mcpRoute(options: McpRouteOptions): Routes {
  const calls = new SharedPool(MOST_CALLS, MOST_CALLS_OF_ONE);
  let loading: Promise<McpHandler> | undefined;
  const load = (): Promise<McpHandler> => {
    loading ??= options.load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
  const handle: Handler = (request, response, admission) => {
    const Allow = 'POST, OPTIONS';
    if (request.method === 'OPTIONS') {
      const headers = { Allow, ...admission.preflightHeaders('POST') };
      respond(response, { status: 204, headers });
      return;
    }
    if (request.method !== 'POST') {
      const refusal = rpcError(405, { code: -32_000, message: 'Send messages with POST.' });
      respond(response, { ...refusal, headers: { Allow } }, lingering(options.clock));
      return;
    }
    inBackground(
      answer(request, response, { ...options, admission, calls, load }).catch((error: unknown) => {
        const shown = errorAnswer(options.maskError(error));
        respond(response, challenged(shown, request, options), lingering(options.clock));
      }),
    );
  };
  return { '/mcp': { answer: handle, audience: 'callers', inTurn: true } };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  options: McpRouteOptions & { readonly admission: Admission; readonly calls: SharedPool },
): Promise<void> {
  const { admission, bodyPool, calls, clock, load } = options;
  admission.refuseForeign();
  const viewer = await admission.identify();
  if (response.closed) return;
  const length = Number(request.headers['content-length'] ?? MAX_MESSAGE_BYTES);
  if (length > MAX_MESSAGE_BYTES) throw bodyTooLarge(MAX_MESSAGE_BYTES);
  if (!calls.mayTake(viewer.name)) throw tooManyCalls();
  const hold = bodyPool.take(viewer.name, length);
  calls.add(viewer.name, 1);
  // Not only at its end: a client that hangs up needs no answer.
  const left = new AbortController();
  response.once('close', () => {
    hold(0);
    calls.add(viewer.name, -1);
    left.abort();
  });
  if (request.headers.expect !== undefined) response.writeContinue();
  const stream = Readable.toWeb(request) as ReadableStream<Uint8Array>;
  const bytes = await readBody(stream, MAX_MESSAGE_BYTES);
  hold(bytes.byteLength);
  // Bodies of many requests can arrive at once.
  await loopTurns.turn(viewer.name);
  const body = jsonIn(new TextDecoder().decode(bytes));
  const fault = faultOf(body);
  if (fault) {
    respond(response, rpcError(400, fault), lingering(clock));
    return;
  }
  const handler = await load();
  const { signal } = left;
  const web = new Request('http://localhost/mcp', {
    method: 'POST',
    headers: headersOf(request.headers),
    signal,
  });
  const requestId = String(request.headers['x-request-id']);
  const call = { viewer: asAgent(viewer), requestId, signal };
  await send(await handler.handle(web, body, call), response);
}

/** `BUDGET_EXHAUSTED` with status 503. */
function tooManyCalls(): GatewayError {
  return new GatewayError(
    'BUDGET_EXHAUSTED',
    'There are too many calls of agents at a time. Retry after one has ended.',
    { details: { reason: 'agents', retryAfterMs: RETRY_AFTER_MS } },
  );
}

/** Sends the response of the library: JSON, or a stream of a few events. */
async function send(answered: Response, response: ServerResponse): Promise<void> {
  if (response.destroyed) return;
  response.statusCode = answered.status;
  for (const [name, value] of answered.headers) {
    if (name !== 'connection') response.setHeader(name, value);
  }
  // Not compressed either: a result can have a secret beside texts that others control.
  response.setHeader('Cache-Control', 'no-store, no-transform');
  if (answered.body) {
    for await (const chunk of answered.body) {
      if (!response.write(chunk)) await drained(response);
      if (response.destroyed) return;
    }
  }
  response.end();
}

/** Resolves when a response has room again, or its client has left. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const settle = (): void => {
      response.off('drain', settle);
      response.off('close', settle);
      resolve();
    };
    response.on('drain', settle);
    response.on('close', settle);
  });
}

/** Why a body is no message; `null` for any other. */
function faultOf(body: unknown): RpcFault | null {
  if (body === undefined) return INVALID_JSON;
  if (Array.isArray(body)) return BATCH;
  return isDeeper(body, MAX_DEPTH) ? TOO_DEEP : null;
}

/** Whether a value has more levels than that. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((each) => isDeeper(each, levels - 1));
}

/** Without the credential: the library needs none. */
function headersOf(headers: IncomingHttpHeaders): Headers {
  const kept = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (name === 'authorization' || name === 'content-length' || value === undefined) continue;
    kept.set(name, String(value));
  }
  return kept;
}

function rpcError(status: number, error: RpcFault): PlainAnswer {
  return jsonAnswer(status, { jsonrpc: '2.0', error, id: null });
}

/** A refusal of an unknown caller says where clients find the identity provider. */
function challenged(
  shown: PlainAnswer,
  request: IncomingMessage,
  { hasProvider }: Pick<McpRouteOptions, 'hasProvider'>,
): PlainAnswer {
  if (shown.status !== 401 || !hasProvider) return shown;
  const { 'WWW-Authenticate': challenge = 'Bearer', ...headers } = shown.headers ?? {};
  const more = challengeOf(request);
  return { ...shown, headers: { ...headers, 'WWW-Authenticate': `${challenge}, ${more}` } };
}
