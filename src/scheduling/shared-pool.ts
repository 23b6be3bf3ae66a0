/** A caller that holds less than this multiple of what is free may take more: alone, it gets three quarters. */
const TAKES = 3;
/** ... and what it holds may grow to this multiple of what is free: alone, to seven eighths. */
const KEEPS = 7;

/**
 * A limited resource that callers share. The limit of each depends on what is free, so that some is always left
 * for the next caller, whatever the others take.
 */
export class SharedPool {
  readonly #size: number;
  readonly #mostOfOne: number;
  readonly #takesBelow: number;
  readonly #ofCallers = new Map<string, number>();
  #held = 0;

  /** `mostOfOne`: what one caller may hold at most, whatever is free, and takes no more from `takesBelow` on. */
  constructor(size: number, mostOfOne = size, takesBelow = mostOfOne) {
    this.#size = size;
    this.#mostOfOne = mostOfOne;
    this.#takesBelow = takesBelow;
  }

  /** What all callers hold together. */
  get held(): number {
    return this.#held;
  }

  /** What a caller holds. */
  heldBy(caller: string): number {
    return this.#ofCallers.get(caller) ?? 0;
  }

  /** Adds an amount for a caller; it may be negative. Nothing is refused here. */
  add(caller: string, amount: number): void {
    const held = this.heldBy(caller) + amount;
    if (held > 0) this.#ofCallers.set(caller, held);
    else this.#ofCallers.delete(caller);
    this.#held += amount;
  }

  /** Whether a caller may take more, or `amount` at once. */
  mayTake(caller: string, amount = 0): boolean {
    const held = this.heldBy(caller) + amount;
    const free = this.#size - this.#held - amount;
    return held < this.#takesBelow && held < TAKES * free;
  }

  /** Whether a caller may keep what it holds. */
  mayKeep(caller: string): boolean {
    const held = this.heldBy(caller);
    return held <= this.#mostOfOne && held <= KEEPS * (this.#size - this.#held);
  }
}
