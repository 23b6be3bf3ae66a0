import type { Ended, Waits, Want } from '../../../redis/shared-ledger.ts';
import type { Feedback } from '../../wire/rate-limit-headers.ts';
import type { SharedResult, SlotRequest } from '../budget.ts';
import type { Lanes } from '../lanes.ts';

/** Callers of a lane that other replicas are told of. */
const MOST_CALLERS = 32;
/** On the shared clock: later than any answer. */
const NEVER = 1e15;

/** A request as it is claimed for. */
export function wantOf(
  { lane, lengthy, sharing }: SlotRequest,
  of: {
    readonly id: string;
    readonly caller: string;
    readonly rush: boolean;
  },
): Want {
  return {
    id: of.id,
    lane,
    caller: of.caller,
    ...(sharing?.key === undefined ? {} : { key: sharing.key }),
    tags: sharing?.tags ?? [],
    ttl: sharing?.ttlMs ?? 0,
    newer: Math.round(Math.min(NEVER, sharing?.newerThan?.() ?? 0)),
    ...(lengthy ? { lengthy } : {}),
    ...(of.rush ? { rush: true } : {}),
  };
}

/** How many wait here, and of those that are `parked` with other replicas. */
export function waitsOf(
  lanes: Lanes<SlotRequest>,
  of: {
    readonly parked: readonly SlotRequest[];
    readonly drains: boolean;
    readonly nameOf: (caller: string) => string;
  },
): Waits {
  const countsOf = (lane: 'write' | 'interactive'): Record<string, number> => {
    const counts: Record<string, number> = {};
    const add = (caller: string, times: number): void => {
      const name = of.nameOf(caller);
      counts[name] = (counts[name] ?? 0) + times;
    };
    for (const [caller, times] of [...lanes.counts(lane)].slice(0, MOST_CALLERS))
      add(caller, times);
    for (const each of of.parked) if (each.lane === lane) add(each.caller, 1);
    return counts;
  };
  const refreshes = of.drains ? 0 : lanes.size('refresh');
  const [oldest] = refreshes > 0 ? lanes.mostUrgent(1) : [];
  return {
    w: countsOf('write'),
    i: countsOf('interactive'),
    r: refreshes + of.parked.filter(({ lane }) => lane === 'refresh').length,
    oldest: Math.round(oldest?.urgency ?? 0),
  };
}

/** How a request has ended, as the ledger is told. */
export function endedOf(
  { sharing }: SlotRequest,
  { feedback, result }: { readonly feedback: Feedback; readonly result?: SharedResult | undefined },
  epoch: string,
): Ended {
  const { limit, refused, remaining, resetInMs } = feedback;
  return {
    epoch,
    limit,
    remaining,
    reset: resetInMs === null ? null : Math.round(resetInMs),
    refused: refused !== undefined,
    retry: refused?.retryAfterMs == null ? null : Math.round(refused.retryAfterMs),
    ...(sharing?.key === undefined ? {} : { key: sharing.key }),
    kept: result?.kind === 'shared',
    ...(result?.kind === 'failed' ? { code: result.code } : {}),
    ...(result?.kind === 'nothing' ? { withdraw: true } : {}),
  };
}
