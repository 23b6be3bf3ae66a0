import * as fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Budget } from '../../../src/upstream/budget/budget.ts';
import type { Lane } from '../../../src/upstream/budget/law/document.ts';
import type { Feedback } from '../../../src/upstream/wire/rate-limit-headers.ts';
import { type Attempted, createBudget, enqueue, type Job, silent } from '../../support/errands.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const WINDOW_MS = 60_000;

let clock: VirtualClock;
let budget: Budget;
/** Answers what has been sent and not answered, in the order in which it left. */
let answers: ((feedback: Feedback) => void)[];

beforeEach(() => {
  clock = new VirtualClock().rule();
  budget = createBudget(clock, 30, WINDOW_MS);
  answers = [];
});

function ask(count: number, lane: Lane = 'interactive'): Job[] {
  return Array.from({ length: count }, () => {
    const job: Job = {
      lane,
      caller: 'web',
      resource: 'channels',
      operation: null,
      waitedMs: 0,
      urgency: () => 0,
      attempt: () =>
        new Promise((resolve) => {
          answers.push((feedback) => resolve({ kind: 'done', feedback }));
        }),
      accepts: () => true,
    };
    enqueue(budget, job);
    return job;
  });
}

async function answer(remaining: number | null): Promise<void> {
  await clock.advance(0);
  const limit = remaining === null ? null : 30;
  answers.shift()?.({ limit, remaining, resetInMs: 59_000 });
  await clock.advance(0);
}

/** How many are on the wire when things have come to rest. */
async function onWire(): Promise<number> {
  await clock.advance(0);
  return answers.length;
}

describe('At a start', () => {
  it('two requests go ahead, and the others when one has been answered', async () => {
    ask(10);
    expect(await onWire()).toBe(2);
    await answer(29);
    expect(await onWire()).toBe(9);
  });

  it('a slow answer holds the others for a second, and a write not at all', async () => {
    ask(4);
    ask(1, 'write');
    expect(await onWire()).toBe(3);
    await clock.advance(999);
    expect(await onWire()).toBe(3);
    await clock.advance(1);
    expect(await onWire()).toBe(4);
  });

  it('one more goes each time the others have waited twice as long', async () => {
    ask(10);
    await clock.advance(999);
    expect(await onWire()).toBe(2);
    await clock.advance(1);
    expect(await onWire()).toBe(3);
    await clock.advance(1999);
    expect(await onWire()).toBe(3);
    await clock.advance(1);
    expect(await onWire()).toBe(4);
  });

  it('a good answer to any of them lets all others go', async () => {
    ask(10);
    await clock.advance(1000);
    const [slow] = answers.splice(0, 1);
    await answer(28);
    answers.push(slow as (feedback: Feedback) => void);
    expect(await onWire()).toBe(9);
  });
});

describe('At the start of a process that finds the account of the one before', () => {
  const known = { isKnown: true };
  const seen = (agoMs: number) => ({ ...known, coTenantSeenAt: clock.now() - agoMs });

  it('all go at once on a key that was its own', async () => {
    budget = createBudget(clock, 30, WINDOW_MS, known);
    ask(12);
    expect(await onWire()).toBe(12);
  });

  it.each([0, 9 * WINDOW_MS])('two go on a key on which others were seen %i ms ago', async (ms) => {
    budget = createBudget(clock, 30, WINDOW_MS, seen(ms));
    ask(12);
    expect(await onWire()).toBe(2);
    // Half of what is left: the other half is for the others.
    await answer(9);
    await answer(9);
    expect(await onWire()).toBe(4);
  });

  it('all go at once when others were seen long ago', async () => {
    budget = createBudget(clock, 30, WINDOW_MS, seen(11 * WINDOW_MS));
    ask(12);
    expect(await onWire()).toBe(12);
  });

  it('one goes on a key that others use and of which the account is not full', async () => {
    budget = createBudget(clock, 30, WINDOW_MS, { ...seen(0), isKnown: false });
    ask(12);
    expect(await onWire()).toBe(1);
  });
});

