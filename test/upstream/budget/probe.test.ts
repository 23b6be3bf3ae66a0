import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Budget, Job } from '../../../src/upstream/budget/budget.ts';
import type { Feedback } from '../../../src/upstream/wire/rate-limit-headers.ts';
import { createBudget } from '../../support/errands.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const WINDOW_MS = 60_000;

describe('After a silence', () => {
  let clock: VirtualClock;
  let budget: Budget;
  /** Answers what has been sent and not answered, in the order in which it left. */
  let answers: ((feedback: Feedback) => void)[];

  beforeEach(async () => {
    clock = new VirtualClock().rule();
    budget = createBudget(clock, 30, WINDOW_MS);
    answers = [];
    ask(1);
    await answer(29);
    await clock.advance(1000);
  });

  afterEach(() => {
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
  });

  function ask(count: number): Job[] {
    return Array.from({ length: count }, () => {
      const job: Job = {
        lane: 'interactive',
        caller: 'web',
        urgency: () => 0,
        attempt: () =>
          new Promise((resolve) => {
            answers.push((feedback) => resolve({ kind: 'done', feedback }));
          }),
        dispatched: () => {},
        delayed: () => true,
      };
      budget.enqueue(job);
      return job;
    });
  }

  async function answer(remaining: number): Promise<void> {
    await clock.advance(0);
    answers.shift()?.({ limit: 30, remaining, resetInMs: 59_000 });
    await clock.advance(0);
  }

  it('one request goes ahead, and the others when it has been answered', async () => {
    ask(10);
    await clock.advance(0);
    expect(answers).toHaveLength(1);
    await answer(28);
    expect(answers).toHaveLength(9);
  });

  it('they go one by one when its headers show that others use the key', async () => {
    ask(10);
    await answer(4);
    expect(answers).toHaveLength(1);
    await answer(3);
    expect(answers).toHaveLength(1);
  });

  it('the others wait a second for it, and no longer', async () => {
    ask(10);
    await clock.advance(999);
    expect(answers).toHaveLength(1);
    await clock.advance(1);
    await clock.advance(0);
    expect(answers).toHaveLength(10);
  });

  it('whoever cannot wait goes at once, while slots are free', async () => {
    const [, impatient] = ask(10) as [Job, Job];
    budget.rush(impatient);
    await clock.advance(0);
    expect(answers).toHaveLength(2);
  });

  it('whoever cannot wait does not overtake those who wait for the last slots', async () => {
    ask(1);
    await answer(1);
    const jobs = ask(3);
    budget.rush(jobs[2] as Job);
    await clock.advance(0);
    expect(answers).toHaveLength(1);
  });

  it('none goes ahead where the upstream says nothing of its limit', async () => {
    budget = createBudget(clock, 30, WINDOW_MS);
    ask(1);
    await clock.advance(0);
    answers.shift()?.({ limit: null, remaining: null, resetInMs: null });
    await clock.advance(1000);
    ask(10);
    await clock.advance(0);
    expect(answers).toHaveLength(10);
  });
});
