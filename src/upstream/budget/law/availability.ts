import type { CallerWaits, WaitingCounts } from './callers/turns.ts';
import { abreastMs } from './caution.ts';
import type { KeyBudget, Rules } from './document.ts';
import { comesBack, onWire, used } from './slots.ts';

/** A budget as last known, for estimates and display only. */
export interface BudgetView {
  readonly budget: KeyBudget;
  readonly rules: Rules;
  /** The current time on the clock of the budget. */
  readonly now: number;
  /** Milliseconds for which nothing is sent, for a reason other than a pause; 0 if there is none. */
  readonly heldMs: number;
  /** The waiting requests of other processes. */
  readonly bids: readonly WaitingCounts[];
  readonly isAlive: (owner: string) => boolean;
}

/** Milliseconds until a pause ends; 0 if there is none. */
export function pausedMs({ pause }: KeyBudget, now: number): number {
  return Math.max(0, (pause.until ?? now) - now);
}

/** Milliseconds until no lease is left, estimated for pending responses; `null` if there is none now. */
export function clearMs(b: KeyBudget, rules: Rules, now: number): number | null {
  const count = used(b);
  return count === 0 ? null : comesBack(b, rules, now, count - 1) - now;
}

/** Milliseconds for which nothing is sent, for any reason. */
export function heldMsOf({ budget, heldMs, now }: BudgetView): number {
  return Math.max(heldMs, pausedMs(budget, now));
}

/**
 * Milliseconds until a request with `ahead` others before it is sent, over all processes, if all are sent as soon
 * as possible: exact for slots whose response has ended, estimated from the usual latency for the others.
 */
export function availableMs(view: BudgetView, ahead: number): number {
  const { budget: b, isAlive, now, rules } = view;
  const free = b.limit - used(b);
  const place = (ahead % b.limit) - Math.max(0, free);
  // More slots than the limit, after it was reduced: the first that end free no slot.
  const slotMs = place < 0 ? 0 : comesBack(b, rules, now, place + Math.max(0, -free)) - now;
  // Each slot is free again one window after its next use.
  const rounds = Math.floor(ahead / b.limit);
  const roundsMs = rounds * (rules.windowMs + rules.marginMs + b.latencyMs);
  const turnMs = abreastMs(b, rules, now, { before: ahead, wire: onWire(b, isAlive) });
  const heldMs = heldMsOf(view);
  return Math.max(Math.max(heldMs, slotMs) + roundsMs, heldMs + turnMs);
}

/**
 * Number of requests of other processes before one with `position` others of this process before it, if `callers`
 * wait here: callers take turns over all processes. `waits` are those of the same class in other processes.
 */
export function aheadElsewhere(
  waits: readonly CallerWaits[],
  position: number,
  callers: number,
): number {
  const turns = 1 + Math.floor(position / Math.max(1, callers));
  return waits.reduce((sum, [, count]) => sum + Math.min(count, turns), 0);
}
