import { mcpRoute } from './agents/mcp-route.ts';
import { metadataRoute } from './agents/resource-metadata.ts';
import { AnswerTally } from './answers/answer-tally.ts';
import { createFastPath } from './answers/fast-path.ts';
import { Replies } from './answers/replies.ts';
import type { Viewer } from './auth/viewer.ts';
import type { Config } from './config/config.ts';
import { consolePages } from './console/console-routes.ts';
import { ConsoleStates } from './console/console-states.ts';
import { filesRoute } from './files/files.ts';
import { type JobDownload, jobDataRoute } from './files/job-data.ts';
import { UploadPlaces } from './files/upload-places.ts';
import type { GraphContext } from './graph/context.ts';
import { contextsOfRequests } from './graphql/context.ts';
import { gatewayPlugins } from './graphql/plugins.ts';
import { schemaAccess } from './graphql/schema-access.ts';
import { schemaRoutes } from './graphql/schema-page.ts';
import { createGraphqlServer, type GraphqlServer } from './graphql/yoga.ts';
import type { Routes } from './http/door/route.ts';
import { Codings } from './http/encoding/codings.ts';
import { type BuiltPages, createBuiltPages } from './http/pages/built-pages.ts';
import { landingRoute } from './http/pages/landing.ts';
import { serveHttp } from './http/server.ts';
import { isFinal } from './jobs/job.ts';
import type { Jobs } from './jobs/jobs.ts';
import type { StoredJob } from './jobs/stored-jobs.ts';
import type { LiveHub } from './live/hub.ts';
import { operatorRoutes } from './operators/operator-pages.ts';
import { createProbePage } from './operators/probe-page.ts';
import { type GatewayState, readiness } from './operators/readiness.ts';
import { probeUpstreams } from './operators/upstream-probe.ts';
import { schema } from './schema.ts';
import { createShared, type Parts, type Shared } from './shared.ts';

/** What answers on the ports. */
export interface Servers {
  readonly graphql: GraphqlServer<GraphContext>;
  readonly jobs: Jobs;
  /** All live queries; `null` if disabled. */
  readonly live: LiveHub;
  /** The data of the console; `null` if metrics are disabled. */
  readonly console: ConsoleStates;
}

/** Puts the servers together. From now on, they answer on the ports. */
export function createServers(config: Config, parts: Parts): Servers {
  const shared = createShared(config, parts);
  const graphql = createGraphql(config, parts, shared);
  const states = {
    authenticate: shared.authenticate,
    clients: parts.backends.clients,
    clock: parts.clock,
    keys: parts.keys,
    owner: parts.owner,
    scrub: parts.telemetry.scrub,
    health: parts.telemetry.health,
    idempotency: () => parts.records.gauges,
  };
  const state: GatewayState = (draining) => readiness(states, draining);
  const console = new ConsoleStates(config, {
    cache: parts.cache,
    clients: parts.backends.clients,
    clock: parts.clock,
    jobs: shared.jobs,
    keys: parts.keys,
    live: shared.live,
    state,
    telemetry: parts.telemetry,
  });
  const { clock, pages, telemetry } = parts;
  const { answers, bodyLimits, callers, door } = shared;
  const { events } = telemetry;
  const codings = new Codings();
  const tally = new AnswerTally({ clock, events });
  const replies = new Replies({ answers, clock, events, tally, codings });
  const builtPages = createBuiltPages(codings, pages);
  const options = {
    graphql,
    events,
    fastPath: createFastPath({ answers, replies, callers, clock }),
    // The editor styles itself from scripts.
    graphiql: builtPages.document('graphiql', ["style-src 'self' 'unsafe-inline'"]),
    routes: routesOf(config, parts, shared, { builtPages, codings, console, state }),
    door,
    bodyLimits,
    codings,
    clock,
  };
  serveHttp(options, parts.ports);
  return { graphql, jobs: shared.jobs, live: shared.live, console };
}

function createGraphql(
  config: Config,
  { cache, clock, telemetry }: Parts,
  shared: Shared,
): Servers['graphql'] {
  const { answers, bodyLimits, bodyPool, callers, contexts, door, dryRuns, live } = shared;
  const { maskError, texts } = shared;
  const plugins = gatewayPlugins({
    answers,
    cache,
    hub: live,
    contexts,
    dryRuns,
    maskError,
    door,
    callers,
    bodyLimits,
    bodyPool,
    texts,
    persistedOperations: config.persistedOperations,
    schemaAccess: schemaAccess(config),
    clock,
    events: telemetry.events,
  });
  return createGraphqlServer({
    schema,
    createContext: contextsOfRequests(contexts),
    plugins,
    maskError,
  });
}

