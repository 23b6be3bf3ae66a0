import * as fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { Budget } from '../../../src/upstream/budget/budget.ts';
import type { Lane } from '../../../src/upstream/budget/lanes.ts';
import type { Feedback } from '../../../src/upstream/wire/rate-limit-headers.ts';
import { Errand, enqueueAll, mostAtOnce, type Sent, silent } from '../../support/errands.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const windowMs = 60_000;

function createWorld(limit = 30) {
  const clock = new VirtualClock().rule();
  const log: Sent[] = [];
  const budget = new Budget({ clock, limit, windowMs });
  const world = { clock, log, budget };
  const errand = (options?: ConstructorParameters<typeof Errand>[1]) => new Errand(world, options);
  const errands = (count: number, options?: ConstructorParameters<typeof Errand>[1]) =>
    Array.from({ length: count }, () => errand(options));
  /** The first request after a start goes alone: this one does, without a trace. */
  const begin = async () => {
    await enqueueAll(world, [errand({ lane: 'write' })]);
    await clock.advance(windowMs);
    log.length = 0;
  };
  return { ...world, errand, errands, begin };
}

const refusal = (retryAfterMs: number | null): Feedback => ({
  ...silent,
  refused: { retryAfterMs },
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const lanes = fc.constantFrom<Lane>('write', 'interactive', 'interactive', 'refresh');
const schedules = fc.record({
  limit: fc.integer({ min: 1, max: 6 }),
  arrivals: fc.array(
    fc.record({
      atMs: fc.oneof(fc.integer({ min: 0, max: 2000 }), fc.integer({ min: 0, max: 200_000 })),
      lane: lanes,
      caller: fc.constantFrom('a', 'b', 'c'),
      latencyMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 15_000 })),
      cancelAfterMs: fc.option(fc.integer({ min: 0, max: 90_000 }), { freq: 4 }),
      first: fc.oneof(
        { weight: 6, arbitrary: fc.constant<'answer'>('answer') },
        { weight: 1, arbitrary: fc.constant<'nothing'>('nothing') },
        { weight: 1, arbitrary: fc.constant<'again'>('again') },
        { weight: 1, arbitrary: fc.record({ retryAfterMs: fc.option(fc.nat(30_000)) }) },
      ),
      remaining: fc.option(fc.integer({ min: 0, max: 6 }), { freq: 3 }),
      resetInMs: fc.option(fc.nat(60_000)),
      wallJumpMs: fc.option(fc.integer({ min: -7_200_000, max: 7_200_000 }), { freq: 8 }),
    }),
    { maxLength: 24 },
  ),
});

