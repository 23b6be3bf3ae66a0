import type { Viewer } from '../auth/viewer.ts';
import type { Coding } from '../http/encoding/codings.ts';
import { SplicedBody } from '../http/encoding/spliced-body.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { Cache } from '../upstream/cache/cache.ts';
import { type Ingredient, type Ingredients, soonestChange } from '../upstream/receipt.ts';
import type { Parts } from './compiled/compiled-operation.ts';
import { Doorkeeper, ExactMemory, type ExactMemoryOptions } from './exact-memory.ts';

/** The share of the memory for cache entries that is given to answers. */
const ANSWERS_SHARE = 1 / 8;
/** What an answer takes besides its texts, */
const OVERHEAD_BYTES = 512;
/** ... and each cache entry that it was made of. */
const INGREDIENT_BYTES = 128;

/** What answers may take, in bytes, of all that is given to answers and cache entries. */
export function answerBytes(all: number): number {
  return Math.max(1, Math.floor(all * ANSWERS_SHARE));
}

/** What is left to cache entries. */
export function entryBytes(all: number): number {
  return Math.max(1, all - answerBytes(all));
}

/** What is known of an answer that can be given again. */
export interface AnswerToRemember {
  /** Its body up to the age of its oldest part, in milliseconds, and from there on. */
  readonly head: string;
  readonly tail: string;
  readonly contentType: string;
  /** Of an answer to a GET. */
  readonly etag: string | null;
  readonly name: string | null;
  readonly ingredients: Ingredients;
}

/** The answer to one operation as bytes, which are held as latin1. */
export interface RememberedAnswer extends AnswerToRemember {
  readonly key: string;
  /** When its oldest part was read, on `clock.now()`; `null` where nothing was read for it, which does not age. */
  readonly oldestAt: number | null;
  /** Its head in each coding that was asked for. */
  readonly spliced: SplicedBody;
}

/** The answers to operations that were asked more than once, by all that they depend on. See `ExactMemory`. */
export class RememberedAnswers {
  readonly #cache: Cache;
  readonly #clock: Clock;
  readonly #answers: ExactMemory<RememberedAnswer>;
  /** What is asked for once must not drive out what is asked for again. */
  readonly #doorkeeper = new Doorkeeper();

  constructor(options: ExactMemoryOptions) {
    this.#cache = options.cache;
    this.#clock = options.clock;
    const weigh = ({ head, ingredients, spliced, tail }: RememberedAnswer) =>
      OVERHEAD_BYTES +
      INGREDIENT_BYTES * ingredients.served.length +
      head.length +
      tail.length +
      spliced.weight;
    this.#answers = new ExactMemory(options, weigh);
  }

  /** What the cache is now; an answer made between two equal versions was made of one state. */
  get version(): number {
    return this.#cache.version;
  }

  /** The answer of a key, if it is still what the whole way would answer at `now`, on `clock.now()`. */
  find(key: string, now: number): RememberedAnswer | undefined {
    return this.#answers.find(key, now);
  }

  /**
   * Notes that an operation was answered. `make` is called for one that was asked before, and answers
   * `null` for what cannot be given again.
   */
  note(key: string, make: () => AnswerToRemember | null): void {
    const answer = this.#doorkeeper.admits(key) ? make() : null;
    if (!answer) return;
    const now = this.#clock.now();
    const ingredients = answer.ingredients.distinct();
    const { oldest } = ingredients;
    const oldestAt = oldest ? Math.min(now, oldest.stamp.storedAt) : null;
    const before = this.#answers.last(key);
    // Mostly it is the same again, and need not be compressed again.
    const spliced = before?.head === answer.head ? before.spliced : new SplicedBody(answer.head);
    const remembered = { ...answer, ingredients, key, oldestAt, spliced };
    this.#answers.set(key, remembered, ingredients.changesAt(now));
  }

  /** The body of an answer, its head and what follows on that, compressed: in bytes that are held as latin1. */
  encoded({ key, spliced }: RememberedAnswer, coding: Coding, rest: string): string {
    const isNew = !spliced.has(coding);
    const body = spliced.encoded(coding, rest);
    if (isNew && !this.#answers.weighAgain(key)) spliced.forget(coding);
    return body;
  }
}

/** What a part takes besides its texts, and each cache entry that it was made of. */
const PART_BYTES = 256;

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
    const weigh = ({ json, madeOf }: Part) => 2 * json.length + PART_BYTES * (1 + madeOf.length);
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
