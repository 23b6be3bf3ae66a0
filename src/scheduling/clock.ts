import { clearTimeout, setTimeout } from 'node:timers';

/**
 * The only source of time. Everything below the composition root takes a `Clock`, so that a test can control time;
 * nothing else reads `Date.now` or calls `setTimeout`.
 */
export interface Clock {
  /** Milliseconds since the epoch: for dates that leave the process. May jump with the system clock. */
  wall(): number;
  /** Monotonic milliseconds from an arbitrary start: for every duration and deadline. */
  now(): number;
  /** Runs `task` once, `ms` milliseconds from now, and returns a function that cancels it. */
  after(ms: number, task: () => void): () => void;
}

/** Resolves after this time, in milliseconds. */
export function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve));
}

/** The clock of the machine. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  wall: Date.now,
  now: performance.now.bind(performance),
  after(ms, task) {
    const timer = setTimeout(task, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/** A clock whose timers end together. */
export interface EndingClock extends Clock {
  /** Cancels all timers that have not run, and releases what their tasks hold. */
  end(): void;
}

/** A view of `clock` whose timers end with their owner. */
export function endingClock(clock: Clock): EndingClock {
  const cancels = new Set<() => void>();
  return {
    wall: clock.wall.bind(clock),
    now: clock.now.bind(clock),
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
 * A deadline that can be changed thousands of times a second without a new timer: when the running timer fires, it
 * checks whether the deadline has moved.
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

  /** Sets the deadline to `ms` milliseconds from now; replaces an earlier one. */
  set(ms: number): void {
    this.#dueAt = this.#clock.now() + ms;
    if (this.#looksAt === null || this.#looksAt > this.#dueAt) this.#look(ms);
  }

  /** Removes the deadline. The timer may continue, because the next deadline can use it. */
  lift(): void {
    this.#dueAt = null;
  }

  /** Removes the deadline and its timer. */
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
