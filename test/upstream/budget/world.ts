import type { CallerClass, CallerClasses } from '../../../src/auth/caller-class.ts';
import type { ReservedShares } from '../../../src/upstream/budget/law/document.ts';
import type { KeySlots } from '../../../src/upstream/budget/saved-slots.ts';
import type { Feedback } from '../../../src/upstream/wire/rate-limit-headers.ts';
import { createBudget, Errand, enqueueAll, type Sent, silent } from '../../support/errands.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

/** The length of the upstream's window in milliseconds, as all of these worlds have it. */
export const windowMs = 60_000;

/** A budget of this many requests a window under a clock that only the test moves, and errands for it. */
export function createWorld(
  limit = 30,
  saved?: Partial<KeySlots>,
  reserves?: ReservedShares,
  classes?: CallerClasses,
) {
  const clock = new VirtualClock().rule();
  const log: Sent[] = [];
  const budget = createBudget(clock, limit, windowMs, saved, reserves, classes);
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

/** Classes of callers; what is not given is as without a class. */
export function classesOf(given: Readonly<Record<string, Partial<CallerClass>>>): CallerClasses {
  const unlimited = { weight: 1, maxCallsPerMinute: null, maxCallsPerDay: null };
  return new Map(Object.entries(given).map(([name, of]) => [name, { ...unlimited, ...of }]));
}

/** The answer to a request that the upstream refused for exceeding its limit. */
export const refusal = (retryAfterMs: number | null): Feedback => ({
  ...silent,
  refused: { retryAfterMs },
});
