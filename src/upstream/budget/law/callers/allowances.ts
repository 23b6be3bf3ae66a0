import type { KeyBudget, Rules } from '../document.ts';
import { classOf } from './caller-names.ts';
import { Quotas, type QuotaUse } from './quotas.ts';
import { Reserves, type Wanting } from './reserves.ts';

/** The callers and classes that leave the free slots to others: these are before all of their requests. */
export interface Behind {
  readonly callers: readonly string[];
  readonly classes: ReadonlySet<string>;
}

/** No callers and no classes. */
export const NONE_BEHIND: Behind = { callers: [], classes: new Set() };

/**
 * Which free slots each caller may take at one moment of a purged document: those that its class has left, and that it
 * does not leave to others.
 */
export class Allowances {
  readonly #reserves: Reserves;
  readonly #quotas: Quotas;
  readonly #rules: Rules;
  readonly #hasQuotas: boolean;

  constructor(b: KeyBudget, rules: Rules, now: number) {
    this.#rules = rules;
    this.#reserves = new Reserves(b, rules, now);
    this.#quotas = new Quotas(b, rules, now);
    this.#hasQuotas = this.#quotas.isUsed;
  }

  /** Whether any caller can have to leave a free slot. */
  get isUsed(): boolean {
    return this.#hasQuotas || this.#reserves.isUsed;
  }

  /** The document has changed. */
  changed(): void {
    this.#reserves.changed();
    this.#quotas.changed();
  }

  /** The callers whose turn is over, and the classes that have used up a limit. */
  get behind(): Behind {
    const names = this.#hasQuotas ? [...(this.#rules.classes?.keys() ?? [])] : [];
    const classes = new Set(names.filter((name) => this.#quotas.isUsedUp(name)));
    return { callers: this.#reserves.over(), classes };
  }

  /** Whether a caller leaves the free slots to others. */
  isBehind(caller: string): boolean {
    const isUsedUp = this.#hasQuotas && this.#quotas.isUsedUp(classOf(caller));
    return isUsedUp || this.#reserves.isOver(caller);
  }

  /**
   * Milliseconds until a caller may take a slot, see `Reserves.waitMs`; 0 if it may now. Before it, its class takes
   * `aheadInClass` others.
   */
  waitMs(want: Wanting, free: number, aheadInClass = 0): number {
    return Math.max(this.quotaMs(want.caller, aheadInClass), this.#reserves.waitMs(want, free));
  }

  /** Milliseconds until the class of a caller has a slot left of its limits, after `ahead` others; 0 if it has now. */
  quotaMs(caller: string, ahead = 0): number {
    return this.#hasQuotas ? this.#quotas.waitMs(caller, ahead) : 0;
  }

  /** Number of slots that the class of a caller has left of its limits; infinite without limits. */
  quotaLeft(caller: string): number {
    return this.#hasQuotas ? this.#quotas.left(caller) : Number.POSITIVE_INFINITY;
  }

  /** See `Reserves.leftPerWindow`. */
  get leftPerWindow(): number {
    return this.#reserves.leftPerWindow;
  }

  /** Milliseconds until a slot is left for the lane `bulk`, see `Reserves.waitMs`, whatever the limits of classes. */
  untilLeftMs(free: number): number {
    return this.#reserves.waitMs({ lane: 'bulk', caller: '' }, free);
  }

  /** Number of `free` slots that a caller may take now, in this lane. */
  available(want: Wanting, free: number): number {
    return Math.min(this.#reserves.available(want, free), this.#quotas.left(want.caller));
  }

  /** The limit of the class of a caller, and what of it is used; `null` without one. */
  quotaOf(caller: string): QuotaUse | null {
    return this.#quotas.useOf(classOf(caller));
  }

  /** Whether the class of a caller has a limit of its own. */
  hasQuotas(caller: string): boolean {
    return this.#hasQuotas && this.#quotas.limits(classOf(caller));
  }
}
