import manifest from '../../package.json' with { type: 'json' };
import { entryBytes } from '../answers/remembered-answers.ts';
import type { Config } from '../config/config.ts';
import type { OwnKeys } from '../config/own-key.ts';
import type { Telemetry } from '../observe/telemetry.ts';
import { classQuotas } from '../operators/class-quotas.ts';
import type { GatewayState } from '../operators/readiness.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { Cache } from '../upstream/cache/cache.ts';
import { CacheSurvey } from '../upstream/cache/survey.ts';
import type { Client } from '../upstream/client.ts';
import { classStates } from './classes.ts';
import type { ConsoleState } from './console-state.ts';
import { cacheStates, operationStates, spenderStates } from './hour-states.ts';
import { type ConsoleJobs, consoleJobs } from './job-states.ts';
import { recentState, withoutNames } from './names.ts';
import { upstreamStates, waitingStates } from './upstream-states.ts';

/** The sources of the console: parts of a running gateway, which is assumed to have started now. */
interface ConsoleParts {
  readonly cache: Cache;
  readonly clients: readonly Client[];
  readonly clock: Clock;
  readonly jobs: ConsoleJobs;
  readonly keys: OwnKeys;
  readonly live: { readonly size: ConsoleState['live'] };
  readonly state: GatewayState;
  readonly telemetry: Pick<Telemetry, 'events' | 'health' | 'history' | 'scrub'>;
}

/** Time for which a state is reused, in milliseconds, so that frequent requests are cheap. */
const SAME_MS = 200;

/** The state of the console as JSON: computed at most once for all requests of a moment. No upstream request. */
export class ConsoleStates {
  readonly #config: Config;
  readonly #parts: ConsoleParts;
  readonly #startedAt: number;
  readonly #survey: CacheSurvey;
  #texts: { readonly at: number; readonly named: string; readonly unnamed: string } | null = null;
  #draining = false;

  constructor(config: Config, parts: ConsoleParts) {
    this.#config = config;
    this.#parts = parts;
    this.#startedAt = parts.clock.now();
    this.#survey = new CacheSurvey(parts.cache);
  }

  /** The state of this moment, with or without names of callers. */
  text(named: boolean): string {
    const now = this.#parts.clock.now();
    if (!this.#texts || now - this.#texts.at >= SAME_MS) {
      this.#parts.telemetry.events.emit('look', null);
      const state = this.#take();
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

  /** The whole state, for viewers who may see callers' names. Takes some milliseconds. */
  #take(): ConsoleState {
    const { auth, cacheMaxBytes, callerClasses, introspection, links, market, metricsPort, ttlMs } =
      this.#config;
    const { cache, clients, clock, jobs, keys, live, state, telemetry } = this.#parts;
    const { health, history, scrub } = telemetry;
    const { hour } = history;
    const limits = { LINKS: links, MARKET: market };
    const quotas = classQuotas(this.#config, clients, keys);
    const { classes } = links;
    return {
      at: clock.wall(),
      version: manifest.version,
      uptimeMs: Math.round(clock.now() - this.#startedAt),
      readiness: state(this.#draining),
      named: true,
      // The pages for callers are not on the port of the console if that is separate.
      links: {
        graphiql: metricsPort === null,
        schema: auth.mode === 'none' && introspection === 'on' && metricsPort === null,
      },
      recent: recentState(history.recent, scrub),
      upstreams: upstreamStates({ clock, clients, health, history, limits, scrub }),
      ...waitingStates(clients, scrub),
      spenders: spenderStates(hour, scrub),
      jobs: consoleJobs(jobs, scrub),
      classes: classStates({ classes, configured: callerClasses, clients, quotas }, hour),
      operations: operationStates(hour, scrub),
      cache: {
        ...cache.size,
        maxBytes: entryBytes(cacheMaxBytes),
        resources: cacheStates(
          clients.map(({ upstream }) => upstream),
          { hour, surveyed: this.#survey.take(), ttlMs },
        ),
      },
      events: history.log.latest.map((each) => ({
        ...each,
        text: scrub(each.text),
        cause: each.cause && scrub(each.cause),
        callers: each.callers.map((of) => ({ ...of, caller: scrub(of.caller) })),
      })),
      live: { streams: live.size.streams, groups: live.size.groups },
    };
  }
}
