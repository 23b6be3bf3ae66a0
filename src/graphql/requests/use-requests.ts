import { GraphQLError } from 'graphql';
import type { FetchAPI, GraphQLParams } from 'graphql-yoga';
import type { Viewer } from '../../auth/viewer.ts';
import { BadUserInput, GatewayError } from '../../errors.ts';
import type { Admission, Door } from '../../http/door/admission.ts';
import { type BodyPool, MIN_COUNTED_BYTES } from '../../http/door/body/body-pool.ts';
import { readForm } from '../../http/door/body/multipart.ts';
import {
  type BodyLimits,
  bodyLimit,
  bodyTooLarge,
  envelopeFault,
  isJson,
  isMultipart,
  readBody,
} from '../../http/door/body/operation-body.ts';
import { requestIdOf } from '../../http/door/every-request.ts';
import { PREFLIGHT_HEADERS } from '../../http/door/foreign-page.ts';
import { isAcceptable, NOT_ACCEPTABLE, tellingAccept } from '../delivery.ts';
import type { GatewayPlugin, RequestRecord, ServerContext } from '../request-record.ts';

type ParsePayload = Parameters<NonNullable<GatewayPlugin['onRequestParse']>>[0];

const JSON_HEADERS = { 'Content-Type': 'application/json; charset=utf-8' };
const holdNothing: Hold = () => {};

/**
 * Creates the record of each request, and checks it in order of cost: a preflight needs no token, nor does the
 * refusal of a client that accepts no type of response (406: Yoga negotiates only after the execution). A page of
 * another origin is refused before authentication; authentication precedes reading the body; a body is counted for
 * its caller as long as it is held.
 * Implements: RFC 9110 section 15.5.7.
 */
export function useRequests({
  bodyLimits,
  door,
  bodyPool,
}: {
  readonly bodyLimits: BodyLimits;
  readonly door: Door;
  readonly bodyPool: BodyPool;
}): GatewayPlugin {
  /** Has the operation of a known sender read within the limits of its body. */
  const read = (payload: ParsePayload, viewer: Viewer): void => {
    const { fetchAPI, request, requestParser, serverContext, setRequestParser } = payload;
    const { record } = serverContext;
    record.viewer = viewer;
    const type = request.headers.get('content-type');
    const maxBytes = serverContext.maxBodyBytes ?? bodyLimit(type, bodyLimits);
    const length = request.headers.get('content-length');
    const announced = length === null ? null : Number(length);
    const hold =
      request.method === 'POST' && (announced ?? maxBytes) > MIN_COUNTED_BYTES
        ? holdFor(viewer, announced ?? maxBytes, serverContext)
        : holdNothing;
    if (announced !== null && announced > maxBytes) throw bodyTooLarge(maxBytes);
    const parse = parserOf(
      request.method,
      type,
      requestParser as ParseOperation | undefined,
      bodyLimits,
    );
    if (!parse) return;
    const body = { announced, fetchAPI, hold, maxBytes, parse, record };
    setRequestParser((given) => readOperation(given, body));
  };

  /** Reserves memory for a body until its response ends. A live query releases it when its stream begins. */
  const holdFor = (viewer: Viewer, bytes: number, { record, res }: ServerContext): Hold => {
    // What comes through `fetch` is in memory already, and who has hung up sends no more.
    if (!res || res.destroyed) return holdNothing;
    const hold = bodyPool.take(viewer.name, bytes);
    res.once('close', () => hold(0));
    record.letGoOfBody = () => hold(0);
    return hold;
  };

  return {
    onRequest(payload) {
      const { fetchAPI, request, serverContext } = payload;
      const record = recordOf(request, serverContext, door);
      serverContext.record = record;
      if (request.method !== 'OPTIONS') {
        if (record.accept === null || isAcceptable(record.accept)) return;
        const init = { status: 406, headers: JSON_HEADERS };
        payload.endResponse(new fetchAPI.Response(NOT_ACCEPTABLE, init));
        return;
      }
      const preflight = record.admission.preflightHeaders('GET, POST');
      if (!record.admission.allowsOthers) return;
      // Safari waits for a body unless a header says that there is none.
      const headers = { ...preflight, 'Content-Length': '0' };
      payload.endResponse(new fetchAPI.Response(null, { status: 204, headers }));
    },
    onRequestParse(payload) {
      const { request, serverContext } = payload;
      refuseForeign(request, serverContext.record.admission);
      const viewer = serverContext.record.admission.identify();
      // Synchronous if possible: a promise would cost every request a turn.
      if (!(viewer instanceof Promise)) return read(payload, viewer);
      return viewer.then((known) => read(payload, known));
    },
    onResponse({ response, serverContext }) {
      const cors = serverContext.record.admission.origin.headers;
      for (let at = 0; at < cors.length; at += 2) {
        response.headers.append(cors[at] ?? '', cors[at + 1] ?? '');
      }
    },
  };
}

/** Types of bodies that a page may send to another origin without a preflight. */
const NO_PREFLIGHT = /^(application\/x-www-form-urlencoded|multipart\/form-data|text\/plain)/i;