describe('The law of the limit', () => {
  test('holds in every sliding window, and everything not cancelled is sent, on any schedule', async () => {
    await fc.assert(
      fc.asyncProperty(schedules, async ({ limit, arrivals }) => {
        const world = createWorld(limit);
        const { clock, log, budget } = world;
        const wanted: { errand: Errand; times: number }[] = [];
        const cancelled: Errand[] = [];
        for (const arrival of arrivals) {
          const { remaining, resetInMs, first } = arrival;
          const told = { limit: null, remaining, resetInMs };
          const answers: (Feedback | null)[] = [told];
          if (first === 'nothing') answers[0] = null;
          else if (first === 'again') answers.unshift({ ...told, again: true });
          else if (first !== 'answer') answers.unshift({ ...told, refused: first });
          const errand = world.errand({ ...arrival, answers });
          clock.after(arrival.atMs, () => {
            if (arrival.wallJumpMs !== null) clock.jumpWall(arrival.wallJumpMs);
            budget.enqueue(errand);
          });
          if (arrival.cancelAfterMs === null) {
            wanted.push({ errand, times: first === 'nothing' ? 0 : answers.length });
            continue;
          }
          clock.after(arrival.atMs + arrival.cancelAfterMs, () => {
            if (!budget.cancel(errand)) return;
            cancelled.push(errand);
            const turns = errand.turns;
            clock.after(600_000, () => expect(errand.turns).toBe(turns));
          });
        }
        await clock.advance(200_000);
        for (let hour = 0; hour < 6 && budget.state.queued > 0; hour += 1) {
          await clock.advance(3_600_000);
        }
        await clock.advance(700_000);
        expect(mostAtOnce(log, windowMs)).toBeLessThanOrEqual(limit);
        for (const { errand, times } of wanted) {
          expect(errand.turns).toBeGreaterThan(0);
          expect(errand.sent).toHaveLength(times);
        }
        expect(budget.state).toEqual({
          limit,
          used: 0,
          remaining: limit,
          queued: 0,
          resetInMs: null,
        });
      }),
      { numRuns: 1000 },
    );
  });

  test('is broken by a limiter with fixed windows, which the same check finds', () => {
    const log: { start: number; end: number }[] = [];
    const counts = new Map<number, number>();
    for (let now = 59_000; now < 61_000; now += 10) {
      const window = Math.floor(now / windowMs);
      const count = counts.get(window) ?? 0;
      if (count === 30) continue;
      counts.set(window, count + 1);
      log.push({ start: now, end: now });
    }
    expect(mostAtOnce(log, windowMs)).toBe(60);
  });

  test('lets the limit leave in one window of any traffic, and no fewer', async () => {
    const { errands, log, begin, clock, ...world } = createWorld();
    await begin();
    await enqueueAll({ ...world, clock }, errands(100, { latencyMs: 300 }));
    await clock.advance(60_299);
    expect(log).toHaveLength(30);
    await clock.advance(1);
    expect(log).toHaveLength(60);
  });

  test('costs nothing for a turn that was not needed any more', async () => {
    const { errands, budget, clock, begin } = createWorld();
    await begin();
    await enqueueAll({ budget, clock }, errands(40, { answers: [null] }));
    expect(budget.state).toMatchObject({ used: 0, remaining: 30, queued: 0 });
  });

  test('does not stop when the wall clock is set back', async () => {
    const { errands, log, budget, clock, begin } = createWorld();
    await begin();
    await enqueueAll({ budget, clock }, errands(1));
    clock.jumpWall(-3_600_000);
    await enqueueAll({ budget, clock }, errands(1));
    expect(log).toHaveLength(2);
  });
});

describe('Order', () => {
  test('lets the first request after a start go alone, and the others when it is answered', async () => {
    const { errands, log, budget, clock } = createWorld();
    await enqueueAll({ budget, clock }, errands(10, { latencyMs: 400 }));
    expect(log).toHaveLength(1);
    await clock.advance(400);
    expect(log).toHaveLength(10);
  });

  test('does not let quiet callers wait behind a noisy one', async () => {
    const { errands, log, budget, clock, begin } = createWorld();
    await begin();
    const noisy = errands(100, { caller: 'noisy' });
    const quiet = Array.from({ length: 9 }, (_, n) => errands(3, { caller: `quiet ${n}` })).flat();
    for (const errand of [...noisy, ...quiet]) budget.enqueue(errand);
    await clock.advance(windowMs);
    // The noisy one got the whole first window, being alone; the quiet ones share the second with it.
    expect(quiet.every((errand) => errand.sent.length === 1)).toBe(true);
    expect(log.filter(({ errand }) => errand.caller === 'noisy')).toHaveLength(33);
  });

  test('serves readers while writes do not end', async () => {
    const { errands, budget, clock, begin } = createWorld(8);
    await begin();
    await enqueueAll({ budget, clock }, errands(400, { lane: 'write' }));
    const reads = errands(6);
    await enqueueAll({ budget, clock }, reads);
    await clock.advance(3 * windowMs);
    expect(reads.filter(({ sent }) => sent.length > 0)).toHaveLength(6);
  });

  test('keeps the last slots of a window from refreshes', async () => {
    const { errands, log, budget, clock, begin } = createWorld();
    await begin();
    await enqueueAll({ budget, clock }, errands(200, { lane: 'refresh' }));
    expect(log).toHaveLength(5);
    await clock.advance(windowMs - 1);
    expect(log).toHaveLength(28);
    expect(budget.state.remaining).toBe(2);
    await enqueueAll({ budget, clock }, errands(2));
    expect(log.filter(({ errand }) => errand.lane === 'interactive')).toHaveLength(2);
  });

  test('sends refreshes even where the limit is one', async () => {
    const { errand, budget, clock } = createWorld(1);
    const refresh = errand({ lane: 'refresh' });
    await enqueueAll({ budget, clock }, [refresh]);
    expect(refresh.sent).toHaveLength(1);
  });

  test('sends a refresh like a read once somebody waits for it, charged to them', async () => {
    const { errand, errands, budget, clock, begin } = createWorld();
    await begin();
    await enqueueAll({ budget, clock }, errands(30));
    const refresh = errand({ lane: 'refresh', caller: '' });
    await enqueueAll({ budget, clock }, [refresh, ...errands(30)]);
    budget.hasten(refresh, 'b');
    expect(refresh).toMatchObject({ lane: 'interactive', caller: 'b' });
    expect(budget.estimateOf(refresh)).toBe(windowMs);
    await clock.advance(windowMs);
    expect(refresh.sent).toHaveLength(1);
  });

  test('brings a read of a noisy caller forward for a quiet one who waits for it too', async () => {
    const { errands, budget, clock, begin } = createWorld(1);
    await begin();
    const noisy = errands(9, { caller: 'noisy' });
    await enqueueAll({ budget, clock }, noisy);
    const last = noisy[8] as Errand;
    budget.hasten(last, 'quiet');
    expect(budget.estimateOf(last)).toBeLessThanOrEqual(2 * windowMs + 400);
    const second = noisy[1] as Errand;
    budget.hasten(second, 'another');
    expect(second.caller).toBe('noisy');
  });
});

