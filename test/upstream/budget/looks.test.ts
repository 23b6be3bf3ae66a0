import { expect, it } from 'vitest';
import type { Budget } from '../../../src/upstream/budget/budget.ts';
import { Budgets } from '../../../src/upstream/budget/budgets.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

it('makes one budget for a key, however often it is looked at before its first request', () => {
  let made = 0;
  const budgets = new Budgets({
    upstream: 'LINKS',
    clock: new VirtualClock(),
    maxBudgets: 2,
    maxCallsPerOperation: undefined,
    budgetOf: () => {
      made += 1;
      return { limit: 30 } as Budget;
    },
  });
  const credential = { partition: 'one', secret: 'key' };
  const looked = budgets.lookAt(credential);
  budgets.maxCalls(credential);
  // What is only looked at has no place.
  expect([...budgets]).toEqual([]);
  expect(budgets.of({ partition: 'another', secret: 'other key' })).not.toBe(looked);
  expect(budgets.of(credential)).toBe(looked);
  expect(budgets.lookAt(credential)).toBe(looked);
  expect(made).toBe(2);
});
