import type { Family } from './exposition.ts';
import { alertGroups, type Panel, type Query, queriesOf, rows, withWindow } from './files.ts';
import { readPromql } from './promql.ts';
import { Served } from './served.ts';

/** All panels of `deploy/grafana-dashboard.json`. */
export const panels: readonly Panel[] = [...rows.values()].flat();
/** Names of the alerts that the dashboard marks. */
export const alertNames: readonly string[] = [...alertGroups.values()]
  .flat()
  .map(({ alert }) => alert);

/** What is wrong with some queries, or with how they name their results. */
export function faultsOfQueries(queries: readonly Query[], served: Served): string[] {
  return queries.flatMap(({ expr, legend, place }) => {
    const reading = readPromql(expr, served);
    const shown = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
    const empty = shown
      .filter((label) => !reading.labels?.has(label))
      .map((label) => `shows ${label}, which it does not have`);
    // Results that differ in a label only that is not shown look like one.
    const alike = [...(reading.labels ?? [])]
      .filter((label) => !shown.includes(label) && label !== 'job')
      .map((label) => `hides ${label}`);
    const named = legend.includes('{{') || (reading.labels?.size ?? 0) === 0 ? alike : [];
    return [...reading.faults, ...empty, ...named].map((fault) => `${place}: ${fault}`);
  });
}

/** Names that a panel has a colour for, and that none of its results can have. */
export function colourless({ fieldConfig, targets, title }: Panel, served: Served): string[] {
  return fieldConfig.overrides
    .filter(({ matcher }) => matcher.id === 'byName')
    .map(({ matcher }) => matcher.options)
    .filter((name) =>
      targets.every(({ expr, legendFormat }) => {
        const [before = '', label = '', after = ''] = legendFormat.split(/\{\{|\}\}/);
        const value = name.slice(before.length, name.length - after.length);
        const [family = ''] = readPromql(withWindow(expr), served).metrics;
        const fits = name.startsWith(before) && name.endsWith(after);
        return !fits || served.unmatched(family, label, '=', value).length > 0;
      }),
    )
    .map((name) => `${title}: ${name}`);
}

/** The metrics that some panels read. */
export function metricsOf(some: readonly Panel[], served: Served): Set<string> {
  return new Set(queriesOf(some).flatMap(({ expr }) => [...readPromql(expr, served).metrics]));
}

/** Metrics of the gateway that no panel shows. */
export function unseen(metrics: ReadonlyMap<string, Family>): string[] {
  const shown = metricsOf(panels, new Served(metrics, alertNames));
  return [...metrics.keys()].filter((name) => name.startsWith('gateway_') && !shown.has(name));
}
