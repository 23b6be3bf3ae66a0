import { randomBytes } from 'node:crypto';
import type { GraphQLSchema } from 'graphql';
import { Agent } from 'undici';
import { createAuthenticator } from './auth/authenticator.ts';
import type { Credential } from './auth/credential.ts';
import { type Clock, systemClock } from './clock.ts';
import type { Config, Endpoint } from './config/config.ts';
import { createDigest } from './digest.ts';
import { linksApi } from './links/api.ts';
import { createMarketApi } from './market/api.ts';
import type { Log, LogStream } from './observe/logger.ts';
import { createTelemetry } from './observe/telemetry.ts';
import type { Resource } from './resources.ts';
import type { Sandbox } from './sandbox/sandbox.ts';
import { schema } from './schema.ts';
import { createCallers } from './server/door/caller.ts';
import { createHostGuard } from './server/door/host-guard.ts';
import { Origins } from './server/door/origins.ts';
import { createFilesRoute } from './server/files/files.ts';
import { exampleOperations } from './server/graphiql/examples.ts';
import { createGraphiqlPage } from './server/graphiql/graphiql.ts';
import { type Backend, createContextFactory, createSources } from './server/graphql/context.ts';
import { createMaskError } from './server/graphql/mask-error.ts';
import { gatewayPlugins } from './server/graphql/plugins.ts';
import { createGraphqlServer } from './server/graphql/yoga.ts';
import { createHttpServer } from './server/http.ts';
import { budgetGauges, createGatewayState } from './server/operators/gateway-state.ts';
import { createOperatorPages } from './server/operators/operator-pages.ts';
import { startFacts, startReport } from './server/operators/start-report.ts';
import { shutDown } from './server/shutdown.ts';
import { Cache, type Freshness } from './upstream/cache/cache.ts';
import { Client } from './upstream/client.ts';
import { Lists } from './upstream/lists/pages.ts';

/** A whole gateway, not yet listening. */
export interface Gateway {
  readonly schema: GraphQLSchema;
  /** Answers a request without a socket of its own; the upstreams are asked over real ones. */
  fetch(request: Request): Promise<Response>;
  /** @throws ListenError when the configured address cannot be had. */
  listen(): Promise<{ readonly url: string }>;
  /** Lets running requests finish, then lets go of everything. */
  close(): Promise<void>;
  /** What an operator wants to know at a start: as lines for a person, or into the log. */
  report(): string[];
  logStart(): void;
  readonly log: Log;
}

/** What a test puts in the place of the world. */
export interface Overrides {
  readonly clock?: Clock;
  /** Where the log goes; without it, only what is unexpected is written, to standard error. */
  readonly log?: LogStream;
}

/** Largest GraphQL request. */
const MAX_BODY_BYTES = 1024 * 1024;
/** Largest upstream answer. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/**
 * Puts a gateway together: the one place where configuration, time, randomness and sockets enter.
 * Without any upstream in the configuration it starts the embedded sandbox and speaks to that.
 */
