import { abreastMs } from './caution.ts';
import type { KeyBudget, Rules } from './document.ts';
import { comesBack, roomOf, used } from './slots.ts';

/** A budget as last known, for estimates and display only. */
export interface BudgetView {
  readonly budget: KeyBudget;
  readonly rules: Rules;
  /** The current time on the clock of the budget. */
  readonly now: number;
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

/**
 * Milliseconds until a request with `ahead` others before it is sent, if all are sent as soon as possible: exact for
 * slots whose response has ended, estimated from the usual latency for the others.
 */
export function availableMs(view: BudgetView, ahead: number): number {
  const { budget: b, now, rules } = view;
  const free = b.limit - used(b);
  const place = (ahead % b.limit) - Math.max(0, free);
  // More slots than the limit, after it was reduced: the first that end free no slot.
  const slotMs = place < 0 ? 0 : comesBack(b, rules, now, place + Math.max(0, -free)) - now;
  // Each slot is free again one window after its next use.
  const rounds = Math.floor(ahead / b.limit);
  const roundsMs = rounds * (rules.windowMs + b.latencyMs);
  const turnMs = abreastMs(b, rules, now, { before: ahead, wire: roomOf(b).wire });
  const pauseMs = pausedMs(b, now);
  return Math.max(Math.max(pauseMs, slotMs) + roundsMs, pauseMs + turnMs);
}
