import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { GraphQLError } from 'graphql';
import type { FastPath } from '../answers/fast-path.ts';
import type { RequestNames } from '../answers/request-names.ts';
import type { Clock } from '../clock.ts';
import type { ErrorCode } from '../errors.ts';
import type { FilesRoute } from '../files/files.ts';
import type { GraphiqlPage } from '../graphiql/graphiql.ts';
import type { SchemaPage } from '../graphql/schema-page.ts';
import type { OperatorPages } from '../operators/operator-pages.ts';
import { rangesNaming } from './door/accept.ts';
import { type BodyLimits, bodyLimit, bodyTooLarge, limitBodyTime } from './door/body-limit.ts';
import { type HostGuard, repeatedHeader } from './door/host-guard.ts';
import { limitLateBody, lingering } from './door/linger.ts';
import { allowOrigin, type Origins } from './door/origins.ts';
import { inRequest } from './door/request-context.ts';
import { requestIdOf } from './door/request-id.ts';
import { ALLOWED_METHODS, readTarget, refuseTunnel } from './door/request-target.ts';
import { setSecurityHeaders } from './door/security-headers.ts';
import type { BuiltPages } from './pages/built-pages.ts';
import { errorAnswer, redirect, respond, textAnswer } from './respond.ts';
import { Drain } from './socket/drain.ts';
import { listen } from './socket/listen.ts';
import type { LoopTurns } from './socket/loop-turns.ts';
import { StallGuard } from './socket/stall-guard.ts';

/** What the HTTP server is made of. */
export interface HttpOptions {
  /** Answers `/graphql`. */
  readonly graphql: (
    request: IncomingMessage,
    response: ServerResponse,
    context: { readonly names: RequestNames | null },
  ) => unknown;
  /** Answers what can be answered at once from memory; `null` when nothing is. */
  readonly fastPath: FastPath | null;
  /** What a browser gets on `/graphql`; `null` when GraphiQL is off. */
  readonly graphiql: GraphiqlPage | null;
  /** Answers `/files/...`; `null` when nothing can be uploaded. */
  readonly files: FilesRoute | null;
  /** Answers `/schema.graphql`. */
  readonly schemaPage: SchemaPage;
  /** Answer the paths for probes and operators. */
  readonly pages: OperatorPages;
  /** Answers `/assets/...`, what pages for people are made of; `null` where there are none. */
  readonly assets: BuiltPages['asset'] | null;
  /** Refuses names that are not the gateway's; `null` when all are taken. */
  readonly hostGuard: HostGuard | null;
  readonly origins: Origins;
  readonly bodyLimits: BodyLimits;
  readonly clock: Clock;
  /** Which all routes share whose work can be much. */
  readonly turns: LoopTurns;
  /** How long running requests may go on after `close`, in milliseconds. */
  readonly graceMs: number;
}

/** A listening server, as the composition root sees it. */
export interface HttpServer {
  /**
   * Port 0 takes a free one. `url` is what a person on this machine can open, without a trailing slash.
   * @throws ListenError when the address cannot be had; the message says what to set.
   */
  listen(port: number, host: string): Promise<{ readonly url: string }>;
  /** Says from now on that it is not ready, and ends every connection with its next answer. */
  retire(): void;
  /** Takes no new connection, lets running requests finish within the grace, then ends them. */
  close(): Promise<void>;
}

/** What answers one path. */
interface Route {
  readonly answer: (
    request: IncomingMessage,
    response: ServerResponse,
    draining: boolean,
    names: RequestNames | null,
  ) => void;
  /** Probes ask by whatever name they know the process under. */
  readonly anyHost?: true;
  /** The route itself limits how large a body may be and how long it may take. */
  readonly limitsBody?: true;
}

/** Connections at a time. Most callers of a busy gateway share those of a proxy. */
const MAX_CONNECTIONS = 10_000;
/** How often Node looks for connections whose headers do not come. */
const CHECK_MS = 5000;