export async function createGateway(config: Config, overrides: Overrides = {}): Promise<Gateway> {
  const clock = overrides.clock ?? systemClock;
  // Loaded only where it is used: in production it would be a tenth of the time to start.
  const { startSandbox } = config.sandbox ? await import('./sandbox/sandbox.ts') : {};
  const sandbox = startSandbox ? await startSandbox() : null;
  const dispatcher = new Agent({ maxResponseSize: MAX_ANSWER_BYTES });
  const cache = new Cache({ clock, maxBytes: config.cacheMaxBytes });
  const { links, market } = endpoints(config, sandbox);
  const telemetry = await createTelemetry({
    clock,
    logLevel: config.logLevel,
    stream: overrides.log,
    secrets: secretsOf(config, links, market),
    gauges:
      config.metrics === 'off'
        ? null
        : { budgets: () => budgetGauges(clients), cache: () => cache.size },
  });
  const { health, log, metrics, observer } = telemetry;
  const shared = {
    dispatcher,
    clock,
    cache,
    observer,
    digest: createDigest(randomBytes(32).toString('base64')),
    freshness: (resource: Resource) => freshnessOf(config, resource),
  };

  const linksBackend =
    links &&
    createBackend(
      {
        ...shared,
        ...config.links,
        api: linksApi,
        baseUrl: links.baseUrl,
        ...(config.auth.mode === 'passthrough' ? { maxKeys: config.auth.maxKeys } : {}),
        onSurprise: (field) => observer.surprise?.('LINKS', field),
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
        onSurprise: (field) => observer.surprise?.('MARKET', field),
        timeZone: 'UTC',
      },
      WHOLE_LISTS,
    );

  const authenticate = createAuthenticator(config.auth, {
    clock,
    digest: shared.digest,
    // Node loads its own when it is first looked at.
    fetch: (...request) => globalThis.fetch(...request),
    complain: (sentence) => log.complaint(sentence),
  });
  const callers = createCallers({ authenticate, clock, maxWaitMs: config.maxWaitMs });
  const origins = new Origins(config.corsOrigins);
  const sources = createSources(
    { backend: linksBackend, credential: credentialOf(links) },
    { backend: marketBackend, credential: credentialOf(market) },
  );
  const createContext = createContextFactory({
    callers,
    sources,
    clock,
    exposeUserApiKeys: config.exposeUserApiKeys,
    uploadInlineMaxBytes: config.uploadInlineMaxBytes,
  });

  const maskError = createMaskError((error) => log.unexpected(error), {
    suggestions: config.introspection,
  });
  const bodyLimits = {
    maxBodyBytes: MAX_BODY_BYTES,
    // The operation, and the file.
    maxMultipartBytes: MAX_BODY_BYTES + config.uploadInlineMaxBytes,
  };
  const plugins = gatewayPlugins({
    origins,
    callers,
    bodyLimits,
    operationLimits: config.operationLimits,
    persistedOperations: config.persistedOperations,
    introspection: config.introspection,
    clock,
    observer,
    tracing: telemetry.tracing,
  });
  const graphql = createGraphqlServer({ schema, createContext, plugins, maskError });
  const files = createFilesRoute({
    callers,
    linksFor: sources.links,
    clock,
    maxBytes: config.uploadMaxBytes,
    origins,
    maskError,
  });
  const clients = [linksBackend, marketBackend].flatMap((backend) => backend?.client ?? []);
  const http = createHttpServer({
    graphql,
    graphiql: config.graphiql
      ? createGraphiqlPage(exampleOperations(sandbox?.market.purchaseCodes.valid[0]))
      : null,
    files,
    clock,
    origins,
    bodyLimits,
    pages: createOperatorPages({
      access: config.metrics,
      metrics,
      state: createGatewayState({ clock, clients, cache, health }),
    }),
    hostGuard: createHostGuard(config.host, config.allowedHosts),
    graceMs: config.shutdownGraceMs,
  });
  let url = '';
  let closing: Promise<void> | undefined;

  return {
    schema,
    fetch: async (request) => graphql.fetch(request),
    async listen() {
      ({ url } = await http.listen(config.port, config.host));
      return { url };
    },
    async close() {
      closing ??= shutDown({
        clock,
        http,
        clients,
        dispatcher,
        delayMs: url === '' ? 0 : config.shutdownDelayMs,
        graceMs: config.shutdownGraceMs,
      }).then(() => sandbox?.close());
      await closing;
    },
    report: () => startReport(config, url),
    logStart: () => log.event('started', startFacts(config, url)),
    log,
  };
}

/** The marketplace hands out its lists whole. */
const WHOLE_LISTS = 1;

function createBackend(
  options: ConstructorParameters<typeof Client>[0],
  pageSize: number,
): Backend {
  const client = new Client(options);
  return { client, lists: new Lists(client, pageSize) };
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

/** What must never be read anywhere, whatever goes wrong. */
function secretsOf(config: Config, ...endpoints: readonly (Endpoint | null)[]): string[] {
  const { auth } = config;
  const shared = auth.mode === 'jwt' && 'secret' in auth.keys ? [auth.keys.secret] : [];
  return [...shared, ...endpoints.flatMap((endpoint) => endpoint?.apiKey ?? [])];
}

function freshnessOf(config: Config, resource: Resource): Freshness {
  const ttlMs = config.ttlMs[resource];
  const { staleWhileRevalidateMs, staleIfErrorMs } = config;
  return { ttlMs, staleWhileRevalidateMs, staleIfErrorMs };
}
