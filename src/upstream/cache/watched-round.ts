import { BoundedMap } from '../../bounded-map.ts';
import { type Clock, Deadline } from '../../scheduling/clock.ts';
import type { Budgets } from '../budget/budgets.ts';
import type { KeyedRead } from '../request.ts';
import type { Cache, Hit } from './cache.ts';

/** The current watchers of an entry. There is at least one. */
export type Watchers = () => Iterable<string>;

/** A watched entry. */
interface WatchedThing {
  /** One for each watch. */
  readonly watchers: Iterable<Watchers>;
}

/** An entry and the caller in whose turn it is refreshed. */
interface Placed<T> {
  readonly caller: string;
  readonly of: T;
}

/** The dependencies of the refreshes of watched entries. */
export interface WatchedRoundOptions {
  readonly clock: Clock;
  readonly cache: Cache;
  readonly budgets: Pick<Budgets, 'lookAt'>;
  /** Whether the circuit breaker is open. */
  readonly outOfOrder: () => boolean;
  /** Until when a key backs off, on `clock.now()`. */
  readonly retryAt: (key: string) => number;
  /** Sends a request for a newer response for watchers, unless one is in flight. */
  readonly refresh: (of: KeyedRead) => void;
  /** All watched entries, with their watchers. */
  readonly watched: () => Iterable<WatchedOfKey>;
}

/** The watched entries, one `Watchers` for each watch. */
interface WatchedOfKey extends KeyedRead {
  readonly watchers: Iterable<Watchers>;
}

/** The position of a key in its line. */
interface LinePlace {
  readonly place: number;
  /** The caller whose turn it uses. */
  readonly caller: string;
  /** The age that determines its place, as a time on `clock.now()`: the oldest has the first place. */
  readonly asOf: number;
}

/** Maximum interval between scans while an entry is due, because a notification may be lost. */
const LOOK_AGAIN_MS = 1000;
/** Minimum interval between scans, because thousands of entries become due one by one. */
const LOOK_APART_MS = 250;
/** Minimum interval between refreshes of a watched entry, even with a shorter ttl. */
const SOONEST_MS = 1000;

/**
 * Difference in age between two places in a line, because entries that arrived together are equally old.
 */
const TIE_MS = 0.001;

/**
 * Refreshes watched entries past their ttl: callers that watch take turns, each with the oldest entry that it
 * watches. Costs 1 upstream request per entry and ttl, as far as the budget has free slots for refreshes.
 */
export class WatchedRound {
  readonly #options: WatchedRoundOptions;
  readonly #next: Deadline;
  /** When the next scan is due, and when the last one was, on `clock.now()`. */
  #looksAt = Number.POSITIVE_INFINITY;
  #lookedAt = Number.NEGATIVE_INFINITY;
  readonly #turns = new WatcherTurns();
  /** The entries that were due at the last scan, by partition, in order, and the position of each key. */
  #lines = new Map<string, readonly KeyedRead[]>();
  #places = new Map<string, LinePlace>();

  constructor(options: WatchedRoundOptions) {
    this.#options = options;
    this.#next = new Deadline(options.clock, () => this.#look());
  }

  /** A key is newly watched, or has another entry. */
  expect(key: string, hit: Hit): void {
    this.#lookIn(this.#restMs(key, hit));
  }

  /** A refresh of a key was attempted: its caller has had a turn. */
  tried(key: string): void {
    const place = this.#places.get(key);
    if (!place) return;
    this.#turns.had(place.caller);
    this.#places.delete(key);
  }

  /** The age of a key for the order of refreshes, in milliseconds. */
  ageMs(key: string): number {
    const place = this.#places.get(key);
    const { cache, clock } = this.#options;
    return place ? clock.now() - place.asOf : (cache.peek(key)?.ageMs ?? 0);
  }

  /** No entry is watched any more. */
  end(): void {
    this.#next.end();
    this.#looksAt = Number.POSITIVE_INFINITY;
    this.#lines = new Map();
    this.#places = new Map();
  }

  /** The expected time until a response is refreshed, in milliseconds; null if it is unknown. */
  nextRefreshInMs({ credential, key }: KeyedRead): number | null {
    const hit = this.#options.cache.peek(key);
    if (!hit) return null;
    const restMs = this.#restMs(key, hit);
    if (restMs > 0) return restMs;
    if (this.#options.outOfOrder()) return null;
    const { refreshesPerWindow, windowMs } = this.#options.budgets.lookAt(credential);
    // Entries that became due since the scan are after the others.
    const place =
      this.#places.get(key)?.place ?? this.#lines.get(credential.partition)?.length ?? 0;
    return (place * windowMs) / refreshesPerWindow;
  }

  /** Milliseconds until an entry may be refreshed. */
  #restMs(key: string, { ageMs, entry, state }: Hit): number {
    const { clock, retryAt } = this.#options;
    // A fallback is due before its ttl ends.
    const dueMs = state === 'fallback' ? SOONEST_MS : Math.max(SOONEST_MS, entry.freshness.ttlMs);
    return Math.max(0, dueMs - ageMs, retryAt(key) - clock.now());
  }

