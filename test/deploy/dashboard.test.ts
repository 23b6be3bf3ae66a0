import { beforeAll, describe, expect, it } from 'vitest';
import {
  alerts,
  dashboard,
  dashboardText,
  type Panel,
  pieces,
  type Query,
  queriesOf,
  queriesOfAnnotations,
  queriesOfVariables,
  rows,
  withWindow,
} from './files.ts';
import { readPromql } from './promql.ts';
import { type Family, Served } from './served.ts';
import { metricsAfterTraffic } from './traffic.ts';

const panels = [...rows.values()].flat();
const alertNames = alerts.map(({ alert }) => alert);

/** What is wrong with some queries, or with how they name their results. */
function faultsOfQueries(queries: readonly Query[], served: Served): string[] {
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
function colourless({ fieldConfig, targets, title }: Panel, served: Served): string[] {
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

function metricsOf(some: readonly Panel[], served: Served): Set<string> {
  return new Set(queriesOf(some).flatMap(({ expr }) => [...readPromql(expr, served).metrics]));
}

/** Metrics of the gateway that no panel shows. */
function unseen(metrics: ReadonlyMap<string, Family>): string[] {
  const shown = metricsOf(panels, new Served(metrics, alertNames));
  return [...metrics.keys()].filter((name) => name.startsWith('gateway_') && !shown.has(name));
}

describe('the dashboard', () => {
  let metrics: Map<string, Family>;
  beforeAll(async () => {
    metrics = await metricsAfterTraffic();
  });

  it('is checked against a gateway of which every metric has samples', () => {
    const silent = [...metrics.values()].filter(({ samples }) => samples === 0);
    expect(silent.map(({ name }) => name).filter((name) => name.startsWith('gateway_'))).toEqual(
      [],
    );
  });

  it('uses metrics that a gateway exports', () => {
    const queries = queriesOf(panels);
    expect(queries.length).toBeGreaterThan(30);
    expect(faultsOfQueries(queries, new Served(metrics, alertNames))).toEqual([]);
  });

  it('has variables and marks that a gateway fills', () => {
    const served = new Served(metrics, alertNames);
    expect(queriesOfVariables().map(({ place }) => place)).toEqual([
      '$job',
      '$instance',
      '$upstream',
    ]);
    // A variable shows one label of many, and whether a counter grew is no matter to it.
    const empty = faultsOfQueries(queriesOfVariables(), served).filter(
      (fault) => !/: hides|is a counter/.test(fault),
    );
    expect(empty).toEqual([]);
    expect(faultsOfQueries(queriesOfAnnotations(), served)).toEqual([]);
  });

  it('shows every metric of a gateway', () => {
    expect(unseen(metrics)).toEqual([]);
  });

  it('asks the Prometheus that is chosen, for what is chosen', () => {
    expect(dashboard.templating.list[0]).toMatchObject({ name: 'datasource', type: 'datasource' });
    const uids = [...dashboardText.matchAll(/"uid": "([^"]*)"/g)].map(([, uid]) => uid);
    expect(new Set(uids)).toEqual(new Set(['links-market-gateway', '${datasource}']));
    for (const { datasource, targets, title } of panels) {
      const sources = [datasource, ...targets.map((target) => target.datasource)];
      for (const { uid } of sources) expect(uid, title).toBe('${datasource}');
    }
    const known = dashboard.templating.list.map(({ name }) => name);
    const used = [...dashboardText.matchAll(/\$\{?([a-z]+)\b/g)].map(([, name = '']) => name);
    expect(used.filter((name) => !known.includes(name))).toEqual([]);
    const unbound = queriesOf(panels).filter(({ expr }) => !expr.includes('job=~"$job"'));
    expect(unbound.map(({ place }) => place)).toEqual([]);
  });

  it('has panels with numbers, titles and units of their own, that say what to do', () => {
    const numbers = pieces.map(({ id }) => id);
    expect(new Set(numbers).size).toBe(numbers.length);
    const titles = pieces.map(({ title }) => title);
    expect(new Set(titles).size).toBe(titles.length);
    for (const { description, fieldConfig, targets, title } of panels) {
      expect(title).toMatch(/^[A-Z]/);
      expect(description, title).toMatch(/.{20}\.$/);
      expect(fieldConfig.defaults.unit, title).toMatch(/^\w+$/);
      const letters = targets.map(({ refId }) => refId);
      expect(new Set(letters).size, title).toBe(letters.length);
    }
  });

  it('has colours for results that there can be', () => {
    const served = new Served(metrics, alertNames);
    expect(panels.flatMap((panel) => colourless(panel, served))).toEqual([]);
    expect(panels.flatMap(({ fieldConfig }) => fieldConfig.overrides).length).toBeGreaterThan(8);
  });

  it('lays no panel over another, nor beside the page', () => {
    const cells = new Map<string, string>();
    const clashes: string[] = [];
    for (const { gridPos, title } of pieces) {
      expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24);
      for (let cell = 0; cell < gridPos.w * gridPos.h; cell += 1) {
        const place = `${gridPos.x + (cell % gridPos.w)} ${gridPos.y + Math.floor(cell / gridPos.w)}`;
        const other = cells.get(place);
        if (other !== undefined) clashes.push(`${title} over ${other}`);
        cells.set(place, title);
      }
    }
    expect(clashes).toEqual([]);
  });

  it('reports at its top whether all is well, who spends and how long a read waits', () => {
    const top = metricsOf(rows.get('') ?? [], new Served(metrics, alertNames));
    for (const name of [
      'up',
      'ALERTS',
      'gateway_upstream_reachable',
      'gateway_upstream_request_seconds',
      'gateway_budget_used',
      'gateway_queue_wait_seconds',
    ]) {
      expect(top).toContain(name);
    }
  });
});
