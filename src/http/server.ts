import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { GraphQLError } from 'graphql';
import type { Arrival, FastPath, FastPathServer } from '../answers/fast-path.ts';
import type { ErrorCode } from '../errors.ts';
import { ASK_LIVE } from '../graphql/limits/operation-texts.ts';
import type { EventStream } from '../observe/event-stream.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { Admission, Door } from './door/admission.ts';
import { limitBodyTime, lingering } from './door/body/linger.ts';
import { type BodyLimits, bodyLimit, bodyTooLarge } from './door/body/operation-body.ts';
import { requestIdOf, runInTurn, setSecurityHeaders } from './door/every-request.ts';
import { rangesNaming } from './door/headers/accept.ts';
import type { Handler, Route, Routes } from './door/route.ts';
import type { Codings } from './encoding/codings.ts';
import { encodeResponse } from './encoding/encode-response.ts';
import { ALLOWED_METHODS, errorAnswer, respond, textAnswer } from './respond.ts';
import { Port } from './socket/port.ts';

/** What is known of a request for an operation before it is read. */
interface GraphqlContext {
  readonly admission: Admission;
  readonly answerKey: string | null;
  readonly requestId: string;
  readonly maxBodyBytes: number;
}

/** What the HTTP server is made of. */
export interface HttpOptions {
  /** Handles `/graphql`. */
  readonly graphql: (
    request: IncomingMessage,
    response: ServerResponse,
    context: GraphqlContext,
  ) => unknown;
  /** Receives an event for each request. */
  readonly events: EventStream;
  /** Answers from memory if possible; `null` where no operations are answered. */
  readonly fastPath: FastPath | null;
  /** What a browser gets on `/graphql`. */
  readonly graphiql: Handler;
  /** All other routes, of each folder. */
  readonly routes: readonly Routes[];
  /** Decides about each request in front of all of these. */
  readonly door: Door;
  readonly bodyLimits: BodyLimits;
  readonly codings: Codings;
  readonly clock: Clock;
}

/** The ports of a process. */
export interface Ports {
  readonly callers: Port;
  /** That of operators; `null` where they share that of callers. */
  readonly operators: Port | null;
}

/** Ports that do not listen yet. `apart`: operators have their own. */
export function createPorts(
  apart: boolean,
  options: { readonly clock: Clock; readonly graceMs: number },
): Ports {
  return { callers: new Port(options), operators: apart ? new Port(options) : null };
}

/** `/graphql`, which `serve` handles. */
const graphqlRoute: Route = { answer: () => {}, audience: 'callers' };

/** Answers on the ports from now on: behind the same door, with the same limits. */
export function serveHttp(options: HttpOptions, { callers, operators }: Ports): void {
  if (!operators) {
    serveOn(callers, options);
    return;
  }
  serveOn(callers, options, 'callers');
  serveOn(operators, { ...options, fastPath: null }, 'operators');
}

