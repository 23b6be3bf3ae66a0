import { expect, test } from 'vitest';
import { waitMs } from '../../src/scheduling/wait.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const DAY_MS = 86_400_000;

test('waits longer than a timer of Node can', async () => {
  const clock = new VirtualClock();
  let longest = 0;
  const after = clock.after.bind(clock);
  clock.after = (ms, task) => {
    longest = Math.max(longest, ms);
    return after(ms, task);
  };
  let isOver = false;
  // oxlint-disable-next-line promise/always-return
  const wait = waitMs(clock, 40 * DAY_MS, new AbortController().signal).then(() => {
    isOver = true;
  });
  await clock.advance(40 * DAY_MS - 1);
  expect(isOver).toBe(false);
  await clock.advance(1);
  await wait;
  expect(longest).toBeLessThan(2 ** 31);
});

test('ends with the reason of a signal, before and during the wait', async () => {
  const clock = new VirtualClock();
  const controller = new AbortController();
  const wait = waitMs(clock, 1000, controller.signal);
  const reason = new Error('enough');
  controller.abort(reason);
  await expect(wait).rejects.toBe(reason);
  await expect(waitMs(clock, 0, controller.signal)).rejects.toBe(reason);
});
