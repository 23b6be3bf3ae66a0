import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { GraphQLError } from 'graphql';
import type { Clock } from '../clock.ts';
import type { HostGuard } from './door/host-guard.ts';
import { endLingering } from './door/linger.ts';
import { requestIdOf } from './door/request-id.ts';
import type { FilesRoute } from './files/files.ts';
import type { GraphiqlPage } from './graphiql/graphiql.ts';
import { type BodyLimits, bodyLimit, bodyTooLarge } from './graphql/use-body-limit.ts';
import type { OperatorPages } from './operators/operator-pages.ts';

/** What the HTTP server is made of. */
export interface HttpOptions extends BodyLimits {
  /** Answers `/graphql`. */
  readonly graphql: (request: IncomingMessage, response: ServerResponse) => unknown;
  /** What a browser gets on `/graphql`; null when GraphiQL is off. */
  readonly graphiql: GraphiqlPage | null;
  /** Answers `/files/...`; absent when nothing can be uploaded. */
  readonly files?: FilesRoute;
  /** Answers `/readyz` in detail, `/metrics` and `/status`; absent where nobody watches. */
  readonly pages?: OperatorPages;
  /** Refuses names that are not the gateway's; without it all are taken. */
  readonly hostGuard?: HostGuard | null;
  readonly clock: Clock;
  /** How long running requests may go on after `close`, in milliseconds. */
  readonly graceMs: number;
}

/** For every answer. A page that must do more than be looked at brings a policy of its own. */
const securityHeaders = [
  ['X-Content-Type-Options', 'nosniff'],
  ['X-Frame-Options', 'DENY'],
  ['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'; base-uri 'none'"],
  ['Referrer-Policy', 'no-referrer'],
  ['Cross-Origin-Opener-Policy', 'same-origin'],
  // Pages that CORS lets read an answer are not concerned.
  ['Cross-Origin-Resource-Policy', 'same-origin'],
] as const;

/** How long the body of a request may be on its way, in milliseconds. A file has its own patience. */
const BODY_MS = 60_000;

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

/** The address cannot be listened on. One line, for the operator. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

/** Routes `/graphql`, `/files/...`, `/livez` (the process runs) and `/readyz` (it takes requests: 503 while closing). */
export function createHttpServer(options: HttpOptions): HttpServer {
  const running = new Set<ServerResponse>();
  let closing: Promise<void> | undefined;
  let retired = false;

  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    running.add(response);
    response.once('close', () => {
      running.delete(response);
      if (closing) {
        // Only after this event does Node count the connection as idle.
        setImmediate(() => server.closeIdleConnections());
      }
    });
    if (retired) {
      response.setHeader('Connection', 'close');
    }
    for (const [name, value] of securityHeaders) response.setHeader(name, value);
    const requestId = requestIdOf(request.headers['x-request-id']);
    // Also into the request, where the log finds it.
    request.headers['x-request-id'] = requestId;
    response.setHeader('X-Request-Id', requestId);
    route(request, response, options, !retired);
  };
  const server = createServer(handle);
  // Node would answer `Expect: 100-continue` at once, before anything is known of the request.
  server.on('checkContinue', handle);
  // Long enough for a load balancer to reuse connections, which commonly give up after 60 s.
  server.keepAliveTimeout = 65_000;
  server.headersTimeout = 15_000;
  // This one would also cut off an upload that takes its time, so `limitBody` stands in.
  server.requestTimeout = 0;

  return {
    async listen(port, host) {
      await bind(server, port, host);
      return { url: addressOf(server, host) };
    },
    retire() {
      retired = true;
    },
    close() {
      retired = true;
      closing ??= drain(server, running, options);
      return closing;
    },
  };
}

function route(
  request: IncomingMessage,
  response: ServerResponse,
  options: HttpOptions,
  ready: boolean,
): void {
  const [path = '/'] = (request.url ?? '/').split('?', 1);
  const probes = path === '/livez' || path === '/readyz';
  if (!probes && options.hostGuard && !options.hostGuard(request.headers.host)) {
    response.writeHead(403, { 'Content-Type': 'application/json', Connection: 'close' });
    response.end(errorBody(unknownHost()));
    return undefined;
  }
  if (options.files && path.startsWith('/files/')) return options.files(request, response);
  limitBody(request, options.clock);
  if (options.pages?.send(path, request, response, !ready)) return undefined;
  switch (path) {
    case '/graphql':
      return graphql(request, response, options);
    case '/livez':
      return probe(request, response, true, 'ok');
    case '/readyz':
      return probe(request, response, ready, ready ? 'ready' : 'closing');
    case '/':
      if (options.graphiql && isBrowser(request)) {
        response.writeHead(302, { Location: '/graphql' }).end();
        return undefined;
      }
  }
  return text(response, 404, 'There is nothing here. The graph is at /graphql.');
}

