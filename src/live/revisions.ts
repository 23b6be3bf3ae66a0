import { diff } from './diff.ts';
import { joinedPatches } from './events.ts';

/** A result as it is sent. */
export interface ResultDocument {
  readonly data: unknown;
  readonly errors?: readonly object[];
}

/** The stored form of a result: its JSON without the last brace, so that extensions can follow. */
interface Revision {
  readonly number: number;
  readonly document: string;
}

/**
 * The latest result of a query, and the patches from earlier revisions to it. Results are stored as text, because
 * objects would take several times the memory and most are never read.
 */
export class Revisions {
  /** The latest; `null` before there is one. Set by `add`. */
  latest: Revision | null = null;
  /** Whether patches are created, because a viewer accepts them. They start with the latest revision at that time. */
  makesPatches = false;
  /** Each converts one revision to the next; the last one results in the latest. */
  #patches: string[] = [];
  #patchCharacters = 0;

  /** Estimated memory in bytes. */
  get bytes(): number {
    return (this.latest?.document.length ?? 0) + this.#patchCharacters;
  }

  /** Adds a result. It becomes a revision if it differs from the latest. */
  add(result: ResultDocument): void {
    const document = JSON.stringify(result).slice(0, -1);
    const before = this.latest;
    if (before?.document === document) return;
    this.latest = { number: (before?.number ?? 0) + 1, document };
    if (!before || !this.makesPatches) return;
    const patch = JSON.stringify(
      diff(JSON.parse(`${before.document}}`), JSON.parse(`${document}}`)),
    );
    this.#patches.push(patch);
    this.#patchCharacters += patch.length;
    // A viewer gets the whole result if that is shorter than its patches.
    while (this.#patchCharacters > document.length) {
      this.#patchCharacters -= this.#patches.shift()?.length ?? 0;
    }
  }

  /**
   * The JSON of a patch from a revision to the latest; `null` if the whole result is shorter, or no patch was
   * created.
   */
  patchSince(revision: number): string | null {
    const missing = (this.latest?.number ?? 0) - revision;
    if (missing <= 0 || missing > this.#patches.length) return null;
    return joinedPatches(this.#patches.slice(-missing));
  }
}
