import * as fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  type Claim,
  type Claimed,
  type Ledger,
  ProcessLedger,
} from '../../../src/upstream/budget/ledger.ts';
import { ProcessBudget } from '../../../src/upstream/budget/process-budget.ts';
import { Errand, mostAtOnce, type Sent } from '../../support/errands.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const windowMs = 60_000;

/** A ledger that is asked over a network: every claim is answered later, some only with a time. */
class LateLedger implements Ledger {
  readonly windowMs = windowMs;
  readonly #clock: VirtualClock;
  readonly #ledger: ProcessLedger;
  readonly #delays: readonly number[];
  #claims = 0;

  constructor(clock: VirtualClock, limit: number, delays: readonly number[]) {
    this.#clock = clock;
    this.#ledger = new ProcessLedger({ clock, limit, windowMs });
    this.#delays = delays;
  }

  get view() {
    return this.#ledger.view;
  }

  get slots() {
    return this.#ledger.slots;
  }

  get clearAt() {
    return this.#ledger.clearAt;
  }

  get reserve() {
    return this.#ledger.reserve;
  }

  async claim(claim: Claim): Promise<Claimed> {
    this.#claims += 1;
    const delay = this.#delays[this.#claims % this.#delays.length] ?? 0;
    await new Promise<void>((resolve) => {
      this.#clock.after(delay, resolve);
    });
    // The other side was out of breath, whatever it had free.
    if (delay > 400) return { retryAt: this.#clock.now() + delay };
    return this.#ledger.claim(claim);
  }

  follow(limit: number): void {
    this.#ledger.follow(limit);
  }

  addCoTenants(count: number, ms: number): void {
    this.#ledger.addCoTenants(count, ms);
  }

  availableAt(ahead: number, notBefore: number): number {
    return this.#ledger.availableAt(ahead, notBefore);
  }
}

describe('A ledger that answers later', () => {
  const schedules = fc.record({
    limit: fc.integer({ min: 1, max: 6 }),
    delays: fc.array(fc.integer({ min: 0, max: 500 }), { minLength: 3, maxLength: 8 }),
    arrivals: fc.array(
      fc.record({
        atMs: fc.integer({ min: 0, max: 100_000 }),
        lane: fc.constantFrom('write' as const, 'interactive' as const, 'refresh' as const),
        caller: fc.constantFrom('a', 'b'),
        latencyMs: fc.integer({ min: 0, max: 5000 }),
      }),
      { maxLength: 16 },
    ),
  });

  test('is never overdrawn, and everything is sent once', async () => {
    await fc.assert(
      fc.asyncProperty(schedules, async ({ limit, delays, arrivals }) => {
        // At least one claim in three is heard.
        fc.pre(delays.some((delay) => delay <= 400));
        const clock = new VirtualClock().rule();
        const log: Sent[] = [];
        const budget = new ProcessBudget(clock, new LateLedger(clock, limit, delays));
        const errands = arrivals.map((arrival) => {
          const errand = new Errand({ clock, log }, arrival);
          clock.after(arrival.atMs, () => budget.enqueue(errand));
          return errand;
        });
        await clock.advance(100_000);
        for (let hour = 0; hour < 6 && budget.state.queued > 0; hour += 1) {
          await clock.advance(3_600_000);
        }
        await clock.advance(600_000);
        expect(mostAtOnce(log, windowMs)).toBeLessThanOrEqual(limit);
        expect(errands.map(({ sent }) => sent.length)).toEqual(errands.map(() => 1));
      }),
      { numRuns: 150 },
    );
  });
});