/** Serves the routes of an audience behind one door, which decides about each request once. */
export function serveOn(port: Port, options: HttpOptions, audience?: Route['audience']): void {
  const { drain } = port;
  const own = [...options.routes, { '/graphql': graphqlRoute, '*': { answer: tellMethods } }];
  const served = own.flatMap<[string, Route]>((each: Routes) =>
    Object.entries(each).filter(
      ([, route]) => audience === undefined || (route.audience ?? audience) === audience,
    ),
  );
  const routes = new Map(served);
  const { clock, codings, door, events, fastPath } = options;
  const emitsArrivals = events.isRead('arrived');
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    if (refused.has(request.socket)) return;
    if (emitsArrivals) events.emit('arrived', request);
    const admission = door.admit(request, drain.begun);
    const arrival = {
      request,
      response,
      admission,
      answerKey: null,
      isWatched: false,
    };
    if (fastPath?.takes(request, admission) && !drain.begun) fastPath.answer(arrival, fastServer);
    else serve(arrival);
  };
  const routeOf = ({ url = '/' }: IncomingMessage): Route => {
    const [path = '/'] = url.split('?', 1);
    const below = /^\/(?:files|assets|jobs)\//.exec(path);
    return routes.get(below ? below[0] : path) ?? nothing;
  };
  const watch = (arrival: Arrival, { limitsBody }: Route): void => {
    const { request, response } = arrival;
    if (arrival.isWatched) return;
    arrival.isWatched = true;
    drain.watch(response);
    // Most requests are there as a whole.
    if (request.complete) return;
    limitBodyTime(request, response, { clock, unhurried: limitsBody === true });
  };
  const serve = (arrival: Arrival): void => {
    const { admission, request, response } = arrival;
    const route = routeOf(request);
    watch(arrival, route);
    encodeResponse(response, codings.for(request));
    setSecurityHeaders(response, admission.origin.headers);
    const requestId = requestIdOf(request.headers['x-request-id']);
    // Also into the request, where the log reads it.
    request.headers['x-request-id'] = requestId;
    response.setHeader('X-Request-Id', requestId);
    if (admission.fault !== null) {
      refuse(response, admission.fault.status, admission.fault.sentence, 'BAD_USER_INPUT');
    } else if (!route.anyHost && !admission.host.isKnown) {
      refuse(response, 403, unknownHost, 'FORBIDDEN');
    } else if (route === graphqlRoute) {
      graphql(arrival, options);
    } else if (route.inTurn) {
      runInTurn(request, admission.owner, () => route.answer(request, response, admission));
    } else {
      route.answer(request, response, admission);
    }
  };
  /** Made once for all requests on the fast path: one for each would cost noticeable time. */
  const fastServer: FastPathServer = {
    serve,
    watch: (arrival) => watch(arrival, routeOf(arrival.request)),
    drain,
  };
  port.handle = handle;
}

function graphql(arrival: Arrival, options: HttpOptions): void {
  const { admission, answerKey, request, response } = arrival;
  const isForPage = isBrowser(request);
  const { 'content-length': length, 'content-type': type } = request.headers;
  const maxBodyBytes = bodyLimit(type, options.bodyLimits);
  if (request.headers.upgrade?.toLowerCase() === 'websocket') {
    respond(response, textAnswer(400, `WebSockets are not supported. ${ASK_LIVE}`));
  } else if (!admission.host.isValid) {
    // Yoga would respond with a stack trace to an invalid URL.
    respond(response, textAnswer(400, 'The Host header is not valid.'));
  } else if (Number(length) > maxBodyBytes) {
    respond(response, errorAnswer(bodyTooLarge(maxBodyBytes)), lingering(options.clock));
  } else if (isForPage) {
    options.graphiql(request, response, admission);
  } else {
    if (request.headers.expect !== undefined) response.writeContinue();
    // As `serve` has noted it.
    const requestId = String(request.headers['x-request-id']);
    const context = { admission, answerKey, requestId, maxBodyBytes };
    runInTurn(request, admission.owner, () => options.graphql(request, response, context));
  }
}

/** Answers OPTIONS for the whole server. */
function tellMethods(_: IncomingMessage, response: ServerResponse): void {
  respond(response, { status: 204, headers: { Allow: ALLOWED_METHODS } });
}

const nothing: Route = {
  answer: (_, response) =>
    respond(response, textAnswer(404, 'Not found. The GraphQL endpoint is /graphql.')),
};

const unknownHost =
  'This host name is not allowed. Use localhost, or add the name to ALLOWED_HOSTS.';

/** Connections that are closed after a response: further requests on them are ignored. */
const refused = new WeakSet<Socket>();

/**
 * Refuses a request without handling it, and closes its connection.
 * Implements: RFC 9112 section 9.6.
 */
function refuse(response: ServerResponse, status: number, sentence: string, code: ErrorCode): void {
  refused.add(response.req.socket);
  const http = { status, headers: { Connection: 'close' } };
  respond(response, errorAnswer(new GraphQLError(sentence, { extensions: { code, http } })));
}

/** A browser that opens a page, as opposed to a program that requests data. */
function isBrowser({ headers: { accept }, method }: IncomingMessage): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false;
  return rangesNaming(accept, 'text/html').length > 0;
}
