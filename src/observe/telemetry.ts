import type { Clock } from '../scheduling/clock.ts';
import { EventStream, emitReadsInBulk } from './event-stream.ts';
import { Health } from './health.ts';
import { History } from './history/history.ts';
import { createLog, type LogLevel, type LogStream } from './log/logger.ts';
import { createScrub, type Scrub } from './log/scrub.ts';
import { createLazyMetrics } from './metrics/lazy-metrics.ts';
import type { Gauges, Metrics } from './metrics/metrics.ts';

/** The stream of events, and its readers. */
export interface Telemetry {
  readonly events: EventStream;
  readonly health: Health;
  readonly metrics: Metrics;
  /** The recent past. */
  readonly history: History;
  /** Removes secrets from an external text. */
  readonly scrub: Scrub;
}

/** The dependencies of telemetry. */
interface TelemetryOptions {
  readonly clock: Clock;
  readonly logLevel: LogLevel;
  /** The target of the log; without it only unexpected errors are written, to standard error. */
  readonly stream: LogStream | undefined;
  /** Secrets that are removed from all texts. */
  readonly secrets: readonly string[];
  /** What is read at every scrape. */
  readonly gauges: Omit<Gauges, 'reachable' | 'failedShare'>;
}

/** Puts the stream of events together with log, spans, health, metrics and history, which read it. */
export async function createTelemetry(options: TelemetryOptions): Promise<Telemetry> {
  const { clock, gauges, logLevel, secrets, stream } = options;
  const scrub = createScrub(secrets);
  const tracing = isTraced() ? (await import('./tracing.ts')).createTracing(clock) : null;
  const events = new EventStream(tracing?.within);
  const health = new Health(clock);
  if (tracing) events.add(tracing.reader);
  events.add(
    createLog({
      level: stream ? logLevel : 'error',
      stream: stream ?? process.stderr,
      scrub,
      clock,
    }),
  );
  events.add(health);
  const isReachable: Gauges['reachable'] = (upstream) => health.isReachable(upstream);
  const history = new History(clock, isReachable);
  // After the health, which it reads.
  events.add(history);
  emitReadsInBulk({ clock, events });
  const metrics = createLazyMetrics(clock, events, {
    ...gauges,
    reachable: isReachable,
    failedShare: () => history.failedShare,
  });
  return { events, health, metrics, history, scrub };
}

/** Where every version 1 of the OpenTelemetry API registers an SDK. */
const registered = Symbol.for('opentelemetry.js.api.1');

/** Whether the process was started with an SDK. Without one, not even the API is loaded. */
function isTraced(): boolean {
  return registered in globalThis;
}
