import type { UpstreamName } from '../errors.ts';
import type { ReplicaGauges } from '../observe/replica-metrics.ts';

/** Something that is wrong between this process and the others. */
export interface ReplicaFault {
  readonly reason: 'redis-unreachable' | 'quarantine' | 'lease-lost' | 'ghost-slots';
  readonly upstream?: UpstreamName;
  /** How many slots it is about. */
  readonly slots?: number;
  /** Milliseconds until it is over by itself. */
  readonly retryAfterMs?: number;
}

/** What a process does without, by how it stands to the others. */
export function faultsOf({ ghosts, isUp, leased, quarantines }: ReplicaGauges): ReplicaFault[] {
  if (!isUp) return [{ reason: 'redis-unreachable' }];
  return [
    ...(leased ? [] : [{ reason: 'lease-lost' } as const]),
    ...quarantines
      .filter(({ ms }) => ms > 0)
      .map(({ ms, upstream }) => {
        return { reason: 'quarantine', upstream, retryAfterMs: Math.ceil(ms) } as const;
      }),
    ...ghosts
      .filter(({ slots }) => slots > 0)
      .map(({ ms, slots, upstream }) => {
        return { reason: 'ghost-slots', upstream, slots, retryAfterMs: Math.ceil(ms) } as const;
      }),
  ];
}
