import { createDigest } from '../../digest.ts';
import type { Clock } from '../../scheduling/clock.ts';
import type { Budget, BudgetWatch } from './budget.ts';
import type { Journal } from './journal/journal.ts';
import { MemoryStore } from './memory-store.ts';
import { QueuedBudget } from './queued-budget.ts';

/** One upstream's limit for each of its keys. */
export interface KeyLimits {
  /** Requests per window and key. */
  readonly rateLimit: number;
  readonly rateWindowMs: number;
  /** How long a request may take. */
  readonly timeoutMs: number;
  /** Tells a key of this installation from the same key of another. */
  readonly baseUrl: string;
}

/** Names keys in the journal: the same in every process. Who knows a name finds no key by it. */
const nameInJournal = createDigest('the journal of leases');

/**
 * Makes the budgets of keys that this process has to itself; `journal` remembers each across processes, and
 * `watch` is told of what befalls them.
 */
export function processBudgets(
  clock: Clock,
  { baseUrl, rateLimit: limit, rateWindowMs: windowMs, timeoutMs }: KeyLimits,
  journal: Journal,
  watch: BudgetWatch,
): (secret: string) => Budget {
  return (secret) => {
    const ofKey = journal.of(nameInJournal(`${baseUrl} ${secret}`), { windowMs, timeoutMs });
    const store = new MemoryStore({ clock, limit, windowMs, journal: ofKey, watch });
    return new QueuedBudget(clock, store);
  };
}
