import { abreastMs } from './caution.ts';
import type { KeyBudget, Rules } from './document.ts';
import { comesBack, onWire, used } from './slots.ts';
import type { WaitingCounts } from './turns.ts';

/** A budget as last known, for estimates and for people: nothing is sent on its word. */
export interface BudgetView {
  readonly budget: KeyBudget;
  readonly rules: Rules;
  /** The moment of now on the clock of the budget. */
  readonly now: number;
  /** Milliseconds for which nothing leaves, for another reason than a pause; 0 when there is none. */
  readonly heldMs: number;
  /** What waits in other processes. */
  readonly bids: readonly WaitingCounts[];
  readonly isAlive: (owner: string) => boolean;
}

/** Milliseconds until a pause is over; 0 when there is none. */
export function pausedMs({ pause }: KeyBudget, now: number): number {
  return Math.max(0, (pause.until ?? now) - now);
}

/** Milliseconds until nothing counts any more, a guess for what is not answered; `null` when nothing counts now. */
export function clearMs(b: KeyBudget, rules: Rules, now: number): number | null {
  const count = used(b);
  return count === 0 ? null : comesBack(b, rules, now, count - 1) - now;
}

/** Milliseconds for which nothing leaves, for whatever reason. */
export function heldMsOf({ budget, heldMs, now }: BudgetView): number {
  return Math.max(heldMs, pausedMs(budget, now));
}

/**
 * Milliseconds until a request is sent that has `ahead` others before it, over all processes, if all of them leave as
 * soon as they can: exact for slots that are answered, a guess from the usual latency for the others.
 */
export function availableMs(view: BudgetView, ahead: number): number {
  const { budget: b, isAlive, now, rules } = view;
  const free = b.limit - used(b);
  const place = (ahead % b.limit) - Math.max(0, free);
  // More slots than the limit, after it has shrunk: the first to come back free nothing.
  const slotMs = place < 0 ? 0 : comesBack(b, rules, now, place + Math.max(0, -free)) - now;
  // Each slot comes back a window after it is used again.
  const rounds = Math.floor(ahead / b.limit);
  const roundsMs = rounds * (rules.windowMs + rules.marginMs + b.latencyMs);
  const turnMs = abreastMs(b, rules, now, { before: ahead, wire: onWire(b, isAlive) });
  const heldMs = heldMsOf(view);
  return Math.max(Math.max(heldMs, slotMs) + roundsMs, heldMs + turnMs);
}

/**
 * How many requests of other processes go before one that has `position` others of this process before it, of `callers`
 * who wait here: callers take turns over all processes.
 */
export function aheadElsewhere(
  bids: readonly WaitingCounts[],
  position: number,
  callers: number,
): number {
  const turns = 1 + Math.floor(position / Math.max(1, callers));
  const waits = bids.flatMap(({ interactive, write }) => [...write, ...interactive]);
  return waits.reduce((sum, [, count]) => sum + Math.min(count, turns), 0);
}
