import { it } from 'vitest';
import { type Forecast, measureForecasts } from './forecast.ts';
import { type Figure, percentile, record } from './report/measurement.ts';

/** Both keep the same 30 calls a minute busy, with pages of five requests: once they are nearly all of them. */
const crowd = { callers: 6, pages: 3, callsAPage: 5 };
const loads = [
  { label: 'busy', restMs: 60_000, windows: 30, atMost: 1 },
  // A request that comes meanwhile goes before the second of an operation: it cannot be known before.
  { label: 'at the limit', restMs: 30_000, windows: 20 },
];

it('forecast', async () => {
  const figures: Figure[] = [];
  for (const { label, restMs, windows, atMost } of loads) {
    const forecasts = await measureForecasts({ ...crowd, restMs }, windows);
    const spent = forecasts.reduce((sum, { receipt }) => sum + receipt.calls, 0) / windows;
    const load = Math.round(((spent + crowd.pages * crowd.callsAPage) / 30) * 100);
    figures.push(...figuresOf(`${label}, ${load} %`, forecasts, atMost));
  }
  record({
    bench: 'forecast',
    about:
      'Four callers request operations first as a dry run and immediately afterwards as normal operations: with one upstream request, with four, with dependent requests, and writes. Other callers use the same 30 calls per minute, with pages of five requests at random times. Virtual time.',
    figures,
  });
});

function figuresOf(label: string, forecasts: readonly Forecast[], atMost?: number): Figure[] {
  const exact = forecasts.filter(({ plan }) => plan.exact);
  const wrong = exact.filter(({ plan, receipt }) => plan.calls !== receipt.calls);
  const waited = forecasts.filter(({ receipt }) => receipt.waitedMs > 1000);
  const errors = forecasts.map((each) => Math.abs(each.readyMs - each.plan.readyInMs));
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
  return [
    {
      label: `${label}: dry runs marked exact with a wrong number of calls`,
      value: wrong.length,
      target: { atMost: 0 },
      note: `of ${exact.length}; ${forecasts.length - exact.length} are not marked`,
    },
    {
      label: `${label}: error of the ready time over 1 s or 10 %, at p90`,
      value: percentile(forecasts.map(missOf), 0.9),
      digits: 2,
      ...(atMost === undefined ? {} : { target: { atMost } }),
      note: `of ${forecasts.length}; ${seconds(percentile(errors, 0.9))}, at p50 ${seconds(percentile(errors, 0.5))}`,
    },
    {
      label: `${label}: the same for operations that waited for a slot`,
      value: percentile(waited.map(missOf), 0.9),
      digits: 2,
      note: `of ${waited.length}, ready after ${seconds(
        percentile(
          waited.map(({ readyMs }) => readyMs),
          0.5,
        ),
      )} at p50`,
    },
  ];
}

/** By how much a ready time was missed, in units of what it may be: 1 s, or a tenth where that is more. */
function missOf({ plan, readyMs }: Forecast): number {
  return Math.abs(readyMs - plan.readyInMs) / Math.max(1000, readyMs / 10);
}