describe('What the headers say', () => {
  const told = (
    remaining: number,
    resetInMs: number | null = null,
    limit: number | null = null,
  ) => ({
    answers: [{ limit, remaining, resetInMs }],
  });

  test('blocks until the upstream begins anew when others have spent the rest', async () => {
    const { errand, errands, log, budget, clock } = createWorld();
    await enqueueAll({ budget, clock }, [errand(told(29, 60_000))]);
    await clock.advance(windowMs);
    log.length = 0;
    await enqueueAll({ budget, clock }, [errand(told(0, 20_000))]);
    expect(budget.state).toMatchObject({ remaining: 0, used: 30 });
    await enqueueAll({ budget, clock }, errands(5));
    await clock.advance(19_999);
    expect(log).toHaveLength(1);
    await clock.advance(1);
    expect(log).toHaveLength(6);
  });

  test('counts what was gone at the start for a whole window, since it may be our own', async () => {
    const { errand, errands, log, budget, clock } = createWorld();
    await enqueueAll({ budget, clock }, [errand(told(9, 1000))]);
    expect(budget.state.remaining).toBe(9);
    await enqueueAll({ budget, clock }, [errand(told(8, 1000)), ...errands(40)]);
    expect(log).toHaveLength(10);
    await clock.advance(windowMs - 1);
    expect(log).toHaveLength(10);
    await clock.advance(1);
    expect(log.length).toBeGreaterThan(10);
  });

  test('does not take what was gone at the start for somebody else on the key', async () => {
    const { errand, errands, log, budget, clock } = createWorld();
    await enqueueAll({ budget, clock }, [errand(told(20, 30_000))]);
    await enqueueAll({ budget, clock }, [errand(told(19, 30_000))]);
    await enqueueAll({ budget, clock }, errands(9, { latencyMs: 5000 }));
    expect(log).toHaveLength(11);
  });

  test('sends one request at a time while others use the key, so that at most one is refused', async () => {
    const { errand, errands, log, budget, clock, begin } = createWorld();
    await begin();
    await enqueueAll({ budget, clock }, [errand(told(28, 60_000))]);
    await enqueueAll({ budget, clock }, [errand(told(20, 60_000))]);
    log.length = 0;
    await enqueueAll({ budget, clock }, errands(9, { latencyMs: 1000 }));
    expect(log).toHaveLength(1);
    await clock.advance(2500);
    expect(log).toHaveLength(3);
  });

  test('reads nothing into the headers of requests that were on the wire together', async () => {
    const { errand, log, budget, clock, begin } = createWorld();
    await begin();
    const burst = Array.from({ length: 20 }, () => errand({ latencyMs: 700, ...told(10, 60_000) }));
    await enqueueAll({ budget, clock }, burst);
    await clock.advance(700);
    expect(log).toHaveLength(20);
    expect(budget.state).toMatchObject({ used: 20, remaining: 10 });
  });

  test('notices in the middle of a burst that others spend the same key', async () => {
    const { errand, log, budget, clock, begin } = createWorld();
    await begin();
    const burst = Array.from({ length: 10 }, () => errand({ latencyMs: 700, ...told(12, 60_000) }));
    await enqueueAll({ budget, clock }, burst);
    await clock.advance(700);
    expect(log).toHaveLength(10);
    expect(budget.state.remaining).toBe(12);
  });

  test('never spends more because of a Remaining that says more', async () => {
    const { errands, log, budget, clock, begin } = createWorld();
    await begin();
    await enqueueAll({ budget, clock }, errands(100, told(30, 0)));
    expect(log).toHaveLength(30);
    await clock.advance(windowMs - 1);
    expect(log).toHaveLength(30);
  });

  test('follows the Limit up and down', async () => {
    const { errand, errands, log, budget, clock } = createWorld();
    await enqueueAll({ budget, clock }, [errand(told(49, null, 50)), ...errands(100)]);
    expect(log).toHaveLength(50);
    await clock.advance(windowMs);
    expect(log).toHaveLength(100);
    await clock.advance(windowMs);
    log.length = 0;
    await enqueueAll({ budget, clock }, [errand(told(9, null, 10)), ...errands(100)]);
    expect(budget.state).toMatchObject({ limit: 10, remaining: 0 });
    const before = log.length;
    await clock.advance(windowMs);
    expect(log.length).toBeLessThanOrEqual(before + 10);
    await clock.advance(10 * windowMs);
    expect(log.slice(before).length).toBe(101 - before);
    expect(mostAtOnce(log.slice(before), windowMs)).toBeLessThanOrEqual(10);
  });

  test('changes nothing where headers are absent', async () => {
    const { errands, budget, clock, begin } = createWorld();
    await begin();
    await enqueueAll({ budget, clock }, errands(7));
    expect(budget.state).toEqual({
      limit: 30,
      used: 7,
      remaining: 23,
      queued: 0,
      resetInMs: windowMs,
    });
  });
});

