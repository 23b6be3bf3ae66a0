import type { UpstreamName } from '../errors.ts';
import { callerKey, callerOfKey, type NamedCaller } from '../observe/callers.ts';
import type { Hour } from '../observe/history/history.ts';
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

/** The callers or operations with most requests in the last hour. `shown` makes a name displayable. */
export function spenderStates(
  { foreign, refreshes, spenders }: Hour,
  shown: (name: string) => string,
): SpenderState[] {
  const callers = new Map<string, Map<string, number>>();
  for (const row of spenders.rows) {
    const key = callerKey(row);
    const resources = callers.get(key) ?? new Map<string, number>();
    callers.set(key, resources.set(row.resource, row.sends));
  }
  const refreshed = refreshes.map(({ resource, sends }) => [resource, sends] as const);
  return [
    ...[...callers].map(([key, resources]) => callerSpender(callerOfKey(key), resources, shown)),
    { ...spender('caller', OTHERS, new Map()), sends: spenders.others },
    spender('refreshes', null, new Map(refreshed)),
    { ...spender('foreign', null, new Map()), sends: foreign },
  ]
    .filter(({ sends }) => sends > 0)
    .sort((a, b) => b.sends - a.sends)
    .slice(0, ROWS_SHOWN);
}

function callerSpender(
  { caller, callerClass }: NamedCaller,
  sendsByResource: ReadonlyMap<string, number>,
  shown: (name: string) => string,
): SpenderState {
  return { ...spender('caller', shown(caller), sendsByResource), callerClass };
}

function spender(
  kind: SpenderState['kind'],
  name: string | null,
  sendsByResource: ReadonlyMap<string, number>,
): SpenderState {
  const resources = [...sendsByResource]
    .map(([resource, sends]) => ({ resource, sends }))
    .filter(({ sends }) => sends > 0)
    .sort((a, b) => b.sends - a.sends);
  const sends = resources.reduce((sum, each) => sum + each.sends, 0);
  return { kind, name, sends, resources: resources.slice(0, RESOURCES_SHOWN) };
}

/** What operations have cost in the last hour, the most requests first. */
export function operationStates(
  { operations }: Hour,
  shown: (name: string) => string,
): OperationState[] {
  return [
    ...operations.rows.map((row) => ({ ...row, name: row.name && shown(row.name) })),
    { ...operations.others, type: '', name: OTHERS },
  ]
    .filter(({ runs }) => runs > 0)
    .sort((a, b) => b.calls - a.calls || b.saved - a.saved)
    .slice(0, ROWS_SHOWN);
}

/** The cache by resource, with a hint for the most expensive ttl. */
export function cacheStates(
  upstreams: readonly UpstreamName[],
  {
    hour: { resources, sends },
    surveyed,
    ttlMs,
  }: {
    readonly hour: Pick<Hour, 'resources' | 'sends'>;
    readonly surveyed: ReadonlyMap<string, SurveyedResource>;
    readonly ttlMs: Readonly<Record<Resource, number>>;
  },
): CacheState[] {
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
        ...(resources.get(`${upstream} ${resource}`) ?? { reads: 0, hits: 0, renewals: 0 }),
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