function graphql(request: IncomingMessage, response: ServerResponse, options: HttpOptions): void {
  const { host, 'content-length': length, 'content-type': type } = request.headers;
  const maxBytes = bodyLimit(type, options);
  if (host !== undefined && !URL.canParse(`http://${host}`)) {
    // Yoga would answer what it cannot make a URL of with a stack trace.
    text(response, 400, 'The Host header is not valid.');
  } else if (Number(length) > maxBytes) {
    response.statusCode = 413;
    response.setHeader('Content-Type', 'application/json');
    endLingering(request, response, options.clock, errorBody(bodyTooLarge(maxBytes)));
  } else if (options.graphiql && isBrowser(request)) {
    options.graphiql.send(request, response);
  } else {
    if (request.headers.expect !== undefined) response.writeContinue();
    void options.graphql(request, response);
  }
}

/** Cuts off a body that trickles in. */
function limitBody(request: IncomingMessage, clock: Clock): void {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
  if (length === undefined && encoding === undefined) return;
  const cancel = clock.after(BODY_MS, () => {
    if (!request.complete) request.destroy();
  });
  request.once('close', cancel);
}

function unknownHost(): GraphQLError {
  return new GraphQLError(
    'The gateway is not known under this name. Ask for localhost, or add the name to ALLOWED_HOSTS.',
    { extensions: { code: 'FORBIDDEN' } },
  );
}

function errorBody(error: GraphQLError): string {
  const { code } = error.extensions;
  return JSON.stringify({ errors: [{ message: error.message, extensions: { code } }] });
}

function probe(
  request: IncomingMessage,
  response: ServerResponse,
  ok: boolean,
  word: string,
): void {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('Allow', 'GET, HEAD');
    return text(response, 405, 'Only GET and HEAD are understood here.');
  }
  response.setHeader('Cache-Control', 'no-store');
  return text(response, ok ? 200 : 503, word);
}

function text(response: ServerResponse, status: number, sentence: string): void {
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8' });
  response.end(`${sentence}\n`);
}

/** A person's browser opening a page, and not a program that asks for data. */
function isBrowser(request: IncomingMessage): boolean {
  const reads = request.method === 'GET' || request.method === 'HEAD';
  return reads && (request.headers.accept ?? '').includes('text/html');
}

function bind(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException): void => {
      reject(new ListenError(refusal(error, port, host), { cause: error }));
    };
    server.once('error', fail);
    server.listen(port, host, () => {
      server.off('error', fail);
      resolve();
    });
  });
}

function refusal(error: NodeJS.ErrnoException, port: number, host: string): string {
  switch (error.code) {
    case 'EADDRINUSE':
      return `Port ${port} on ${host} is in use by another program. Set PORT to a free one; 0 picks one.`;
    case 'EACCES':
      return `Port ${port} on ${host} is not allowed to this user. Set PORT to 1024 or above.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${host} is no address of this machine. Set HOST to one, to 127.0.0.1 or to 0.0.0.0.`;
    default:
      return `Cannot listen on port ${port} of ${host}: ${error.message}.`;
  }
}

function addressOf(server: Server, host: string): string {
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const local = ['127.0.0.1', '::1', 'localhost', '0.0.0.0', '::'].includes(host);
  const name = local ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return `http://${name}:${port}`;
}

async function drain(
  server: Server,
  running: ReadonlySet<ServerResponse>,
  { clock, graceMs }: HttpOptions,
): Promise<void> {
  if (!server.listening) {
    return;
  }
  for (const response of running) {
    if (!response.headersSent) {
      response.setHeader('Connection', 'close');
    }
  }
  // Node closes the idle connections itself; `running` ones end with their answer.
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  const cancel = clock.after(graceMs, () => server.closeAllConnections());
  await closed;
  cancel();
}
