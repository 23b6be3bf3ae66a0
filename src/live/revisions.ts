import { diff } from './diff.ts';
import { joinedPatches } from './events.ts';

/** A result as it goes over the wire. */
export interface ResultDocument {
  readonly data: unknown;
  readonly errors?: readonly object[];
}

/** What is kept of a result: its JSON, without its last brace, so that extensions can follow. */
interface Revision {
  readonly number: number;
  readonly document: string;
}

/**
 * The latest result of a query, and the patches that lead to it from the ones before. Results are kept as text:
 * as objects they would take several times the memory, and most are never looked into.
 */
export class Revisions {
  /** The latest; `null` before there is one. Set by `add`. */
  latest: Revision | null = null;
  /** Whether patches are made: a viewer takes them. All of them begin with the revision that was the latest then. */
  makesPatches = false;
  /** Each leads from one revision to the next; the last of them to the latest. */
  #patches: string[] = [];
  #patchCharacters = 0;

  /** Memory that is taken, about, in bytes. */
  get bytes(): number {
    return (this.latest?.document.length ?? 0) + this.#patchCharacters;
  }

  /** Takes a result, which is a revision if it differs from the latest. */
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
    // A viewer who is so far behind that the whole is shorter gets the whole.
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