/** Every path that is answered; one that ends with a slash stands for all below it. */
function routesOf(options: HttpOptions): ReadonlyMap<string, Route> {
  const { assets, files, graphiql, pages, schemaPage, turns } = options;
  return new Map<string, Route>([
    [
      '/graphql',
      {
        answer: (request, response, _, names) => graphql(request, response, options, names),
      },
    ],
    ['/files/', files ? { answer: inTurn(turns, files), limitsBody: true } : nothing],
    ['/assets/', assets ? { answer: assets } : nothing],
    ['/schema.graphql', { answer: schemaPage }],
    ['/livez', { answer: pages['/livez'], anyHost: true }],
    ['/readyz', { answer: pages['/readyz'], anyHost: true }],
    ['/metrics', { answer: pages['/metrics'] ?? nothing.answer }],
    ['/status', { answer: pages['/status'] ?? nothing.answer }],
    ['/console', { answer: pages['/console'] ?? nothing.answer }],
    ['/console.json', { answer: pages['/console.json'] ?? nothing.answer }],
    ['/console/events', { answer: pages['/console/events'] ?? nothing.answer }],
    ['/', graphiql ? { answer: showGraphiql } : nothing],
    ['*', { answer: tellMethods }],
  ]);
}

/** Serves every route behind one door: names, headers, origins and limits are settled here for all. */
export function createHttpServer(options: HttpOptions): HttpServer {
  const routes = routesOf(options);
  const { fastPath } = options;
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    if (refused.has(request.socket)) return;
    const isReadable = readTarget(request);
    const isPlain = isReadable && fastPath !== null && !drain.begun && fastPath.takes(request);
    if (!isPlain || options.hostGuard?.(request.headers.host) === false) {
      watch(request, response);
      whole(request, response, null);
    } else {
      fastPath.answer(request, response, fallback);
    }
  };
  /** For every request that came the fast path: to make this anew each time would be felt. */
  const fallback: Parameters<FastPath['answer']>[2] = {
    whole: (request, response, { names, waited }) => {
      if (!waited) watch(request, response);
      whole(request, response, names);
    },
    inTurn: (request, owner, work) =>
      options.turns.run(() => {
        if (!request.destroyed) inRequest(request, work);
      }, owner),
    waits: (request, response) => watch(request, response),
    onUnread: (response) => stalls.watch(response),
    closing: () => drain.begun,
  };
  /** Sees to it that a request neither holds its connection for ever nor is cut off by a stop. */
  const watch = (request: IncomingMessage, response: ServerResponse): void => {
    drain.watch(response);
    stalls.watch(response);
    limitLateBody(request, response, options.clock);
    if (!routeOf(request).limitsBody) limitBodyTime(request, options.clock);
  };
  const routeOf = ({ url = '/' }: IncomingMessage): Route => {
    const [path = '/'] = url.split('?', 1);
    const below = /^\/(?:files|assets)\//.exec(path);
    return routes.get(below ? below[0] : path) ?? nothing;
  };
  const whole = (
    request: IncomingMessage,
    response: ServerResponse,
    names: RequestNames | null,
  ): void => {
    setSecurityHeaders(response);
    const requestId = requestIdOf(request.headers['x-request-id']);
    // Also into the request, where the log finds it.
    request.headers['x-request-id'] = requestId;
    response.setHeader('X-Request-Id', requestId);
    allowOrigin(options.origins, request, response);

    const route = routeOf(request);
    if (!readTarget(request)) {
      refuse(response, 400, 'The request target is not valid.', 'BAD_USER_INPUT');
      return;
    }
    const repeated = repeatedHeader(request);
    if (repeated !== null) {
      refuse(response, 400, `The header ${repeated} must be given once only.`, 'BAD_USER_INPUT');
      return;
    }
    if (!route.anyHost && options.hostGuard?.(request.headers.host) === false) {
      refuse(response, 403, unknownHost, 'FORBIDDEN');
      return;
    }
    route.answer(request, response, drain.begun, names);
  };
  const server = createServer({ connectionsCheckingInterval: CHECK_MS }, handle);
  server.on('connection', () => options.turns.accepted());
  const drain = new Drain(server, { clock: options.clock, graceMs: options.graceMs });
  // Node would answer `Expect: 100-continue` at once, before anything is known of the request.
  server.on('checkContinue', handle);
  server.on('connect', refuseTunnel);
  const stalls = new StallGuard(options.clock);
  server.maxConnections = MAX_CONNECTIONS;
  // Who does nothing with a connection makes room for who wants one.
  server.on('drop', () => server.closeIdleConnections());
  // Long enough for a load balancer to reuse connections, which commonly give up after 60 s.
  server.keepAliveTimeout = 65_000;
  server.headersTimeout = 15_000;
  // This one would also cut off an upload that takes its time, so `limitBodyTime` stands in.
  server.requestTimeout = 0;

  return {
    listen: async (port, host) => ({ url: await listen(server, port, host) }),
    retire: () => drain.begin(),
    close: () => {
      stalls.hasten();
      return drain.close();
    },
  };
}

