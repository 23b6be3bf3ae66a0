import { createMcpRoute, type McpRoute } from './agents/mcp-route.ts';
import { createMetadataRoute } from './agents/resource-metadata.ts';
import { AnswerTally } from './answers/answer-tally.ts';
import { createFastPath } from './answers/fast-path.ts';
import { answerBytes, RememberedAnswers } from './answers/remembered-answers.ts';
import { Replies } from './answers/replies.ts';
import type { Authenticator } from './auth/authenticate.ts';
import { createAuthenticator } from './auth/authenticator.ts';
import { AGENT_CLASS, DEFAULT_CLASS } from './auth/caller-class.ts';
import { asAgent, type Viewer } from './auth/viewer.ts';
import type { Backends } from './backends.ts';
import type { Config } from './config/config.ts';
import type { OwnKeys } from './config/own-key.ts';
import { createConsoleRoutes } from './console/console-routes.ts';
import { type ConsoleStates, createConsole } from './console/create-console.ts';
import type { Digest } from './digest.ts';
import { createFilesRoute } from './files/files.ts';
import { createJobDataRoute, type JobDownload } from './files/job-data.ts';
import { UploadPlaces } from './files/upload-places.ts';
import type { GraphContext } from './graph/context.ts';
import {
  type Contexts,
  contextOfRequest,
  createContexts,
  createSources,
  type Sources,
} from './graphql/context.ts';
import { DryRuns } from './graphql/dry-runs.ts';
import { OperationTexts } from './graphql/limits/operation-texts.ts';
import { createMaskError, type MaskError } from './graphql/mask-error.ts';
import { Operations } from './graphql/operations.ts';
import { gatewayPlugins } from './graphql/plugins.ts';
import { schemaAccess } from './graphql/schema-access.ts';
import { createSchemaPages } from './graphql/schema-page.ts';
import { createGraphqlServer, type GraphqlServer } from './graphql/yoga.ts';
import { Door } from './http/door/admission.ts';
import { BodyPool } from './http/door/body/body-pool.ts';
import { type BodyLimits, bodyLimits } from './http/door/body/operation-body.ts';
import { type Callers, createCallers } from './http/door/caller.ts';
import { currentRequestId } from './http/door/every-request.ts';
import { createHostGuard } from './http/door/host-guard.ts';
import { Origins } from './http/door/origins.ts';
import { Codings } from './http/encoding/codings.ts';
import { createBuiltPages } from './http/pages/built-pages.ts';
import { createLandingPage } from './http/pages/landing.ts';
import { type HttpOptions, type Ports, serveHttp } from './http/server.ts';
import { isFinal } from './jobs/job.ts';
import { Jobs } from './jobs/jobs.ts';
import type { StoredJob, StoredJobs } from './jobs/stored-jobs.ts';
import { LiveHub } from './live/hub.ts';
import type { Telemetry } from './observe/telemetry.ts';
import { createOperatorPages } from './operators/operator-pages.ts';
import { createProbePage } from './operators/probe-page.ts';
import { createGatewayState, type GatewayState } from './operators/readiness.ts';
import { probeUpstreams } from './operators/upstream-probe.ts';
import type { Clock } from './scheduling/clock.ts';
import { schema } from './schema.ts';
import type { Owner } from './store/engine.ts';
import type { Cache } from './upstream/cache/cache.ts';
import type { FaultWatch } from './upstream/diagnosis.ts';
import type { Records } from './upstream/idempotency/records.ts';
import type { Usage } from './usage/usage.ts';

/** The dependencies of the servers. */
interface Parts {
  readonly backends: Backends;
  readonly cache: Cache;
  readonly clock: Clock;
  readonly storedJobs: StoredJobs;
  readonly keys: OwnKeys;
  readonly digest: Digest;
  /** This process as the owner of its store; `null` where it has none. */
  readonly owner: Owner | null;
  readonly ports: Ports;
  /** The folder of the pages for browsers; absent for those of the build. */
  readonly pages?: string | undefined;
  /** Addresses of the embedded sandbox; `null` over real upstreams. */
  readonly sandbox: { readonly links: string; readonly market: string } | null;
  /** What became of idempotency keys. */
  readonly records: Records;
  readonly telemetry: Telemetry;
  /** Counts requests by caller; `null` if nothing is recorded. */
  readonly usage: Usage;
  /** The latest results of requests to each upstream. */
  readonly watches: readonly FaultWatch[];
}

/** What both servers use: the rules of the door are defined here once for all routes. */
interface Shared {
  readonly authenticate: Authenticator;
  readonly answers: RememberedAnswers;
  readonly bodyLimits: BodyLimits;
  readonly bodyPool: BodyPool;
  readonly callers: Callers;
  readonly contexts: Contexts;
  readonly dryRuns: DryRuns;
  readonly jobs: Jobs;
  readonly live: LiveHub;
  readonly maskError: MaskError;
  readonly operations: Operations;
  readonly door: Door;
  readonly sources: Sources;
  readonly texts: OperationTexts;
}

