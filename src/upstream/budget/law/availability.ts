import { abreastMs } from './caution.ts';
import type { KeyBudget, Rules } from './document.ts';
import { comesBack, onWire, used } from './slots.ts';

/** Milliseconds until nothing counts any more, a guess for what is not answered; `null` when nothing counts now. */
export function clearMs(b: KeyBudget, rules: Rules, now: number): number | null {
  const count = used(b);
  return count === 0 ? null : comesBack(b, rules, now, count - 1) - now;
}

/**
 * Milliseconds until a request is sent that has `ahead` others before it, if nothing leaves for `heldMs` and all before
 * it leave as soon as they can: exact for slots that are answered, a guess from the usual latency for the others.
 */
export function availableMs(
  b: KeyBudget,
  rules: Rules,
  now: number,
  { ahead, heldMs, isAlive }: AvailableFor,
): number {
  const free = b.limit - used(b);
  const place = (ahead % b.limit) - Math.max(0, free);
  // More slots than the limit, after it has shrunk: the first to come back free nothing.
  const slotMs = place < 0 ? 0 : comesBack(b, rules, now, place + Math.max(0, -free)) - now;
  // Each slot comes back a window after it is used again.
  const rounds = Math.floor(ahead / b.limit);
  const roundsMs = rounds * (rules.windowMs + rules.marginMs + b.latencyMs);
  const turnMs = abreastMs(b, rules, now, { before: ahead, wire: onWire(b, isAlive) });
  return Math.max(Math.max(heldMs, slotMs) + roundsMs, heldMs + turnMs);
}

interface AvailableFor {
  readonly ahead: number;
  readonly heldMs: number;
  readonly isAlive: (owner: string) => boolean;
}