function graphql(
  request: IncomingMessage,
  response: ServerResponse,
  options: HttpOptions,
  names: RequestNames | null,
): void {
  const { host, 'content-length': length, 'content-type': type } = request.headers;
  const maxBytes = bodyLimit(type, options.bodyLimits);
  if (host !== undefined && !URL.canParse(`http://${host}`)) {
    // Yoga would answer what it cannot make a URL of with a stack trace.
    respond(response, textAnswer(400, 'The Host header is not valid.'));
  } else if (Number(length) > maxBytes) {
    respond(response, errorAnswer(bodyTooLarge(maxBytes)), lingering(options.clock));
  } else if (options.graphiql && isBrowser(request)) {
    options.graphiql.send(request, response);
  } else {
    if (request.headers.expect !== undefined) response.writeContinue();
    inTurn(options.turns, () => options.graphql(request, response, { names }))(request, response);
  }
}

/** Answers in a turn of the event loop that has time for it, if by then somebody still waits. */
function inTurn(
  turns: LoopTurns,
  answer: (request: IncomingMessage, response: ServerResponse) => unknown,
): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) =>
    turns.run(
      () => {
        if (!request.destroyed) inRequest(request, () => void answer(request, response));
      },
      // Who sent it is found out only when it is begun.
      request.socket.remoteAddress,
    );
}

/** Brings a browser that opens the bare address to GraphiQL. */
function showGraphiql(request: IncomingMessage, response: ServerResponse): void {
  if (isBrowser(request)) respond(response, redirect('/graphql'));
  else nothing.answer(request, response, false, null);
}

/** Answers OPTIONS about the gateway as a whole. */
function tellMethods(_: IncomingMessage, response: ServerResponse): void {
  respond(response, { status: 204, headers: { Allow: ALLOWED_METHODS } });
}

const nothing: Route = {
  answer: (_, response) =>
    respond(response, textAnswer(404, 'There is nothing here. The graph is at /graphql.')),
};

const unknownHost =
  'The gateway is not known under this name. Ask for localhost, or add the name to ALLOWED_HOSTS.';

/** Connections that end with an answer: what their senders sent behind it is not done. */
const refused = new WeakSet<Socket>();

/**
 * Answers a request that is not even looked at, and ends its connection.
 * Implements: RFC 9112 section 9.6.
 */
function refuse(response: ServerResponse, status: number, sentence: string, code: ErrorCode): void {
  refused.add(response.req.socket);
  const http = { status, headers: { Connection: 'close' } };
  respond(response, errorAnswer(new GraphQLError(sentence, { extensions: { code, http } })));
}

/** A person's browser opening a page, and not a program that asks for data. */
function isBrowser({ headers: { accept }, method }: IncomingMessage): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false;
  return rangesNaming(accept, 'text/html').length > 0;
}
