import { classRules } from '../../../auth/caller-class.ts';
import { classOf } from './callers.ts';
import type { KeyBudget, Rules } from './document.ts';
import { slotsOf } from './slots.ts';

/*
 * The limits of the classes of callers, for each API key: a number of slots in the window. Cache hits and refreshes use
 * none of them.
 */

const MINUTE_MS = 60_000;
/** The limit of a class in a window, and what of it is used. */
export interface QuotaUse {
  readonly limit: number;
  readonly used: number;
  /** Milliseconds until a further slot is available: 0 if one is; of a used-up limit until one is free again. */
  readonly waitMs: number;
  /** Milliseconds until nothing of it is used; 0 if nothing is. */
  readonly clearMs: number;
}

/** A number of requests per minute, in a shorter or longer window: the same rate, at least 1 unless it is 0. */
export function perWindow(perMinute: number, windowMs: number): number {
  if (perMinute === 0) return 0;
  return Math.max(1, Math.floor((perMinute * windowMs) / MINUTE_MS));
}

/** The limit of a class in a window; infinite without one. */
function quotaOf({ classes, windowMs }: Rules, name: string): number {
  const { maxCallsPerMinute } = classRules(classes, name);
  return maxCallsPerMinute === null ? Infinity : perWindow(maxCallsPerMinute, windowMs);
}

/** The limit of a class, and what of it is used; `null` for a class without. */
export function quotaUse(b: KeyBudget, rules: Rules, now: number, name: string): QuotaUse | null {
  const limit = quotaOf(rules, name);
  if (limit === Infinity) return null;
  const slots = slotsOf(b, rules, now).filter(
    ({ caller }) => caller !== null && classOf(caller) === name,
  );
  const freeing = slots.map(({ until }) => until - now);
  const over = freeing.length - limit;
  const waitMs = over < 0 ? 0 : (freeing[over] ?? rules.windowMs);
  return { limit, used: freeing.length, waitMs, clearMs: freeing.at(-1) ?? 0 };
}

/** Number of slots that the class of a caller has left of its limit; infinite without one. */
export function quotaLeft({ answered, held }: KeyBudget, rules: Rules, caller: string): number {
  const name = classOf(caller);
  let left = quotaOf(rules, name);
  if (left === Infinity) return left;
  for (const slots of [held, answered]) {
    for (const each of slots) {
      if (each.caller !== undefined && classOf(each.caller) === name) left -= 1;
    }
  }
  return Math.max(0, left);
}
