import { clearTimeout, setTimeout } from 'node:timers';

/**
 * The only way the gateway learns the time. Everything below the composition root takes a `Clock`,
 * so that a test can move time by hand; nothing else reads `Date.now` or calls `setTimeout`.
 */
export interface Clock {
  /** Milliseconds since the epoch: for dates that leave the process. May jump with the system clock. */
  wall(): number;
  /** Milliseconds from an arbitrary start that never go back: for every duration and deadline. */
  now(): number;
  /** Runs `task` once, `ms` milliseconds from now, and returns a function that cancels it. */
  after(ms: number, task: () => void): () => void;
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
