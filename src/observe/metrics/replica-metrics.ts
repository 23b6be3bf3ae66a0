import { Counter, Histogram, type Registry } from 'prom-client';
import type { UpstreamName } from '../../errors.ts';
import type { CountingReader } from './counted-events.ts';
import { defineGauge, defineGauges } from './gauge.ts';

/** The state of this process among others that share budgets and responses. */
export interface ReplicaGauges {
  /** Whether Redis responds. */
  readonly isUp: boolean;
  /** Whether every confirmed write of all replicas is known here. */
  readonly leased: boolean;
  /** Processes that are alive, this one included. */
  readonly replicas: number;
  /** Whether this replica is excluded, because others use another secret. */
  readonly isKeptOut: boolean;
  /** Number of replicas that are excluded, because they use another secret. */
  readonly strangers: number;
  /** Time without requests to a configured upstream, because earlier requests are unknown. */
  readonly quarantines: readonly { readonly upstream: UpstreamName; readonly ms: number }[];
  /** Slots kept for replicas that ended without a shutdown, in the budgets that are watched here. */
  readonly ghosts: readonly {
    readonly upstream: UpstreamName;
    readonly slots: number;
    /** Milliseconds until the last of them is free. */
    readonly ms: number;
  }[];
}

/** From a round trip on one machine to the timeout of Redis, in seconds. */
const seconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The metrics of a process that shares budgets and responses with others. */
export function createReplicaMetrics(
  read: () => ReplicaGauges | undefined,
  registry: Registry,
): CountingReader {
  const registers = [registry];
  const gauge = (name: string, help: string, value: (state: ReplicaGauges) => number): void =>
    defineGauge(registry, `gateway_${name}`, help, () => {
      const state = read();
      return state && value(state);
    });
  gauge('redis_up', '1 if Redis responds.', ({ isUp }) => Number(isUp));
  gauge('redis_leased', '1 if all confirmed writes are known to this replica.', ({ leased }) =>
    Number(leased),
  );
  gauge(
    'redis_replicas',
    'Replicas that are alive, including this one.',
    (state) => state.replicas,
  );
  gauge(
    'redis_secret_differs',
    '1 if this replica is excluded because of its secret.',
    ({ isKeptOut }) => Number(isKeptOut),
  );
  gauge(
    'redis_strangers',
    'Replicas excluded because of another secret.',
    ({ strangers }) => strangers,
  );
  defineGauges(
    registry,
    'gateway_budget_quarantine_seconds',
    'Remaining seconds in which no upstream request is sent, because earlier ones are unknown.',
    ['upstream'],
    () => (read()?.quarantines ?? []).map(({ ms, upstream }) => [{ upstream }, ms / 1000]),
  );
  defineGauges(
    registry,
    'gateway_budget_ghost_slots',
    'Slots kept for replicas that ended without a shutdown.',
    ['upstream'],
    () => (read()?.ghosts ?? []).map(({ slots, upstream }) => [{ upstream }, slots]),
  );
  const trips = new Histogram({
    name: 'gateway_redis_round_trip_seconds',
    help: 'Duration of commands to Redis.',
    labelNames: ['command'],
    buckets: seconds,
    registers,
  });
  const failures = new Counter({
    name: 'gateway_redis_failures_total',
    help: 'Failed commands to Redis.',
    labelNames: ['command'],
    registers,
  });
  const permits = new Counter({
    name: 'gateway_budget_permits_total',
    help: 'Results of claims for a shared slot.',
    labelNames: ['upstream', 'outcome'],
    registers,
  });
  const settled = new Histogram({
    name: 'gateway_write_settle_seconds',
    help: 'Time that writes waited for other replicas.',
    labelNames: ['how'],
    buckets: seconds,
    registers,
  });
  const epochs = new Counter({
    name: 'gateway_redis_epochs_total',
    help: 'Number of times that Redis has lost its data.',
    registers,
  });
  const unreadable = new Counter({
    name: 'gateway_cache_unreadable_total',
    help: 'Entries in Redis that could not be decrypted.',
    registers,
  });
  return {
    roundTrip({ command, ms, ok }) {
      trips.observe({ command }, ms / 1000);
      if (!ok) failures.inc({ command });
    },
    permit: (row) => permits.inc({ ...row }),
    settled: ({ how, ms }) => settled.observe({ how }, ms / 1000),
    epoch: () => epochs.inc(),
    unreadable: () => unreadable.inc(),
  };
}
