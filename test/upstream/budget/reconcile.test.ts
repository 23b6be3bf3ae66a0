import { describe, expect, test } from 'vitest';
import { reconcile } from '../../../src/upstream/budget/reconcile.ts';

const silent = { limit: null, remaining: null, resetInMs: null };
const known = {
  limit: 30,
  windowMs: 60_000,
  countable: 10,
  coTenants: 0,
  remainingHeard: true,
};

describe('reconcile', () => {
  test('takes what others of our own have sent for ours, and for no co-tenant', () => {
    // Ten requests of all replicas count, of which this process knows to have sent a few.
    expect(reconcile({ ...silent, remaining: 20 }, known)).toEqual({ limit: 30, unknown: null });
    expect(reconcile({ ...silent, remaining: 20 }, { ...known, countable: 3 }).unknown).toEqual({
      count: 7,
      ms: 60_000,
    });
  });

  test('lets what co-tenants spent last as long as the upstream says, a window at most', () => {
    const ms = (resetInMs: number | null, retryAfterMs?: number) =>
      reconcile(
        {
          ...silent,
          remaining: 5,
          resetInMs,
          ...(retryAfterMs === undefined ? {} : { refused: { retryAfterMs } }),
        },
        known,
      ).unknown?.ms;
    expect([ms(7000), ms(null), ms(99_000), ms(null, 4000)]).toEqual([7000, 60_000, 60_000, 4000]);
  });

  test('lets what was gone at the first answer last a whole window, since it may be our own', () => {
    const first = { ...known, remainingHeard: false };
    expect(reconcile({ ...silent, remaining: 5, resetInMs: 7000 }, first).unknown).toEqual({
      count: 15,
      ms: 60_000,
    });
  });

  test('follows an announced limit, and no limit of zero', () => {
    expect(reconcile({ ...silent, limit: 50 }, known).limit).toBe(50);
    expect(reconcile({ ...silent, limit: 0 }, known).limit).toBe(30);
  });

  test('never believes that more is left than the ledger says', () => {
    expect(reconcile({ ...silent, remaining: 30 }, known).unknown).toBeNull();
  });

  test('counts what is known of co-tenants once', () => {
    const rest = { ...known, coTenants: 12 };
    expect(reconcile({ ...silent, remaining: 5 }, rest).unknown?.count).toBe(3);
  });
});
