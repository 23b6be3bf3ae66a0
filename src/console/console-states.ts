import { entryBytes } from '../answers/remembered-answers.ts';
import type { Config } from '../config/config.ts';
import type { OwnKeys } from '../config/own-key.ts';
import type { Telemetry } from '../observe/telemetry.ts';
import { classQuotas } from '../operators/class-quotas.ts';
import type { GatewayState } from '../operators/readiness.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { Cache } from '../upstream/cache/cache.ts';
import type { Client } from '../upstream/client.ts';
import type { ConsoleState } from './console-state.ts';
import type { ConsoleJobs } from './job-states.ts';
import { withoutNames } from './names.ts';
import { createSnapshots } from './snapshot.ts';

/** Time for which a state is reused, in milliseconds, so that frequent requests are cheap. */
const SAME_MS = 200;

/** The state of the console as JSON: computed at most once for all requests of a moment. */
export class ConsoleStates {
  readonly #clock: Clock;
  readonly #take: (draining: boolean) => ConsoleState;
  #texts: { readonly at: number; readonly named: string; readonly unnamed: string } | null = null;
  #draining = false;

  constructor(clock: Clock, take: (draining: boolean) => ConsoleState) {
    this.#clock = clock;
    this.#take = take;
  }

  /** The state of this moment, with or without names of callers. */
  text(named: boolean): string {
    const now = this.#clock.now();
    if (!this.#texts || now - this.#texts.at >= SAME_MS) {
      const state = this.#take(this.#draining);
      const unnamed = JSON.stringify(withoutNames(state));
      this.#texts = { at: now, named: JSON.stringify(state), unnamed };
    }
    return named ? this.#texts.named : this.#texts.unnamed;
  }

  /** The gateway is about to stop: states say so from now on. */
  drain(): void {
    this.#draining = true;
    this.#texts = null;
  }
}

/** Creates the console for a gateway that starts now. */
export function createConsole(
  config: Config,
  parts: {
    readonly cache: Cache;
    readonly clients: readonly Client[];
    readonly clock: Clock;
    readonly jobs: ConsoleJobs;
    readonly keys: OwnKeys;
    readonly state: GatewayState;
    readonly telemetry: Pick<Telemetry, 'events' | 'health' | 'history' | 'scrub'>;
  } & Pick<Parameters<typeof createSnapshots>[0], 'live'>,
): ConsoleStates {
  const { auth, cacheMaxBytes, introspection, links, market, metricsPort, ttlMs } = config;
  const { cache, clients, clock, jobs, keys, live, state } = parts;
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
      schema: auth.mode === 'none' && introspection === 'on' && metricsPort === null,
    },
    jobs,
    live,
    scrub,
  });
  return new ConsoleStates(clock, (draining) => {
    events.emit('look', null);
    return snapshot(draining);
  });
}
