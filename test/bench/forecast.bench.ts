import { it } from 'vitest';
import { type Forecast, measureForecasts } from './forecast.ts';
import { type Figure, record } from './report/measurement.ts';

/** Both keep the same 30 calls a minute busy, with pages of five requests: once they are nearly all of them. */
const crowd = { callers: 6, pages: 3, callsAPage: 5 };
const loads = [
  { label: 'busy', restMs: 60_000, windows: 30 },
  { label: 'at the limit', restMs: 30_000, windows: 20 },
];

it('forecast', async () => {
  const figures: Figure[] = [];
  for (const { label, restMs, windows } of loads) {
    const forecasts = await measureForecasts({ ...crowd, restMs }, windows);
    const spent = forecasts.reduce((sum, { receipt }) => sum + receipt.calls, 0) / windows;
    const load = Math.round(((spent + crowd.pages * crowd.callsAPage) / 30) * 100);
    figures.push(figureOf(`${label}, ${load} %`, forecasts));
  }
  record({
    bench: 'forecast',
    about:
      'Four callers request operations first as a dry run and immediately afterwards as normal operations: with one upstream request, with four, with dependent requests, and writes. Other callers use the same 30 calls per minute, with pages of five requests at random times. Virtual time.',
    figures,
  });
});

function figureOf(label: string, forecasts: readonly Forecast[]): Figure {
  const exact = forecasts.filter(({ plan }) => plan.exact);
  const wrong = exact.filter(({ plan, receipt }) => plan.calls !== receipt.calls);
  return {
    label: `${label}: dry runs marked exact with a wrong number of calls`,
    value: wrong.length,
    target: { atMost: 0 },
    note: `of ${exact.length}; ${forecasts.length - exact.length} are not marked`,
  };
}
