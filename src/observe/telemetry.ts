import type { IncomingMessage } from 'node:http';
import type { Clock } from '../clock.ts';
import { Health } from './health.ts';
import { History } from './history/history.ts';
import { createLazyMetrics } from './lazy-metrics.ts';
import { createLog, type Log, type LogLevel, type LogStream } from './logger.ts';
import type { Gauges, Metrics } from './metrics.ts';
import { type Observer, type OperationRecord, observeWith } from './observer.ts';
import { createScrub, type Scrub } from './scrub.ts';
import type { Tracing } from './tracing.ts';

/** Everything that learns what the gateway does. */
export interface Telemetry {
  readonly log: Log;
  readonly tracing: Tracing;
  /** Logs and traces an operation that the fast path has answered; `null` where neither is wanted. */
  readonly answered: ((record: OperationRecord, request: IncomingMessage) => void) | null;
  readonly health: Health;
  /** `null` when nothing is counted. */
  readonly metrics: Metrics | null;
  /** What has happened lately; `null` when nothing is counted. */
  readonly history: History | null;
  /** Tells those who count; `null` when nothing is counted. */
  readonly counting: Observer | null;
  /** Makes a text that is not ours fit to be shown. */
  readonly scrub: Scrub;
  /** Tells all of them, of upstreams and operations alike. */
  readonly observer: Observer;
}

/** What telemetry is made of. */
interface TelemetryOptions {
  readonly clock: Clock;
  readonly logLevel: LogLevel;
  /** Where the log goes; without it only unexpected errors are written, to standard error. */
  readonly stream: LogStream | undefined;
  /** Blackened wherever they should turn up. */
  readonly secrets: readonly string[];
  /** What is read at every scrape; `null` when nothing is counted. */
  readonly gauges: Omit<Gauges, 'reachable'> | null;
}

/** Puts logs, metrics, spans and the record of the upstreams' health together. */
export async function createTelemetry(options: TelemetryOptions): Promise<Telemetry> {
  const { clock, gauges, logLevel, secrets, stream } = options;
  const scrub = createScrub(secrets);
  const log = createLog({
    level: stream ? logLevel : 'error',
    stream: stream ?? process.stderr,
    scrub,
    clock,
  });
  const traced = isTraced();
  const tracing = traced ? (await import('./tracing.ts')).createTracing(clock) : noTracing;
  const health = new Health(clock);
  const reachable: Gauges['reachable'] = (upstream) => health.isReachable(upstream);
  const metrics = gauges && createLazyMetrics(clock, { ...gauges, reachable });
  const history = gauges && new History({ clock, isReachable: reachable });
  const counting = metrics && history && observeWith([metrics, history]);
  const observer = observeWith([tracing, log, health, ...(counting ? [counting] : [])]);
  const logged = logLevel === 'info' || logLevel === 'debug' ? log : null;
  const tracesToo: Telemetry['answered'] = (record, request) => {
    tracing.answered(record, request);
    logged?.operation?.(record);
  };
  return {
    log,
    tracing,
    answered: traced ? tracesToo : (logged?.operation ?? null),
    health,
    metrics,
    history,
    counting,
    scrub,
    observer,
  };
}

/** Where every version 1 of the OpenTelemetry API registers an SDK. */
const registered = Symbol.for('opentelemetry.js.api.1');

/** Whether the process was started with an SDK. Without one, not even the API is loaded. */
function isTraced(): boolean {
  return registered in globalThis;
}

const noTracing: Tracing = {
  arrived: null,
  start: () => ({ run: (work) => work(), end: () => {} }),
  answered: () => {},
};
