import { expect, it } from 'vitest';
import type { Feedback } from '../../../src/upstream/wire/rate-limit-headers.ts';
import { createBudget, enqueue, type Job } from '../../support/errands.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const NOTHING_TOLD: Feedback = { limit: null, remaining: null, resetInMs: null };

function job(send: () => Promise<Feedback>, lengthy = false): Job {
  return {
    lane: lengthy ? 'write' : 'interactive',
    caller: 'web',
    resource: 'channels',
    operation: null,
    waitedMs: 0,
    urgency: () => 0,
    lengthy,
    attempt: async () => ({ kind: 'done', feedback: await send() }),
    accepts: () => true,
  };
}

it('lets others go while the first request of a process is an upload that takes its time', async () => {
  const clock = new VirtualClock();
  const budget = createBudget(clock, 30, 60_000);
  let finish: (feedback: Feedback) => void = () => {};
  const upload = new Promise<Feedback>((resolve) => {
    finish = resolve;
  });
  const sent: string[] = [];
  enqueue(
    budget,
    job(() => upload, true),
  );
  enqueue(
    budget,
    job(async () => {
      sent.push('read');
      return NOTHING_TOLD;
    }),
  );
  await clock.advance(60_000);
  expect(sent).toEqual(['read']);
  finish(NOTHING_TOLD);
  await clock.settle();
  // The read no longer counts, and the upload counts from its end.
  expect(budget.state.used).toBe(1);
});
