import type { Family } from './exposition.ts';
import { type Alert, alertGroups } from './files.ts';
import { readPromql } from './promql.ts';
import { Served } from './served.ts';

/** All rules of `deploy/alerts.yaml`. */
export const alerts: readonly Alert[] = [...alertGroups.values()].flat();

/** Rules that have something wrong with what they ask, or that report labels which they do not have. */
export function faultsOfRules(rules: readonly Alert[], served: Served): string[] {
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
export function lateRules(rules: readonly Alert[], metrics: ReadonlyMap<string, Family>): string[] {
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
