import { cautionMs } from './caution.ts';
import { type KeyBudget, type Lane, leftByRefreshes, type Rules } from './document.ts';
import { refreshMs } from './pace.ts';
import { comesBack, type Room } from './slots.ts';

/** Why no further slot is granted. */
type Why = 'idle' | 'paused' | 'window' | 'caution' | 'refresh' | 'reserve' | 'turn';

/** Until when no further slot is granted, unless the state changes before. */
export interface Stop {
  /** Milliseconds; `null` while no request of this claim waits. */
  readonly waitMs: number | null;
  readonly why: Why;
}

/** Why a request of a lane gets no slot now, if slots are `reserved` for those before it; `undefined` if it does. */
export function stopOf(
  b: KeyBudget,
  rules: Rules,
  now: number,
  next: Omit<Room, 'jobs'> & { readonly lane: Lane; readonly reserved?: number },
): Stop | undefined {
  const { free, lane, reserved = 0, wire } = next;
  if (b.pause.until !== null && now < b.pause.until) {
    return { waitMs: b.pause.until - now, why: 'paused' };
  }
  const slotMs = (over: number): number => comesBack(b, rules, now, over) - now;
  if (reserved >= free) return { waitMs: slotMs(reserved - free), why: 'window' };
  const waitMs = cautionMs(b, rules, now, { isWrite: lane === 'write', wire, reserved });
  if (waitMs > 0) return { waitMs, why: 'caution' };
  if (lane !== 'refresh') return undefined;
  const paceMs = refreshMs(b, rules, now);
  if (paceMs > 0) return { waitMs: paceMs, why: 'refresh' };
  const over = leftByRefreshes(b.limit) - free;
  return over < 0 ? undefined : { waitMs: slotMs(over), why: 'refresh' };
}

/** The reason that ends first. */
export function soonest(one: Stop, other: Stop): Stop {
  return (other.waitMs ?? Infinity) < (one.waitMs ?? Infinity) ? other : one;
}
