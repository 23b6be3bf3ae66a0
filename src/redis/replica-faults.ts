import type { UpstreamName } from '../errors.ts';
import type { ReplicaGauges } from '../observe/replica-metrics.ts';

/** Something that is wrong between this process and the others. */
export interface ReplicaFault {
  readonly reason:
    | 'redis-unreachable'
    | 'redis-permissions'
    | 'quarantine'
    | 'lease-lost'
    | 'ghost-slots';
  readonly upstream?: UpstreamName;
  /** How many slots it is about. */
  readonly slots?: number;
  /** Milliseconds until it is over by itself. */
  readonly retryAfterMs?: number;
  /** What the user of Redis may not do, as commands with their keys. */
  readonly permissions?: readonly string[];
}

/** What a process does without, by how it stands to the others, and by the permissions that its user of Redis lacks. */
export function faultsOf(
  { ghosts, isUp, leased, quarantines }: ReplicaGauges,
  permissions: readonly string[],
): ReplicaFault[] {
  const denied: ReplicaFault[] =
    permissions.length > 0 ? [{ reason: 'redis-permissions', permissions }] : [];
  if (!isUp) return [{ reason: 'redis-unreachable' }, ...denied];
  return [
    ...denied,
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
