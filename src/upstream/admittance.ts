/**
 * Whether a caller may use a key that is not theirs. Before `admit` has resolved nothing is read, written or sent for
 * them, and nothing is known of the cache or the budget.
 */
export class Admittance {
  readonly #check: () => Promise<unknown>;
  #isAdmitted = false;

  /** `check` rejects for a caller who may not ask; it is called each time, and answers from the cache. */
  constructor(check: () => Promise<unknown>) {
    this.#check = check;
  }

  /** Whether the last check has admitted the caller. */
  get isAdmitted(): boolean {
    return this.#isAdmitted;
  }

  /** Resolves for a caller who may ask; rejects with the error of the check. */
  async admit(): Promise<void> {
    try {
      await this.#check();
      this.#isAdmitted = true;
    } catch (error) {
      this.#isAdmitted = false;
      throw error;
    }
  }
}
