import { randomBytes } from 'node:crypto';
import { useDeferStream } from '@graphql-yoga/plugin-defer-stream';
import type { GraphQLSchema } from 'graphql';
import type { YogaInitialContext } from 'graphql-yoga';
import { Agent } from 'undici';
import { createAuthenticator } from './auth/authenticator.ts';
import type { Credential } from './auth/credential.ts';
import type { Viewer } from './auth/viewer.ts';
import { type Clock, systemClock } from './clock.ts';
import type { Config, Endpoint } from './config/config.ts';
import { createDigest } from './digest.ts';
import type { GraphContext } from './graph/context.ts';
import { Source } from './graph/source.ts';
import { account } from './links/account/account.ts';
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
import { createMaskError } from './server/graphql/mask-error.ts';
import { useAuthentication } from './server/graphql/use-authentication.ts';
import { dryRunHeader, useDryRun } from './server/graphql/use-dry-run.ts';
import { useHttpCaching } from './server/graphql/use-http-caching.ts';
import { useNoSuggestions } from './server/graphql/use-no-suggestions.ts';
import { useObservation } from './server/graphql/use-observation.ts';
import { useOperationLimits } from './server/graphql/use-operation-limits.ts';
import {
  useAllowList,
  useAutomaticPersistence,
} from './server/graphql/use-persisted-operations.ts';
import { useReceipt } from './server/graphql/use-receipt.ts';
import { createGraphqlServer, type SocketContext } from './server/graphql/yoga.ts';
import { createHttpServer } from './server/http.ts';
import { budgetGauges, createGatewayState } from './server/operators/gateway-state.ts';
import { createOperatorPages } from './server/operators/operator-pages.ts';
import { startFacts, startReport } from './server/operators/start-report.ts';
import { shutDown } from './server/shutdown.ts';
import { AdmittingClient } from './upstream/admitting-client.ts';
import { Cache, type Freshness } from './upstream/cache/cache.ts';
import { Client } from './upstream/client.ts';
import { DryRun, DryRunClient } from './upstream/dry-run.ts';
import { Lists } from './upstream/lists/pages.ts';
import type { Caller } from './upstream/operation.ts';

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
  const authentication = useAuthentication(callers);
  const origins = new Origins(config.corsOrigins);
  const linksFor = (viewer: Viewer, caller: Caller, dryRun?: DryRun): Source =>
    new Source({
      upstream: 'LINKS',
      lists: linksBackend && listsOf(linksBackend, dryRun),
      access: { caller, credential: viewer.linksCredential ?? credentialOf(links) },
    });

  const createContext = (initial: YogaInitialContext & SocketContext): GraphContext => {
    const { headers, signal } = initial.request;
    const viewer = authentication.viewerOf(initial.request);
    const dryRun = headers.get(dryRunHeader) === '1' ? new DryRun() : undefined;
    const caller = callers.callerOf(viewer, { prefer: headers.get('prefer'), signal });
    const ofLinks = linksFor(viewer, caller, dryRun);
    const marketLists = marketBackend && listsOf(marketBackend, dryRun);
    return {
      viewer,
      links: ofLinks,
      market: new Source({
        upstream: 'MARKET',
        // Nobody has looked at the caller's key yet, and this one is ours.
        lists:
          marketLists && viewer.linksCredential
            ? marketLists.through(
                new AdmittingClient(marketLists.client, () => ofLinks.read(account)),
              )
            : marketLists,
        access: { caller, credential: credentialOf(market) },
      }),
      receipt: caller.receipt,
      ...(dryRun ? { dryRun } : {}),
      clock,
      exposeUserApiKeys: config.exposeUserApiKeys,
      uploadInlineMaxBytes: config.uploadInlineMaxBytes,
    };
  };

  const maskError = createMaskError((error) => log.unexpected(error), {
    suggestions: config.introspection,
  });
  const bodyLimits = {
    maxBodyBytes: MAX_BODY_BYTES,
    // The operation, and the file.
    maxMultipartBytes: MAX_BODY_BYTES + config.uploadInlineMaxBytes,
  };
  const graphql = createGraphqlServer({
    schema,
    createContext,
    plugins: [
      authentication.plugin,
      config.persistedOperations
        ? useAllowList(config.persistedOperations)
        : useAutomaticPersistence(),
      useOperationLimits(config.operationLimits, config),
      ...(config.introspection ? [] : [useNoSuggestions()]),
      useDeferStream(),
      useReceipt(),
      useHttpCaching(),
      useDryRun(),
      // Behind all that can change an answer.
      useObservation({ clock, observer, tracing: telemetry.tracing }),
    ],
    maskError,
    origins,
    bodyLimits,
  });
  const files = createFilesRoute({
    callers,
    linksFor,
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

/** One upstream as the whole process shares it. */
interface Backend {
  readonly client: Client;
  readonly lists: Lists;
}

function createBackend(
  options: ConstructorParameters<typeof Client>[0],
  pageSize: number,
): Backend {
  const client = new Client(options);
  return { client, lists: new Lists(client, pageSize) };
}

/** The lists as one operation sees them. */
function listsOf({ client, lists }: Backend, dryRun: DryRun | undefined): Lists {
  return dryRun ? lists.dryRun(new DryRunClient(client, dryRun)) : lists;
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
