import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWith, redisServer } from '../support/needs.ts';
import { RedisServer } from '../support/redis-server.ts';
import { alertsOfReplicas, faultsOfRules, lateRules } from './alert-checks.ts';
import {
  alertNames,
  colourless,
  faultsOfQueries,
  panelsOfReplicas,
  unseen,
} from './dashboard-checks.ts';
import { type Family, joined } from './exposition.ts';
import { queriesOf } from './files.ts';
import { Served } from './served.ts';
import { metricsAfterTraffic, metricsOfReplica } from './traffic.ts';

describeWith(redisServer, 'what is deployed for replicas', () => {
  let redis: RedisServer;
  let metrics: Map<string, Family>;
  let together: Map<string, Family>;
  beforeAll(async () => {
    redis = await RedisServer.run();
    metrics = await metricsOfReplica(redis);
    together = joined(metrics);
  });
  afterAll(() => redis.end());

  it('alerts by metrics of a replica', () => {
    expect(alertsOfReplicas.length).toBeGreaterThan(1);
    expect(faultsOfRules(alertsOfReplicas, new Served(together, []))).toEqual([]);
  });

  it('alerts by what is rare at the first time', () => {
    expect(lateRules(alertsOfReplicas, together)).toEqual([]);
  });

  it('shows metrics of a replica', () => {
    const queries = queriesOf(panelsOfReplicas);
    expect(queries.length).toBeGreaterThan(8);
    const served = new Served(metrics, alertNames);
    expect(faultsOfQueries(queries, served)).toEqual([]);
    expect(panelsOfReplicas.flatMap((panel) => colourless(panel, served))).toEqual([]);
  });

  it('shows every metric of a replica', async () => {
    expect(unseen(joined(metrics, await metricsAfterTraffic()))).toEqual([]);
  });
});
