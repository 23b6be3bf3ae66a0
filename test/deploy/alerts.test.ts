import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { settings } from '../../src/config/settings.ts';
import { describeWith, redisServer } from '../support/needs.ts';
import { leads } from '../support/readme.ts';
import { RedisServer } from '../support/redis-server.ts';
import { type Family, joined } from './exposition.ts';
import { type Alert, alertGroups } from './files.ts';
import { readPromql } from './promql.ts';
import { Served } from './served.ts';
import { metricsAfterTraffic, metricsAtStart, metricsOfReplica } from './traffic.ts';

const REPLICAS = 'gateway-replicas';
const alerts = [...alertGroups.values()].flat();
const ofReplicas = alertGroups.get(REPLICAS) ?? [];
const ofAll = alerts.filter((alert) => !ofReplicas.includes(alert));

/** Rules that have something wrong with what they ask, or that tell of labels which they do not have. */
function faults(rules: readonly Alert[], served: Served): string[] {
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
    // Without a job, the dashboard of a deployment could not tell that one of its alerts fires.
    const job = reading.labels?.has('job') ? [] : ['does not say of which job'];
    return [...reading.faults, ...told, ...job].map((fault) => `${alert}: ${fault}`);
  });
}

/** Rules that ask by how much a counter grew which is not there before it has grown. */
function late(rules: readonly Alert[], metrics: ReadonlyMap<string, Family>): string[] {
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

  it('ask for what a gateway tells', () => {
    expect(ofAll.length).toBeGreaterThan(9);
    expect(faults(ofAll, new Served(metrics, []))).toEqual([]);
  });

  it('hear of what is rare at the first time', () => {
    expect(ofAll.filter(({ expr }) => expr.includes('increase(')).length).toBeGreaterThan(2);
    expect(late(ofAll, atStart)).toEqual([]);
  });

  it('have names of their own, and say how bad it is and what to do', () => {
    const names = alerts.map(({ alert }) => alert);
    expect(new Set(names).size).toBe(names.length);
    for (const { alert, annotations, labels } of alerts) {
      expect(alert).toMatch(/^Gateway[A-Z]\w+$/);
      expect(['critical', 'warning'], alert).toContain(labels['severity']);
      expect(annotations['summary'], alert).toMatch(/\.$/);
      expect(annotations['description']?.length, alert).toBeGreaterThan(60);
    }
  });

  it('lead to a page and a heading that are there', () => {
    const page = { path: 'README.md' };
    const broken = alerts.filter(({ annotations }) => !leads(page, annotations['docs'] ?? 'none#'));
    expect(broken.map(({ alert }) => alert)).toEqual([]);
    expect(alerts.every(({ annotations }) => annotations['docs']?.includes('#'))).toBe(true);
  });

  it('compare with what settings and the manifest say', () => {
    expect(threshold('GatewayReadsWait')).toBe(byDefault('MAX_WAIT_MS') / 2 / 1000);
    expect(threshold('GatewayLiveStreamsNearLimit')).toBe(0.8 * byDefault('LIVE_MAX_STREAMS'));
    const manifest = readFileSync('deploy/kubernetes.yaml', 'utf8');
    const mebibytes = Number(/limits: \{ memory: (\d+)Mi \}/.exec(manifest)?.[1]);
    expect(threshold('GatewayMemoryHigh')).toBe(0.8 * mebibytes * 1024 * 1024);
  });

  it('speak of settings that there are', () => {
    const known = settings.map(({ name }) => name);
    const spoken = alerts
      .flatMap(
        ({ annotations }) => annotations['description']?.match(/\b[A-Z]+(?:_[A-Z]+)+\b/g) ?? [],
      )
      .filter((name) => !/^UPSTREAM_|^BUDGET_|^OUTCOME_|^INTERNAL_|^TOO_/.test(name));
    expect(spoken.length).toBeGreaterThan(4);
    expect(spoken.filter((name) => !known.includes(name))).toEqual([]);
  });
});

describeWith(redisServer, 'the rules for replicas', () => {
  let redis: RedisServer;
  let metrics: Map<string, Family>;
  beforeAll(async () => {
    redis = await RedisServer.run();
    metrics = joined(await metricsOfReplica(redis));
  });
  afterAll(() => redis.end());

  it('ask for what a replica tells', () => {
    expect(ofReplicas.length).toBeGreaterThan(1);
    expect(faults(ofReplicas, new Served(metrics, []))).toEqual([]);
  });

  it('hear of what is rare at the first time', () => {
    expect(late(ofReplicas, metrics)).toEqual([]);
  });
});