describe('After a silence', () => {
  beforeEach(async () => {
    ask(1);
    await answer(29);
    await clock.advance(1000);
  });

  /** Others are seen on the key, some time ago. */
  async function share(): Promise<void> {
    ask(1);
    await answer(20);
    await clock.advance(1000);
  }

  it('all go at once on a key that is ours alone', async () => {
    ask(10);
    expect(await onWire()).toBe(10);
  });

  it('all go at once where the upstream says nothing of its limit', async () => {
    budget = createBudget(clock, 30, WINDOW_MS);
    ask(1);
    await answer(null);
    await clock.advance(1000);
    ask(10);
    expect(await onWire()).toBe(10);
  });

  it('two go on a key that others use, and one more with each good answer', async () => {
    await share();
    ask(12);
    expect(await onWire()).toBe(2);
    await answer(19);
    expect(await onWire()).toBe(3);
    await answer(18);
    expect(await onWire()).toBe(4);
  });

  it.each([
    [249, 4],
    [250, 2],
  ])('%i ms after two good answers, %i go together', async (ms, count) => {
    await share();
    ask(2);
    await answer(19);
    await answer(18);
    await clock.advance(ms);
    ask(12);
    expect(await onWire()).toBe(count);
  });

  it('as many go beside one that is slow as before it', async () => {
    await share();
    ask(2);
    await answer(19);
    await answer(18);
    ask(1);
    await clock.advance(500);
    ask(12);
    expect(await onWire()).toBe(4);
  });

  it('a write goes beside the reads that went ahead', async () => {
    await share();
    ask(12);
    expect(await onWire()).toBe(2);
    ask(1, 'write');
    expect(await onWire()).toBe(3);
  });

  it('the others wait a second for the answers of those, and no longer', async () => {
    await share();
    ask(12);
    await clock.advance(999);
    expect(await onWire()).toBe(2);
    await clock.advance(1);
    expect(await onWire()).toBe(3);
  });
});

describe('On a key that others use', () => {
  const worlds = fc.record({
    /** What they spend, and how long before each. */
    othersMs: fc.array(fc.integer({ min: 500, max: 4000 }), { maxLength: 100 }),
    bursts: fc.array(
      fc.record({ afterMs: fc.nat(30_000), count: fc.integer({ min: 1, max: 14 }) }),
      { minLength: 1, maxLength: 12 },
    ),
    latencyMs: fc.integer({ min: 20, max: 450 }),
    lessMs: fc.nat(19),
  });

  it('at most two of a burst are refused, and everything is answered', async () => {
    await fc.assert(
      fc.asyncProperty(worlds, async ({ othersMs, bursts, latencyMs, lessMs }) => {
        clock = new VirtualClock().rule();
        budget = createBudget(clock, 30, WINDOW_MS);
        const spent = new Map<number, number>();
        /** Spends one at the upstream, which counts in windows of its own; answers what is left. */
        const spend = (): number => {
          const window = Math.floor(clock.now() / WINDOW_MS);
          const count = (spent.get(window) ?? 0) + 1;
          if (count <= 30) spent.set(window, count);
          return 30 - count;
        };
        const refusals: number[] = [];
        let answered = 0;
        const attempt = async (): Promise<Attempted> => {
          const started = clock.now();
          await new Promise<void>((resolve) => void clock.after(latencyMs / 2, resolve));
          const remaining = spend();
          const resetInMs = WINDOW_MS - (clock.now() % WINDOW_MS);
          await new Promise<void>(
            (resolve) => void clock.after(latencyMs / 2 - lessMs / 2, resolve),
          );
          const feedback = { limit: 30, remaining: Math.max(0, remaining), resetInMs };
          if (remaining < 0) {
            refusals.push(started);
            const refused = { retryAfterMs: resetInMs };
            return { kind: 'refused', feedback: { ...feedback, refused } };
          }
          answered += 1;
          return { kind: 'done', feedback };
        };
        const send = (count: number): void => {
          for (let nth = 0; nth < count; nth += 1) {
            enqueue(budget, {
              lane: 'interactive',
              caller: 'web',
              resource: 'channels',
              operation: null,
              waitedMs: 0,
              urgency: () => 0,
              attempt,
              accepts: () => true,
            });
          }
        };
        // The first two show that somebody else is there.
        send(1);
        await clock.advance(1000);
        spend();
        send(1);
        await clock.advance(1000);
        let at = clock.now();
        for (const ms of othersMs) {
          at += ms;
          clock.after(at - clock.now(), () => void spend());
        }
        let wanted = 2;
        at = clock.now();
        for (const { afterMs, count } of bursts) {
          at += afterMs;
          wanted += count;
          clock.after(at - clock.now(), () => send(count));
        }
        await clock.advance(30 * WINDOW_MS);
        expect(answered).toBe(wanted);
        // Refused together is what left before the first of them was known.
        for (const first of refusals) {
          const together = refusals.filter((each) => each >= first && each < first + latencyMs);
          expect(together.length).toBeLessThanOrEqual(2);
        }
      }),
      { numRuns: 100, endOnFailure: true },
    );
  });

  it('two go at a time after a refusal where the upstream says nothing of its limit', async () => {
    const refused: Feedback = { ...silent, refused: { retryAfterMs: 500 } };
    let attempts = 0;
    const [job] = ask(1) as [Job];
    await answer(null);
    enqueue(budget, {
      ...job,
      attempt: async (): Promise<Attempted> => {
        attempts += 1;
        if (attempts === 1) return { kind: 'refused', feedback: refused };
        return { kind: 'done', feedback: silent };
      },
    });
    await clock.advance(500);
    ask(12);
    expect(await onWire()).toBe(2);
    await answer(null);
    await answer(null);
    expect(await onWire()).toBe(2);
  });
});