describe('A refusal', () => {
  test('pauses everything until it lifts, and then one request goes alone', async () => {
    const { errand, errands, log, budget, clock, begin } = createWorld();
    await begin();
    const refused = errand({ caller: 'z', answers: [refusal(7000), silent], latencyMs: 100 });
    await enqueueAll({ budget, clock }, [refused]);
    await clock.advance(100);
    expect(budget.state).toMatchObject({ remaining: 0, resetInMs: windowMs });
    await enqueueAll({ budget, clock }, errands(5, { latencyMs: 100 }));
    await clock.advance(6999);
    expect(log).toHaveLength(1);
    await clock.advance(1);
    // The refused one goes before those that wait, although its caller came later.
    expect(log.map((sent) => sent.errand)).toEqual([refused, refused]);
    await clock.advance(100);
    expect(log).toHaveLength(3);
  });

  test('puts a refused write back before the other writes', async () => {
    const { errand, log, budget, clock, begin } = createWorld();
    await begin();
    const refused = errand({ lane: 'write', answers: [refusal(500), silent] });
    const other = errand({ lane: 'write', caller: 'b' });
    await enqueueAll({ budget, clock }, [refused]);
    await enqueueAll({ budget, clock }, [other]);
    await clock.advance(500);
    expect(log.map((sent) => sent.errand)).toEqual([refused, refused, other]);
  });

  test('counts once for all requests that were on the wire together', async () => {
    const { errands, log, budget, clock, begin } = createWorld();
    await begin();
    const together = errands(8, { answers: [refusal(null), silent], latencyMs: 50 });
    await enqueueAll({ budget, clock }, together);
    await clock.advance(50);
    expect(log).toHaveLength(8);
    // The first pause is a second, not one doubled eight times.
    await clock.advance(1000);
    expect(log).toHaveLength(9);
  });

  test('is not forgotten over the good answer of a request that left before it', async () => {
    const { errand, errands, log, budget, clock, begin } = createWorld();
    await begin();
    await enqueueAll({ budget, clock }, [
      errand({ answers: [refusal(5000), silent], latencyMs: 100 }),
      errand({ latencyMs: 2000 }),
    ]);
    await clock.advance(100);
    await enqueueAll({ budget, clock }, errands(9, { latencyMs: 100 }));
    await clock.advance(5000);
    expect(log).toHaveLength(3);
  });

  test('holds back requests that have their turn already but have not left', async () => {
    const { errand, budget, clock, begin } = createWorld();
    await begin();
    // Bottleneck starts one job after the other, so some are behind when the first is answered.
    const held = errand();
    const refused = errand({
      answers: [
        () => {
          budget.enqueue(held);
          return refusal(1000);
        },
        silent,
      ],
    });
    await enqueueAll({ budget, clock }, [refused]);
    expect(held.turns).toBe(1);
    expect(held.sent).toHaveLength(0);
    await clock.advance(1000);
    expect(held.sent).toHaveLength(1);
  });

  test('pauses longer each time in a row, even if the upstream asks for less', async () => {
    const { errand, log, budget, clock, begin } = createWorld();
    await begin();
    await enqueueAll({ budget, clock }, [errand({ answers: [refusal(0)] })]);
    await clock.advance(60_000);
    expect(log.map(({ start }) => start - (log[0]?.start ?? 0))).toEqual([
      0, 1, 2001, 6001, 14_001, 30_001,
    ]);
  });

  test('tells those who wait how long it takes now', async () => {
    const { errand, errands, budget, clock, begin } = createWorld(2);
    await begin();
    const [first, second] = errands(2, { latencyMs: 100, answers: [refusal(5000), silent] });
    await enqueueAll({ budget, clock }, [first as Errand, second as Errand]);
    const waiting = errand();
    await enqueueAll({ budget, clock }, [waiting]);
    await clock.advance(100);
    expect(waiting.delays.at(-1)).toBeGreaterThanOrEqual(5000);
  });
});

