import { classRules } from '../../../auth/caller-class.ts';
import { classOf } from './callers.ts';
import { type KeyBudget, type Lane, leftByRefreshes, type Rules } from './document.ts';
import { jobsDue, needOfOthers } from './jobs.ts';
import { quotaLeft, quotaUse } from './quotas.ts';
import { slotsOf } from './slots.ts';

/*
 * Limits a burst to its own caller. Some slots of each window are reserved: for writes, and for callers that have sent
 * nothing in it. A caller whose turn is over, because it or its class has had more than its share of the other slots,
 * leaves these free. It also leaves the slots that the callers and classes with less of their shares are expected to
 * need, as many as in the last window. A reserved slot is lent to it if slots that replace it become free soon enough,
 * so the window is used even if one caller is the only one that waits.
 *
 * The lane `bulk` (see jobs.ts) is a caller whose turn is always over, also without reserves. It leaves slots for
 * newcomers, and what all others and refreshes are expected to need: as much as in the last window, or on average, and
 * more if that varies.
 *
 * The classes with slots in the window share it by weight, and the callers of a class share equally.
 */

/** A slot is lent for this share of a window: a reserve is complete again after that time. */
const LENT_WINDOWS = 1 / 4;

/**
 * A job leaves this many standard deviations of the use of others, beyond what it is expected to be. If callers use 60 %
 * of 30 requests at random, 3 % of their reads wait then, and jobs get 55 % of the rest; with none, half of the reads
 * would wait. At an even pace, no read waits, and jobs get 91 % of the rest.
 */
const DEVIATIONS = 1.5;

/** The weight of a class without weight, beside others. */
const WITHOUT_WEIGHT = 1e-6;

/** Numbers of reserved slots. */
interface Reserved {
  readonly writes: number;
  readonly newcomers: number;
}

/** The reserved slots of a limit. A share of a low limit is less than one slot, and reserves none. */
function reservedOf(limit: number, { reserves }: Pick<Rules, 'reserves'>): Reserved {
  const { newcomers = 0, writes = 0 } = reserves ?? {};
  return { writes: Math.floor(limit * writes), newcomers: Math.floor(limit * newcomers) };
}

/** A caller that wants a slot. */
export interface Wanting {
  /** Its name in the turns. */
  readonly caller: string;
  readonly lane: Lane;
}

/** The slots of a caller in the window, and those of its class. */
interface Holding {
  readonly caller: string;
  /** Of its class. */
  readonly name: string;
  readonly ofClass: number;
  readonly own: number;
}

/** The slots in the window, by caller and by class. */
interface Counted {
  readonly callers: ReadonlyMap<string, number>;
  readonly classes: ReadonlyMap<string, { readonly slots: number; readonly callers: number }>;
}

/** Numbers of slots that are left to others. */
interface Needs {
  /** Complete again after a quarter of a window. */
  readonly reserved: number;
  /** In a window. */
  readonly expected: number;
  /** Beyond those, at any time. */
  readonly more: number;
}

/** Slots that become free together. */
interface Freeing {
  /** The caller that uses them; `null` if there is none, or it is unknown. */
  readonly owner: string | null;
  readonly count: number;
  readonly inMs: number;
}

/** Which free slots a caller leaves to others, at one moment of a purged document. */
export class Reserves {
  readonly #b: KeyBudget;
  readonly #rules: Rules;
  readonly #now: number;
  readonly #reserved: Reserved;
  /** The slots in the window; counted when they are first needed. */
  #counted: Counted | undefined;
  #known: readonly Freeing[] | undefined;

  constructor(b: KeyBudget, rules: Rules, now: number) {
    this.#b = b;
    this.#rules = rules;
    this.#now = now;
    this.#reserved = reservedOf(b.limit, rules);
  }