/** What answers on the ports. */
export interface Servers {
  readonly graphql: GraphqlServer<GraphContext>;
  readonly jobs: Jobs;
  /** All live queries; `null` if disabled. */
  readonly live: LiveHub;
  /** The data of the console; `null` if metrics are disabled. */
  readonly console: ConsoleStates;
}

/** A job as it is downloaded. */
function downloadOf(job: StoredJob): JobDownload {
  const { format, name, state } = job.record;
  return { output: job, name, format, isComplete: isFinal(state) };
}

/** The signal of a caller whose answer costs too little to be given up with them. */
const NEVER = new AbortController().signal;

/** Puts the servers together. From now on, they answer on the ports. */
export function createServers(config: Config, parts: Parts): Servers {
  const shared = createShared(config, parts);
  const graphql = createGraphql(config, parts, shared);
  const state = createGatewayState({
    authenticate: shared.authenticate,
    clients: parts.backends.clients,
    clock: parts.clock,
    keys: parts.keys,
    owner: parts.owner,
    scrub: parts.telemetry.scrub,
    health: parts.telemetry.health,
    idempotency: () => parts.records.gauges,
  });
  const console = createConsole(config, {
    cache: parts.cache,
    clients: parts.backends.clients,
    clock: parts.clock,
    jobs: shared.jobs,
    keys: parts.keys,
    live: shared.live,
    state,
    telemetry: parts.telemetry,
  });
  const options = httpOptions(config, parts, shared, { graphql, state, console });
  serveHttp(options, parts.ports);
  return { graphql, jobs: shared.jobs, live: shared.live, console };
}

function createShared(config: Config, parts: Parts): Shared {
  const { backends, cache, clock, digest, keys, telemetry, usage } = parts;
  const { events } = telemetry;
  const complain = (sentence: string) => events.emit('complaint', { sentence });
  const authenticate = createAuthenticator(config.auth, {
    classes: config.links.classes,
    clock,
    digest,
    // Node loads its own when it is first looked at.
    fetch: (address, options) => globalThis.fetch(address, options),
    complain,
    rejected: (fault) => events.emit('tokenRejected', fault),
  });
  const callers = createCallers({ clock, maxWaitMs: config.maxWaitMs });
  const sources = createSources(
    { backend: backends.links, key: keys.LINKS },
    { backend: backends.market, key: keys.MARKET },
  );
  const { exposeUserApiKeys, uploadInlineMaxBytes } = config;
  const contexts = createContexts({
    callers,
    sources,
    clock,
    jobs: () => jobs,
    usage,
    exposeUserApiKeys,
    uploadInlineMaxBytes,
    // Until every slot that is taken now is free again, and all that waits before it has had a turn.
    patienceMs: 2 * Math.max(config.links.rateWindowMs, config.market.rateWindowMs),
  });
  const access = schemaAccess(config);
  const texts = new OperationTexts(config.operationLimits, access);
  const maskError = createMaskError(
    (error) => events.emit('defect', { error, requestId: currentRequestId() }),
    { suggestions: access === 'all' },
  );
  const dryRuns = new DryRuns();
  const { persistedOperations } = config;
  const operations = new Operations({
    schema,
    texts,
    contexts,
    dryRuns,
    maskError,
    clock,
    events,
    persistedOperations,
  });
  const jobs = createJobs(config, parts, { authenticate, operations });
  const maxBytes = answerBytes(config.cacheMaxBytes);
  return {
    authenticate,
    answers: new RememberedAnswers({ cache, clock, maxBytes }),
    bodyLimits: bodyLimits(uploadInlineMaxBytes),
    bodyPool: new BodyPool(),
    callers,
    contexts,
    live: createLive(config, { clock, digest, telemetry }),
    jobs,
    maskError,
    dryRuns,
    operations,
    door: new Door({
      authenticate,
      hostGuard: createHostGuard(config.host, config.allowedHosts),
      ownerSecret: parts.owner?.secret,
      origins: new Origins(config.corsOrigins, {
        // They could read only sample data.
        loopback: config.sandbox,
        onRefused: complain,
      }),
    }),
    sources,
    texts,
  };
}

