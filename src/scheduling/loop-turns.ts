import { type Clock, systemClock } from './clock.ts';
import { FairQueue } from './fair-queue.ts';

/**
 * For how long work is started in one turn of the event loop, in milliseconds. Cheap work, such as a remembered
 * response, and new connections wait for the rest of the current turn.
 */
const TURN_MS = 4;
/** The most pieces of work that are begun in one turn while some wait. */
const MOST_A_TURN = 256;
/** The most turns in a row that are left to new connections. */
const MOST_ACCEPTING = 64;

/**
 * The one scheduler of long work: spreads what comes together over turns of the event loop, in order for each owner, and
 * among owners by the least time that they have had, so that the work of one delays no other. A piece of work on its own
 * is begun at once. What takes longer than a turn is cut into pieces, each of which waits for one.
 *
 * Node accepts one new connection in each turn of the event loop. While connections arrive, turns are therefore
 * left to them: with requests in each, the last of 32 connections would wait for 32 full turns.
 */
export class LoopTurns {
  readonly #clock: Clock;
  readonly #waiting = new FairQueue<() => void>();
  /** Whether turns are scheduled for what waits. */
  #spreading = false;
  /** When this turn's first work was begun, on `clock.now()`; null before. */
  #since: number | null = null;
  /** The owner of the work started last, and when: all that follows from it synchronously is a part of it. */
  #running: { readonly owner: string; readonly since: number } | null = null;
  /** The latest connection that was accepted in this turn, or in the one before. */
  #accepted: object | null = null;
  /** Turns since work was begun that were left to connections. */
  #accepting = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Begins a piece of work of an owner now, or in a later turn. */
  run(work: () => void, owner = ''): void {
    const now = this.#clock.now();
    if (this.#spreading || !this.#hasTime(now)) {
      this.#wait(work, owner);
      return;
    }
    if (this.#since === null) {
      this.#since = now;
      setImmediate(() => this.#end());
    }
    work();
  }

  /** Resolves in a later turn that has time for a piece of work of an owner. */
  turn(owner = ''): Promise<void> {
    return new Promise((resolve) => {
      this.#wait(resolve, owner);
    });
  }

  /**
   * Calls a function for each item, for at most `most` of them in one turn: for work that is long only if there
   * are many.
   */
  async each<T>(items: Iterable<T>, most: number, work: (item: T) => void): Promise<void> {
    let done = 0;
    for (const item of items) {
      if (done > 0 && done % most === 0) await this.turn();
      done += 1;
      work(item);
    }
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

  #wait(work: () => void, owner: string): void {
    this.#waiting.add(work, [owner]);
    if (this.#spreading) return;
    this.#spreading = true;
    this.#spread();
  }

  #hasTime(now: number): boolean {
    if (this.#accepted !== null && this.#accepting < MOST_ACCEPTING) return false;
    return this.#since === null || now - this.#since < TURN_MS;
  }

  /** Ends a turn. After one in which work was begun, the next turns are for connections again. */
  #end(): void {
    if (this.#since !== null) this.#accepting = 0;
    this.#since = null;
  }

  /**
   * Each is started in a callback of its own, so that all that follows from it synchronously counts against the
   * turn.
   */
  #spread(): void {
    const step = (): void => {
      const now = this.#clock.now();
      this.#charge(now);
      if (!this.#hasTime(now)) return;
      this.#since ??= now;
      const next = this.#waiting.take();
      if (!next) return;
      this.#running = { owner: next.owner, since: now };
      next.entry();
    };
    const steps = Math.min(MOST_A_TURN, this.#waiting.size);
    for (let count = 0; count < steps; count += 1) setImmediate(step);
    setImmediate(() => {
      if (this.#running) this.#charge(this.#clock.now());
      this.#end();
      this.#spreading = this.#waiting.size > 0;
      if (this.#spreading) this.#spread();
    });
  }

  #charge(now: number): void {
    if (!this.#running) return;
    this.#waiting.charge(this.#running.owner, now - this.#running.since);
    this.#running = null;
  }
}

/** The event loop is one for the whole process, and so are its turns. */
export const loopTurns = new LoopTurns(systemClock);

/** Runs a task in the next turn of the event loop, after what has arrived by then was read. */
export function inNextTurn(task: () => void): void {
  setImmediate(task);
}

/**
 * Runs a task after arrived data was read. A process that was suspended finds its timers due before it reads that
 * data: it would take its own pause for that of its peer.
 */
export function afterReading(task: () => void): void {
  setImmediate(() => setImmediate(task));
}

/** Resolves in the next turn of the event loop: all that follows from a known value has begun by then. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
