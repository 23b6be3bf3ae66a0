import type { Clock } from './clock.ts';

/** A timer of Node is not longer than 24.8 days; waits that are longer take several. */
const LONGEST_TIMER_MS = 24 * 60 * 60_000;

/**
 * Resolves after `ms` milliseconds; immediately if that is not positive.
 * @throws the reason of `signal` when that aborts.
 */
export async function waitMs(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  for (let left = ms; left > 0; left -= LONGEST_TIMER_MS) {
    await timer(clock, Math.min(left, LONGEST_TIMER_MS), signal);
  }
}

function timer(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      cancel();
      reject(signal.reason as Error);
    };
    const cancel = clock.after(ms, () => {
      signal.removeEventListener('abort', stop);
      resolve();
    });
    signal.addEventListener('abort', stop, { once: true });
  });
}
