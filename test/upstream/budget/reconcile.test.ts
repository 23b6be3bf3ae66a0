import { describe, expect, test } from 'vitest';
import { coTenantSeen, heard } from '../../../src/upstream/budget/law/caution.ts';
import {
  type KeyBudget,
  newBudget,
  type Rules,
} from '../../../src/upstream/budget/law/document.ts';
import { endSlot } from '../../../src/upstream/budget/law/ended.ts';
import { addCoTenants } from '../../../src/upstream/budget/law/slots.ts';
import type { Feedback } from '../../../src/upstream/wire/rate-limit-headers.ts';

const silent: Feedback = { limit: null, remaining: null, resetInMs: null };
const rules: Rules = { limit: 30, windowMs: 60_000 };

/** A budget with one request out, of which the upstream can have counted this many of ours. */
function budgetOf({ countable = 10, remainingHeard = true } = {}): KeyBudget {
  const b = newBudget(rules, 0);
  if (remainingHeard) heard(b, 0, true);
  b.held.push({ id: 'one', grantedAt: 0, countable, era: 0 });
  return b;
}

/** What an answer adds to what co-tenants have spent: how many, and how long they count. */
function learnt(feedback: Partial<Feedback>, b = budgetOf()): { count: number; ms: number } | null {
  const before = b.coTenants.length;
  endSlot(b, rules, 0, { id: 'one', feedback: { ...silent, ...feedback } });
  if (b.coTenants.length === before) return null;
  const { count = 0, until: ms = 0 } = b.coTenants.at(-1) ?? {};
  return { count, ms };
}

describe('The headers of an answer', () => {
  test('take what we have sent ourselves for ours, and for no co-tenant', () => {
    expect(learnt({ remaining: 20 })).toBeNull();
    expect(learnt({ remaining: 20 }, budgetOf({ countable: 3 }))).toEqual({ count: 7, ms: 60_000 });
  });

  test('let what co-tenants spent last as long as the upstream says, a window at most', () => {
    const ms = (resetInMs: number | null, retryAfterMs?: number) =>
      learnt({
        remaining: 5,
        resetInMs,
        ...(retryAfterMs === undefined ? {} : { refused: { retryAfterMs } }),
      })?.ms;
    expect([ms(7000), ms(null), ms(99_000), ms(null, 4000)]).toEqual([7000, 60_000, 60_000, 4000]);
  });

  test('let what was gone at the first answer last a whole window, since it may be our own', () => {
    const first = budgetOf({ remainingHeard: false });
    expect(learnt({ remaining: 5, resetInMs: 7000 }, first)).toEqual({ count: 15, ms: 60_000 });
    expect(first.caution).toMatchObject({ remainingHeard: true, coTenantAt: null });
  });

  test('announce a limit that holds, and no limit of zero', () => {
    const b = budgetOf();
    learnt({ limit: 50 }, b);
    expect(b.limit).toBe(50);
    const zero = budgetOf();
    learnt({ limit: 0 }, zero);
    expect(zero.limit).toBe(30);
  });

  test('are not believed when they say that more is left than the slots do', () => {
    expect(learnt({ remaining: 30 })).toBeNull();
  });

  test('count what is known of co-tenants once', () => {
    const b = budgetOf();
    addCoTenants(b, 12, 1000);
    expect(learnt({ remaining: 5 }, b)?.count).toBe(3);
  });

  test('leave less room for many side by side while co-tenants are about', () => {
    const b = budgetOf();
    coTenantSeen(b, rules, 0);
    learnt({ remaining: 20 }, b);
    expect(b.caution).toMatchObject({ blind: false, abreast: 2, coTenantAt: 0 });
  });
});