/**
 * Refuses a GET of a foreign page, and a form or plain text without a header that causes a preflight.
 * @throws GatewayError `FORBIDDEN`.
 */
function refuseForeign({ headers, method }: Request, admission: Admission): void {
  if (method === 'GET') {
    if (admission.getRefusal) throw admission.getRefusal;
    return;
  }
  const type = headers.get('content-type');
  if (type && !NO_PREFLIGHT.test(type)) return;
  if (PREFLIGHT_HEADERS.some((name) => headers.has(name))) return;
  admission.refuseForeign();
  throw new GatewayError(
    'FORBIDDEN',
    'Send the operation as "Content-Type: application/json", or add the header "Apollo-Require-Preflight: true".',
  );
}

/** The door admits those that came through `fetch` here, and all others in front. */
function recordOf(
  request: Request,
  { admission, answerKey = null, requestId }: ServerContext,
  door: Door,
): RequestRecord {
  return {
    admission: admission ?? door.admitFetched(request),
    requestId: requestId ?? requestIdOf(request.headers.get('x-request-id')),
    accept: tellingAccept(request.headers.get('accept')),
    viewer: null,
    holdsSecrets: false,
    ageSeconds: null,
    isReplayed: false,
    summary: null,
    json: null,
    batch: null,
    answerKey,
    remembering: null,
    letGoOfBody: () => {},
    live: null,
    observation: null,
  };
}

/** A body up to this size is kept with its request until the response ends. */
const KEPT_BYTES = 4096;

type Parsed = GraphQLParams | GraphQLParams[];

/** Reads the parameters of an operation. */
type ParseOperation = (request: Request) => Parsed | Promise<Parsed>;

/** Takes note of the bytes that a body takes from now on. */
type Hold = (bytes: number) => void;

/** How a body is to be read. */
interface OperationBody {
  readonly parse: ParseOperation;
  /** Length by its headers; `null` if missing. */
  readonly announced: number | null;
  readonly maxBytes: number;
  readonly hold: Hold;
  readonly fetchAPI: FetchAPI;
  readonly record: Pick<RequestRecord, 'batch'>;
}

/**
 * The parser for a content type; `undefined` if it is not for operations. JSON and forms with files have their own
 * parsers instead of Yoga's, which compares content types byte by byte.
 * Implements: RFC 9110 section 8.3.1.
 */
function parserOf(
  method: string,
  type: string | null,
  library: ParseOperation | undefined,
  limits: BodyLimits,
): ParseOperation | undefined {
  if (method !== 'POST') return library;
  if (isJson(type)) return readJson;
  return isMultipart(type) ? (request) => readForm(request, limits) : library;
}

/**
 * Parses the operation in a request. A body of unknown length is counted, because Yoga's own limit wraps every
 * body in a transform stream, which costs two thirds of the throughput. A large one is read here too: Yoga's
 * request keeps what it reads until its response ends, in three forms.
 * @throws BadUserInput `BAD_USER_INPUT` for an invalid operation, which the parsers would report differently, and
 * for a batch, before any of its operations is examined.
 */
async function readOperation(request: Request, body: OperationBody): Promise<GraphQLParams> {
  const parsed = await parsedOf(request, body);
  if (typeof parsed !== 'object' || parsed === null) {
    throw new BadUserInput('An operation must be a JSON object.');
  }
  if (Array.isArray(parsed)) {
    body.record.batch = parsed.length;
    throw new BadUserInput('Batched operations are not supported. Send one operation per request.');
  }
  const fault = envelopeFault({ ...parsed });
  if (fault !== null) throw new BadUserInput(fault);
  return parsed;
}

/** The result of a parser, or its error as a message for callers. */
async function parsedOf(
  request: Request,
  { announced, fetchAPI, hold, maxBytes, parse }: OperationBody,
): Promise<Parsed | null> {
  try {
    const isKept = announced !== null && announced <= KEPT_BYTES;
    const stream = isKept ? null : request.body;
    if (!stream) return await parse(request);
    const bytes = await readBody(stream, maxBytes);
    hold(bytes.byteLength);
    const { headers, method, signal, url } = request;
    return await parse(new fetchAPI.Request(url, { method, headers, signal, body: bytes }));
  } catch (error) {
    if (error instanceof GraphQLError || error instanceof GatewayError) throw error;
    if (isMultipart(request.headers.get('content-type'))) {
      // A body that is not a form, or ends too early, fails with a message of the library.
      throw new BadUserInput(
        'The multipart request cannot be parsed: its parts must be `operations`, `map` and at most ten files.',
      );
    }
    if (!(error instanceof SyntaxError)) throw error;
    throw new BadUserInput('`variables` and `extensions` must be JSON.');
  }
}

async function readJson(request: Request): Promise<Parsed> {
  try {
    return (await request.json()) as Parsed;
  } catch (error) {
    if (error instanceof GraphQLError || error instanceof GatewayError) throw error;
    throw new BadUserInput('The request body is not valid JSON.');
  }
}
