import manifest from '../../package.json' with { type: 'json' };
import type { GatewayState } from '../operators/readiness.ts';
import type { Resource } from '../resources.ts';
import type { Cache } from '../upstream/cache/cache.ts';
import { CacheSurvey } from '../upstream/cache/survey.ts';
import { type ClassParts, classStates } from './classes.ts';
import type { ConsoleState } from './console-state.ts';
import { cacheStates, operationStates, spenderStates } from './hour-states.ts';
import { type ConsoleJobs, consoleJobs } from './job-states.ts';
import { recentState } from './names.ts';
import { type UpstreamParts, upstreamStates, waitingStates } from './upstream-states.ts';

/** The sources of the console: parts of a running gateway, which is assumed to have started now. */
interface SnapshotParts extends UpstreamParts, ClassParts {
  readonly state: GatewayState;
  readonly cache: Cache;
  /** Bytes that entries may take. */
  readonly cacheMaxBytes: number;
  readonly ttlMs: Readonly<Record<Resource, number>>;
  readonly links: ConsoleState['links'];
  /** `null` if there can be none. */
  readonly jobs: ConsoleJobs;
  readonly live: { readonly size: { readonly streams: number; readonly groups: number } };
}

/** Collects the whole state, for viewers who may see callers' names: no upstream request, some milliseconds. */
export type TakeSnapshot = (draining: boolean) => ConsoleState;

/** Makes what fills the console. */
export function createSnapshots(parts: SnapshotParts): TakeSnapshot {
  const { cache, clients, clock, history, live, scrub } = parts;
  const startedAt = clock.now();
  const survey = new CacheSurvey(cache);
  return (draining) => {
    const { hour } = history;
    return {
      at: clock.wall(),
      version: manifest.version,
      uptimeMs: Math.round(clock.now() - startedAt),
      readiness: parts.state(draining),
      named: true,
      links: parts.links,
      recent: recentState(history.recent, scrub),
      upstreams: upstreamStates(parts),
      ...waitingStates(clients, scrub),
      spenders: spenderStates(hour, scrub),
      jobs: consoleJobs(parts.jobs, scrub),
      classes: classStates(parts, hour),
      operations: operationStates(hour, scrub),
      cache: {
        ...cache.size,
        maxBytes: parts.cacheMaxBytes,
        resources: cacheStates(
          clients.map(({ upstream }) => upstream),
          {
            hour,
            surveyed: survey.take(),
            ttlMs: parts.ttlMs,
          },
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
  };
}
