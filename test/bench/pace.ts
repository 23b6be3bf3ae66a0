import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until a moment on `performance.now()`; not at all when it is over. */
export async function sleepUntil(moment: number): Promise<void> {
  const rest = moment - performance.now();
  if (rest > 0) await sleep(rest);
}
