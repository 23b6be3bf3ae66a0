import type { Feedback } from '../../wire/rate-limit-headers.ts';
import type { SharedResult, SlotRequest } from '../budget.ts';
import type { Lanes } from '../lanes.ts';
import type { Lane } from '../law/document.ts';
import type { CallerWaits, WaitingCounts } from '../law/turns.ts';
import type { SharedEnding, SharedWant } from './shared-ledger.ts';

/** A request as it is claimed for. */
export function wantOf(
  { lane, lengthy, sharing }: SlotRequest,
  of: {
    readonly id: string;
    readonly caller: string;
    /** How many wait before it here, where it has no time to wait. */
    readonly rushPast?: number | undefined;
  },
): SharedWant {
  const { key, newerThan, tags = [], ttlMs = 0 } = sharing ?? {};
  const newer = newerThan?.() ?? 0;
  const isSought = key !== undefined && lane !== 'write' && newer !== Infinity;
  return {
    id: of.id,
    lane,
    caller: of.caller,
    ...(key === undefined ? {} : { key }),
    ...(isSought ? { sought: { key, tags, ttlMs, newer } } : {}),
    ...(lane === 'write' ? { touches: tags } : {}),
    ...(lengthy ? { lengthy } : {}),
    ...(of.rushPast === undefined ? {} : { rushPast: of.rushPast }),
  };
}

/** How many wait here, and of those that are `parked` with other replicas; `seq` is the latest turn that is known of. */
export function waitsOf(
  lanes: Lanes<SlotRequest>,
  of: {
    readonly parked: readonly SlotRequest[];
    readonly drains: boolean;
    readonly seq: number;
  },
): WaitingCounts {
  const { interactive, oldestMs, refreshes, write } = lanes.waits;
  const parkedIn = (lane: Lane): CallerWaits[] =>
    of.parked.flatMap((each) => (each.lane === lane ? [[lanes.callerOf(each), 1, of.seq]] : []));
  return {
    write: [...write, ...parkedIn('write')],
    interactive: [...interactive, ...parkedIn('interactive')],
    refreshes: (of.drains ? 0 : refreshes) + parkedIn('refresh').length,
    oldestMs: of.drains ? 0 : Math.round(oldestMs),
  };
}

/** How a request has ended, as other replicas are told. */
export function endingOf(
  { sharing }: SlotRequest,
  { feedback, result }: { readonly feedback: Feedback; readonly result?: SharedResult | undefined },
  epoch: string,
): SharedEnding {
  return {
    epoch,
    feedback,
    ...(sharing?.key === undefined ? {} : { key: sharing.key }),
    kept: result?.kind === 'shared',
    ...(result?.kind === 'failed' ? { code: result.code } : {}),
    ...(result?.kind === 'nothing' ? { withdraw: true } : {}),
  };
}