function createJobs(
  { jobsKeepMs, jobsMax, jobsMaxPerCaller }: Config,
  { backends, clock, storedJobs: stored, keys, telemetry: { events } }: Parts,
  { authenticate, operations }: Pick<Shared, 'authenticate' | 'operations'>,
): Jobs {
  return new Jobs({
    clock,
    schema,
    stored,
    limits: { most: jobsMax, mostPerCaller: jobsMaxPerCaller, keepMs: jobsKeepMs },
    operations: {
      parse: (text, variables) => operations.parseForJob(text, variables),
      execute: (operation, terms) => operations.execute(operation, terms),
      forecastMs(upstream, calls, callerClass = DEFAULT_CLASS) {
        const client = backends.clients.find((each) => each.upstream === upstream);
        const budget = client?.budgets.lookAt(keys[upstream].credential);
        return (
          budget?.bulkForecastMs({ calls, callerClass }, client?.wire.heldMs) ??
          Number.POSITIVE_INFINITY
        );
      },
    },
    // Callers without a token file keep the permissions that they had when they started a job.
    viewerOf(owner) {
      const viewer = authenticate.named ? authenticate.named(owner.name) : owner;
      return viewer && owner.callerClass === AGENT_CLASS ? asAgent(viewer) : viewer;
    },
    changed({ error, id, state }) {
      const facts = { job: id, state, ...(error && { code: error.code }) };
      events.emit('notice', { message: 'job', facts });
    },
    defect: (error) => events.emit('defect', { error }),
  });
}

function createLive(
  { cacheMaxBytes, liveMaxAgeMs, liveMaxStreams, liveMaxStreamsPerCaller }: Config,
  { clock, digest, telemetry }: Pick<Parts, 'clock' | 'digest' | 'telemetry'>,
): LiveHub {
  return new LiveHub({
    clock,
    digest,
    limits: {
      maxStreams: liveMaxStreams,
      maxStreamsPerCaller: liveMaxStreamsPerCaller,
      maxAgeMs: liveMaxAgeMs,
      maxBytes: answerBytes(cacheMaxBytes),
    },
    events: telemetry.events,
  });
}

function createGraphql(
  config: Config,
  { clock, telemetry }: Parts,
  shared: Shared,
): Servers['graphql'] {
  const { answers, bodyLimits, bodyPool, callers, contexts, door, dryRuns, live } = shared;
  const { maskError, texts } = shared;
  const plugins = gatewayPlugins({
    answers,
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
    createContext: (initial) => contextOfRequest(initial, contexts),
    plugins,
    maskError,
  });
}

/** The other parts of the HTTP server. */
interface HttpParts {
  readonly graphql: Servers['graphql'];
  readonly state: GatewayState;
  readonly console: ConsoleStates;
}

function httpOptions(
  config: Config,
  parts: Parts,
  shared: Shared,
  { graphql, state, console }: HttpParts,
): HttpOptions {
  const { backends, clock, keys, pages, sandbox, telemetry, usage, watches } = parts;
  const { answers, bodyLimits, callers, door, jobs, maskError, sources } = shared;
  const { events, metrics } = telemetry;
  const codings = new Codings();
  const replies = new Replies({
    answers,
    clock,
    events,
    tally: new AnswerTally({ clock, events }),
    codings,
  });
  const builtPages = createBuiltPages(codings, pages);
  return {
    graphql,
    events,
    fastPath: createFastPath({ answers, replies, callers, clock }),
    // The editor styles itself from scripts.
    graphiql: builtPages.document('graphiql', ["style-src 'self' 'unsafe-inline'"]),
    files: createFilesRoute({
      callers,
      linksFor: (viewer, caller) => sources(viewer, caller).links,
      clock,
      events,
      places: new UploadPlaces(config.uploadMaxConcurrent, config.links.rateLimit),
      maxBytes: config.uploadMaxBytes,
      maskError,
    }),
    jobData: createJobDataRoute({
      clock,
      codings,
      find(viewer, id) {
        const job = jobs.find(viewer, id);
        return job && downloadOf(job);
      },
      maskError,
    }),
    mcp: config.mcp.on
      ? {
          messages: createMcp(config, parts, shared),
          metadata: config.auth.mode === 'jwt' ? createMetadataRoute(config.auth.issuer) : null,
        }
      : null,
    landing: createLandingPage({
      // On a separate port, another server serves it.
      console: config.metricsPort === null,
      schema: schemaAccess(config) !== 'none',
      sandbox,
    }),
    schemaPages: createSchemaPages({
      schema,
      access: schemaAccess(config),
      accepted: (viewer) => opened(viewer, shared).market.admitted(),
      maskError,
      clientPackage: builtPages.clientPackage,
    }),
    assets: builtPages.asset,
    pages: createOperatorPages({
      access: config.metrics,
      metrics,
      console: createConsoleRoutes({
        page: builtPages.document('console'),
        console,
        usage,
        maskError,
        hasRoles: config.auth.mode === 'token' || config.auth.mode === 'jwt',
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
    door,
    bodyLimits,
    codings,
    clock,
  };
}

/** Both APIs for a caller, outside of any operation. */
function opened(viewer: Viewer, { callers, sources }: Pick<Shared, 'callers' | 'sources'>) {
  return sources(viewer, callers.callerOf(viewer, { prefer: null, signal: NEVER }));
}

function createMcp(
  config: Config,
  { clock, telemetry: { events } }: Parts,
  shared: Shared,
): McpRoute {
  const { bodyPool, jobs, maskError, operations } = shared;
  return createMcpRoute({
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
