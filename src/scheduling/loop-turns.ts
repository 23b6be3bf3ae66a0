import { type Clock, systemClock } from './clock.ts';
import { FairQueue } from './fair-queue.ts';

/**
 * Time in milliseconds for which work is started in one turn of the event loop. Cheap work, such as a remembered
 * response, and new connections wait for the rest of the turn.
 */
const TURN_MS = 4;
/** Maximum number of tasks that are started in one turn while others wait. */
const MOST_A_TURN = 256;
/** Maximum number of turns in a row that are left to new connections. */
const MOST_ACCEPTING = 64;

/**
 * The only scheduler of long work: it spreads simultaneous tasks over turns of the event loop, in order for each owner,
 * and takes the owner with the least used time first, so that no owner delays another. A single task is started
 * immediately. Work that is longer than a turn is divided into tasks, each of which waits for a turn.
 *
 * Node accepts one new connection in each turn of the event loop. While connections arrive, turns are therefore
 * left to them: with requests in each, the last of 32 connections would wait for 32 full turns.
 */
export class LoopTurns {
  readonly #clock: Clock;
  readonly #waiting = new FairQueue<() => void>();
  /** Whether turns are scheduled for waiting tasks. */
  #spreading = false;
  /** When the first task of this turn was started, on `clock.now()`; null before. */
  #since: number | null = null;
  /** When the first work of this turn that makes pauses was begun, on `clock.now()`; null before. */
  #workingSince: number | null = null;
  /** The owner of the task started last, and its start: the synchronous code that follows belongs to it. */
  #running: { readonly owner: string; readonly since: number } | null = null;
  /** The latest connection that was accepted in this turn or in the previous one. */
  #accepted: object | null = null;
  /** Number of turns left to connections since a task was started. */
  #accepting = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Starts a task of an owner now or in a later turn. */
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

  /** Resolves in a later turn that has time for a task of an owner. */
  turn(owner = ''): Promise<void> {
    return new Promise((resolve) => {
      this.#wait(resolve, owner);
    });
  }

  /** Calls a function for each item in later turns, for at most `most` of them in one turn. */
  async each<T>(items: Iterable<T>, most: number, work: (item: T) => void): Promise<void> {
    let done = 0;
    for (const item of items) {
      if (done % most === 0) await this.turn();
      done += 1;
      work(item);
    }
  }

  /**
   * Cuts work of an owner into pieces: to be called by the work every so often. Returns a promise to wait for once
   * all such work of this turn has taken its time, otherwise null.
   */
  pause(owner: string): Promise<void> | null {
    const now = this.#clock.now();
    if (this.#workingSince === null) {
      this.#workingSince = now;
      setImmediate(() => {
        this.#workingSince = null;
      });
    }
    return now - this.#workingSince < TURN_MS ? null : this.turn(owner);
  }

  /** Called for each accepted connection. */
  accepted(): void {
    const connection = {};
    this.#accepted = connection;
    this.#accepting += 1;
    // The work of this turn runs before a callback that is set now: the next turn ends it.
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

  /** Ends a turn. After a turn with tasks, the next turns are left to connections again. */
  #end(): void {
    if (this.#since !== null) this.#accepting = 0;
    this.#since = null;
  }

  /**
   * Starts each task in a separate callback, so that the synchronous code that follows counts against the turn.
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

/** The process has one event loop, so this scheduler is shared by all. */
export const loopTurns = new LoopTurns(systemClock);

/** Runs a task in the next turn of the event loop, after the data that has arrived by then was read. */
export function inNextTurn(task: () => void): void {
  setImmediate(task);
}

/** Resolves in the next turn of the event loop: all work that follows from known values has started by then. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
