import type { OwnKeys } from '../config/own-key.ts';
import type { BudgetGauges } from '../observe/metrics/metrics.ts';
import type { Client } from '../upstream/client.ts';

/** The budgets that a scrape shows. One without keys is left out: its limit of 0 would look alarming. */
export function budgetGauges(clients: readonly Client[], ownKeys: OwnKeys): BudgetGauges[] {
  return clients.map((client) => gaugesOf(client, ownKeys)).filter(({ keys }) => keys > 0);
}

/** All keys of an upstream together; a key counts from its first request on. */
function gaugesOf(client: Client, ownKeys: OwnKeys): BudgetGauges {
  const budgets = [...client.budgets];
  const sum = (read: (budget: (typeof budgets)[number]) => number): number =>
    budgets.reduce((total, budget) => total + read(budget), 0);
  return {
    upstream: client.upstream,
    keys: budgets.length,
    limit: sum(({ state }) => state.limit),
    used: sum(({ state }) => state.used),
    remaining: sum(({ state }) => state.remaining),
    paused: sum(({ pausedMs }) => (pausedMs > 0 ? 1 : 0)),
    isKeyAccepted:
      client.wire.authorization.refusedAt(ownKeys[client.upstream].credential) === undefined,
    queued: {
      write: sum((budget) => budget.queued.write),
      interactive: sum((budget) => budget.queued.interactive),
      refresh: sum((budget) => budget.queued.refresh),
      bulk: sum((budget) => budget.queued.bulk),
    },
  };
}
