import type { Clock } from '../scheduling/clock.ts';

interface EpochPaceOptions {
  readonly clock: Clock;
  /** From 0 up to 1, at random: replicas that hear of a loss together do not all ask at the same moment. */
  readonly chance: () => number;
  /** The first pause, in milliseconds. */
  readonly shortestMs: number;
  readonly longestMs: number;
}

/** An epoch that has lasted for this number of the longest pauses ends a series. */
const CALM_PAUSES = 10;
/** Losses in a row that are a lasting fault. */
const REPEATED = 2;

/**
 * Paces how often a replica asks a Redis that loses its memory again and again, because it is evicted or emptied. Each
 * script begins an epoch then, each replica that hears of it would beat at once and begin the next: a storm. So when an
 * epoch soon follows another, nothing is asked but one beat after a pause, which doubles with each loss; whatever else
 * there is to ask waits until a beat has found the epoch that it knew.
 */
export class EpochPace {
  readonly #options: EpochPaceOptions;
  #losses = 0;
  /** When the latest epoch was heard of, on `clock.now()`. */
  #beganAt = Number.NEGATIVE_INFINITY;
  /** Before that nothing is asked, on `clock.now()`. */
  #pausedUntil = Number.NEGATIVE_INFINITY;
  /** Whether the latest epoch was found again since, so that other scripts than beats may be sent. */
  isOpen = true;

  constructor(options: EpochPaceOptions) {
    this.#options = options;
  }

  /** Another epoch was heard of. */
  began(): void {
    const { chance, clock, longestMs, shortestMs } = this.#options;
    const now = clock.now();
    this.#losses = this.#isRecent ? this.#losses + 1 : 0;
    this.#beganAt = now;
    this.isOpen = this.#losses === 0;
    if (this.isOpen) return;
    const pauseMs = Math.min(longestMs, shortestMs * 2 ** (this.#losses - 1));
    this.#pausedUntil = now + pauseMs * (0.5 + chance() / 2);
  }

  /** Milliseconds until a beat may be sent; 0 for now. */
  get pauseMs(): number {
    return Math.max(0, this.#pausedUntil - this.#options.clock.now());
  }

  /** Whether the memory is lost again and again. */
  get isRestless(): boolean {
    return this.#losses >= REPEATED && this.#isRecent;
  }

  get #isRecent(): boolean {
    const { clock, longestMs } = this.#options;
    return clock.now() - this.#beganAt < CALM_PAUSES * longestMs;
  }
}
