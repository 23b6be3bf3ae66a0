import { ttlName } from '../config/settings.ts';
import type { UpstreamName } from '../errors.ts';
import type { History } from '../observe/history/history.ts';
import type { SpenderRow } from '../observe/history/rows.ts';
import { type Resource, resourceNames } from '../resources.ts';
import type { SurveyedResource } from '../upstream/cache/survey.ts';
import type { CacheState, OperationState, SpenderState } from './console-state.ts';

/** Rows of a table that are shown. */
const ROWS_SHOWN = 20;
/** Resources of one caller that are shown. */
const RESOURCES_SHOWN = 8;
/** Stands for all names that were forgotten for newer ones: no operation can be called so. */
const OTHERS = '(others)';

/** The share of all requests of the hour, and the number, below which a ttl is not worth a hint. */
const HINT_SHARE = 0.1;
const HINT_LEAST = 20;
/** So much longer a ttl is proposed: four of five of its renewals are spared. */
const LONGER = 5;

/** Who spent requests in the last hour, the most first. `shown` makes a name fit to be seen. */
export function spenderStates(history: History, shown: (name: string) => string): SpenderState[] {
  const { others, rows } = history.spenders;
  const callers = new Map<string, Map<string, number>>();
  const add = (name: string, { counts, resource }: SpenderRow): void => {
    const resources = callers.get(name) ?? new Map<string, number>();
    callers.set(name, resources.set(resource, (resources.get(resource) ?? 0) + counts.sum(0)));
  };
  for (const row of rows) add(row.caller, row);
  const spenders = [...callers].map(([caller, resources]) =>
    spender('caller', shown(caller), resources),
  );
  if (others)
    spenders.push({ ...spender('caller', OTHERS, new Map()), sends: others.counts.sum(0) });
  const refreshes = [...history.refreshes].map((row) => [row.resource, row.counts.sum(0)] as const);
  spenders.push(spender('refreshes', null, new Map(refreshes)));
  const foreign = { ...spender('foreign', null, new Map()), sends: history.foreignOfHour };
  return [...spenders, foreign]
    .filter(({ sends }) => sends > 0)
    .sort((a, b) => b.sends - a.sends)
    .slice(0, ROWS_SHOWN);
}

/** The same for viewers who may not know names: callers go by their rank. */
export function spendersUnnamed(spenders: readonly SpenderState[]): SpenderState[] {
  let rank = 0;
  return spenders.map((each) => {
    if (each.kind !== 'caller' || each.name === OTHERS) return each;
    rank += 1;
    return { ...each, name: `Caller ${rank}` };
  });
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
  history: History,
  shown: (name: string) => string,
): OperationState[] {
  const { others, rows } = history.operations;
  const all = [...rows].map((row) => ({ name: row.name && shown(row.name), row }));
  if (others) all.push({ name: OTHERS, row: others });
  return all
    .map(({ name, row }) => ({ name, row, hour: row.cost }))
    .filter(({ hour }) => hour.runs > 0)
    .sort((a, b) => b.hour.calls - a.hour.calls || b.hour.saved - a.hour.saved)
    .slice(0, ROWS_SHOWN)
    .map(({ name, row, hour }) => ({ name, type: row.type, ...hour, ...row.p95 }));
}

/** The cache by resource, with a hint where a ttl costs most. */
export function cacheStates(
  upstreams: readonly UpstreamName[],
  {
    history,
    surveyed,
    ttlMs,
  }: {
    readonly history: History;
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
        ...history.hourOf(upstream, resource),
        hint: null,
      };
    }),
  );
  const sends = history.sendsOfHour;
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
  return `Its ttl of ${seconds} s cost ${renewals} requests in the last hour, ${share} % of all. ${ttlName(resource)}=${LONGER * ttlMs} would save most of them.`;
}
