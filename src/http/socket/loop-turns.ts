import type { Clock } from '../../clock.ts';
import { FairQueue } from './fair-queue.ts';

/**
 * For how long requests are begun in one turn of the event loop, in milliseconds. Whatever costs little, such as a
 * remembered answer, waits for the rest of the current turn, and so does each new connection.
 */
const TURN_MS = 4;
/** The most requests that are begun in one turn while some wait. */
const MOST_A_TURN = 256;
/** The most turns in a row that are left to new connections. */
const MOST_ACCEPTING = 64;

/**
 * Spreads requests that arrive together over turns of the event loop: in the order in which they came for each
 * owner, and by turns among owners, so that the queue of one delays no other. A request on its own is begun at once.
 *
 * Node accepts one new connection in each turn of the event loop. While connections arrive, turns are therefore
 * left to them: with requests in each, the last of 32 connections would wait for 32 full turns.
 */
export class LoopTurns {
  readonly #clock: Clock;
  readonly #waiting = new FairQueue<() => void>();
  /** Whether turns are scheduled for requests that wait. */
  #spreading = false;
  /** When this turn's first request was begun, on `clock.now()`; null before. */
  #since: number | null = null;
  /** The latest connection that was accepted in this turn, or in the one before. */
  #accepted: object | null = null;
  /** Turns since a request was begun that were left to connections. */
  #accepting = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Begins a piece of work of an owner now, or in a later turn. */
  run(work: () => void, owner = ''): void {
    if (!this.#spreading && this.#hasTime) {
      if (this.#since === null) this.#begin();
      work();
      return;
    }
    this.#waiting.add(owner, work);
    if (this.#spreading) return;
    this.#spreading = true;
    this.#spread();
  }

  /** Resolves when there is time for a piece of work. */
  turn(): Promise<void> {
    return new Promise((resolve) => {
      this.run(resolve);
    });
  }

  /** To be called for each connection that is accepted. */
  accepted(): void {
    const connection = {};
    this.#accepted = connection;
    this.#accepting += 1;
    // What is begun in this turn comes behind a callback that is set now: the next turn ends it.
    setImmediate(() => {
      setImmediate(() => {
        if (this.#accepted === connection) this.#accepted = null;
      });
    });
  }

  get #hasTime(): boolean {
    if (this.#accepted !== null && this.#accepting < MOST_ACCEPTING) return false;
    return this.#since === null || this.#clock.now() - this.#since < TURN_MS;
  }

  #begin(): void {
    this.#since = this.#clock.now();
    setImmediate(() => this.#end());
  }

  /** Ends a turn. After one in which requests were begun, the next turns are for connections again. */
  #end(): void {
    if (this.#since !== null) this.#accepting = 0;
    this.#since = null;
  }

  /** Each is begun in a callback of its own, so that all that follows from it at once counts against the turn. */
  #spread(): void {
    const step = (): void => {
      if (!this.#hasTime) return;
      this.#since ??= this.#clock.now();
      this.#waiting.take()?.();
    };
    const steps = Math.min(MOST_A_TURN, this.#waiting.size);
    for (let count = 0; count < steps; count += 1) setImmediate(step);
    setImmediate(() => {
      this.#end();
      this.#spreading = this.#waiting.size > 0;
      if (this.#spreading) this.#spread();
    });
  }
}
