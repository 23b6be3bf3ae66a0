import { afterEach, describe, expect, test, vi } from 'vitest';
import type { Caller } from '../../src/upstream/operation.ts';
import { Receipt } from '../../src/upstream/receipt.ts';
import type { Attempt } from '../../src/upstream/requests/attempt.ts';
import { CopyWillDo, SharedRequest } from '../../src/upstream/requests/shared-request.ts';
import { createBudget, silent } from '../support/errands.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

async function createWorld(limit = 2) {
  const clock = new VirtualClock().rule();
  const budget = createBudget(clock, limit, 60_000);
  const sent: string[] = [];
  const request = (
    key: string,
    options: { planned?: Receipt; attempts?: Attempt<string>[] } = {},
  ): SharedRequest<string> => {
    const { planned, attempts = [] } = options;
    const made = new SharedRequest<string>({
      upstream: 'LINKS',
      lane: 'interactive',
      resource: 'channels',
      caller: 'a',
      ...(planned ? { planned } : {}),
      budget,
      clock,
      attempt: async (payer) => {
        sent.push(key);
        payer?.sent('LINKS', key);
        return attempts.shift() ?? { kind: 'value', feedback: silent, value: key };
      },
    });
    made.enqueue();
    return made;
  };
  const person = (maxWaitMs: number) => {
    const abort = new AbortController();
    const caller: Caller = {
      name: 'a',
      receipt: new Receipt(clock),
      maxWaitMs,
      signal: abort.signal,
    };
    return { caller, abort };
  };
  /** Takes every slot for a window. */
  const exhaust = async () => {
    const { caller } = person(60_000);
    for (let n = 0; n < limit; n += 1) void request('filler').wait(caller);
    await clock.advance(0);
    sent.length = 0;
  };
  return { clock, budget, sent, request, person, exhaust };
}

describe('SharedRequest', () => {
  test('goes on for others when a caller leaves for a copy', async () => {
    const { clock, sent, request, person, exhaust } = await createWorld();
    await exhaust();
    const shared = request('x');
    const { caller, abort } = person(60_000);
    const left = shared.wait(caller, 500).catch((error: unknown) => error);
    await clock.advance(500);
    expect(await left).toBeInstanceOf(CopyWillDo);
    abort.abort();
    expect(caller.receipt.withCopy.ms).toBe(500);
    expect(caller.receipt.waitedMs).toBe(500);
    await clock.advance(59_500);
    expect(sent).toEqual(['x']);
    expect(caller.receipt.summary).toMatchObject({ calls: 0, waitedMs: 500 });
  });

  test('goes on no more for nobody once the process drains', async () => {
    const { clock, budget, sent, request, person, exhaust } = await createWorld();
    await exhaust();
    const shared = request('x');
    const left = shared.wait(person(60_000).caller, 500).catch(() => {});
    await clock.advance(500);
    await left;
    budget.drain(600_000);
    expect(shared.done).toBe(true);
    await clock.advance(120_000);
    expect(sent).toEqual([]);
  });

  test('tells its answer to a caller with a copy when it comes soon', async () => {
    const { clock, request, person } = await createWorld();
    const answer = request('x').wait(person(1000).caller, 500);
    await clock.advance(0);
    expect(await answer).toBe('x');
    await clock.advance(1000);
  });

  test('tells at once when a slot comes too late, and the time it tells is right', async () => {
    const { clock, sent, request, person, exhaust } = await createWorld();
    await exhaust();
    await clock.advance(1000);
    const availableAt = new Date(clock.wall() + 59_000).toISOString();
    await expect(request('x').wait(person(58_999).caller)).rejects.toMatchObject({
      code: 'BUDGET_EXHAUSTED',
      details: { retryAfterMs: 59_000, availableAt },
    });
    await clock.advance(59_000);
    const answer = request('x').wait(person(0).caller);
    await clock.advance(0);
    expect(await answer).toBe('x');
    expect(sent).toEqual(['x']);
  });

  test('never waits for a caller who does not want to', async () => {
    const { sent, request, person, exhaust, budget } = await createWorld();
    await exhaust();
    await expect(request('x').wait(person(0).caller)).rejects.toMatchObject({
      code: 'BUDGET_EXHAUSTED',
    });
    expect([budget.state.queued, sent.length]).toEqual([0, 0]);
  });

  test('leaves the queue when its only waiter hangs up, and stays for another', async () => {
    const { clock, sent, request, person, exhaust, budget } = await createWorld();
    await exhaust();
    const [one, two, three] = [person(90_000), person(90_000), person(90_000)];
    const alone = expect(request('alone').wait(one.caller)).rejects.toThrow('gone');
    const shared = request('shared');
    const left = expect(shared.wait(two.caller)).rejects.toThrow('gone');
    const stays = shared.wait(three.caller);
    one.abort.abort(new Error('gone'));
    two.abort.abort(new Error('gone'));
    await Promise.all([alone, left]);
    expect(budget.state.queued).toBe(1);
    await clock.advance(60_000);
    expect(await stays).toBe('shared');
    expect(sent).toEqual(['shared']);
    const calls = [two, three].map(({ caller }) => caller.receipt.summary.calls);
    expect(calls).toEqual([0, 1]);
  });

  test('gives back what was set aside for it when it never leaves', async () => {
    const { request, person, exhaust } = await createWorld();
    await exhaust();
    const { caller } = person(0);
    caller.receipt.spending.take('LINKS', 1);
    await expect(request('x', { planned: caller.receipt }).wait(caller)).rejects.toThrow();
    expect(() => caller.receipt.spending.take('LINKS', 1)).not.toThrow();
  });

  test('counts waits side by side once', async () => {
    const { clock, request, person, exhaust } = await createWorld();
    await exhaust();
    const { caller } = person(90_000);
    const both = [request('x').wait(caller), request('y').wait(caller)];
    await clock.advance(60_000);
    await Promise.all(both);
    expect(caller.receipt.summary.waitedMs).toBe(60_000);
  });

  test('tells those whose patience a refusal exceeds at once', async () => {
    const { clock, request, person } = await createWorld(9);
    const refused: Attempt<string> = {
      kind: 'refused',
      feedback: { ...silent, refused: { retryAfterMs: 30_000 } },
    };
    const patient = request('x', { attempts: [refused] }).wait(person(90_000).caller);
    const hasty = request('y').wait(person(5000).caller);
    const rejected = expect(hasty).rejects.toMatchObject({ code: 'BUDGET_EXHAUSTED' });
    await clock.advance(0);
    await rejected;
    await clock.advance(30_000);
    expect(await patient).toBe('x');
  });
});
