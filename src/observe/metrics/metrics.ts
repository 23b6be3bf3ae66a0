import { Counter, Histogram, Registry } from 'prom-client';
import { tokenFaults } from '../../auth/authenticate.ts';
import type { ErrorCode, UpstreamName } from '../../errors.ts';
import type { QueueLane } from '../events.ts';
import { type ClassGauges, createClassMetrics } from './class-metrics.ts';
import type { CountingReader } from './counted-events.ts';
import { defineGauge, defineGauges } from './gauge.ts';
import { OWNER, ofProcess } from './process-metrics.ts';
import { createWriteMetrics, type IdempotencyGauges } from './write-metrics.ts';

/** Values that are read at each scrape, and cost nothing between. */
export interface Gauges {
  /** One entry for each upstream with a key in use. */
  readonly budgets: () => readonly BudgetGauges[];
  readonly cache: () => { readonly bytes: number; readonly entries: number };
  readonly classes: ClassGauges;
  /** The records of writes with idempotency keys. */
  readonly idempotency: () => IdempotencyGauges;
  /** Number of jobs in each state, also in those without jobs. */
  readonly jobs: () => ReadonlyMap<string, number>;
  /** Live queries; absent if disabled. */
  live?: (() => LiveGauges) | undefined;
  /** Whether an upstream is reachable, as far as known. */
  readonly reachable: (upstream: UpstreamName) => boolean;
  /** The share of operations that failed in the last five minutes, as the console has it. */
  readonly failedShare: () => number;
}

/** The live queries of a process. */
export interface LiveGauges {
  /** Viewers. */
  readonly streams: number;
  /** Queries that are watched for them. */
  readonly groups: number;
  /** Memory of their results. */
  readonly bytes: number;
}

/** The budgets of one upstream, summed over its keys. */
export interface BudgetGauges {
  readonly upstream: UpstreamName;
  /** Keys with a budget. */
  readonly keys: number;
  readonly limit: number;
  readonly used: number;
  readonly remaining: number;
  /** Keys that are paused by a refusal. */
  readonly paused: number;
  /** False while the upstream rejects the gateway's own key. */
  readonly isKeyAccepted: boolean;
  readonly queued: Readonly<Record<QueueLane, number>>;
}

/** The numbers behind `/metrics`. */
export interface Metrics {
  render(): Promise<{ readonly contentType: string; readonly text: string }>;
}

/** The promised codes, and GraphQL's own: any other is counted as `OTHER`. */
const known =
  /^(GRAPHQL|UPSTREAM|OPERATION|BUDGET|BAD|OUTCOME|IDEMPOTENCY|INTERNAL|PERSISTED|TOO)_[A-Z_]{1,32}$|^UNAUTHENTICATED$|^FORBIDDEN$/;

/**
 * Codes whose first occurrence matters to an operator. They are present from the start, with 0: a series that
 * begins with 1 has never grown, for `increase`.
 */
const awaited = [
  'BUDGET_EXHAUSTED',
  'UPSTREAM_UNAUTHENTICATED',
  'OUTCOME_UNKNOWN',
  'INTERNAL_SERVER_ERROR',
] as const satisfies readonly ErrorCode[];

