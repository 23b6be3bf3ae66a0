import { answerBytes, RememberedAnswers } from './answers/remembered-answers.ts';
import type { Authenticator } from './auth/authenticate.ts';
import { createAuthenticator } from './auth/authenticator.ts';
import { AGENT_CLASS, DEFAULT_CLASS } from './auth/caller-class.ts';
import { asAgent } from './auth/viewer.ts';
import type { Backends } from './backends.ts';
import type { Config } from './config/config.ts';
import type { OwnKeys } from './config/own-key.ts';
import type { Digest } from './digest.ts';
import { type Contexts, createContexts, createSources, type Sources } from './graphql/context.ts';
import { DryRuns } from './graphql/dry-runs.ts';
import { OperationTexts } from './graphql/limits/operation-texts.ts';
import { createMaskError, type MaskError } from './graphql/mask-error.ts';
import { Operations } from './graphql/operations.ts';
import { schemaAccess } from './graphql/schema-access.ts';
import { Door } from './http/door/admission.ts';
import { BodyPool } from './http/door/body/body-pool.ts';
import { type BodyLimits, bodyLimits } from './http/door/body/operation-body.ts';
import { type Callers, createCallers } from './http/door/caller.ts';
import { currentRequestId } from './http/door/every-request.ts';
import { createHostGuard } from './http/door/host-guard.ts';
import { Origins } from './http/door/origins.ts';
import type { Ports } from './http/server.ts';
import { Jobs } from './jobs/jobs.ts';
import type { StoredJobs } from './jobs/stored-jobs.ts';
import { LiveHub } from './live/hub.ts';
import type { Telemetry } from './observe/telemetry.ts';
import type { Clock } from './scheduling/clock.ts';
import { schema } from './schema.ts';
import type { Owner } from './store/engine.ts';
import type { Cache } from './upstream/cache/cache.ts';
import type { FaultWatch } from './upstream/diagnosis.ts';
import type { Records } from './upstream/idempotency/records.ts';
import type { Usage } from './usage/usage.ts';

/** The dependencies of the servers. */
export interface Parts {
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
export interface Shared {
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

/** Makes what several routes share. */
export function createShared(config: Config, parts: Parts): Shared {
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
