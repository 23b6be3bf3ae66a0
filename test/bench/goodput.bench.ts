import { it } from 'vitest';
import { setStage, type Traffic, type Upstream } from './page-views.ts';
import { type Figure, percentile, record } from './report/measurement.ts';

/** Three minutes, as they are: no clock is sped up, and the limit is the real one. */
const FOR_MS = 180_000;
/** Small ones and such that take all there is, after each of which a page is opened that no caller has read. */
const bursts = [
  { atMs: 20_000, calls: 30 },
  { atMs: 45_000, calls: 15 },
  { atMs: 60_000, calls: 8 },
  { atMs: 80_000, calls: 30 },
  { atMs: 100_000, calls: 20 },
  { atMs: 115_000, calls: 30 },
];

it('goodput', async () => {
  const cases: readonly Upstream[] = [
    { mode: null },
    { mode: 'fixed' },
    { mode: 'sliding' },
    { mode: 'fixed', bursts },
    { mode: 'sliding', bursts },
  ];
  // Side by side, so that whatever else the machine does is done to all of them.
  const stages = await Promise.all(cases.map(setStage));
  const begin = performance.now() + 1000;
  const [free, fixed, sliding, sharedFixed, sharedSliding] = (await Promise.all(
    // A little apart, so that their views do not meet.
    stages.map((stage, index) => stage.play(begin + index * 10, FOR_MS)),
  )) as [Traffic, Traffic, Traffic, Traffic, Traffic];
  record({
    bench: 'goodput',
    about:
      '20 page views per second of 5 dashboards for three minutes. The dashboards need 27 upstream reads in total; the limit is 30 calls per minute, and the upstream is at a distance of 40 ms. The gateway is a separate process, and so is a gateway without a limit next to it. Where the key is shared, another program uses it in bursts, and after each burst a page is opened that needs 4 uncached reads.',
    figures: [
      ...alone('fixed window', fixed, free),
      ...alone('sliding window', sliding, free),
      ...shared('fixed window', sharedFixed),
      ...shared('sliding window', sharedSliding),
      { label: 'no limit: upstream calls', value: free.calls },
    ],
  });
}, 300_000);

function alone(label: string, traffic: Traffic, free: Traffic): Figure[] {
  const p50 = percentile(traffic.warmMs, 0.5);
  const p99 = percentile(traffic.warmMs, 0.99);
  const freeP99 = percentile(free.warmMs, 0.99);
  return [
    servedBy(label, traffic),
    { label: `${label}: refusals by the API`, value: traffic.refused, target: { atMost: 0 } },
    {
      label: `${label}: p99 of cached responses over that without a limit`,
      value: p99 / freeP99,
      digits: 2,
      target: { atMost: 2 },
      note: `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, without a limit ${freeP99.toFixed(1)} ms`,
    },
    {
      label: `${label}: upstream calls in the busiest minute`,
      value: traffic.busiestMinute,
      target: { atMost: 30 },
      note: `${traffic.calls} in total`,
    },
  ];
}

function shared(label: string, traffic: Traffic): Figure[] {
  const others = bursts.map(({ calls }) => calls).join(', ');
  const [first = 0, ...later] = traffic.refusedAfter;
  return [
    servedBy(`${label}, key shared`, traffic),
    {
      label: `${label}, key shared: refused calls at the first burst`,
      value: first,
      note: 'before it, only the gateway used the key, and sent the reads of a page in parallel',
    },
    {
      label: `${label}, key shared: refused calls per burst after that`,
      value: Math.max(...later),
      target: { atMost: 2 },
      note: `${traffic.refusedAfter.join(', ')} after bursts of ${others} calls`,
    },
  ];
}

/** A view with an error in it is not right. */
function servedBy(label: string, { views, right, errors, codes, oldestMs }: Traffic): Figure {
  const shown = errors === 0 ? 'no error' : `${errors} errors (${codes.join(', ')})`;
  return {
    label: `${label}: views complete and correct`,
    value: (right / views) * 100,
    unit: ' %',
    digits: right === views ? 0 : 2,
    target: { atLeast: 100 },
    note: `${right} of ${views}, ${shown}, oldest data ${(oldestMs / 1000).toFixed(0)} s`,
  };
}
