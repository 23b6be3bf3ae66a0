import { classOf, type QuotaUse, quotaUse, weightOf } from './callers.ts';
import type { KeyBudget, Lane, Rules } from './document.ts';
import { jobsDue, needOfOthers } from './jobs.ts';
import { leftByRefreshes } from './pace.ts';
import { type CountingSlots, pausedMs, slotsOf, used } from './slots.ts';

/*
 * Limits a burst to its own caller. Some slots of each window are reserved: for writes, and for callers that have sent
 * nothing in it. The classes with slots in the window share it by weight, and the callers of a class share equally. A
 * caller that has more than its share, or whose class has, leaves reserved slots free: all of them if it has twice its
 * share, a half of them if it has one and a half.
 *
 * A slot is lent if one that replaces it becomes free soon, so that the window is used even if one caller is the only
 * one that waits.
 *
 * The lane `bulk` (see jobs.ts) leaves all reserved slots, and what all others and refreshes are expected to need: as much
 * as in the last window, or on average, and more if that varies.
 */

/** After this share of a window, lent slots are free again. Callers that share the window share this time. */
const LENT_WINDOWS = 1 / 4;

/**
 * A job leaves this many standard deviations of the use of others, beyond what it is expected to be. If callers use 60 %
 * of 30 requests at random, 3 % of their reads wait then, and jobs get 50 % of the rest; with none, half of the reads
 * would wait. At an even pace, no read waits, and jobs get 91 % of the rest.
 */
const DEVIATIONS = 1.75;

/** A caller that is alone, or beside one other, has the share of one beside two: its burst leaves the reserves. */
const LEAST_SHARING = 3;
/** The weight of a class without weight, beside others: it has a share only if no other class has slots. */
const WITHOUT_WEIGHT = 1e-6;

/** A caller that wants a slot. */
interface Wanting {
  /** Its name in the turns. */
  readonly caller: string;
  readonly lane: Lane;
}

/** Numbers of slots that are left to others. */
interface Needs {
  /** Complete again after a share of a window. */
  readonly reserved: number;
  readonly lentWindows: number;
  /** In a window. */
  readonly expected?: number;
  /** Beyond those, at any time. */
  readonly more?: number;
}

/** Which free slots a caller leaves to others, at one moment of a purged document, which does not change meanwhile. */
export class Reserves {
  readonly #b: KeyBudget;
  readonly #rules: Rules;
  readonly #now: number;
  /** The reserved slots. A share of a low limit is less than one slot, and reserves none. */
  readonly #newcomers: number;
  readonly #writes: number;
  /** Counted when they are first needed. */
  #counted: ReadonlyMap<string, number> | undefined;
  #freeing: readonly CountingSlots[] | undefined;
  #needs: Needs | undefined;
  readonly #quotas = new Map<string, QuotaUse | null>();

  constructor(b: KeyBudget, rules: Rules, now: number) {
    const { newcomers = 0, writes = 0 } = rules.reserves ?? {};
    this.#b = b;
    this.#rules = rules;
    this.#now = now;
    this.#newcomers = Math.floor(b.limit * newcomers);
    this.#writes = Math.floor(b.limit * writes);
  }

  /**
   * Milliseconds until a caller may take a slot, as far as others need it, if `free` slots are free and no other
   * request takes one; 0 if it may now. At the latest, this is decided again when the next slot is free.
   */
  waitMs(want: Wanting, free: number): number {
    return this.#quotaOf(want.caller)?.waitMs || this.#waitMs(want, free, 0);
  }