const seconds = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Counts into a registry of its own. No label contains a word from a caller: callers cannot create series. */
export function createMetrics(gauges: Gauges): { metrics: Metrics; reader: CountingReader } {
  const registry = new Registry();
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
    new Counter({ name: `gateway_${name}`, help, labelNames, registers });
  const histogram = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
    new Histogram({ name: `gateway_${name}`, help, labelNames, buckets: seconds, registers });

  registerGauges(gauges, registry);
  const waits = histogram('queue_wait_seconds', 'Waiting time of requests that got a slot.', [
    'upstream',
    'lane',
  ]);
  const reads = counter('reads_total', 'Reads by source.', ['upstream', 'resource', 'result']);
  const refusals = counter(
    'upstream_refusals_total',
    'Requests refused because of the rate limit.',
    ['upstream'],
  );
  const durations = histogram('upstream_request_seconds', 'Duration of upstream requests.', [
    'upstream',
    'method',
    'resource',
  ]);
  const errors = counter('upstream_errors_total', 'Failed upstream requests.', [
    'upstream',
    'method',
    'resource',
    'code',
  ]);
  const rejections = counter('tokens_rejected_total', 'JWTs that are not valid.', ['reason']);
  const surprises = counter(
    'decode_surprises_total',
    'Members of upstream responses that differ from the documentation.',
    ['upstream', 'field'],
  );
  const operations = counter('operations_total', 'GraphQL operations.', ['type', 'outcome']);
  const remembered = counter(
    'remembered_answers_total',
    'GraphQL operations with a remembered response.',
    [],
  );
  const operationErrors = counter('operation_errors_total', 'Operations with an error, by code.', [
    'code',
  ]);
  for (const code of awaited) operationErrors.inc({ code }, 0);
  const operationSeconds = histogram(
    'operation_seconds',
    'Duration of GraphQL operations, without remembered responses.',
    ['type'],
  );
  const liveRuns = counter('live_runs_total', 'Executions of live queries.', []);
  const liveEnds = counter('live_streams_ended_total', 'Ended streams of live queries.', [
    'reason',
  ]);
  const liveEvents = counter('live_events_total', 'Events of ended live query streams.', []);
  const liveBytes = counter('live_bytes_total', 'Bytes of ended live query streams.', []);
  for (const reason of tokenFaults) rejections.inc({ reason }, 0);
  for (const upstream of ['LINKS', 'MARKET'] as const) refusals.inc({ upstream }, 0);
  const countClass = createClassMetrics(gauges.classes, registry);
  const reader: CountingReader = {
    ...createWriteMetrics(gauges.idempotency, registry),
    requestEnded({ outcome: { code, durationMs }, request }) {
      if (code === 'LATE') return;
      const { callerClass, method, resource, upstream } = request;
      countClass(upstream, callerClass);
      durations.observe({ upstream, method, resource }, durationMs / 1000);
      if (code === 'REFUSED') refusals.inc({ upstream });
      else if (code !== 'OK' && code !== 'CANCELED')
        errors.inc({ upstream, method, resource, code });
    },
    reads: ({ resource, result, times, upstream }) =>
      reads.inc({ upstream, resource, result }, times),
    waited: ({ lane, ms, upstream }) => waits.observe({ upstream, lane }, ms / 1000),
    tokenRejected: ({ reason }) => rejections.inc({ reason }),
    surprise: ({ field, upstream }) => surprises.inc({ upstream, field }),
    answeredInBulk(answers) {
      remembered.inc(answers.remembered);
      operations.inc({ type: 'query', outcome: 'ok' }, answers.remembered);
    },
    liveRun: () => liveRuns.inc(),
    liveEnded({ bytes, events, reason }) {
      liveEnds.inc({ reason });
      liveEvents.inc(events);
      liveBytes.inc(bytes);
    },
    operationEnded({ record: { codes, durationMs, outcome, type } }) {
      operations.inc({ type, outcome });
      operationSeconds.observe({ type }, durationMs / 1000);
      for (const code of codes) operationErrors.inc({ code: known.test(code) ? code : 'OTHER' });
    },
  };
  const metrics: Metrics = {
    async render() {
      const texts = await Promise.all([ofProcess().metrics(), registry.metrics()]);
      return { contentType: registry.contentType, text: texts.join('') };
    },
  };
  return { metrics, reader };
}

function registerGauges(
  { budgets, cache, failedShare, jobs, live, reachable }: Gauges,
  registry: Registry,
): void {
  const gauge = (name: string, help: string, read: () => number): void =>
    defineGauge(registry, `gateway_${name}`, help, read);
  const perUpstream = (name: string, help: string, read: (of: BudgetGauges) => number): void =>
    defineGauges(registry, `gateway_${name}`, help, ['upstream'], () =>
      budgets().map((budget) => [{ upstream: budget.upstream }, read(budget)]),
    );
  if (live) {
    gauge('live_streams', 'Viewers of live queries.', () => live().streams);
    const groups = 'Live queries executed for viewers, each once for all its viewers.';
    gauge('live_groups', groups, () => live().groups);
    gauge('live_bytes', 'Estimated memory of the results of live queries.', () => live().bytes);
  }
  perUpstream('budget_limit', 'Requests allowed per window.', ({ limit }) => limit);
  perUpstream('budget_used', 'Requests that count against the limit.', ({ used }) => used);
  perUpstream('budget_remaining', 'Requests that can be sent now.', ({ remaining }) => remaining);
  perUpstream('budget_paused', 'Keys paused by a refusal.', ({ paused }) => paused);
  perUpstream('budget_keys', 'Keys with a budget.', ({ keys }) => keys);
  perUpstream('upstream_reachable', '0 after several failed requests in a row.', ({ upstream }) =>
    Number(reachable(upstream)),
  );
  const accepted = '0 while the API rejects the key of the gateway.';
  perUpstream('upstream_key_accepted', accepted, (of) => Number(of.isKeyAccepted));
  const waits = 'Requests that wait for a slot.';
  defineGauges(registry, 'gateway_queue_length', waits, ['upstream', 'lane'], () =>
    budgets().flatMap(({ queued, upstream }) =>
      Object.entries(queued).map(([lane, length]) => [{ upstream, lane }, length] as const),
    ),
  );
  defineGauges(registry, 'gateway_jobs', 'Jobs by state.', ['state'], () =>
    [...jobs()].map(([state, count]) => [{ state: state.toLowerCase() }, count] as const),
  );
  const failed = 'Share of operations that failed in the last five minutes, without client errors.';
  gauge('operations_failed_ratio', failed, failedShare);
  gauge('cache_bytes', 'Estimated memory of cache entries.', () => cache().bytes);
  gauge('cache_entries', 'Cache entries.', () => cache().entries);
  gauge('owner', OWNER, () => 1);
}
