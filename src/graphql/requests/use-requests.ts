import { useCSRFPrevention } from '@graphql-yoga/plugin-csrf-prevention';
import type { Viewer } from '../../auth/viewer.ts';
import { GatewayError } from '../../errors.ts';
import type { Door } from '../../http/door/admission.ts';
import { type BodyLimits, bodyLimit, bodyTooLarge } from '../../http/door/body/body-limit.ts';
import { BodyPool, MIN_COUNTED_BYTES } from '../../http/door/body/body-pool.ts';
import { requestIdOf } from '../../http/door/every-request.ts';
import { PREFLIGHT_HEADERS } from '../../http/door/foreign-page.ts';
import { isAcceptable, NOT_ACCEPTABLE, tellingAccept } from '../delivery.ts';
import type { GatewayPlugin, RequestRecord, ServerContext } from '../request-record.ts';
import { type Hold, type Parse, parserOf, readOperation } from './read-operation.ts';

type ParsePayload = Parameters<NonNullable<GatewayPlugin['onRequestParse']>>[0];

const JSON_HEADERS = { 'Content-Type': 'application/json; charset=utf-8' };
const holdNothing: Hold = () => {};

/**
 * Begins the record of each request, and decides about it in the order of what a decision costs: a preflight is
 * answered without a token, and so is a client that accepts no type of answer (406: Yoga negotiates only once the
 * operation was executed). A page of another origin is refused before its sender is asked for; the sender is
 * settled before the body is read; a body is counted by its sender for as long as it is held.
 * Implements: RFC 9110 section 15.5.7.
 */
export function useRequests({
  bodyLimits,
  door,
  pool = new BodyPool(),
}: {
  readonly bodyLimits: BodyLimits;
  readonly door: Door;
  readonly pool?: BodyPool;
}): GatewayPlugin {
  const { onRequestParse: prevent } = useCSRFPrevention({ requestHeaders: [...PREFLIGHT_HEADERS] });

  /** Refuses a GET of a foreign page, and a form or plain text without a header that causes a preflight. */
  const refuseForeign = (payload: ParsePayload): unknown => {
    if (payload.request.method === 'GET') {
      const refusal = payload.serverContext.record.admission.getRefusal;
      if (refusal) throw refusal;
      return undefined;
    }
    try {
      return prevent?.(payload);
    } catch (cause) {
      throw new GatewayError(
        'FORBIDDEN',
        'Send the operation as "Content-Type: application/json", or add the header "Apollo-Require-Preflight: true".',
        { cause },
      );
    }
  };

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
    const parse = parserOf(request.method, type, requestParser as Parse | undefined, bodyLimits);
    if (!parse) return;
    const body = { announced, fetchAPI, hold, maxBytes, parse, record };
    setRequestParser((given) => readOperation(given, body));
  };

  /** Holds room for a body until its answer ends. A live query gives it back when its stream begins. */
  const holdFor = (viewer: Viewer, bytes: number, { record, res }: ServerContext): Hold => {
    // What comes through `fetch` is in memory already, and who has hung up sends no more.
    if (!res || res.destroyed) return holdNothing;
    const hold = pool.take(viewer.name, bytes);
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
      refuseForeign(payload);
      const viewer = payload.serverContext.record.admission.identify();
      // At once where that can be: a promise would cost every request a turn.
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

/** The door admits those that came through `fetch` here, and all others in front. */
function recordOf(
  request: Request,
  { admission, names = null, requestId }: ServerContext,
  door: Door,
): RequestRecord {
  return {
    admission: admission ?? door.admitFetched(request),
    requestId: requestId ?? requestIdOf(request.headers.get('x-request-id')),
    accept: tellingAccept(request.headers.get('accept')),
    viewer: null,
    holdsSecrets: false,
    ageSeconds: null,
    summary: null,
    json: null,
    batch: null,
    names,
    remembering: null,
    letGoOfBody: () => {},
    live: null,
    observation: null,
  };
}
