import { randomBytes } from 'node:crypto';
import type { GraphQLSchema } from 'graphql';
import manifest from '../package.json' with { type: 'json' };
import { entryBytes } from './answers/remembered-answers.ts';
import { createBackends } from './backends.ts';
import type { Endpoint } from './config/apis.ts';
import type { Config } from './config/config.ts';
import { endpointsOf, secretsOf } from './config/endpoints.ts';
import { OwnKey } from './config/own-key.ts';
import { createDigest } from './digest.ts';
import type { UpstreamName } from './errors.ts';
import { currentRequestId } from './http/door/every-request.ts';
import { isLocal } from './http/door/local-caller.ts';
import { createPorts, type Ports } from './http/server.ts';
import { shutDown } from './http/shutdown.ts';
import { StoredJobs } from './jobs/stored-jobs.ts';
import { dailyReads } from './links/watched-lists.ts';
import type { LogStream } from './observe/log/logger.ts';
import { createTelemetry } from './observe/telemetry.ts';
import { budgetGauges } from './operators/budget-gauges.ts';
import { classQuotas } from './operators/class-quotas.ts';
import { startFacts, startReport } from './operators/start-report.ts';
import type { Sandbox } from './sandbox/sandbox.ts';
import { type Clock, endingClock, systemClock } from './scheduling/clock.ts';
import { schema } from './schema.ts';
import { CountSeries } from './series/count-series.ts';
import { createServers } from './servers.ts';
import type { Owner } from './store/engine.ts';
import { newStore } from './store/open-store.ts';
import type { Store } from './store/store.ts';
import { SavedSlots } from './upstream/budget/saved-slots.ts';
import { Cache } from './upstream/cache/cache.ts';
import { Generations } from './upstream/cache/generations.ts';
import { SavedCache } from './upstream/cache/saved/saved-cache.ts';
import { FaultWatch, type Subject } from './upstream/diagnosis.ts';
import { Records } from './upstream/idempotency/records.ts';
import type { Witness } from './upstream/wire/exchange.ts';
import { createDispatcher } from './upstream/wire/undici.ts';
import { Usage } from './usage/usage.ts';

/** A whole gateway, not yet listening. */
export interface Gateway {
  readonly schema: GraphQLSchema;
  /** Handles a request without a socket; upstream requests use real sockets. */
  fetch(request: Request): Promise<Response>;
  /**
   * Begins to listen. `operatorsUrl` is where metrics and console are: the same as `url`, but with `METRICS_PORT`.
   * @throws ListenError when a configured address cannot be had.
   */
  listen(): Promise<{ readonly url: string; readonly operatorsUrl: string }>;
  /** Lets running requests finish, then lets go of everything. */
  close(): Promise<void>;
  /** Lets go of everything but the ports at once, because another process owns the store. Requests to upstreams fail. */
  leave(): Promise<void>;
  /** Facts about the start for the operator: as lines for a terminal, or as a log line. */
  report(): string[];
  logStart(): void;
  logStop(message: 'stopping' | 'stopped', facts?: { readonly signal: string }): void;
  /** Logs an exception outside of any response, with the id of the request whose work caused it. */
  reportDefect(error: unknown): void;
}

/** The dependencies that a test can replace. */
export interface Overrides {
  readonly clock?: Clock;
  /** The target of the log; without it, only unexpected errors are written, to standard error. */
  readonly log?: LogStream;
  /** The state of the process, which the gateway closes; by default, one that ends with it. */
  readonly store?: Store;
  /** This process as the owner of its store. */
  readonly owner?: Owner;
  /** Ports that may listen already. */
  readonly ports?: Ports;
  /** The folder of the pages for browsers, if they are not those of the build. */
  readonly pages?: string;
}

/**
 * Puts a gateway together: the one place where configuration, time, randomness and sockets enter.
 * Without any upstream in the configuration it starts the embedded sandbox and speaks to that.
 * @throws ListenError when a port that is set for the sandbox cannot be had.
 */