  /** Whether any slot is reserved. */
  get #isUsed(): boolean {
    return this.#reserved.writes + this.#reserved.newcomers > 0;
  }

  /** The document has changed. */
  changed(): void {
    this.#counted = undefined;
    this.#known = undefined;
  }

  /**
   * Milliseconds until a caller may take a slot, as far as others need it, if `free` slots are free and no other
   * request takes one; 0 if it may now.
   */
  waitMs(want: Wanting, free: number): number {
    if (this.quotaLeft(want.caller) === 0) {
      return quotaUse(this.#b, this.#rules, this.#now, classOf(want.caller))?.waitMs ?? 0;
    }
    if (want.lane === 'bulk') return this.#untilReplaced(this.#needsBesidesJobs, free);
    if (!this.#isUsed || this.#isPlenty(free)) return 0;
    return this.#waitMs(want, this.#holdingOf(want.caller), free);
  }

  /** Number of `free` slots that a caller may take now, in this lane. */
  available(want: Wanting, free: number): number {
    return Math.min(this.quotaLeft(want.caller), this.#available(want, free));
  }

  /** Number of slots that the class of a caller has left of its limit; infinite without one. */
  quotaLeft(caller: string): number {
    return quotaLeft(this.#b, this.#rules, caller);
  }

  #available(want: Wanting, free: number): number {
    if (want.lane === 'bulk') return this.#availableToJobs(free);
    if (!this.#isUsed) return Math.max(0, free);
    const holding = this.#holdingOf(want.caller);
    let [low, high] = [0, Math.max(0, free)];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.#waitMs(want, withMore(holding, middle - 1), free - middle + 1) > 0)
        high = middle - 1;
      else low = middle;
    }
    return low;
  }

  /** The same for the lane `bulk`: those that are left, or that its minimum rate gives it. */
  #availableToJobs(free: number): number {
    const needs = this.#needsBesidesJobs;
    const most = Math.max(0, free);
    let [low, high] = [Math.min(jobsDue(this.#b, this.#rules, this.#now), most), most];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.#untilReplaced(needs, free - middle + 1) > 0) high = middle - 1;
      else low = middle;
    }
    return low;
  }

  /** Whether so many slots are free that none is left to others, whatever they have used. */
  #isPlenty(free: number): boolean {
    const { newcomers, writes } = this.#reserved;
    return free > Math.max(newcomers + writes, this.#b.limit - free);
  }

  /** The same for a caller with these slots in the window. */
  #waitMs({ lane }: Pick<Wanting, 'lane'>, holding: Holding, free: number): number {
    if (!this.#isOver(holding)) return 0;
    const { newcomers, writes } = this.#reserved;
    const reserved = lane === 'write' ? newcomers : newcomers + writes;
    const waitMs = this.#untilReplaced(
      { reserved, expected: this.#expected(holding), more: 0 },
      free,
    );
    return waitMs > 0 ? Math.min(waitMs, this.#overMs(holding)) : 0;
  }

  /** What the lane `bulk` leaves. */
  get #needsBesidesJobs(): Needs {
    const { newcomers, writes } = this.#reserved;
    const reserved = Math.max(newcomers + writes, leftByRefreshes(this.#b.limit));
    const { deviation, expected } = needOfOthers(this.#b, this.#rules, this.#now);
    return { reserved, expected, more: DEVIATIONS * deviation };
  }

  /**
   * Milliseconds until a slot can be taken, of `free` ones, so that those that are left always suffice for the others
   * until further ones are free.
   */
  #untilReplaced({ expected, more, reserved }: Needs, free: number): number {
    const { windowMs } = this.#rules;
    const most = Math.max(reserved, expected + more);
    /** For how long this number of free slots is sufficient for the others. */
    const lastsMs = (left: number): number => {
      const reserveMs = left < reserved ? (left / reserved) * LENT_WINDOWS * windowMs : Infinity;
      if (left >= expected + more) return reserveMs;
      return Math.min(reserveMs, (Math.max(0, left - more) / expected) * windowMs);
    };
    let waitMs = 0;
    let left = free - 1;
    if (left >= most) return 0;
    for (const { count, inMs } of this.#freeing) {
      if (left >= most) break;
      waitMs = Math.max(waitMs, left < 0 ? inMs : inMs - lastsMs(left));
      left += count;
    }
    return waitMs;
  }

  /** Number of slots that the callers and classes with less of their shares are expected to need. */
  #expected({ caller, name, ofClass, own }: Holding): number {
    const { callers, classes } = this.#counts;
    let expected = 0;
    for (const [each, count] of callers) {
      if (each !== caller && classOf(each) === name && count < own) expected += count;
    }
    if (classes.size === 0 || (classes.size === 1 && classes.has(name))) return expected;
    const part = ofClass / this.#weightOf(name);
    for (const [each, { slots }] of classes) {
      if (each !== name && slots / this.#weightOf(each) < part) expected += slots;
    }
    return expected;
  }

  #isOver({ caller, name, ofClass, own }: Holding): boolean {
    if (ofClass === 0) return false;
    const { callers, classes } = this.#counts;
    const { newcomers, writes } = this.#reserved;
    const shared = this.#b.limit - newcomers - writes;
    let weights = classes.has(name) ? 0 : this.#weightOf(name);
    for (const each of classes.keys()) weights += this.#weightOf(each);
    const share = (shared * this.#weightOf(name)) / weights;
    // One class alone has the whole window, and its new callers are within their turn.
    if (weights > this.#weightOf(name) && ofClass >= Math.max(1, share)) return true;
    const count = (classes.get(name)?.callers ?? 0) + (callers.has(caller) ? 0 : 1);
    return own > 0 && own >= Math.max(1, share / count);
  }

  /** Milliseconds until so many slots of a caller and its class are free again that its turn is not over. */
  #overMs(holding: Holding): number {
    let { ofClass, own } = holding;
    for (const { inMs, owner } of this.#freeing) {
      if (owner === null || classOf(owner) !== holding.name) continue;
      ofClass -= 1;
      if (owner === holding.caller) own -= 1;
      if (!this.#isOver({ ...holding, ofClass, own })) return inMs;
    }
    return Number.POSITIVE_INFINITY;
  }

  /** A class without weight has a share only if no other class has slots. */
  #weightOf(name: string): number {
    return classRules(this.#rules.classes, name).weight || WITHOUT_WEIGHT;
  }

  #holdingOf(caller: string): Holding {
    const { callers, classes } = this.#counts;
    const name = classOf(caller);
    const ofClass = classes.get(name)?.slots ?? 0;
    return { caller, name, ofClass, own: callers.get(caller) ?? 0 };
  }

  get #counts(): Counted {
    if (this.#counted) return this.#counted;
    const callers = new Map<string, number>();
    const classes = new Map<string, { slots: number; callers: number }>();
    for (const slots of [this.#b.held, this.#b.answered]) {
      for (const { bulk, caller } of slots) {
        if (caller === undefined || bulk) continue;
        const own = callers.get(caller) ?? 0;
        callers.set(caller, own + 1);
        const ofClass = classes.get(classOf(caller)) ?? { slots: 0, callers: 0 };
        classes.set(classOf(caller), ofClass);
        ofClass.slots += 1;
        if (own === 0) ofClass.callers += 1;
      }
    }
    this.#counted = { callers, classes };
    return this.#counted;
  }

  /** The slots that become free, in the order of time; cached until the document changes. */
  get #freeing(): readonly Freeing[] {
    this.#known ??= slotsOf(this.#b, this.#rules, this.#now).map(
      ({ bulk, caller, count, until }) => {
        return { owner: bulk ? null : caller, count, inMs: until - this.#now };
      },
    );
    return this.#known;
  }
}

function withMore(holding: Holding, slots: number): Holding {
  return { ...holding, ofClass: holding.ofClass + slots, own: holding.own + slots };
}
