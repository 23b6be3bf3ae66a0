import type { Viewer } from '../../auth/viewer.ts';
import type { Clock } from '../../scheduling/clock.ts';
import { type Ingredient, type Ingredients, soonestChange } from '../../upstream/ingredients.ts';
import { ExactMemory, type ExactMemoryOptions } from '../exact-memory.ts';
import type { Parts } from './compiled-operation.ts';

/** What a part takes besides its texts, and each cache entry that it was made of. */
const OVERHEAD_BYTES = 256;

/** A part of an answer as JSON, and all that it was made of. */
interface Part {
  readonly json: string;
  readonly madeOf: readonly Ingredient[];
}

/**
 * The parts of answers that do not depend on variables, by whose data they are and what the caller may do. One is
 * used again as `ExactMemory` has it, and what it was made of is asked for each time.
 */
export class AnswerParts {
  readonly #clock: Clock;
  readonly #parts: ExactMemory<Part>;

  constructor(options: ExactMemoryOptions) {
    this.#clock = options.clock;
    const weigh = ({ json, madeOf }: Part) =>
      2 * json.length + OVERHEAD_BYTES * (1 + madeOf.length);
    this.#parts = new ExactMemory(options, weigh);
  }

  /** The parts for one caller; what they are made of is added to `ingredients`. */
  of({ linksCredential, role }: Viewer, ingredients: Ingredients): Parts {
    const owner = `${linksCredential?.partition ?? ''} ${role}`;
    return { part: (name, make) => this.#part(`${owner} ${name}`, ingredients, make) };
  }

  #part(key: string, ingredients: Ingredients, make: () => string): string {
    const now = this.#clock.now();
    const known = this.#parts.find(key, now);
    if (known) {
      for (const each of known.madeOf) {
        ingredients.add({ ...each, ageMs: now - each.stamp.storedAt });
      }
      return known.json;
    }
    const before = ingredients.served.length;
    const json = make();
    const madeOf = ingredients.served.slice(before);
    if (madeOf.every(({ state }) => state === 'fresh')) {
      this.#parts.set(key, { json, madeOf }, soonestChange(madeOf, now));
    }
    return json;
  }
}
