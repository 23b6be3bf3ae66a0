import { classRules } from '../../../../auth/caller-class.ts';
import type { KeyBudget, Rules } from '../document.ts';
import { slotsOf } from '../slots.ts';
import { classOf } from './caller-names.ts';

/*
 * The limits of the classes of callers, for each API key: a number of slots in the window, and in the day. Cache hits
 * and refreshes use none of them.
 */

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** The limit of a class in one interval, and what of it is used. */
export interface QuotaUse {
  readonly window: 'MINUTE' | 'DAY';
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

/** The number of the day at a time on the clock of the budget. */
function dayAt({ wallOffsetMs = 0 }: Rules, now: number): number {
  return Math.floor((now + wallOffsetMs) / DAY_MS);
}

/** Slots of a class in the counts of a day; all objects have a member `constructor`, which can be the name of a class. */
function countOf(counts: Readonly<Record<string, number>>, name: string): number {
  return Object.hasOwn(counts, name) ? (counts[name] ?? 0) : 0;
}

/** Slots of a class on the current day. */
function usedToday({ dayCounts }: KeyBudget, rules: Rules, now: number, name: string): number {
  return dayCounts?.day === dayAt(rules, now) ? countOf(dayCounts.counts, name) : 0;
}

/** A caller has got a slot, which counts on the current day. */
export function countToday(b: KeyBudget, rules: Rules, now: number, caller: string): void {
  const name = classOf(caller);
  if (classRules(rules.classes, name).maxCallsPerDay === null) return;
  const day = dayAt(rules, now);
  // The wall clock can be set back: a day that has begun does not end again.
  if (b.dayCounts && b.dayCounts.day > day) return;
  const counts = b.dayCounts?.day === day ? b.dayCounts.counts : {};
  b.dayCounts = { day, counts: { ...counts, [name]: countOf(counts, name) + 1 } };
}

/** A caller has returned a slot unused. */
export function uncountToday(b: KeyBudget, caller: string): void {
  const name = classOf(caller);
  const { counts = {}, day = 0 } = b.dayCounts ?? {};
  const count = countOf(counts, name);
  if (count > 0) b.dayCounts = { day, counts: { ...counts, [name]: count - 1 } };
}

/** Sets what was used on the current day before this process. */
export function recallToday(
  b: KeyBudget,
  rules: Rules,
  now: number,
  callsBefore: (name: string) => number,
): void {
  const counts: Record<string, number> = {};
  for (const [name, { maxCallsPerDay }] of rules.classes ?? []) {
    if (maxCallsPerDay !== null) counts[name] = callsBefore(name);
  }
  if (Object.keys(counts).length > 0) b.dayCounts = { day: dayAt(rules, now), counts };
}

/** The limits of classes at one moment of a purged document. */
export class Quotas {
  readonly #b: KeyBudget;
  readonly #rules: Rules;
  readonly #now: number;
  /** When the slots of each class are free again, in order; listed when they are first needed. */
  #freeing: Map<string, number[]> | undefined;

  constructor(b: KeyBudget, rules: Rules, now: number) {
    this.#b = b;
    this.#rules = rules;
    this.#now = now;
  }

  /** Whether any class has a limit. */
  get isUsed(): boolean {
    for (const { maxCallsPerDay, maxCallsPerMinute } of this.#rules.classes?.values() ?? []) {
      if (maxCallsPerMinute !== null || maxCallsPerDay !== null) return true;
    }
    return false;
  }

  /** Whether a class has a limit. */
  limits(name: string): boolean {
    const { maxCallsPerDay, maxCallsPerMinute } = classRules(this.#rules.classes, name);
    return maxCallsPerDay !== null || maxCallsPerMinute !== null;
  }

  /** Whether a class has used up a limit. Much faster than `usesOf`, which is in the order of time. */
  isUsedUp(name: string): boolean {
    const { maxCallsPerDay, maxCallsPerMinute } = classRules(this.#rules.classes, name);
    if (
      maxCallsPerDay !== null &&
      usedToday(this.#b, this.#rules, this.#now, name) >= maxCallsPerDay
    )
      return true;
    if (maxCallsPerMinute === null) return false;
    let left = perWindow(maxCallsPerMinute, this.#rules.windowMs);
    for (const slots of [this.#b.held, this.#b.answered]) {
      for (const { caller } of slots) {
        if (caller !== undefined && classOf(caller) === name) left -= 1;
      }
    }
    return left <= 0;
  }

  /** The document has changed. */
  changed(): void {
    this.#freeing = undefined;
  }

  /** Milliseconds until the class of a caller may have a slot after `ahead` others; 0 if it may now. */
  waitMs(caller: string, ahead = 0): number {
    const uses = this.usesOf(classOf(caller), ahead);
    return uses.reduce((most, { waitMs }) => Math.max(most, waitMs), 0);
  }

  /** Number of slots that the class of a caller may have now. */
  left(caller: string): number {
    const uses = this.usesOf(classOf(caller));
    return uses.reduce(
      (least, { limit, used }) => Math.min(least, Math.max(0, limit - used)),
      Infinity,
    );
  }

  /** The limits of a class; none for a class without. `waitMs` is that of a slot after `ahead` others. */
  usesOf(name: string, ahead = 0): QuotaUse[] {
    const { maxCallsPerDay, maxCallsPerMinute } = classRules(this.#rules.classes, name);
    const uses: QuotaUse[] = [];
    if (maxCallsPerMinute !== null) uses.push(this.#ofWindow(name, maxCallsPerMinute, ahead));
    if (maxCallsPerDay !== null) uses.push(this.#ofDay(name, maxCallsPerDay, ahead));
    return uses;
  }

  #ofWindow(name: string, perMinute: number, ahead: number): QuotaUse {
    const { windowMs } = this.#rules;
    const limit = perWindow(perMinute, windowMs);
    const freeing = this.#freeingOf(name);
    const used = freeing.length;
    const over = used + ahead - limit;
    // A slot that becomes free is used at once, and is free again a window later.
    const [round, place] = [Math.floor(over / Math.max(1, limit)), over % Math.max(1, limit)];
    const laterMs = round * windowMs + (freeing[place] ?? windowMs);
    const waitMs = over < 0 ? 0 : (freeing[over] ?? laterMs);
    return { window: 'MINUTE', limit, used, waitMs, clearMs: freeing.at(-1) ?? 0 };
  }

  #ofDay(name: string, limit: number, ahead: number): QuotaUse {
    const used = usedToday(this.#b, this.#rules, this.#now, name);
    const endsMs = DAY_MS - ((this.#now + (this.#rules.wallOffsetMs ?? 0)) % DAY_MS);
    const waitMs = used + ahead < limit ? 0 : endsMs;
    return { window: 'DAY', limit, used, waitMs, clearMs: used > 0 ? endsMs : 0 };
  }

  #freeingOf(name: string): readonly number[] {
    if (!this.#freeing) {
      this.#freeing = new Map();
      for (const { caller, until } of slotsOf(this.#b, this.#rules, this.#now)) {
        if (caller === null) continue;
        const ofClass = this.#freeing.get(classOf(caller)) ?? [];
        this.#freeing.set(classOf(caller), ofClass);
        ofClass.push(until - this.#now);
      }
    }
    return this.#freeing.get(name) ?? [];
  }
}
