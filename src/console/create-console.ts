import { entryBytes } from '../answers/remembered-answers.ts';
import type { Config } from '../config/config.ts';
import type { OwnKeys } from '../config/own-key.ts';
import type { Telemetry } from '../observe/telemetry.ts';
import { classQuotas } from '../operators/class-quotas.ts';
import type { GatewayState } from '../operators/readiness.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { Cache } from '../upstream/cache/cache.ts';
import type { Client } from '../upstream/client.ts';
import type { Usage } from '../usage/usage.ts';
import { ConsoleFeed } from './feed.ts';
import type { ConsoleJobs } from './job-states.ts';
import { createSnapshots } from './snapshot.ts';

/** Creates the feed of the console for a gateway that starts now; `null` if nothing is counted. */
export function createConsole(
  config: Config,
  parts: {
    readonly cache: Cache;
    readonly clients: readonly Client[];
    readonly clock: Clock;
    /** `null` if jobs cannot be stored. */
    readonly jobs: ConsoleJobs['jobs'] | null;
    readonly keys: OwnKeys;
    readonly state: GatewayState;
    readonly telemetry: Pick<Telemetry, 'events' | 'health' | 'history' | 'scrub'>;
    readonly usage: Usage | null;
  } & Pick<Parameters<typeof createSnapshots>[0], 'live' | 'shared'>,
): ConsoleFeed {
  const { auth, cacheMaxBytes, introspection, links, market, metricsPort, ttlMs } = config;
  const { cache, clients, clock, jobs, keys, live, shared, state } = parts;
  const { events, health, history, scrub } = parts.telemetry;
  const snapshot = createSnapshots({
    clock,
    clients,
    state,
    health,
    history,
    limits: { LINKS: links, MARKET: market },
    cache,
    cacheMaxBytes: entryBytes(cacheMaxBytes),
    ttlMs,
    classes: links.classes,
    configured: config.callerClasses,
    quotas: () => classQuotas(config, clients, keys),
    // The pages for callers are not on the port of the console if that is separate.
    links: {
      graphiql: metricsPort === null,
      metrics: true,
      schema: auth.mode === 'none' && introspection === 'on' && metricsPort === null,
      usage: parts.usage !== null,
    },
    jobs: jobs && { jobs, turnedBy: turnedBy(config) },
    live,
    shared,
    scrub,
  });
  return new ConsoleFeed(clock, (draining) => {
    events.emit('look', null);
    return snapshot(draining);
  });
}

/** See `ConsoleState.jobs`. */
function turnedBy({ auth, metricsPort, persistedOperations }: Config): ConsoleJobs['turnedBy'] {
  if (metricsPort !== null || persistedOperations) return 'NONE';
  return auth.mode === 'none' ? 'ALL' : 'TOKEN';
}
