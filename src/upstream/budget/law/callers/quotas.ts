import { classRules } from '../../../../auth/caller-class.ts';
import type { KeyBudget, Rules } from '../document.ts';
import { slotsOf } from '../slots.ts';
import { classOf } from './caller-names.ts';

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
    for (const { maxCallsPerMinute } of this.#rules.classes?.values() ?? []) {
      if (maxCallsPerMinute !== null) return true;
    }
    return false;
  }

  /** Whether a class has a limit. */
  limits(name: string): boolean {
    return classRules(this.#rules.classes, name).maxCallsPerMinute !== null;
  }

  /** Whether a class has used up its limit. Much faster than `useOf`, which is in the order of time. */
  isUsedUp(name: string): boolean {
    const { maxCallsPerMinute } = classRules(this.#rules.classes, name);
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
    return this.useOf(classOf(caller), ahead)?.waitMs ?? 0;
  }

  /** Number of slots that the class of a caller may have now. */
  left(caller: string): number {
    const use = this.useOf(classOf(caller));
    return use ? Math.max(0, use.limit - use.used) : Number.POSITIVE_INFINITY;
  }

  /** The limit of a class; `null` for a class without. `waitMs` is that of a slot after `ahead` others. */
  useOf(name: string, ahead = 0): QuotaUse | null {
    const { maxCallsPerMinute: perMinute } = classRules(this.#rules.classes, name);
    if (perMinute === null) return null;
    const { windowMs } = this.#rules;
    const limit = perWindow(perMinute, windowMs);
    const freeing = this.#freeingOf(name);
    const used = freeing.length;
    const over = used + ahead - limit;
    // A slot that becomes free is used at once, and is free again a window later.
    const [round, place] = [Math.floor(over / Math.max(1, limit)), over % Math.max(1, limit)];
    const laterMs = round * windowMs + (freeing[place] ?? windowMs);
    const waitMs = over < 0 ? 0 : (freeing[over] ?? laterMs);
    return { limit, used, waitMs, clearMs: freeing.at(-1) ?? 0 };
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