/** A job as it is downloaded. */
function downloadOf(job: StoredJob): JobDownload {
  const { format, name, state } = job.record;
  return { output: job, name, format, isComplete: isFinal(state) };
}

/** The signal of a caller whose answer costs too little to be given up with them. */
const NEVER = new AbortController().signal;

/** What the routes need besides. */
interface RouteParts {
  readonly builtPages: BuiltPages;
  readonly codings: Codings;
  readonly console: ConsoleStates;
  readonly state: GatewayState;
}

/** The routes of a gateway besides `/graphql`, each from the folder that answers it. */
function routesOf(
  config: Config,
  parts: Parts,
  shared: Shared,
  { builtPages, codings, console, state }: RouteParts,
): Routes[] {
  const { backends, clock, keys, sandbox, telemetry, usage, watches } = parts;
  const { callers, jobs, maskError, sources } = shared;
  const { events, metrics } = telemetry;
  const { auth, mcp } = config;
  return [
    filesRoute({
      callers,
      linksFor: (viewer, caller) => sources(viewer, caller).links,
      clock,
      events,
      places: new UploadPlaces(config.uploadMaxConcurrent, config.links.rateLimit),
      maxBytes: config.uploadMaxBytes,
      maskError,
    }),
    jobDataRoute({
      clock,
      codings,
      find(viewer, id) {
        const job = jobs.find(viewer, id);
        return job && downloadOf(job);
      },
      maskError,
    }),
    mcp.on ? createMcp(config, parts, shared) : {},
    mcp.on && auth.mode === 'jwt' ? metadataRoute(auth.issuer) : {},
    landingRoute({
      // On a separate port, another server serves it.
      console: config.metricsPort === null,
      schema: schemaAccess(config) !== 'none',
      sandbox,
    }),
    schemaRoutes({
      schema,
      access: schemaAccess(config),
      accepted: (viewer) => opened(viewer, shared).market.admitted(),
      maskError,
      clientPackage: builtPages.clientPackage,
    }),
    { '/assets/': { answer: builtPages.asset } },
    operatorRoutes({
      access: config.metrics,
      metrics,
      console: consolePages({
        page: builtPages.document('console'),
        console,
        usage,
        maskError,
        hasRoles: auth.mode === 'token' || auth.mode === 'jwt',
      }),
      state,
      probe: createProbePage({
        clock,
        keys,
        probe: () =>
          probeUpstreams({
            clients: backends.clients,
            watches,
            credentials: { LINKS: keys.LINKS.credential, MARKET: keys.MARKET.credential },
            clock,
            maxWaitMs: config.maxWaitMs,
          }),
      }),
    }),
  ];
}

/** Both APIs for a caller, outside of any operation. */
function opened(viewer: Viewer, { callers, sources }: Pick<Shared, 'callers' | 'sources'>) {
  return sources(viewer, callers.callerOf(viewer, { prefer: null, signal: NEVER }));
}

function createMcp(
  config: Config,
  { clock, telemetry: { events } }: Parts,
  shared: Shared,
): Routes {
  const { bodyPool, jobs, maskError, operations } = shared;
  return mcpRoute({
    clock,
    hasProvider: config.auth.mode === 'jwt',
    maskError,
    bodyPool,
    async load() {
      const { createAgents } = await import('./agents/create-agents.ts');
      return createAgents({
        access: schemaAccess(config),
        accepted: (viewer) => opened(viewer, shared).market.admitted(),
        budgetOf: async (viewer) => {
          const { links, market } = opened(viewer, shared);
          const done = () => Promise.resolve();
          return (await links.budgetState(done)) ?? (await market.budgetState(done));
        },
        complain: (sentence) => events.emit('complaint', { sentence }),
        find: (viewer, id) => jobs.find(viewer, id),
        graph: { schema, operations, persistedOperations: config.persistedOperations },
        maskError,
        mayChange: config.mcp.mayChange,
      });
    },
  });
}
