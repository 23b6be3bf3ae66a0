import type { UpstreamName } from '../errors.ts';
import { callerOfKey } from '../observe/callers.ts';
import type { Hour } from '../observe/history/history.ts';
import { OTHER_NAMES, wordsOf } from '../observe/history/minutes.ts';
import { operationCost } from '../observe/history/operations.ts';
import { type Resource, resourceNames } from '../resources.ts';
import type { SurveyedResource } from '../upstream/cache/survey.ts';
import type { CacheState, OperationState, SpenderState } from './console-state.ts';

/** Rows of a table that are shown. */
const ROWS_SHOWN = 20;
/** Resources of one caller that are shown. */
const RESOURCES_SHOWN = 8;
/** Represents all names that were removed for newer ones: no operation can have this name. */
export const OTHERS = '(others)';

/** The share of all requests of the hour, and the number, below which a ttl is not worth a hint. */
const HINT_SHARE = 0.1;
const HINT_LEAST = 20;
/** The factor of a proposed ttl: it saves four of five of its renewals. */
const LONGER = 5;

/** The callers with most requests in the last hour. `shown` makes a name displayable. */
export function spenderStates(
  { foreign, spenders }: Hour,
  shown: (name: string) => string,
): SpenderState[] {
  const callers = new Map<string, { resource: string; sends: number }[]>();
  for (const [key, { sends = 0 }] of spenders) {
    const [resource, caller] = key === OTHER_NAMES ? ['', OTHERS] : wordsOf(key);
    callers.set(caller, [...(callers.get(caller) ?? []), { resource, sends }]);
  }
  const own = [...callers].map(([key, resources]): SpenderState => {
    const sends = resources.reduce((sum, each) => sum + each.sends, 0);
    if (key === OTHERS) return { kind: 'caller', name: OTHERS, sends, resources: [] };
    const most = resources.filter((each) => each.sends > 0).sort((a, b) => b.sends - a.sends);
    const rest = { sends, resources: most.slice(0, RESOURCES_SHOWN) };
    if (key === '') return { kind: 'refreshes', name: null, ...rest };
    const { caller, callerClass } = callerOfKey(key);
    return { kind: 'caller', name: shown(caller), callerClass, ...rest };
  });
  return [...own, { kind: 'foreign' as const, name: null, sends: foreign, resources: [] }]
    .filter(({ sends }) => sends > 0)
    .sort((a, b) => b.sends - a.sends)
    .slice(0, ROWS_SHOWN);
}

/** What operations have cost in the last hour, the most requests first. */
export function operationStates(
  { operations }: Hour,
  shown: (name: string) => string,
): OperationState[] {
  return [...operations]
    .map(([key, sums]) => {
      const [type, name] = key === OTHER_NAMES ? ['', OTHERS] : wordsOf(key);
      return { type, name: name === '' ? null : shown(name), ...operationCost(sums) };
    })
    .sort((a, b) => b.calls - a.calls || b.saved - a.saved)
    .slice(0, ROWS_SHOWN);
}

/** The cache by resource, with a hint for the most expensive ttl. */
export function cacheStates(
  upstreams: readonly UpstreamName[],
  {
    hour: { resources, spenders },
    surveyed,
    ttlMs,
  }: {
    readonly hour: Pick<Hour, 'resources' | 'spenders'>;
    readonly surveyed: ReadonlyMap<string, SurveyedResource>;
    readonly ttlMs: Readonly<Record<Resource, number>>;
  },
): CacheState[] {
  const sends = [...spenders.values()].reduce((sum, row) => sum + (row.sends ?? 0), 0);
  const states = upstreams.flatMap((upstream) =>
    resourceNames.map((resource): CacheState & { readonly resource: Resource } => {
      const entries = surveyed.get(`${upstream} ${resource}`);
      return {
        resource,
        upstream,
        fresh: entries?.fresh ?? 0,
        stale: entries?.stale ?? 0,
        oldestMs: entries ? Math.round(entries.oldestMs) : null,
        ttlMs: ttlMs[resource],
        reads: 0,
        hits: 0,
        renewals: 0,
        ...resources.get(`${upstream} ${resource}`),
        hint: null,
      };
    }),
  );
  const most = Math.max(HINT_LEAST, HINT_SHARE * sends, ...states.map(({ renewals }) => renewals));
  return states
    .filter(({ oldestMs, reads, renewals }) => oldestMs !== null || reads + renewals > 0)
    .map((state) => (state.renewals < most ? state : { ...state, hint: hintOf(state, sends) }))
    .sort((a, b) => b.fresh + b.stale - a.fresh - a.stale || b.reads - a.reads);
}

function hintOf(
  { renewals, resource, ttlMs }: { renewals: number; resource: Resource; ttlMs: number },
  sends: number,
): string {
  const share = Math.min(100, Math.round((100 * renewals) / Math.max(1, sends)));
  const seconds = ttlMs / 1000;
  return `With a ttl of ${seconds} s, refreshes cost ${renewals} upstream requests in the last hour, ${share} % of all. TTLS={"${resource}": ${LONGER * ttlMs}} would save most of them.`;
}