describe('Estimates', () => {
  test('are right when nothing else arrives', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          limit: fc.integer({ min: 1, max: 5 }),
          before: fc.array(
            fc.record({
              lane: fc.constantFrom<Lane>('write', 'interactive'),
              caller: fc.constantFrom('a', 'b', 'c'),
              waitMs: fc.constantFrom(0, 0, 100, 7000, 61_000),
            }),
            { maxLength: 25 },
          ),
          pauseMs: fc.option(fc.integer({ min: 1, max: 90_000 })),
          lane: fc.constantFrom<'write' | 'interactive'>('write', 'interactive'),
          caller: fc.constantFrom('a', 'b', 'd'),
        }),
        async ({ limit, before, pauseMs, lane, caller }) => {
          const { errand, budget, clock, begin } = createWorld(limit);
          await begin();
          if (pauseMs !== null) {
            await enqueueAll({ budget, clock }, [errand({ answers: [refusal(pauseMs), silent] })]);
          }
          for (const { waitMs, ...options } of before) {
            await enqueueAll({ budget, clock }, [errand(options)]);
            await clock.advance(waitMs);
          }
          const estimate = budget.estimate(lane, caller);
          const asked = clock.now();
          const last = errand({ lane, caller });
          await enqueueAll({ budget, clock }, [last]);
          if (last.turns === 0) expect(budget.estimateOf(last)).toBe(estimate);
          while (last.sent.length === 0 && (await clock.step()));
          const guess = 400 * (before.length + 2);
          expect(Math.abs((last.sent[0]?.start ?? 0) - asked - estimate)).toBeLessThan(guess);
        },
      ),
      { numRuns: 300 },
    );
  });

  test('are 0 while slots are free', async () => {
    const { budget, clock, errands, begin } = createWorld();
    await begin();
    expect(budget.estimate('interactive', 'a')).toBe(0);
    await enqueueAll({ budget, clock }, errands(30));
    expect(budget.estimate('interactive', 'a')).toBe(windowMs);
  });

  test('reckon at a start with one answer to wait for, not with one for each request', async () => {
    const { budget, clock, errands } = createWorld();
    await enqueueAll({ budget, clock }, errands(20, { latencyMs: 200 }));
    expect(budget.estimate('interactive', 'a')).toBe(200);
  });
});
