import { type Compilable, CompiledOperation, type CompiledPlans } from './compiled-operation.ts';

/** Failed attempts in a row after which most are left out, */
const MOST_MISSES = 8;
/** ... except for one in this many. */
const TRY_EVERY = 16;

/** The attempts to answer one operation at once. Those that come to nothing are made seldom. */
export class Attempts {
  readonly #plans: CompiledPlans | null;
  /** Made when it is first wanted; null for one that cannot be. */
  #compiled: CompiledOperation | null | undefined;
  /** Attempts in a row that came to nothing. */
  #misses = 0;

  /** `plans` holds what is planned, with that of all other operations; `null` for an operation that is run once. */
  constructor(plans: CompiledPlans | null) {
    this.#plans = plans;
  }

  /** Whether each attempt would come to nothing, as far as is known. */
  get areVain(): boolean {
    return this.#compiled === null;
  }

  /** The operation as it is attempted; `null` for one that cannot be, and is answered the whole way, as ever. */
  prepare(query: Compilable): CompiledOperation | null {
    if (this.#compiled === undefined) {
      try {
        this.#compiled = new CompiledOperation(query, this.#plans);
      } catch {
        this.#compiled = null;
      }
    }
    return this.#compiled;
  }

  /** One attempt, unless the last ones came to nothing. Whatever goes wrong happens again on the whole path. */
  make<T>(query: Compilable, run: (compiled: CompiledOperation) => T): T | null {
    const isLeftOut = this.#misses >= MOST_MISSES && this.#misses % TRY_EVERY !== 0;
    const compiled = isLeftOut ? null : this.prepare(query);
    if (compiled) {
      try {
        const answer = run(compiled);
        this.#misses = 0;
        return answer;
      } catch {
        // Counted below.
      }
    }
    this.#misses += 1;
    return null;
  }
}
