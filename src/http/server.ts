import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { GraphQLError } from 'graphql';
import type { McpRoute } from '../agents/mcp-route.ts';
import { METADATA_PATH, type MetadataRoute } from '../agents/resource-metadata.ts';
import type { Arrival, FastPath, FastPathServer } from '../answers/fast-path.ts';
import type { ErrorCode } from '../errors.ts';
import type { FilesRoute } from '../files/files.ts';
import type { JobDataRoute } from '../files/job-data.ts';
import { ASK_LIVE } from '../graphql/limits/operation-texts.ts';
import type { SchemaPages } from '../graphql/schema-page.ts';
import type { EventStream } from '../observe/event-stream.ts';
import type { OperatorPages } from '../operators/operator-pages.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { Admission, Door } from './door/admission.ts';
import { limitBodyTime, lingering } from './door/body/linger.ts';
import { type BodyLimits, bodyLimit, bodyTooLarge } from './door/body/operation-body.ts';
import { requestIdOf, runInTurn, setSecurityHeaders } from './door/every-request.ts';
import { rangesNaming } from './door/headers/accept.ts';
import type { Codings } from './encoding/codings.ts';
import { encodeResponse } from './encoding/encode-response.ts';
import type { BuiltPages } from './pages/built-pages.ts';
import type { LandingPage } from './pages/landing.ts';
import { ALLOWED_METHODS, errorAnswer, respond, textAnswer } from './respond.ts';
import { Port } from './socket/port.ts';

/** What is known of a request for an operation before it is read. */
interface GraphqlContext {
  readonly admission: Admission;
  readonly answerKey: string | null;
  readonly requestId: string;
  readonly maxBodyBytes: number;
}

/** For whom a server answers: where operators have a port of their own, probes are on both. */
type Audience = 'all' | 'callers' | 'operators';

/** The routes for agents. */
interface McpRoutes {
  /** Handles `/mcp`. */
  readonly messages: McpRoute;
  /** Says where its clients get tokens; `null` without an identity provider. */
  readonly metadata: MetadataRoute | null;
}

/** What the HTTP server is made of. */
export interface HttpOptions {
  /**
   * For whom it answers.
   * @default 'all'
   */
  readonly audience?: Audience;
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
  readonly graphiql: ReturnType<BuiltPages['document']>;
  /** Answers `/`. */
  readonly landing: LandingPage;
  /** Handles `/files/...`. */
  readonly files: FilesRoute;
  /** Handles `/jobs/...`. */
  readonly jobData: JobDataRoute;
  /** The endpoint for agents; `null` if disabled. */
  readonly mcp: McpRoutes | null;
  /** Handle the paths of the schema. */
  readonly schemaPages: SchemaPages;
  /** Handle the paths for probes and operators. */
  readonly pages: OperatorPages;
  /** Handles `/assets/...` for the pages. */
  readonly assets: BuiltPages['asset'];
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

/** The handler of one path. */
interface Route {
  readonly answer: (
    request: IncomingMessage,
    response: ServerResponse,
    admission: Admission,
    arrival: Arrival,
  ) => void;
  /** Probes use any name of the process. */
  readonly anyHost?: true;
  /** The route itself limits how large a body may be and how long it may take. */
  readonly limitsBody?: true;
}

/** All paths; one that ends with a slash includes everything below it. */
function routesOf(options: HttpOptions): ReadonlyMap<string, Route> {
  const { assets, audience = 'all', pages } = options;
  return new Map<string, Route>([
    ...(audience === 'operators' ? [] : routesOfCallers(options)),
    ...(audience === 'callers' ? [] : routesOfOperators(pages)),
    ['/assets/', { answer: assets }],
    ['/livez', { answer: pages['/livez'], anyHost: true }],
    ['/readyz', { answer: pages['/readyz'], anyHost: true }],
    ['*', { answer: tellMethods }],
  ]);
}

type Routes = readonly (readonly [path: string, route: Route])[];

function routesOfCallers(options: HttpOptions): Routes {
  const { files, jobData, landing, mcp, schemaPages } = options;
  return [
    [
      '/graphql',
      {
        answer: (_request, _response, _admission, arrival) => graphql(arrival, options),
      },
    ],
    ['/files/', { answer: inTurn(files), limitsBody: true }],
    ['/jobs/', { answer: jobData }],
    ['/mcp', mcp ? { answer: inTurn(mcp.messages) } : nothing],
    [METADATA_PATH, mcp?.metadata ? { answer: mcp.metadata } : nothing],
    ['/schema.graphql', { answer: schemaPages['/schema.graphql'] }],
    ['/client.tgz', { answer: schemaPages['/client.tgz'] }],
    ['/', { answer: landing }],
  ];
}

function routesOfOperators(pages: OperatorPages): Routes {
  return [
    ['/probe', { answer: pages['/probe'] }],
    ['/metrics', { answer: pages['/metrics'] ?? nothing.answer }],
    ['/status', { answer: pages['/status'] ?? nothing.answer }],
    ['/console', { answer: pages['/console'] ?? nothing.answer }],
    ['/console.json', { answer: pages['/console.json'] ?? nothing.answer }],
    ['/console/usage.csv', { answer: pages['/console/usage.csv'] ?? nothing.answer }],
    ['/console/usage.json', { answer: pages['/console/usage.json'] ?? nothing.answer }],
  ];
}

/** Answers on the ports from now on: behind the same door, with the same limits. */
export function serveHttp(options: HttpOptions, { callers, operators }: Ports): void {
  if (!operators) {
    serveOn(callers, options);
    return;
  }
  serveOn(callers, { ...options, audience: 'callers' });
  serveOn(operators, { ...options, audience: 'operators', fastPath: null });
}

/** Serves the routes of an audience behind one door, which decides about each request once. */
export function serveOn(port: Port, options: HttpOptions): void {
  const { drain } = port;
  const routes = routesOf(options);
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
    setSecurityHeaders(response);
    const requestId = requestIdOf(request.headers['x-request-id']);
    // Also into the request, where the log reads it.
    request.headers['x-request-id'] = requestId;
    response.setHeader('X-Request-Id', requestId);
    const cors = admission.origin.headers;
    for (let at = 0; at < cors.length; at += 2) {
      response.appendHeader(cors[at] ?? '', cors[at + 1] ?? '');
    }
    if (admission.fault !== null) {
      refuse(response, admission.fault.status, admission.fault.sentence, 'BAD_USER_INPUT');
    } else if (!route.anyHost && !admission.host.isKnown) {
      refuse(response, 403, unknownHost, 'FORBIDDEN');
    } else {
      route.answer(request, response, admission, arrival);
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
    options.graphiql(request, response);
  } else {
    if (request.headers.expect !== undefined) response.writeContinue();
    // As `serve` has noted it.
    const requestId = String(request.headers['x-request-id']);
    const context = { admission, answerKey, requestId, maxBodyBytes };
    runInTurn(request, admission.owner, () => options.graphql(request, response, context));
  }
}

/** Uploads and agents share the turns of the event loop with operations. */
function inTurn(answer: FilesRoute | McpRoute): Route['answer'] {
  return (request, response, admission) =>
    runInTurn(request, admission.owner, () => answer(request, response, admission));
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
