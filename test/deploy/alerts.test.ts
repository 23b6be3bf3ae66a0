import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { usualLimits } from '../../src/config/limits.ts';
import { settings } from '../../src/config/settings.ts';
import { leads } from '../support/readme.ts';
import { type Alert, alerts } from './files.ts';
import { readPromql } from './promql.ts';
import { type Family, Served } from './served.ts';
import { metricsAfterTraffic, metricsAtStart } from './traffic.ts';

/** Rules that have something wrong with what they ask, or that report labels which they do not have. */
function faultsOfRules(rules: readonly Alert[], served: Served): string[] {
  return rules.flatMap(({ alert, annotations, expr }) => {
    const reading = readPromql(expr, served);
    const told = [
      ...Object.values(annotations)
        .join(' ')
        .matchAll(/\$labels\.(\w+)/g),
    ]
      .map(([, label = '']) => label)
      .filter((label) => !reading.labels?.has(label))
      .map((label) => `tells of ${label}, which it does not have`);
    // Without a job, the dashboard of a deployment could not detect that one of its alerts fires.
    const job = reading.labels?.has('job') ? [] : ['does not say of which job'];
    return [...reading.faults, ...told, ...job].map((fault) => `${alert}: ${fault}`);
  });
}

/** Rules that ask by how much a counter grew which is not there before it has grown. */
function lateRules(rules: readonly Alert[], metrics: ReadonlyMap<string, Family>): string[] {
  const served = new Served(metrics, []);
  return rules.flatMap(({ alert, expr }) =>
    readPromql(expr, served).grown.flatMap((selector) => {
      const family = metrics.get(/^\w+/.exec(selector)?.[0] ?? '');
      const wanted = [...selector.matchAll(/(\w+)="(\w+)"/g)];
      const isThere =
        (family?.samples ?? 0) > 0 &&
        wanted.every(([, label = '', value = '']) => family?.labels.get(label)?.has(value));
      return isThere ? [] : [`${alert}: ${selector}`];
    }),
  );
}

/** The number that a rule compares with. */
function threshold(name: string): number {
  const text =
    alerts
      .find(({ alert }) => alert === name)
      ?.expr.split(' > ')
      .at(-1) ?? '';
  return text.split('*').reduce((product, factor) => product * Number(factor), 1);
}

const byDefault = (name: string): number =>
  Number(settings.find((setting) => setting.name === name)?.default);

describe('the rules', () => {
  let metrics: Map<string, Family>;
  let atStart: Map<string, Family>;
  beforeAll(async () => {
    metrics = await metricsAfterTraffic();
    atStart = await metricsAtStart();
  });

  it('use metrics that a gateway exports', () => {
    expect(alerts.length).toBeGreaterThan(9);
    expect(faultsOfRules(alerts, new Served(metrics, []))).toEqual([]);
  });

  it('fire at the first of rare events', () => {
    expect(alerts.filter(({ expr }) => expr.includes('increase(')).length).toBeGreaterThan(2);
    expect(lateRules(alerts, atStart)).toEqual([]);
  });

  it('have unique names, a severity and a remedy', () => {
    const names = alerts.map(({ alert }) => alert);
    expect(new Set(names).size).toBe(names.length);
    for (const { alert, annotations, labels } of alerts) {
      expect(alert).toMatch(/^Gateway[A-Z]\w+$/);
      expect(['critical', 'warning'], alert).toContain(labels['severity']);
      expect(annotations['summary'], alert).toMatch(/\.$/);
      expect(annotations['description']?.length, alert).toBeGreaterThan(60);
    }
  });

  it('link to an existing heading', () => {
    const page = { path: 'README.md' };
    const broken = alerts.filter(({ annotations }) => !leads(page, annotations['docs'] ?? 'none#'));
    expect(broken.map(({ alert }) => alert)).toEqual([]);
    expect(alerts.every(({ annotations }) => annotations['docs']?.includes('#'))).toBe(true);
  });

  it('have the failure shares of the console: yellow is a warning, red is critical', () => {
    const source = readFileSync('src/observe/history/recent.ts', 'utf8');
    for (const [name, constant, severity] of [
      ['GatewayFailuresElevated', 'DEGRADED_SHARE', 'warning'],
      ['GatewayOperationsFail', 'FAILING_SHARE', 'critical'],
    ]) {
      const share = new RegExp(`const ${constant} = ([\\d.]+);`).exec(source)?.[1];
      const rule = alerts.find(({ alert }) => alert === name);
      expect(rule?.labels['severity']).toBe(severity);
      expect(rule?.expr).toContain(`(gateway_operations_failed_ratio) > ${share} and `);
    }
  });

  it('have the thresholds of settings and manifest', () => {
    expect(threshold('GatewayReadsWait')).toBe(byDefault('MAX_WAIT_MS') / 2 / 1000);
    expect(threshold('GatewayLiveStreamsNearLimit')).toBe(0.8 * usualLimits.liveMaxStreams);
    const manifest = readFileSync('deploy/kubernetes.yaml', 'utf8');
    const mebibytes = Number(/limits: \{ memory: (\d+)Mi \}/.exec(manifest)?.[1]);
    expect(threshold('GatewayMemoryHigh')).toBe(0.8 * mebibytes * 1024 * 1024);
  });

  it('name existing settings', () => {
    const known = settings.flatMap(({ name, secret }) => (secret ? [name, `${name}_FILE`] : name));
    const spoken = alerts
      .flatMap(
        ({ annotations }) => annotations['description']?.match(/\b[A-Z]+(?:_[A-Z]+)+\b/g) ?? [],
      )
      .filter((name) => !/^UPSTREAM_|^BUDGET_|^OUTCOME_|^INTERNAL_|^TOO_/.test(name));
    expect(spoken.length).toBeGreaterThan(4);
    expect(spoken.filter((name) => !known.includes(name))).toEqual([]);
  });
});
