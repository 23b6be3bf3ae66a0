import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { defineGauge } from './gauge.ts';

/** How often the event loop is looked at: often enough to see it held, seldom enough to let it sleep. */
const LOOK_EVERY_MS = 500;

/** Given to the library for its own monitor, which then never looks. */
const NEVER_MS = 2 ** 31 - 1;

const NANOSECONDS = 1e9;

/** The meaning of the gauge that says which process is the owner. */
export const OWNER = '1 if this process owns the store, 0 if it forwards to the one that does.';

let known: Registry | undefined;

/**
 * The library's metrics of the process: one set for all gateways, because the library observes the garbage
 * collector permanently.
 */
export function ofProcess(): Registry {
  if (known) return known;
  known = new Registry();
  collectDefaultMetrics({ register: known, eventLoopMonitoringPrecision: NEVER_MS });
  replaceLagGauges(known);
  return known;
}

/** Each gauge of the library that its monitor feeds, and what it reads from ours. */
const readings: Readonly<Record<string, (looks: IntervalHistogram) => number>> = {
  min: ({ min }) => min,
  max: ({ max }) => max,
  mean: ({ mean }) => mean,
  p50: (looks) => looks.percentile(50),
  p90: (looks) => looks.percentile(90),
  p99: (looks) => looks.percentile(99),
};

/**
 * Takes the place of the library's gauges of how late the event loop is, which look a hundred times a second.
 * The names stay. They show the delay alone, without the time between two looks.
 */
function replaceLagGauges(registry: Registry): void {
  const looks = monitorEventLoopDelay({ resolution: LOOK_EVERY_MS });
  looks.enable();
  const define = (reading: string, seconds: () => number): void => {
    const name = `nodejs_eventloop_lag_${reading}_seconds`;
    registry.removeSingleMetric(name);
    const help = `Event loop delay since the last scrape: ${reading}.`;
    defineGauge(registry, name, help, () => (looks.count === 0 ? 0 : seconds()));
  };
  for (const [reading, read] of Object.entries(readings)) {
    define(reading, () => Math.max(0, read(looks) / NANOSECONDS - LOOK_EVERY_MS / 1000));
  }
  define('stddev', () => {
    const seconds = looks.stddev / NANOSECONDS;
    // The last of them: the next scrape shows what comes after this one.
    looks.reset();
    return seconds;
  });
}
