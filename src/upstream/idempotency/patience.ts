import type { Clock } from '../../scheduling/clock.ts';
import type { Caller } from '../operation.ts';
import type { LockTerms } from './row-locks.ts';

/** Remaining time that a caller waits for others, in milliseconds. */
export function patienceOf({ maxWaitMs, receipt }: Caller): number {
  return Math.max(0, maxWaitMs - receipt.waitedMs);
}

/**
 * Whether a promise, which never rejects, resolves within the patience and before the signal aborts.
 */
export function waitFor(
  ended: Promise<void>,
  clock: Clock,
  { patienceMs, signal }: LockTerms,
): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const leave = (): void => settle(false);
    const cancel = clock.after(patienceMs, leave);
    const settle = (hasEnded: boolean): void => {
      cancel();
      signal.removeEventListener('abort', leave);
      resolve(hasEnded);
    };
    signal.addEventListener('abort', leave, { once: true });
    ended.then(() => settle(true), leave);
  });
}
