import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { useDeferStream } from '@graphql-yoga/plugin-defer-stream';
import type { GraphQLSchema } from 'graphql';
import type { YogaInitialContext } from 'graphql-yoga';
import { Agent } from 'undici';
import { type Clock, systemClock } from './clock.ts';
import type { Config, Endpoint } from './config.ts';
import type { GraphContext } from './graph/context.ts';
import { schema } from './graph/schema.ts';
import { type Backend, Source } from './graph/source.ts';
import { linksApi } from './links/api.ts';
import { createMarketApi } from './market/api.ts';
import { type Sandbox, startSandbox } from './sandbox/sandbox.ts';
import { exampleOperations } from './server/examples.ts';
import { createFilesRoute } from './server/files.ts';
import { createGraphiqlPage } from './server/graphiql.ts';
import { createHttpServer } from './server/http.ts';
import { createMaskError } from './server/mask-error.ts';
import { preferredWaitMs } from './server/prefer.ts';
import { startReport } from './server/report.ts';
import { useHttpCaching } from './server/use-http-caching.ts';
import { useReceipt } from './server/use-receipt.ts';
import { createGraphqlServer, type SocketContext } from './server/yoga.ts';
import type { Resource } from './settings.ts';
import { Cache, type Freshness } from './upstream/cache.ts';
import { Client, type Credential } from './upstream/client.ts';
import { Collections } from './upstream/collection.ts';
import type { Caller } from './upstream/flight.ts';
import { Receipt } from './upstream/receipt.ts';

/** A whole gateway, not yet listening. */
export interface Gateway {
  readonly schema: GraphQLSchema;
  /** Answers a request without a socket of its own; the upstreams are asked over real ones. */
  fetch(request: Request): Promise<Response>;
  /** @throws ListenError when the configured address cannot be had. */
  listen(): Promise<{ readonly url: string }>;
  /** Lets running requests finish, then lets go of everything. */
  close(): Promise<void>;
  /** What an operator wants to know at a start. */
  report(): string[];
}

/** What a test puts in the place of the world. */
export interface Overrides {
  readonly clock?: Clock;
}

/** How long running requests may go on after a stop was asked for. */
const GRACE_MS = 10_000;
/** Largest GraphQL request. */
const MAX_BODY_BYTES = 1024 * 1024;
/** Largest upstream answer. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
/** For how long an answer past its use may still stand in for one that cannot be had. */
const STALE_IF_ERROR_MS = 24 * 3_600_000;

/**
 * Puts a gateway together: the one place where configuration, time, randomness and sockets enter.
 * Without any upstream in the configuration it starts the embedded sandbox and speaks to that.
 */
export async function createGateway(config: Config, overrides: Overrides = {}): Promise<Gateway> {
  const clock = overrides.clock ?? systemClock;
  const sandbox = config.sandbox ? await startSandbox() : null;
  const dispatcher = new Agent({ maxResponseSize: MAX_ANSWER_BYTES });
  const cache = new Cache({ clock, maxBytes: config.cacheMaxBytes });
  const shared = {
    dispatcher,
    clock,
    cache,
    keySalt: randomBytes(16).toString('base64'),
    freshness: (resource: string) => freshnessOf(config, resource),
  };

  const { links, market } = endpoints(config, sandbox);
  const linksBackend =
    links &&
    createBackend(
      {
        ...shared,
        ...config.links,
        api: linksApi,
        baseUrl: links.baseUrl,
      },
      config.links.pageSize,
    );
  const marketBackend =
    market &&
    createBackend(
      {
        ...shared,
        ...config.market,
        api: createMarketApi(config.market.postEncoding),
        baseUrl: market.baseUrl,
        timeZone: 'UTC',
      },
      WHOLE_LISTS,
    );

  const callerOf = (
    request: IncomingMessage | undefined,
    prefer: string | null,
    signal: AbortSignal,
  ): Caller => ({
    name: request?.socket.remoteAddress ?? '',
    receipt: new Receipt(clock),
    maxWaitMs: preferredWaitMs(prefer) ?? config.maxWaitMs,
    signal,
  });
  const linksFor = (caller: Caller): Source =>
    new Source({
      upstream: 'LINKS',
      backend: linksBackend,
      caller,
      credential: credentialOf(links),
    });

  const createContext = (initial: YogaInitialContext & SocketContext): GraphContext => {
    const { headers, signal } = initial.request;
    const caller = callerOf(initial.req, headers.get('prefer'), signal);
    return {
      links: linksFor(caller),
      market: new Source({
        upstream: 'MARKET',
        backend: marketBackend,
        caller,
        credential: credentialOf(market),
      }),
      receipt: caller.receipt,
      clock,
      exposeUserApiKeys: config.exposeUserApiKeys,
      uploadInlineMaxBytes: config.uploadInlineMaxBytes,
    };
  };

  const maskError = createMaskError((error) => process.stderr.write(`${describe(error)}\n`));
  const bodyLimits = {
    maxBodyBytes: MAX_BODY_BYTES,
    // The operation, and the file.
    maxMultipartBytes: MAX_BODY_BYTES + config.uploadInlineMaxBytes,
  };
  const graphql = createGraphqlServer({
    schema,
    createContext,
    plugins: [useDeferStream(), useReceipt(), useHttpCaching()],
    maskError,
    corsOrigins: config.corsOrigins,
    ...bodyLimits,
  });
  const files = createFilesRoute({
    sourceFor: async (request, signal) =>
      linksFor(callerOf(request, String(request.headers['prefer'] ?? ''), signal)),
    clock,
    maxBytes: config.uploadMaxBytes,
    corsOrigins: config.corsOrigins,
    maskError,
  });
  const http = createHttpServer({
    graphql,
    graphiql: config.graphiql
      ? createGraphiqlPage(exampleOperations(sandbox?.market.purchaseCodes.valid[0]))
      : null,
    files,
    clock,
    ...bodyLimits,
    graceMs: GRACE_MS,
  });
  let url = '';

  return {
    schema,
    fetch: async (request) => graphql.fetch(request),
    async listen() {
      ({ url } = await http.listen(config.port, config.host));
      return { url };
    },
    async close() {
      await http.close();
      await dispatcher.close();
      await sandbox?.close();
    },
    report: () => startReport(config, url),
  };
}

/** The marketplace hands out its lists whole. */
const WHOLE_LISTS = 1;

function createBackend(
  options: ConstructorParameters<typeof Client>[0],
  pageSize: number,
): Backend {
  const client = new Client(options);
  return { client, collections: new Collections(client, pageSize) };
}

function endpoints(
  config: Config,
  sandbox: Sandbox | null,
): { links: Endpoint | null; market: Endpoint | null } {
  if (!sandbox) return { links: config.links.endpoint, market: config.market.endpoint };
  return {
    links: { baseUrl: sandbox.links.url, apiKey: sandbox.links.key },
    market: { baseUrl: sandbox.market.url, apiKey: sandbox.market.key },
  };
}

/** The gateway's own key: one budget and one partition of the cache for everybody. */
function credentialOf(endpoint: Endpoint | null): Credential {
  return { partition: 'gateway', secret: endpoint?.apiKey ?? '' };
}

function freshnessOf(config: Config, resource: string): Freshness {
  const ttlMs = config.ttlMs[resource as Resource];
  return { ttlMs, staleWhileRevalidateMs: ttlMs, staleIfErrorMs: STALE_IF_ERROR_MS };
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
