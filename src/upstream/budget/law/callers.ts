import { DEFAULT_CLASS } from '../../../auth/caller-class.ts';
import type { KeyBudget, Rules } from './document.ts';
import { slotsOf } from './slots.ts';

/*
 * In a budget, a caller is named together with its class, in one text: equal names in two classes are two callers. In
 * the default class it is the plain name. A class can have a limit for each API key: a number of slots in the window.
 * Cache hits and refreshes use none of them.
 */

/** Not in the name of a class. */
const SEPARATOR = '\n';
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

/** The name of a caller of a class in a budget. */
export function callerInClass(name: string, callerClass = DEFAULT_CLASS): string {
  if (callerClass !== DEFAULT_CLASS) return `${callerClass}${SEPARATOR}${name}`;
  return name.includes(SEPARATOR) ? `${SEPARATOR}${name}` : name;
}

/** The class of a caller, by its name in a budget. */
export function classOf(caller: string): string {
  const end = caller.indexOf(SEPARATOR);
  return end > 0 ? caller.slice(0, end) : DEFAULT_CLASS;
}

/** The name of a caller without its class. */
export function nameWithoutClass(caller: string): string {
  return caller.slice(caller.indexOf(SEPARATOR) + 1);
}

/** The share of a class beside others: 1 unless it is configured. */
export function weightOf({ classes }: Pick<Rules, 'classes'>, name: string): number {
  return classes?.get(name)?.weight ?? 1;
}

/** A number of requests per minute, in a shorter or longer window: the same rate, at least 1 unless it is 0. */
export function perWindow(perMinute: number, windowMs: number): number {
  if (perMinute === 0) return 0;
  return Math.max(1, Math.floor((perMinute * windowMs) / MINUTE_MS));
}

/** The limit of a class, and what of it is used; `null` for a class without. O(n log n) in the number of slots. */
export function quotaUse(b: KeyBudget, rules: Rules, now: number, name: string): QuotaUse | null {
  const maxCallsPerMinute = rules.classes?.get(name)?.maxCallsPerMinute ?? null;
  if (maxCallsPerMinute === null) return null;
  const limit = perWindow(maxCallsPerMinute, rules.windowMs);
  const slots = slotsOf(b, rules, now).filter(
    ({ caller }) => caller !== null && classOf(caller) === name,
  );
  const freeing = slots.map(({ until }) => until - now);
  const over = freeing.length - limit;
  const waitMs = over < 0 ? 0 : (freeing[over] ?? rules.windowMs);
  return { limit, used: freeing.length, waitMs, clearMs: freeing.at(-1) ?? 0 };
}
