import type { Viewer } from '../auth/viewer.ts';
import type { Coding } from '../http/encoding/codings.ts';
import { SplicedBody } from '../http/encoding/spliced-body.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { Cache } from '../upstream/cache/cache.ts';
import { type Ingredient, type Ingredients, soonestChange } from '../upstream/receipt.ts';
import type { Parts } from './compiled/compiled-operation.ts';
import { Doorkeeper, ExactMemory, type ExactMemoryOptions } from './exact-memory.ts';

/** The share of the memory for cache entries that is used for responses. */
const ANSWERS_SHARE = 1 / 8;
/** Memory of a response besides its texts, */
const OVERHEAD_BYTES = 512;
/** ... and of each cache entry that it uses. */
const INGREDIENT_BYTES = 128;

/** Memory for responses, in bytes, of the total for responses and cache entries. */
export function answerBytes(all: number): number {
  return Math.max(1, Math.floor(all * ANSWERS_SHARE));
}

/** Memory left for cache entries. */
export function entryBytes(all: number): number {
  return Math.max(1, all - answerBytes(all));
}

/** A response that can be repeated. */
export interface AnswerToRemember {
  /** Its body before and after the age of its oldest part in milliseconds. */
  readonly head: string;
  readonly tail: string;
  readonly contentType: string;
  /** For the response to a GET. */
  readonly etag: string | null;
  readonly name: string | null;
  readonly ingredients: Ingredients;
}

/** The response to one operation as bytes, stored as latin1. */
export interface RememberedAnswer extends AnswerToRemember {
  readonly key: string;
  /** When its oldest part was read, on `clock.now()`; `null` if nothing was read for it. */
  readonly oldestAt: number | null;
  /** Its first part in each coding that was requested. */
  readonly spliced: SplicedBody;
}

/** The responses to repeated operations, by all their inputs. See `ExactMemory`. */
export class RememberedAnswers {
  readonly #cache: Cache;
  readonly #clock: Clock;
  readonly #answers: ExactMemory<RememberedAnswer>;
  /** Operations that are sent once must not displace those that are repeated. */
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

  /** The current version of the cache; a response created between two equal versions is consistent. */
  get version(): number {
    return this.#cache.version;
  }

  /** The response of a key, if normal execution would return the same at `now`, on `clock.now()`. */
  find(key: string, now: number): RememberedAnswer | undefined {
    return this.#answers.find(key, now);
  }

  /**
   * Records the response to an operation. `make` is called for a repeated one, and returns `null` if the response cannot
   * be repeated.
   */
  note(key: string, make: () => AnswerToRemember | null): void {
    const answer = this.#doorkeeper.admits(key) ? make() : null;
    if (!answer) return;
    const now = this.#clock.now();
    const ingredients = answer.ingredients.distinct();
    const { oldest } = ingredients;
    const oldestAt = oldest ? Math.min(now, oldest.stamp.storedAt) : null;
    const before = this.#answers.last(key);
    // Usually it is unchanged and need not be compressed again.
    const spliced = before?.head === answer.head ? before.spliced : new SplicedBody(answer.head);
    const remembered = { ...answer, ingredients, key, oldestAt, spliced };
    this.#answers.set(key, remembered, ingredients.changesAt(now));
  }

  /** The body of a response, compressed: its first part and the rest, as bytes stored as latin1. */
  encoded({ key, spliced }: RememberedAnswer, coding: Coding, rest: string): string {
    const isNew = !spliced.has(coding);
    const body = spliced.encoded(coding, rest);
    if (isNew && !this.#answers.weighAgain(key)) spliced.forget(coding);
    return body;
  }
}

/** Memory that a part, and each of its cache entries, takes besides its texts. */
const PART_BYTES = 256;

/** A part of a response as JSON, and its ingredients. */
interface Part {
  readonly json: string;
  readonly madeOf: readonly Ingredient[];
  /** See `Ingredients.until`. */
  readonly until: number;
}

/**
 * The parts of responses that do not depend on variables, by partition and role. They are reused as `ExactMemory`
 * allows, and their ingredients count as read each time.
 */
export class AnswerParts {
  readonly #clock: Clock;
  readonly #parts: ExactMemory<Part>;

  constructor(options: ExactMemoryOptions) {
    this.#clock = options.clock;
    const weigh = ({ json, madeOf }: Part) => 2 * json.length + PART_BYTES * (1 + madeOf.length);
    this.#parts = new ExactMemory(options, weigh);
  }

  /** The parts for one caller; adds their cache entries to `ingredients`. */
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
      ingredients.holdUntil(known.until);
      return known.json;
    }
    const before = ingredients.served.length;
    const json = make();
    const madeOf = ingredients.served.slice(before);
    if (madeOf.every(({ state }) => state === 'fresh')) {
      const { until } = ingredients;
      this.#parts.set(key, { json, madeOf, until }, Math.min(until, soonestChange(madeOf, now)));
    }
    return json;
  }
}
