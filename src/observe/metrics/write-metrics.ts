import { Counter, type Registry } from 'prom-client';
import type { KeyedEnd } from '../events.ts';
import type { CountingReader } from './counted-events.ts';
import { defineGauge, defineGauges } from './gauge.ts';

/** The records of writes with idempotency keys. */
export interface IdempotencyGauges {
  /** Keys whose write is queued or on its way. */
  readonly inProgress: number;
  /** Keys whose write was sent and has no known outcome. */
  readonly ambiguous: number;
  /** Keys with a final outcome. */
  readonly stored: number;
  readonly bytes: number;
  readonly maxBytes: number;
  /** Whether they should be saved in `STATE_DIR` and cannot be: they would be lost at a restart. */
  readonly isSaveFailing: boolean;
}

/** Ends of writes without a key that are counted, because their responses were lost. */
const LOST = ['reconciled', 'unknown'] as const satisfies readonly KeyedEnd[];

/** All ends of writes with a key. Each is present from the start, so that its first occurrence is an increase. */
const ends: Readonly<Record<KeyedEnd, 1>> = {
  executed: 1,
  replayed: 1,
  reconciled: 1,
  unknown: 1,
  rejected: 1,
  conflict_in_use: 1,
  reused: 1,
};

/** The only API with writes. */
const WRITTEN = { upstream: 'LINKS' } as const;

/** The metrics of writes: idempotency keys, lost responses and conflicts of updates. */
export function createWriteMetrics(
  read: () => IdempotencyGauges,
  registry: Registry,
): CountingReader {
  const registers = [registry];
  const gauge = (name: string, help: string, value: (keys: IdempotencyGauges) => number) =>
    defineGauge(registry, `gateway_idempotency_${name}`, help, () => value(read()));
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
    new Counter({ name: `gateway_${name}`, help, labelNames, registers });

  const states = 'Idempotency keys by state.';
  defineGauges(registry, 'gateway_idempotency_keys', states, ['state'], () => {
    const { ambiguous, inProgress, stored } = read();
    return [
      [{ state: 'in_progress' }, inProgress],
      [{ state: 'ambiguous' }, ambiguous],
      [{ state: 'stored' }, stored],
    ];
  });
  gauge('bytes', 'Size of the records of idempotency keys.', ({ bytes }) => bytes);
  gauge('max_bytes', 'Maximum size of the records.', ({ maxBytes }) => maxBytes);
  const unsaved = '1 if the state cannot be saved.';
  defineGauge(registry, 'gateway_state_save_failing', unsaved, () => Number(read().isSaveFailing));
  const forgotten = counter(
    'idempotency_forgotten_total',
    'Idempotency keys removed before their time, because the store was full.',
    [],
  );
  const keyed = counter('keyed_writes_total', 'Writes with an idempotency key.', [
    'upstream',
    'outcome',
  ]);
  const unkeyed = counter(
    'unkeyed_lost_writes_total',
    'Writes without an idempotency key whose response was lost.',
    ['upstream', 'outcome'],
  );
  const reads = counter(
    'reconciliation_reads_total',
    'Requests sent to look for what a write has created whose response was lost.',
    ['upstream'],
  );
  const conflicts = counter(
    'conflicts_total',
    'Updates not sent, because the row differed from what the caller expected.',
    ['upstream'],
  );
  for (const outcome of Object.keys(ends)) keyed.inc({ ...WRITTEN, outcome }, 0);
  for (const outcome of LOST) unkeyed.inc({ ...WRITTEN, outcome }, 0);
  for (const each of [reads, conflicts]) each.inc(WRITTEN, 0);
  return {
    keyed({ key, outcome, reads: looked, upstream }) {
      (key === null ? unkeyed : keyed).inc({ upstream, outcome });
      reads.inc({ upstream }, looked);
    },
    keysForgotten: ({ count }) => forgotten.inc(count),
    conflict: ({ upstream }) => conflicts.inc({ upstream }),
  };
}
