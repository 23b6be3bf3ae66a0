import { readFileSync } from 'node:fs';
import type { Clock } from '../../clock.ts';
import type { Config } from '../../config/config.ts';
import { upstreamTitle } from '../../errors.ts';
import { Health } from '../../observe/health.ts';
import { createLazyMetrics } from '../../observe/lazy-metrics.ts';
import { createLog, type Log, type LogStream } from '../../observe/logger.ts';
import type { BudgetGauges } from '../../observe/metrics.ts';
import { type Observer, observeWith } from '../../observe/observer.ts';
import { createScrub } from '../../observe/scrub.ts';
import type { Tracing } from '../../observe/tracing.ts';
import type { Cache } from '../../upstream/cache/cache.ts';
import type { Client } from '../../upstream/client.ts';
import { createOperatorPages, type OperatorPages } from './operator-pages.ts';
import { type Readiness, readiness } from './readiness.ts';
import type { Status } from './status-page.ts';

/** Everything by which the gateway tells how it does. */
export interface Telemetry {
  readonly log: Log;
  readonly tracing: Tracing;
  /** For upstreams and operations alike. */
  readonly observer: Observer;
  /** The pages that look at these upstreams. */
  pages(clients: readonly Client[], cache: Cache): OperatorPages;
}

/**
 * Puts logs, metrics, spans and pages together. `secrets` are blackened wherever they should turn up.
 * Without a `stream` only what is unexpected is written, to standard error.
 */
export async function createTelemetry(options: {
  readonly config: Pick<Config, 'logLevel' | 'metrics'>;
  readonly clock: Clock;
  readonly stream: LogStream | undefined;
  readonly secrets: readonly string[];
}): Promise<Telemetry> {
  const { clock, config, stream } = options;
  const log = createLog({
    level: stream ? config.logLevel : 'error',
    stream: stream ?? process.stderr,
    scrub: createScrub(options.secrets),
  });
  const tracing = isTraced()
    ? (await import('../../observe/tracing.ts')).createTracing()
    : noTracing;
  const health = new Health(clock);
  const startedAt = clock.now();
  let clients: readonly Client[] = [];
  let cache: Pick<Cache, 'size'> = { size: { bytes: 0, entries: 0 } };
  const metrics =
    config.metrics === 'off'
      ? null
      : createLazyMetrics(clock, {
          // A limit of 0 would look like an emergency, and no key was used yet.
          budgets: () => clients.map((client) => gaugesOf(client)).filter(({ keys }) => keys > 0),
          cache: () => cache.size,
        });
  const ready = (draining: boolean): Readiness => readiness(clients, health, draining);
  const status = (draining: boolean): Status => ({
    version: version(),
    now: clock.now(),
    uptimeMs: clock.now() - startedAt,
    readiness: ready(draining),
    cache: cache.size,
    upstreams: clients.map((client) => ({
      title: upstreamTitle[client.upstream],
      budget: gaugesOf(client),
      health: health.of(client.upstream),
      reachable: health.isReachable(client.upstream),
    })),
  });
  return {
    log,
    tracing,
    observer: observeWith([tracing, log, health, ...(metrics ? [metrics] : [])]),
    pages(all, kept) {
      clients = all;
      cache = kept;
      return createOperatorPages({ access: config.metrics, metrics, readiness: ready, status });
    },
  };
}

/** Where every version 1 of the OpenTelemetry API keeps what an SDK has registered. */
const registered = Symbol.for('opentelemetry.js.api.1');

/** Whether the process was started with an SDK. Without one, not even the API is loaded. */
function isTraced(): boolean {
  return registered in globalThis;
}

const noTracing: Tracing = { start: () => ({ run: (work) => work(), end: () => {} }) };

/** All keys of an upstream together; a key that nothing was asked with yet is not among them. */
function gaugesOf(client: Client): BudgetGauges {
  const budgets = [...client.budgets];
  const sum = (read: (budget: (typeof budgets)[number]) => number): number =>
    budgets.reduce((total, budget) => total + read(budget), 0);
  return {
    upstream: client.upstream,
    keys: budgets.length,
    limit: sum(({ state }) => state.limit),
    used: sum(({ state }) => state.used),
    remaining: sum(({ state }) => state.remaining),
    paused: sum(({ pausedMs }) => (pausedMs > 0 ? 1 : 0)),
    queued: {
      write: sum((budget) => budget.queuedIn('write')),
      interactive: sum((budget) => budget.queuedIn('interactive')),
      refresh: sum((budget) => budget.queuedIn('refresh')),
    },
  };
}

/** As package.json has it, which lies beside `src` and `dist` alike. */
function version(): string {
  try {
    const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
    return (JSON.parse(text) as { readonly version: string }).version;
  } catch {
    return 'unknown';
  }
}
