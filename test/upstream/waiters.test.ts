import { describe, expect, test } from 'vitest';
import { inBackground } from '../../src/scheduling/at-once.ts';
import type { Lane } from '../../src/upstream/budget/law/document.ts';
import type { Caller } from '../../src/upstream/operation.ts';
import type { Outcome } from '../../src/upstream/reads/waiter.ts';
import { Waiters } from '../../src/upstream/reads/waiters.ts';
import { Receipt } from '../../src/upstream/receipt.ts';
import type { Feedback } from '../../src/upstream/wire/rate-limit-headers.ts';
import { createBudget, silent } from '../support/errands.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

/** What one try to send a request brings: without an outcome it goes again. */
interface Brought<T> {
  readonly feedback: Feedback;
  readonly outcome?: Outcome<T>;
}

/** A request that is sent in each of its turns until that brings an outcome. */
function sharedRequest<T>(
  options: ConstructorParameters<typeof Waiters<T>>[0],
  key: string,
  send: () => Promise<Brought<T>>,
): Waiters<T> {
  const waiters = new Waiters<T>(options);
  const takeTurns = async (): Promise<void> => {
    for (let turn = await waiters.turn(); turn; turn = await waiters.turn()) {
      waiters.leaves(key, false);
      const { feedback, outcome } = await send();
      waiters.answered();
      turn.end(feedback);
      if (!outcome) continue;
      waiters.end(outcome);
      return;
    }
  };
  inBackground(takeTurns());
  return waiters;
}

async function createWorld(limit = 2) {
  const clock = new VirtualClock().rule();
  const budget = createBudget(clock, limit, 60_000);
  const sent: string[] = [];
  const request = (
    key: string,
    options: {
      planned?: Receipt;
      lane?: Lane;
      attempts?: (Brought<string> | Promise<Brought<string>>)[];
    } = {},
  ): Waiters<string> => {
    const { planned, attempts = [], lane = 'interactive' } = options;
    const about = { upstream: 'LINKS', lane, resource: 'channels', caller: 'a' } as const;
    return sharedRequest<string>(
      { ...about, ...(planned ? { planned } : {}), budget, clock, events: undefined },
      key,
      async () => {
        sent.push(key);
        return attempts.shift() ?? { feedback: silent, outcome: { value: key } };
      },
    );
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

describe('A shared request', () => {
  test('does not continue without a caller once the process drains', async () => {
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

  test('does not leave when its only waiter hangs up between its turn and its leaving', async () => {
    for (const lane of ['write', 'interactive'] as const) {
      const { clock, budget, sent, request, person } = await createWorld();
      const { caller, abort } = person(0);
      const shared = request('x', { lane });
      const waits = shared.wait(caller);
      expect(budget.state.queued).toBe(0);
      abort.abort(new Error('gone'));
      await expect(waits).rejects.toThrow('gone');
      await clock.advance(0);
      expect([sent, shared.done, budget.state.used]).toEqual([[], true, 0]);
    }
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

  test('immediately fails those whose patience a refusal exceeds', async () => {
    const { clock, request, person } = await createWorld(9);
    const refused = { feedback: { ...silent, refused: { retryAfterMs: 30_000 } } };
    // Two go first, and are refused together.
    void request('w', { attempts: [refused] }).wait(person(90_000).caller);
    const patient = request('x', { attempts: [refused] }).wait(person(90_000).caller);
    const hasty = request('y').wait(person(5000).caller);
    const rejected = expect(hasty).rejects.toMatchObject({ code: 'BUDGET_EXHAUSTED' });
    await clock.advance(0);
    await rejected;
    await clock.advance(30_000);
    expect(await patient).toBe('x');
  });

  /** Takes the only slot of a window, with a request that is answered after this many milliseconds. */
  async function slow(ms: number) {
    const world = await createWorld(1);
    const { clock, person, request } = world;
    const value: Brought<string> = { feedback: silent, outcome: { value: 'slow' } };
    const answer = new Promise<Brought<string>>((resolve) => {
      clock.after(ms, () => resolve(value));
    });
    void request('slow', { attempts: [answer] }).wait(person(0).caller);
    await clock.advance(0);
    return world;
  }

  test('gives up when its turn comes later than was estimated', async () => {
    const { clock, budget, sent, request, person } = await slow(30_000);
    // By what is known now, the slot is free again a window after a usual answer.
    const { caller } = person(61_000);
    let said: unknown;
    const waits = request('x').wait(caller);
    waits.catch((error: unknown) => {
      said = error;
    });
    await clock.advance(60_999);
    expect(said).toBeUndefined();
    await clock.advance(1);
    expect(said).toMatchObject({ code: 'BUDGET_EXHAUSTED', details: { retryAfterMs: 29_000 } });
    expect([caller.receipt.waitedMs, budget.state.queued]).toEqual([61_000, 0]);
    await clock.advance(120_000);
    expect(sent).toEqual(['slow']);
  });

  test('is turned away at the end of the process where its turn was to come before', async () => {
    const { clock, budget, sent, request, person } = await slow(30_000);
    let said: unknown;
    const waits = request('x', { lane: 'write' }).wait(person(600_000).caller);
    waits.catch((error: unknown) => {
      said = error;
    });
    budget.drain(61_000);
    await clock.advance(60_999);
    expect(said).toBeUndefined();
    await clock.advance(1);
    expect(said).toMatchObject({ code: 'BUDGET_EXHAUSTED' });
    await clock.advance(120_000);
    expect(sent).toEqual(['slow']);
  });

  test('fails immediately when it would be repeated too late', async () => {
    const { clock, budget, sent, request, person } = await createWorld(1);
    const again = { feedback: silent };
    const { caller } = person(59_000);
    const waits = request('x', { attempts: [again] }).wait(caller);
    const rejected = expect(waits).rejects.toMatchObject({
      code: 'BUDGET_EXHAUSTED',
      details: { retryAfterMs: 60_000 },
    });
    await clock.advance(0);
    await rejected;
    expect(budget.state.queued).toBe(0);
    await clock.advance(120_000);
    expect(sent).toEqual(['x']);
  });

  test('is taken back when its only waiter hangs up while it is to go again', async () => {
    const { clock, budget, sent, request, person } = await createWorld(1);
    const again = { feedback: silent };
    const { caller, abort } = person(90_000);
    const waits = request('x', { attempts: [again] }).wait(caller);
    await clock.advance(0);
    expect(budget.state.queued).toBe(1);
    abort.abort(new Error('gone'));
    await expect(waits).rejects.toThrow('gone');
    expect(budget.state.queued).toBe(0);
    await clock.advance(120_000);
    expect(sent).toEqual(['x']);
  });

  test('counts the wait for one request, whatever becomes of another that did not wait', async () => {
    const { clock, request, person } = await slow(5000);
    const { caller } = person(90_000);
    const shared = request('x');
    const waits = shared.wait(caller);
    await clock.advance(1000);
    const over = request('y')
      .wait(caller)
      .catch(() => {});
    await clock.advance(64_000);
    expect(await waits).toBe('x');
    expect(caller.receipt.waitedMs).toBe(65_000);
    await clock.advance(30_000);
    await over;
  });
});