  /** Number of slots that a caller may take now, in this lane. */
  available(want: Wanting): number {
    const free = pausedMs(this.#b, this.#now) > 0 ? 0 : this.#b.limit - used(this.#b);
    let high = Math.max(0, Math.min(free, this.quotaLeft(want.caller)));
    // Those that the minimum rate gives jobs, whatever others need.
    let low = want.lane === 'bulk' ? Math.min(high, jobsDue(this.#b, this.#rules, this.#now)) : 0;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.#waitMs(want, free - middle + 1, middle - 1) > 0) high = middle - 1;
      else low = middle;
    }
    return low;
  }

  /** Number of slots that the class of a caller has left of its limit; infinite without one. */
  quotaLeft(caller: string): number {
    const quota = this.#quotaOf(caller);
    return quota ? Math.max(0, quota.limit - quota.used) : Infinity;
  }

  #quotaOf(caller: string): QuotaUse | null {
    const name = classOf(caller);
    let quota = this.#quotas.get(name);
    if (quota === undefined) {
      quota = quotaUse(this.#b, this.#rules, this.#now, name);
      this.#quotas.set(name, quota);
    }
    return quota;
  }

  /** The same as `waitMs` for a caller that has `more` slots in the window beside its own. */
  #waitMs({ caller, lane }: Wanting, free: number, more: number): number {
    if (lane === 'bulk') return this.#untilReplaced(this.#needsBesidesJobs(), free);
    const most = this.#newcomers + (lane === 'write' ? 0 : this.#writes);
    if (free > most) return 0;
    const { callers, shares } = this.#sharesOf(caller, more);
    const reserved = Math.min(most, Math.floor((this.#newcomers + this.#writes) * (shares - 1)));
    const lentWindows = LENT_WINDOWS / callers;
    const waitMs = this.#untilReplaced({ reserved, lentWindows }, free);
    const nextAt = this.#allFreeing()[0]?.until ?? Infinity;
    return Math.min(waitMs, nextAt - this.#now);
  }

  /** What the lane `bulk` leaves. */
  #needsBesidesJobs(): Needs {
    if (this.#needs) return this.#needs;
    const { deviation, expected } = needOfOthers(this.#b, this.#rules, this.#now);
    const reserved = Math.max(this.#newcomers + this.#writes, leftByRefreshes(this.#b.limit));
    const more = DEVIATIONS * deviation;
    this.#needs = { reserved, lentWindows: LENT_WINDOWS, expected, more };
    return this.#needs;
  }

  /**
   * Milliseconds until a slot can be taken, of `free` ones, so that those that are left always suffice for the others
   * until further ones are free.
   */
  #untilReplaced({ expected = 0, lentWindows, more = 0, reserved }: Needs, free: number): number {
    const { windowMs } = this.#rules;
    const most = Math.max(reserved, expected + more);
    /** For how long this number of free slots is sufficient for the others. */
    const lastsMs = (left: number): number => {
      const reserveMs = left < reserved ? (left / reserved) * lentWindows * windowMs : Infinity;
      if (left >= expected + more) return reserveMs;
      return Math.min(reserveMs, (Math.max(0, left - more) / expected) * windowMs);
    };
    let waitMs = 0;
    let left = free - 1;
    if (left >= most) return 0;
    for (const { count, until } of this.#allFreeing()) {
      if (left >= most) break;
      waitMs = Math.max(waitMs, until - this.#now - (left < 0 ? 0 : lastsMs(left)));
      left += count;
    }
    return waitMs;
  }

  /**
   * How many shares of the window a caller has with `more` slots, or its class if that has more of its own; and the number
   * of callers that share the window.
   */
  #sharesOf(caller: string, more: number): { readonly shares: number; readonly callers: number } {
    const slots = this.#slotsByCaller();
    const name = classOf(caller);
    const classes = new Set([name]);
    let [ofClass, sharing] = [more, slots.has(caller) ? 0 : 1];
    const callers = slots.size + sharing;
    for (const [each, count] of slots) {
      classes.add(classOf(each));
      if (classOf(each) !== name) continue;
      ofClass += count;
      sharing += 1;
    }
    let weights = 0;
    for (const each of classes) weights += this.#weightOf(each);
    const ofOneClass = weights / this.#weightOf(name);
    const own = ((slots.get(caller) ?? 0) + more) * Math.max(LEAST_SHARING, sharing * ofOneClass);
    // One class alone has the whole window.
    const most = classes.size > 1 ? Math.max(own, ofClass * ofOneClass) : own;
    return { shares: most / this.#b.limit, callers };
  }

  #weightOf(name: string): number {
    return weightOf(this.#rules, name) || WITHOUT_WEIGHT;
  }

  /** Number of slots in the window of each caller, without those of the lane `bulk`. */
  #slotsByCaller(): ReadonlyMap<string, number> {
    if (this.#counted) return this.#counted;
    const counts = new Map<string, number>();
    for (const { bulk, caller } of [...this.#b.held, ...this.#b.answered]) {
      if (caller !== undefined && !bulk) counts.set(caller, (counts.get(caller) ?? 0) + 1);
    }
    this.#counted = counts;
    return counts;
  }

  /** The slots that become free, in the order of time. */
  #allFreeing(): readonly CountingSlots[] {
    this.#freeing ??= slotsOf(this.#b, this.#rules, this.#now);
    return this.#freeing;
  }
}
