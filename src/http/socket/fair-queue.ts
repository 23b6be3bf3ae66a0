/** A queue that is first in, first out for each owner, and takes from all owners by turns. */
export class FairQueue<T> {
  /** What each owner has in the queue, the owner whose turn is next first. */
  readonly #owners = new Map<string, OwnQueue<T>>();
  #size = 0;

  /** How many entries there are. */
  get size(): number {
    return this.#size;
  }

  /** Puts an entry behind all others of its owner. O(1). */
  add(owner: string, entry: T): void {
    const own = this.#owners.get(owner);
    if (own) own.entries.push(entry);
    else this.#owners.set(owner, { entries: [entry], next: 0 });
    this.#size += 1;
  }

  /** Takes the oldest entry of the owner whose turn it is; `undefined` when there is none. O(1) on average. */
  take(): T | undefined {
    for (const [owner, own] of this.#owners) {
      const entry = own.entries[own.next];
      own.next += 1;
      this.#size -= 1;
      // The owner's next turn comes after that of all others.
      this.#owners.delete(owner);
      if (own.next < own.entries.length) this.#owners.set(owner, compacted(own));
      return entry;
    }
    return undefined;
  }
}

interface OwnQueue<T> {
  entries: T[];
  /** The place of the oldest entry: what stands before it was taken. */
  next: number;
}

/** Lets go of what was taken once that is half of the whole. */
function compacted<T>(own: OwnQueue<T>): OwnQueue<T> {
  if (own.next < 32 || own.next * 2 < own.entries.length) return own;
  return { entries: own.entries.slice(own.next), next: 0 };
}
