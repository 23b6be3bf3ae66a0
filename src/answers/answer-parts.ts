import type { Viewer } from '../auth/viewer.ts';
import type { Clock } from '../clock.ts';
import type { CopiesAtHand, Looked } from '../upstream/at-hand-client.ts';
import { changesAt } from '../upstream/cache/refresher.ts';
import type { Parts } from './compiled/compiled-operation.ts';
import { ExactMemory, type ExactMemoryOptions } from './exact-memory.ts';

/** What a part takes besides its texts, and each copy that it was made of. */
const OVERHEAD_BYTES = 256;

/** A part of an answer as JSON, and all that it was made of. */
interface Part {
  readonly json: string;
  readonly looked: readonly Looked[];
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
    const weigh = ({ json, looked }: Part) =>
      2 * json.length + OVERHEAD_BYTES * (1 + looked.length);
    this.#parts = new ExactMemory(options, weigh);
  }

  /** The parts for one caller; what they are made of is noted in `copies`. */
  of({ linksCredential, role }: Viewer, copies: CopiesAtHand): Parts {
    const owner = `${linksCredential?.partition ?? ''} ${role}`;
    return { part: (name, make) => this.#part(`${owner} ${name}`, copies, make) };
  }

  #part(key: string, copies: CopiesAtHand, make: () => string): string {
    const now = this.#clock.now();
    const known = this.#parts.find(key, now);
    if (known) {
      for (const looked of known.looked) copies.add(asOf(now, looked));
      return known.json;
    }
    const { count } = copies;
    const json = make();
    const looked = copies.after(count);
    if (looked.every(({ copy }) => copy.hit.state === 'fresh')) {
      const until = Math.min(...looked.map(({ copy }) => changesAt(copy.hit.entry, now)));
      this.#parts.set(key, { json, looked }, until);
    }
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
