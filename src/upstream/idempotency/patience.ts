import type { Clock } from '../../scheduling/clock.ts';
import { giveUpAfter } from '../operation.ts';
import type { LockTerms } from './row-locks.ts';

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
    const cancel = giveUpAfter(clock, patienceMs, leave);
    const settle = (hasEnded: boolean): void => {
      cancel();
      signal.removeEventListener('abort', leave);
      resolve(hasEnded);
    };
    signal.addEventListener('abort', leave, { once: true });
    ended.then(() => settle(true), leave);
  });
}