export async function createGateway(config: Config, overrides: Overrides = {}): Promise<Gateway> {
  const clock = endingClock(overrides.clock ?? systemClock);
  const store = overrides.store ?? newStore(clock);
  const sandbox = config.sandbox ? await startEmbedded() : null;
  const endpoints = endpointsOf(config, sandbox);
  const dispatcher = createDispatcher();
  const secrets = secretsOf(config, endpoints);
  const telemetry = await createTelemetry({
    clock,
    logLevel: config.logLevel,
    stream: overrides.log,
    secrets,
    gauges: {
      budgets: () => budgetGauges(backends.clients, keys),
      cache: () => cache.size,
      classes: {
        configured: config.callerClasses,
        quotas: () => classQuotas(config, backends.clients, keys),
      },
      idempotency: () => records.gauges,
      jobs: () => jobs.counts,
      live: () => live.size,
    },
  });
  const { events } = telemetry;
  const complain = (sentence: string): void => events.emit('complaint', { sentence });
  const digest = createDigest(randomBytes(32).toString('base64'));
  const maxBytes = entryBytes(config.cacheMaxBytes);
  const { links, market } = config;
  const keepMs = Math.max(links.rateWindowMs, market.rateWindowMs);
  const slots = await SavedSlots.load({ store, clock, keepMs });
  const generations = new Generations();
  const cache = new Cache({ clock, maxBytes, generations });
  const savedCache = store.isDurable
    ? await SavedCache.load({
        store,
        clock,
        maxBytes: config.cacheFileMaxBytes,
        cache,
        generations,
        complain,
      })
    : undefined;
  if (savedCache && savedCache.size > 0) {
    const facts = { entries: savedCache.size };
    events.emit('notice', { message: 'cache loaded', facts });
  }
  const records = await Records.load({
    clock,
    store,
    keepMs: config.idempotencyKeepMs,
    maxBytes: config.idempotencyMaxBytes,
    mustSave:
      overrides.store !== undefined &&
      !config.sandbox &&
      (config.stateDir !== null || config.databaseUrl !== null),
    events,
    complain,
  });
  const counts = await CountSeries.load({
    store,
    clock,
    maxBytes: config.historyMaxBytes,
    baseUrls: { LINKS: endpoints.links?.baseUrl ?? '', MARKET: endpoints.market?.baseUrl ?? '' },
    complain,
  });
  const { scrub } = telemetry;
  const usage = await Usage.load({ clock, events, store, scrub, complain });
  const watches: FaultWatch[] = [];
  const witness = (subject: Subject): Witness => {
    const watch = new FaultWatch(subject, { clock, complain });
    watches.push(watch);
    return watch;
  };
  const world = {
    dispatcher,
    clock,
    cache,
    counts,
    events,
    digest,
    records,
    savedCache,
    slots,
    witness,
  };
  const backends = createBackends(config, endpoints, world);
  const keyOf = (upstream: UpstreamName, endpoint: Endpoint | null): OwnKey =>
    new OwnKey({
      upstream,
      endpoint,
      clock,
      digest,
      complain,
      replaced({ secret }, before) {
        secrets.push(secret);
        const facts = { upstream, setting: `${upstream}_API_KEY_FILE` };
        events.emit('notice', { message: 'API key replaced', facts });
        const client = backends.clients.find((each) => each.upstream === upstream);
        client?.forget(before);
      },
    });
  const keys = {
    LINKS: keyOf('LINKS', endpoints.links),
    MARKET: keyOf('MARKET', endpoints.market),
  };
  const lists = {
    links: backends.links?.lists ?? null,
    market: backends.market?.lists ?? null,
  };
  counts.watch(dailyReads(config.historyWatch, lists, keys));
  const { owner = null, pages } = overrides;
  const graceMs = config.shutdownGraceMs;
  const ports = overrides.ports ?? createPorts(config.metricsPort !== null, { clock, graceMs });
  const parts = {
    backends,
    cache,
    clock,
    digest,
    keys,
    owner,
    pages,
    ports,
    records,
    storedJobs: await StoredJobs.load(store, { complain, maxBytes: config.jobsMaxBytes }),
    sandbox: sandbox && { links: sandbox.links.url, market: sandbox.market.url },
    telemetry,
    usage,
    watches,
  };
  const { graphql, jobs, live, console } = createServers(config, parts);
  const { callers, operators } = ports;
  jobs.begin();
  let url = '';
  let operatorsUrl = '';
  let closing: Promise<void> | undefined;
  const end = async (): Promise<void> => {
    usage.close();
    savedCache?.close();
    await sandbox?.close();
    await store.close();
    clock.end();
  };
  return {
    schema,
    fetch: async (request) => graphql.fetch(request),
    async listen() {
      const { host, metricsPort, port } = config;
      if (operators && metricsPort !== null) {
        ({ url: operatorsUrl } = await operators.listen(metricsPort, host, 'METRICS_PORT'));
      }
      ({ url } = await callers.listen(port, host));
      operatorsUrl ||= url;
      events.emit('listening', { version: manifest.version });
      return { url, operatorsUrl };
    },
    async close() {
      closing ??= (async () => {
        events.emit('draining', null);
        console.drain();
        // Their requests need slots that requests of callers can use now.
        await jobs.drain();
        await shutDown({
          clock,
          ports,
          endStreams: () => live.end(),
          clients: backends.clients,
          dispatcher,
          graceMs,
        });
        await end();
      })();
      await closing;
    },
    async leave() {
      await jobs.drain();
      live.end();
      await dispatcher.destroy();
      await end();
    },
    report: () => startReport(config, { url, operatorsUrl, sandbox }),
    logStart: () => {
      const facts = startFacts(config, { url, operatorsUrl, sandbox });
      events.emit('notice', { message: 'started', facts });
    },
    logStop: (message, facts) => events.emit('notice', { message, ...(facts && { facts }) }),
    reportDefect: (error) => events.emit('defect', { error, requestId: currentRequestId() }),
  };
}

/** Loaded only if used: it takes a tenth of the start time. */
async function startEmbedded(): Promise<Sandbox> {
  const { startSandbox } = await import('./sandbox/sandbox.ts');
  return startSandbox({ isLocal });
}
