import type { Viewer } from '../../auth/viewer.ts';
import { BoundedMap } from '../../bounded-map.ts';
import type { Clock } from '../../clock.ts';
import type { CopiesAtHand, Looked } from '../../upstream/at-hand-client.ts';
import type { Cache } from '../../upstream/cache/cache.ts';
import { changesAt } from '../../upstream/cache/refresher.ts';
import type { Parts } from './execution/compiled-operation.ts';
import { LIFE_MS } from './remembered-answers.ts';

/** A part that takes a larger share of the memory than this is not worth it. */
const MAX_SHARE = 1 / 8;
/** What a part takes besides its texts, and each copy that it was made of. */
const OVERHEAD_BYTES = 256;

/** A part of an answer as JSON, and all that it was made of. */
interface Part {
  readonly json: string;
  readonly looked: readonly Looked[];
  /** The version of the cache that it was made from. */
  readonly version: number;
  /** From this moment on one of its entries is not what it was, on `clock.now()`. */
  readonly until: number;
}

/**
 * The parts of answers that do not depend on variables, by whose data they are and what the caller may do. One is
 * used again on the terms of `RememberedAnswers`, and what it was made of is asked for each time.
 */
export class AnswerParts {
  readonly #cache: Cache;
  readonly #clock: Clock;
  readonly #parts: BoundedMap<Part>;

  constructor(options: {
    readonly cache: Cache;
    readonly clock: Clock;
    readonly maxBytes: number;
  }) {
    this.#cache = options.cache;
    this.#clock = options.clock;
    this.#parts = new BoundedMap({
      max: options.maxBytes,
      maxShare: MAX_SHARE,
      weigh: (key, { json, looked }) =>
        key.length + 2 * json.length + OVERHEAD_BYTES * (1 + looked.length),
    });
  }

  /** The parts for one caller; what they are made of is noted in `copies`. */
  of({ linksCredential, role }: Viewer, copies: CopiesAtHand): Parts {
    const owner = `${linksCredential?.partition ?? ''} ${role}`;
    return { part: (name, make) => this.#part(`${owner} ${name}`, copies, make) };
  }

  #part(key: string, copies: CopiesAtHand, make: () => string): string {
    const now = this.#clock.now();
    const known = this.#parts.get(key);
    if (known && known.version === this.#cache.version && now < known.until) {
      for (const looked of known.looked) copies.add(asOf(now, looked));
      return known.json;
    }
    const { count } = copies;
    const json = make();
    const looked = copies.after(count);
    if (looked.every(({ copy }) => copy.hit.state === 'fresh')) {
      let until = now + LIFE_MS;
      for (const { copy } of looked) until = Math.min(until, changesAt(copy.hit.entry, now));
      this.#parts.set(key, { json, looked, version: this.#cache.version, until });
    } else if (known) this.#parts.delete(key);
    return json;
  }
}

/** A copy at the age that it has now. */
function asOf(now: number, { copies, copy, credential }: Looked): Looked {
  const { key, read, hit } = copy;
  const { entry, state } = hit;
  return {
    copies,
    credential,
    copy: { key, read, hit: { entry, state, ageMs: now - entry.storedAt } },
  };
}
