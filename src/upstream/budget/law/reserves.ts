import type { KeyBudget, Lane, Rules } from './document.ts';
import { slotsOf } from './slots.ts';

/*
 * Limits a burst to its own caller. Some slots of each window are reserved: for writes, and for callers that have sent
 * nothing in it. A caller whose turn is over, because it has had more than an equal share of the other slots, leaves
 * these free. It also leaves the slots that the callers with fewer requests are expected to need, as many as in the
 * last window. A reserved slot is lent to it if slots that replace it become free soon enough, so the window is used
 * even if one caller is the only one that waits.
 */

/** A slot is lent for this share of a window: a reserve is complete again after that time. */
const LENT_WINDOWS = 1 / 4;

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
  /** Number of slots of each caller in the window; counted when it is first needed. */
  #counted: Map<string, number> | undefined;
  #known: readonly Freeing[] | undefined;

  constructor(b: KeyBudget, rules: Rules, now: number) {
    this.#b = b;
    this.#rules = rules;
    this.#now = now;
    this.#reserved = reservedOf(b.limit, rules);
  }

  /** Whether any slot is reserved. */
  get isUsed(): boolean {
    return this.#reserved.writes + this.#reserved.newcomers > 0;
  }

  /** The callers whose turn is over. */
  over(): string[] {
    return this.isUsed ? [...this.#counts.keys()].filter((caller) => this.isOver(caller)) : [];
  }

  /** Whether a caller has had more than an equal share of the slots that are not reserved. */
  isOver(caller: string): boolean {
    return this.isUsed && this.#isOver(this.#counts.get(caller) ?? 0, caller);
  }

  /** The document has changed. */
  changed(): void {
    this.#counted = undefined;
    this.#known = undefined;
  }

  /**
   * Milliseconds until a caller may take a slot, as far as others need it, if `free` slots are free and no other
   * request takes one; 0 if it may now. `free` is negative if more requests are sent before.
   */
  waitMs(want: Wanting, free: number): number {
    if (!this.isUsed || this.#isPlenty(free)) return 0;
    return this.#waitMs(want, this.#counts.get(want.caller) ?? 0, free);
  }

  /** Number of `free` slots that a caller may take now, in this lane. */
  available(want: Wanting, free: number): number {
    if (!this.isUsed) return Math.max(0, free);
    const own = this.#counts.get(want.caller) ?? 0;
    let [low, high] = [0, Math.max(0, free)];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.#waitMs(want, own + middle - 1, free - middle + 1) > 0) high = middle - 1;
      else low = middle;
    }
    return low;
  }

  /** Whether so many slots are free that none is left to others, whatever they have used. */
  #isPlenty(free: number): boolean {
    const { newcomers, writes } = this.#reserved;
    return free > Math.max(newcomers + writes, this.#b.limit - free);
  }

  /** The same for a caller with this number of slots in the window. */
  #waitMs({ caller, lane }: Wanting, own: number, free: number): number {
    if (!this.#isOver(own, caller)) return 0;
    const { newcomers, writes } = this.#reserved;
    const reserved = lane === 'write' ? newcomers : newcomers + writes;
    let expected = 0;
    for (const [each, count] of this.#counts) {
      if (each !== caller && count < own) expected += count;
    }
    const { windowMs } = this.#rules;
    /** For how long this number of free slots is sufficient for the others. */
    const lastsMs = (left: number): number => {
      const reserveMs = left < reserved ? (left / reserved) * LENT_WINDOWS * windowMs : Infinity;
      return Math.min(reserveMs, left < expected ? (left / expected) * windowMs : Infinity);
    };
    let waitMs = 0;
    let left = free - 1;
    for (const { count, inMs } of this.#freeing) {
      if (left >= Math.max(reserved, expected)) break;
      waitMs = Math.max(waitMs, left < 0 ? inMs : inMs - lastsMs(left));
      left += count;
    }
    return waitMs > 0 ? Math.min(waitMs, this.#overMs(caller, own)) : 0;
  }

  #isOver(own: number, caller: string): boolean {
    if (own === 0) return false;
    const { newcomers, writes } = this.#reserved;
    const callers = this.#counts.size + (this.#counts.has(caller) ? 0 : 1);
    return own >= Math.max(1, (this.#b.limit - newcomers - writes) / callers);
  }

  /** Milliseconds until so many slots of a caller are free again that its turn is not over. */
  #overMs(caller: string, own: number): number {
    let left = own;
    for (const { inMs, owner } of this.#freeing) {
      if (owner !== caller) continue;
      left -= 1;
      if (!this.#isOver(left, caller)) return inMs;
    }
    return Number.POSITIVE_INFINITY;
  }

  get #counts(): ReadonlyMap<string, number> {
    if (this.#counted) return this.#counted;
    const counts = new Map<string, number>();
    for (const slots of [this.#b.held, this.#b.answered]) {
      for (const { caller } of slots) {
        if (caller !== undefined) counts.set(caller, (counts.get(caller) ?? 0) + 1);
      }
    }
    this.#counted = counts;
    return counts;
  }

  /** The slots that become free, in the order of time; cached until the document changes. */
  get #freeing(): readonly Freeing[] {
    this.#known ??= slotsOf(this.#b, this.#rules, this.#now).map(({ caller, count, until }) => {
      return { owner: caller, count, inMs: until - this.#now };
    });
    return this.#known;
  }
}
