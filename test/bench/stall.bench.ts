import { it } from 'vitest';
import { systemClock } from '../../src/scheduling/clock.ts';
import { MemoryStore } from '../../src/upstream/budget/memory-store.ts';
import { QueuedBudget } from '../../src/upstream/budget/queued-budget.ts';
import { Receipt } from '../../src/upstream/receipt.ts';
import { type Brought, sharedRequest } from '../support/shared-request.ts';
import { percentile, record } from './report/measurement.ts';

const WAITING = 2000;
const LIMIT = 30;

it('lets thousands wait for a turn without holding the event loop', async () => {
  const many = await worstTurns(WAITING);
  const few = await worstTurns(WAITING / 2);
  record({
    bench: 'stall',
    about: `Queues ${WAITING} operations of as many callers at the same time, then refuses a request, so that all operations receive a new waiting time, and then rejects all of them.`,
    figures: [
      {
        label: 'longest turn of the event loop while the operations are queued',
        value: many.enqueue,
        digits: 1,
        unit: ' ms',
      },
      {
        label: 'longest turn, while they learn of a pause and are rejected',
        value: many.after,
        digits: 1,
        unit: ' ms',
      },
      {
        label: 'time to queue the operations, over half as many',
        value: many.enqueue / few.enqueue,
        digits: 1,
        target: { atMost: 3.5 },
        note: '2 is linear, 4 is square',
      },
    ],
  });
}, 300_000);

/** The longest turns of the event loop, in milliseconds, of several runs: the median of each. */
async function worstTurns(waiting: number): Promise<{ enqueue: number; after: number }> {
  const runs: { enqueue: number; after: number }[] = [];
  for (let run = 0; run < 5; run += 1) runs.push(await oneRun(waiting));
  return {
    enqueue: percentile(
      runs.map(({ enqueue }) => enqueue),
      0.5,
    ),
    after: percentile(
      runs.map(({ after }) => after),
      0.5,
    ),
  };
}

async function oneRun(waiting: number): Promise<{ enqueue: number; after: number }> {
  const clock = systemClock;
  const budget = new QueuedBudget(
    clock,
    new MemoryStore({ upstream: 'LINKS', clock, limit: LIMIT, windowMs: 60_000 }),
  );
  let refuse = (_attempt: Brought<null>): void => {};
  const attempt = (): Promise<Brought<null>> =>
    new Promise((resolve) => {
      refuse = resolve;
    });
  const gaveUp: Promise<unknown>[] = [];
  const begin = performance.now();
  for (let n = 0; n < waiting; n += 1) {
    const name = `caller ${n}`;
    const receipt = new Receipt(clock);
    const about = { upstream: 'LINKS', lane: 'interactive', resource: 'channels' } as const;
    const options = { ...about, caller: name, budget, clock, events: undefined };
    const request = sharedRequest<null>(options, name, attempt);
    // Longer than the last of them can wait, so that no caller is turned away at once.
    const maxWaitMs = 1000 + (waiting / LIMIT + 5) * 61_000;
    const { signal } = new AbortController();
    gaveUp.push(request.wait({ name, receipt, maxWaitMs, signal }).catch(() => {}));
  }
  const enqueue = performance.now() - begin;
  const turns: number[] = [];
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn += 1) {
      const from = performance.now();
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      turns.push(performance.now() - from);
    }
  };
  await settle();
  await new Promise((resolve) => {
    setTimeout(resolve, 20);
  });
  const feedback = { limit: null, remaining: null, resetInMs: null };
  refuse({ feedback: { ...feedback, refused: { retryAfterMs: 10_000 } } });
  await settle();
  // All that wait are turned away at once.
  budget.drain(0);
  await settle();
  await Promise.all(gaveUp.slice(LIMIT));
  return { enqueue, after: percentile(turns, 1) };
}
