import { describe, expect, it } from 'vitest';
import { readPromql } from './promql.ts';
import { readExposition, Served } from './served.ts';

const served = new Served(
  readExposition(`
# TYPE sent_total counter
sent_total{upstream="LINKS",lane="write"} 3
# TYPE used gauge
used{upstream="LINKS"} 3
# TYPE free gauge
free 1
# TYPE wait_seconds histogram
wait_seconds_bucket{le="1",upstream="LINKS"} 1
wait_seconds_bucket{le="+Inf",upstream="LINKS"} 1
wait_seconds_sum{upstream="LINKS"} 1
wait_seconds_count{upstream="LINKS"} 1
`),
  ['GatewayDown'],
);
const read = (expr: string) => readPromql(expr, served);

describe('an expression', () => {
  it.each([
    ['sum by (upstream) (rate(sent_total{lane="write"}[5m])) * 60', ['upstream']],
    [
      'histogram_quantile(0.9, sum by (upstream, le) (rate(wait_seconds_bucket[5m])))',
      ['upstream'],
    ],
    ['max without (instance) (used{upstream=~"LI.+|MARKET"})', ['upstream', 'job']],
    ['used / on (job, instance) group_left free', ['upstream', 'job', 'instance']],
    ['up{job="gateway"} == 0 or absent(up{job="gateway"})', ['job']],
    ['sum(increase(sent_total{job=~"$job"}[5m])) or vector(0)', []],
    ['count(ALERTS{alertname=~"Gateway.+", alertstate="firing"})', []],
  ])('is sound: %s', (expr, labels) => {
    const reading = read(expr);
    expect(reading.faults).toEqual([]);
    expect([...(reading.labels ?? [])]).toEqual(labels);
  });

  it.each([
    ['sum(rate(sent_total[5m])', /is no PromQL/],
    ['sum(rate(seen_total[5m]))', /seen_total is no metric/],
    ['sum by (lane) (used)', /asks for lane/],
    ['used{lane="write"}', /used has no label lane/],
    ['rate(sent_total{lane="writes"}[5m])', /never has lane="writes"/],
    ['used{upstream="$upstream"}', /one value only/],
    ['sum(sent_total)', /is a counter, and read by sum/],
    ['rate(used[5m])', /is no counter, and read by rate/],
    [
      'histogram_quantile(0.9, sum by (upstream) (rate(wait_seconds_bucket[5m])))',
      /nothing by "le"/,
    ],
    ['used / free', /never matches/],
    ['used / on (upstream) free', /not on both sides: upstream/],
    ['count(ALERTS{alertname="GatewayGone"})', /never has alertname="GatewayGone"/],
  ])('is faulty: %s', (expr, fault) => {
    expect(read(expr).faults.join('\n')).toMatch(fault);
  });

  it('names the counters that it expects to grow', () => {
    expect(read('sum(increase(sent_total{lane="write"}[5m])) > 0').grown).toEqual([
      'sent_total{lane="write"}',
    ]);
  });
});
