import { clearTimeout, setTimeout } from 'node:timers';

/**
 * The only source of time. Everything below the composition root takes a `Clock`, so that a test can control time;
 * nothing else reads `Date.now` or calls `setTimeout`.
 */
export interface Clock {
  /** Milliseconds since the epoch: for dates that leave the process. May jump with the system clock. */
  wall(): number;
  /** Milliseconds from an arbitrary start that never go back: for every duration and deadline. */
  now(): number;
  /** Runs `task` once, `ms` milliseconds from now, and returns a function that cancels it. */
  after(ms: number, task: () => void): () => void;
}

/** One moment on both clocks of a process. */
export interface Moment {
  /** Monotonic, in milliseconds. */
  readonly now: number;
  /** Milliseconds since the epoch. */
  readonly wall: number;
}

/** The moment of now. */
export function momentOf(clock: Clock): Moment {
  return { now: clock.now(), wall: clock.wall() };
}

/** The machine's own clock. Its timers never keep the process alive by themselves. */
export const systemClock: Clock = {
  wall: () => Date.now(),
  now: () => performance.now(),
  after(ms, task) {
    const timer = setTimeout(task, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/** A clock whose timers end together. */
export interface EndingClock extends Clock {
  /** Cancels every timer that has not run: what they would have done, and what it holds, is not needed any more. */
  end(): void;
}

/** The time of `clock`, with timers that end with their owner. */
export function endingClock(clock: Clock): EndingClock {
  const cancels = new Set<() => void>();
  return {
    wall: () => clock.wall(),
    now: () => clock.now(),
    after(ms, task) {
      const cancel = clock.after(ms, () => {
        cancels.delete(cancel);
        task();
      });
      cancels.add(cancel);
      return () => {
        cancels.delete(cancel);
        cancel();
      };
    },
    end() {
      for (const cancel of cancels) cancel();
      cancels.clear();
    },
  };
}

/**
 * A deadline that can be set again thousands of times a second without a new timer: the one that runs checks,
 * when it fires, whether there is still time.
 */
export class Deadline {
  readonly #clock: Clock;
  readonly #task: () => void;
  /** On `clock.now()`; `null` if there is none. */
  #dueAt: number | null = null;
  /** When the timer fires; `null` if there is none. */
  #looksAt: number | null = null;
  #cancel = (): void => {};

  /** `task` runs each time that a deadline passes. */
  constructor(clock: Clock, task: () => void) {
    this.#clock = clock;
    this.#task = task;
  }

  /** Sets the deadline, `ms` milliseconds from now, in the place of any before. */
  set(ms: number): void {
    this.#dueAt = this.#clock.now() + ms;
    if (this.#looksAt === null || this.#looksAt > this.#dueAt) this.#look(ms);
  }

  /** Takes the deadline away. The timer may run on: the next deadline will want one. */
  lift(): void {
    this.#dueAt = null;
  }

  /** Takes the deadline away, and the timer with it. */
  end(): void {
    this.#dueAt = null;
    this.#looksAt = null;
    this.#cancel();
  }

  #look(ms: number): void {
    this.#cancel();
    this.#looksAt = this.#clock.now() + ms;
    this.#cancel = this.#clock.after(ms, () => {
      this.#looksAt = null;
      if (this.#dueAt === null) return;
      const leftMs = Math.ceil(this.#dueAt - this.#clock.now());
      if (leftMs > 0) {
        this.#look(leftMs);
      } else {
        this.#dueAt = null;
        this.#task();
      }
    });
  }
}
