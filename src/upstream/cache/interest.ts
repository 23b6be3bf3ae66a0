import type { Credential } from '../../auth/credential.ts';
import { BoundedMap } from '../../bounded-map.ts';
import type { Clock } from '../../scheduling/clock.ts';
import { type KeyedRead, readLength } from './key.ts';

/** A cache entry that was asked for of late. */
interface Wanted extends KeyedRead {
  askedAt: number;
  /** Milliseconds between two times that it was asked for: the longest of late. */
  gapMs: number;
  /** How often it was asked for since it was last read upstream. */
  asks: number;
}

/** Answers whose readers are remembered; one with long filters counts for every thousand characters. */
const REMEMBERED = 5000;
/** For this many an answer can count. */
const HEAVIEST = 10;
/** What a long gap between two readers still counts for when the next has come sooner. */
const GAP_SHARE = 0.75;
/** For how many rounds of refreshing everything wanted an entry stays wanted in any case. */
const WANTED_ROUNDS = 1.5;
/** ... and for how many of its gaps where its readers come more seldom than that, */
const WANTED_GAPS = 5;
/** ... if they do not leave it out for more than this many rounds. */
const GAP_ROUNDS = 2;

/** Remembers who wants what, so that refreshes go where a reader will look. Costs no upstream call. */
export class Interest {
  readonly #clock: Clock;
  /** To ask for an answer is to use it here, and nothing else is. */
  readonly #wanted = new BoundedMap<Wanted>({
    max: REMEMBERED,
    maxShare: HEAVIEST / REMEMBERED,
    weigh: (_key, { read }) => 1 + Math.floor(readLength(read) / 1000),
  });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** As `asked`, for each of several. */
  askedAll(all: readonly { readonly of: KeyedRead }[], askedAt: number): number[] {
    return all.map(({ of }) => this.asked(of, askedAt));
  }

  /** A reader was served an entry at a time on `clock.now()`; how often that has happened since it was read upstream. */
  asked({ key, read, credential }: KeyedRead, askedAt = this.#clock.now()): number {
    const known = this.#wanted.get(key);
    // The read that came first is kept: each later one would outlive its operation here.
    if (!known) {
      this.#wanted.set(key, { key, read, credential, askedAt, gapMs: 0, asks: 1 });
      return 1;
    }
    known.gapMs = Math.max(askedAt - known.askedAt, known.gapMs * GAP_SHARE);
    known.askedAt = askedAt;
    known.asks += 1;
    return known.asks;
  }

  /** An entry is new: from here its readers count afresh. Answers with whose credential it is wanted. */
  renewed(key: string): Credential | undefined {
    const wanted = this.#wanted.peek(key);
    if (wanted) wanted.asks = 0;
    return wanted?.credential;
  }

  /** Nothing of a partition is wanted any more. */
  forget(partition: string): void {
    this.#wanted.forget((_, { credential }) => credential.partition === partition);
  }

  /**
   * What readers with one credential come back for. The more is wanted, the longer a round of refreshing it
   * all takes, at one every `perRefreshMs`, and the longer an entry stays wanted without being asked for.
   */
  wanted(perRefreshMs: number, { partition }: Credential): Wanted[] {
    const now = this.#clock.now();
    let wanted = [...this.#wanted.values()].filter(
      ({ credential }) => credential.partition === partition,
    );
    for (;;) {
      const roundMs = wanted.length * perRefreshMs;
      const still = wanted.filter(({ askedAt, gapMs }) => {
        const gaps = gapMs <= GAP_ROUNDS * roundMs ? WANTED_GAPS * gapMs : 0;
        return now - askedAt <= Math.max(WANTED_ROUNDS * roundMs, gaps);
      });
      if (still.length === wanted.length) return still;
      wanted = still;
    }
  }
}