  #lookIn(ms: number): void {
    const now = this.#options.clock.now();
    const at = Math.max(now + ms, this.#lookedAt + LOOK_APART_MS);
    if (at >= this.#looksAt) return;
    this.#looksAt = at;
    this.#next.set(Math.max(0, Math.ceil(at - now)));
  }

  #look(): void {
    this.#looksAt = Number.POSITIVE_INFINITY;
    this.#lookedAt = this.#options.clock.now();
    const nextMs = this.#lineUp();
    this.#lookIn(this.#lines.size > 0 ? Math.min(nextMs, LOOK_AGAIN_MS) : nextMs);
    if (!this.#options.outOfOrder()) this.#refreshFirst();
  }

  /** Collects the due entries; returns the milliseconds until another one is due. */
  #lineUp(): number {
    const { cache, watched } = this.#options;
    const lines = new Map<string, { readonly of: WatchedOfKey; readonly ageMs: number }[]>();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const of of watched()) {
      const hit = cache.peek(of.key);
      if (!hit) continue;
      const restMs = this.#restMs(of.key, hit);
      if (restMs > 0) {
        nextMs = Math.min(nextMs, restMs);
        continue;
      }
      const { partition } = of.credential;
      const line = lines.get(partition) ?? [];
      line.push({ of, ageMs: hit.ageMs });
      lines.set(partition, line);
    }
    this.#lines = new Map();
    this.#places = new Map();
    for (const [partition, line] of lines) {
      line.sort((a, b) => b.ageMs - a.ageMs);
      const order = this.#turns.order(line.map(({ of }) => of));
      this.#lines.set(
        partition,
        order.map(({ of }) => of),
      );
      for (const [place, { caller, of }] of order.entries()) {
        const asOf = this.#lookedAt - (line[place]?.ageMs ?? 0) + place * TIE_MS;
        this.#places.set(of.key, { place, caller, asOf });
      }
    }
    return nextMs;
  }

  /** Requests slots for the first of each line, up to the number that fits into a window. */
  #refreshFirst(): void {
    for (const line of this.#lines.values()) {
      const [first] = line;
      if (!first) continue;
      const { refreshesPerWindow } = this.#options.budgets.lookAt(first.credential);
      for (const of of line.slice(0, refreshesPerWindow)) this.#options.refresh(of);
    }
  }
}

/** Maximum number of callers whose last turn is remembered. */
const CALLERS_REMEMBERED = 10_000;

/** Rotates between callers that watch: the one whose last turn is the oldest goes first. */
class WatcherTurns {
  readonly #lastTurns = new BoundedMap<number>({ max: CALLERS_REMEMBERED });
  #turns = 0;

  /** A caller has had a turn. */
  had(caller: string): void {
    this.#turns += 1;
    this.#lastTurns.set(caller, this.#turns);
  }

  /**
   * Orders a line by the turns of callers, each with its first entry. An entry with several watchers takes the
   * turn of the first of them.
   */
  order<T extends WatchedThing>(line: readonly T[]): Placed<T>[] {
    const firsts = new Map<Watchers, string>();
    const queues = new Map<string, Placed<T>[]>();
    for (const of of line) {
      const caller = this.#first(Array.from(of.watchers, (each) => this.#firstOf(each, firsts)));
      const queue = queues.get(caller) ?? [];
      queue.push({ caller, of });
      queues.set(caller, queue);
    }
    const callers = [...queues.keys()].sort((a, b) => this.#lastTurn(a) - this.#lastTurn(b));
    return [...inTurns(callers.map((caller) => queues.get(caller) ?? []))];
  }

  /** The first of several watchers, determined once for all their entries. */
  #firstOf(watchers: Watchers, known: Map<Watchers, string>): string {
    const first = known.get(watchers) ?? this.#first(watchers());
    known.set(watchers, first);
    return first;
  }

  #first(callers: Iterable<string>): string {
    let first = '';
    let longest = Number.POSITIVE_INFINITY;
    for (const caller of callers) {
      const last = this.#lastTurn(caller);
      if (last < longest) [first, longest] = [caller, last];
    }
    return first;
  }

  #lastTurn(caller: string): number {
    return this.#lastTurns.peek(caller) ?? 0;
  }
}

/** The queues of several callers, merged in rounds of one entry each. */
function* inTurns<T>(queues: readonly (readonly T[])[]): Generator<T> {
  for (let [round, left] = [0, queues]; left.length > 0; round += 1) {
    left = left.filter((queue) => queue.length > round);
    for (const queue of left) yield queue[round] as T;
  }
}
