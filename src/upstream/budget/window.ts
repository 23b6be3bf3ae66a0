import type { BudgetState, BudgetWindow, SlotRequest, TakenSlot } from './budget.ts';
import { type BudgetView, clearMs, heldMsOf } from './law/availability.ts';
import { comesBack, slotsOf, used } from './law/slots.ts';

/** What a slot of this process was taken for. */
export type SlotUse = Pick<SlotRequest, 'lane' | 'resource'>;

/** Slots of a window that are listed at most: co-tenants can have any number. */
const MOST_LISTED = 1000;

/** How a budget stands in which this many wait. */
export function stateOf(
  view: BudgetView,
  { queued, writeInMs }: { readonly queued: number; readonly writeInMs: () => number },
): BudgetState {
  const { budget, now, rules } = view;
  const { limit } = budget;
  const count = used(budget);
  const heldMs = heldMsOf(view);
  const clear = clearMs(budget, rules, now);
  return {
    limit,
    used: Math.min(limit, count),
    remaining: heldMs > 0 ? 0 : Math.max(0, limit - count),
    queued,
    resetInMs: clear === null && heldMs === 0 ? null : Math.max(clear ?? 0, heldMs),
    // Few ask for it.
    get writeInMs() {
      return writeInMs();
    },
  };
}

/** Who has the slots of the window, those on the wire last; `useOf` knows the ones of this process by their names. */
export function windowOf(
  { budget, now, rules }: BudgetView,
  useOf: (id: string) => SlotUse | undefined,
): BudgetWindow {
  const { limit } = budget;
  const slots = slotsOf(budget, rules, now);
  const taken = slots.flatMap(({ count, id, isOut, owner, until }): TakenSlot[] => {
    const freeInMs = isOut ? null : until - now;
    const use = id === null ? undefined : useOf(id);
    const other = owner === null ? 'co-tenant' : 'replica';
    const slot = { owner: use?.lane ?? other, resource: use?.resource ?? null, freeInMs } as const;
    return Array.from({ length: Math.min(count, MOST_LISTED) }, () => slot);
  });
  const over = Math.max(0, used(budget) - limit);
  const allInMs = clearMs(budget, rules, now);
  return {
    limit,
    taken: [
      ...taken.filter(({ freeInMs }) => freeInMs !== null),
      ...taken.filter(({ freeInMs }) => freeInMs === null),
    ],
    nextInMs: allInMs === null ? null : comesBack(budget, rules, now, over) - now,
    allInMs,
  };
}
