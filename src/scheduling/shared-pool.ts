/** A caller below this multiple of the free amount may take more: a single caller gets three quarters. */
const TAKES = 3;
/** Its amount may grow to this multiple of the free amount: to seven eighths for a single caller. */
const KEEPS = 7;

/**
 * A limited resource that callers share. The limit of each caller depends on the free amount, so that a part is always
 * left for the next caller.
 */
export class SharedPool {
  readonly #size: number;
  readonly #mostOfOne: number;
  readonly #takesBelow: number;
  readonly #ofCallers = new Map<string, number>();
  #held = 0;

  /** `mostOfOne`: maximum amount of one caller. A caller that holds `takesBelow` or more takes no more. */
  constructor(size: number, mostOfOne = size, takesBelow = mostOfOne) {
    this.#size = size;
    this.#mostOfOne = mostOfOne;
    this.#takesBelow = takesBelow;
  }

  /** Total amount of all callers. */
  get held(): number {
    return this.#held;
  }

  /** Amount of a caller. */
  heldBy(caller: string): number {
    return this.#ofCallers.get(caller) ?? 0;
  }

  /** Adds an amount for a caller; it may be negative. Does not check limits. */
  add(caller: string, amount: number): void {
    const held = this.heldBy(caller) + amount;
    if (held > 0) this.#ofCallers.set(caller, held);
    else this.#ofCallers.delete(caller);
    this.#held += amount;
  }

  /** Whether a caller may take more, or exactly `amount` more. */
  mayTake(caller: string, amount = 0): boolean {
    const held = this.heldBy(caller) + amount;
    const free = this.#size - this.#held - amount;
    return held < this.#takesBelow && held < TAKES * free;
  }

  /** Whether a caller may keep its amount. */
  mayKeep(caller: string): boolean {
    const held = this.heldBy(caller);
    return held <= this.#mostOfOne && held <= KEEPS * (this.#size - this.#held);
  }
}
