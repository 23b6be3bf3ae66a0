import type { CallerBudget } from '../upstream/budget/budgets.ts';
import type { OperationPlan } from '../upstream/dry-run/dry-run.ts';
import type { ReceiptSummary } from '../upstream/receipt.ts';

/** What is left of a rate limit for an agent. */
export interface BudgetLeft {
  readonly left: number;
  readonly limit: number;
}

/** What is left for an agent: of the limit of its class in a minute, if it has one, otherwise of the rate limit. */
export function leftOf({ limit, quota, remaining }: CallerBudget): BudgetLeft {
  if (!quota) return { left: remaining, limit };
  return { left: Math.min(remaining, Math.max(0, quota.limit - quota.used)), limit: quota.limit };
}

/**
 * The last line of each result: what the call has cost, where the data came from, and what is left, such as
 * `cost 0 upstream calls (3 from cache, oldest 41 s); 23 of 30 left`.
 */
export function costLine(cost: ReceiptSummary | undefined, budget: BudgetLeft | null): string {
  const { calls = 0, maxAgeMs = 0, refreshes = 0, saved, stale = 0, waitedMs = 0 } = cost ?? {};
  const cached = saved?.cache ?? 0;
  const coalesced = saved?.coalesced ?? 0;
  const sources = [
    ...(cached > 0 ? [`${cached} from cache`, `oldest ${seconds(maxAgeMs)}`] : []),
    ...(stale > 0 ? [`${stale} stale`] : []),
    ...(refreshes > 0 ? [`${refreshes} refreshing`] : []),
    ...(coalesced > 0 ? [`${coalesced} shared`] : []),
    ...(waitedMs >= 1000 ? [`waited ${seconds(waitedMs)}`] : []),
  ];
  const spent = `cost ${callsText(calls)}`;
  const from = sources.length > 0 ? ` (${sources.join(', ')})` : '';
  return `${spent}${from}${budget ? `; ${budget.left} of ${budget.limit} left` : ''}`;
}

/** What an operation would cost, in words: `11 upstream calls`, `about 11 upstream calls`, `none` or `probably none`. */
export function priceText({ calls, exact }: Pick<OperationPlan, 'calls' | 'exact'>): string {
  if (calls === 0) return exact ? 'none' : 'probably none';
  return `${exact ? '' : 'about '}${callsText(calls)}`;
}

function callsText(calls: number): string {
  return `${calls} upstream ${calls === 1 ? 'call' : 'calls'}`;
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}
