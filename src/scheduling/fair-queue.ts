import { BoundedMap } from '../bounded-map.ts';

/** Maximum number of owners whose shares are remembered. */
const REMEMBERED = 10_000;

/** A waiting entry, in the lines of all its owners. */
interface WaitingOwner<T> {
  /** `null` after the entry was taken, so that lines with its place do not keep it in memory. */
  entry: T | null;
  readonly owners: Set<string>;
}

/** The entries of one owner: those before `next` were taken. */
interface Line<T> {
  waiting: WaitingOwner<T>[];
  next: number;
}

/** A waiting owner, with its share at the time it was added. If shares are equal, the older one is first. */
interface QueuePlace {
  readonly owner: string;
  readonly share: number;
  readonly number: number;
}

/** A taken entry, and the owner whose turn it used. */
interface Taken<T> {
  readonly entry: T;
  readonly owner: string;
}

/** Whether an entry may be taken in the turn of an owner. */
type MayTake<T> = (entry: T, owner: string) => boolean;

/**
 * A queue that is first in, first out for each owner, and takes from the owner with the least share. The cost of
 * an entry is charged afterwards; a new owner starts with the share of the next one, so that neither new nor
 * waiting owners starve. An entry with several owners takes the turn of the first of them.
 * Implements: start-time fair queueing. O(log n) in the number of waiting owners.
 */
export class FairQueue<T extends object> {
  readonly #lines = new Map<string, Line<T>>();
  readonly #waiting = new Map<T, WaitingOwner<T>>();
  /** A heap of the owners with a line, the least share first. A share that has grown is corrected when it is read. */
  #heap: QueuePlace[] = [];
  /** The cost charged to each owner; less than `#least` counts as `#least`. */
  readonly #shares = new BoundedMap<number>({ max: REMEMBERED });
  #places = 0;
  /** The share of the owner from which the last entry was taken. */
  #least = 0;
  /** The queue that this is a copy of. */
  #source: FairQueue<T> | undefined;
  readonly #alike: boolean;

  /** With `alike`, an owner's entries may all be taken or none, so that only its first one is tried. */
  constructor({ alike = false }: { readonly alike?: boolean } = {}) {
    this.#alike = alike;
  }

  /** Number of entries. */
  get size(): number {
    return this.#waiting.size;
  }

  /** The entries, in the order in which they were added. */
  [Symbol.iterator](): Iterator<T> {
    return this.#waiting.keys();
  }

  /** A copy for a simulation, during which this queue must not change. O(n) in the number of entries. */
  copy(): FairQueue<T> {
    const copy = new FairQueue<T>({ alike: this.#alike });
    for (const [entry, { owners }] of this.#waiting) {
      copy.#waiting.set(entry, { entry, owners: new Set(owners) });
    }
    for (const [owner, { waiting }] of this.#lines) {
      const left = waiting.flatMap(({ entry }) => (entry && copy.#waiting.get(entry)) ?? []);
      copy.#lines.set(owner, { waiting: left, next: 0 });
    }
    copy.#heap = [...this.#heap];
    copy.#places = this.#places;
    copy.#least = this.#least;
    copy.#source = this;
    return copy;
  }

  /** Adds an entry after all others of its owners. A waiting entry keeps its place, and gets the new owners. */
  add(entry: T, owners: Iterable<string>): void {
    const waiting = this.#waiting.get(entry) ?? { entry, owners: new Set() };
    this.#waiting.set(entry, waiting);
    for (const owner of owners) {
      if (waiting.owners.has(owner)) continue;
      waiting.owners.add(owner);
      const line = this.#lines.get(owner);
      if (line) {
        line.waiting.push(waiting);
      } else {
        this.#lines.set(owner, { waiting: [waiting], next: 0 });
        this.#enter(owner);
      }
    }
  }

  /** Removes an entry; false if it does not wait. */
  remove(entry: T): boolean {
    const waiting = this.#waiting.get(entry);
    if (!waiting) return false;
    waiting.entry = null;
    return this.#waiting.delete(entry);
  }

  /** Takes the next entry that may be taken now; `undefined` if there is none. */
  take(mayTake: MayTake<T> = () => true): Taken<T> | undefined {
    const first = this.#first(mayTake);
    if (!first) return undefined;
    this.#least = this.#shareOf(first.owner);
    this.remove(first.entry);
    this.#enter(first.owner);
    return first;
  }

  /** The next entry that may be taken now. Its place has left the heap. */
  #first(mayTake: MayTake<T>): Taken<T> | undefined {
    const passedOver: QueuePlace[] = [];
    let first: Taken<T> | undefined;
    while (!first) {
      const place = this.#pop();
      if (!place) break;
      const { owner } = place;
      const line = this.#lines.get(owner);
      if (!line || isEmpty(line)) {
        this.#lines.delete(owner);
      } else if (this.#charged(owner) > place.share) {
        this.#enter(owner);
      } else {
        const end = this.#alike ? line.next + 1 : line.waiting.length;
        const entry = firstOf(line, end, owner, mayTake);
        if (entry === null) passedOver.push(place);
        else first = { entry, owner };
      }
    }
    for (const place of passedOver) this.#push(place);
    return first;
  }

  /** Charges an owner for a taken entry: in milliseconds, or in any other unit that is used for all entries. */
  charge(owner: string, cost: number): void {
    this.#shares.set(owner, this.#shareOf(owner) + cost);
  }

  #shareOf(owner: string): number {
    return Math.max(this.#least, this.#charged(owner));
  }

  #charged(owner: string): number {
    const known = this.#shares.peek(owner);
    return known ?? (this.#source ? this.#source.#charged(owner) : 0);
  }

  #enter(owner: string): void {
    this.#places += 1;
    this.#push({ owner, share: this.#shareOf(owner), number: this.#places });
  }

  #push(place: QueuePlace): void {
    const heap = this.#heap;
    let at = heap.push(place) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = heap[above] as QueuePlace;
      if (!isBefore(place, parent)) break;
      heap[at] = parent;
      at = above;
    }
    heap[at] = place;
  }

  #pop(): QueuePlace | undefined {
    const heap = this.#heap;
    const [first] = heap;
    const last = heap.pop();
    if (!last || heap.length === 0) return first;
    let at = 0;
    for (let below = 1; below < heap.length; below = 2 * at + 1) {
      const other = heap[below + 1];
      if (other && isBefore(other, heap[below] as QueuePlace)) below += 1;
      const child = heap[below] as QueuePlace;
      if (!isBefore(child, last)) break;
      heap[at] = child;
      at = below;
    }
    heap[at] = last;
    return first;
  }
}

/** Whether a line is empty. Frees taken entries once they are half of the line. */
function isEmpty<T>(line: Line<T>): boolean {
  while (line.waiting[line.next]?.entry === null) line.next += 1;
  if (line.next >= 32 && line.next * 2 >= line.waiting.length) {
    line.waiting = line.waiting.slice(line.next);
    line.next = 0;
  }
  return line.next >= line.waiting.length;
}

/** The first entry of a line, before `end`, that may be taken; `null` if there is none. */
function firstOf<T>(line: Line<T>, end: number, owner: string, mayTake: MayTake<T>): T | null {
  for (let at = line.next; at < end; at += 1) {
    const { entry } = line.waiting[at] as WaitingOwner<T>;
    if (entry !== null && mayTake(entry, owner)) return entry;
  }
  return null;
}

function isBefore(a: QueuePlace, b: QueuePlace): boolean {
  return a.share < b.share || (a.share === b.share && a.number < b.number);
}
