import type { KeyBudget, Rules } from '../document.ts';
import { classOf } from './caller-names.ts';
import { Quotas, type QuotaUse } from './quotas.ts';
import { Reserves, type Wanting } from './reserves.ts';

/**
 * Which free slots each caller may take at one moment of a purged document: those that its class has left, and that it
 * does not leave to others.
 */
export class Allowances {
  readonly #reserves: Reserves;
  readonly #quotas: Quotas;
  readonly #hasQuotas: boolean;

  constructor(b: KeyBudget, rules: Rules, now: number) {
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

  /** The callers whose turn is over: they leave free slots to the others. */
  over(): string[] {
    return this.#reserves.over();
  }

  /** Whether the turn of a caller is over. */
  isOver(caller: string): boolean {
    return this.#reserves.isOver(caller);
  }

  /**
   * Milliseconds until a caller may take a slot, see `Reserves.waitMs`; 0 if it may now. Before it, its class takes
   * `aheadInClass` others.
   */
  waitMs(want: Wanting, free: number, aheadInClass = 0): number {
    const quotaMs = this.#hasQuotas ? this.#quotas.waitMs(want.caller, aheadInClass) : 0;
    return Math.max(quotaMs, this.#reserves.waitMs(want, free));
  }

  /** Number of `free` slots that a caller may take now, in this lane. */
  available(want: Wanting, free: number): number {
    return Math.min(this.#reserves.available(want, free), this.#quotas.left(want.caller));
  }

  /** The limits of the class of a caller, and what of them is used. */
  quotasOf(caller: string): QuotaUse[] {
    return this.#quotas.usesOf(classOf(caller));
  }

  /** Whether any class has a limit of its own. */
  get hasQuotas(): boolean {
    return this.#hasQuotas;
  }
}
