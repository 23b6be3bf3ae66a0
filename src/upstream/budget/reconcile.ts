import type { Feedback } from '../wire/rate-limit-headers.ts';

/** What we know of a key's window when an answer arrives. */
interface Known {
  /** Requests per window, as believed so far. */
  readonly limit: number;
  readonly windowMs: number;
  /** Requests of ours, of all replicas, that the upstream can have counted in this answer. */
  readonly countable: number;
  /** What co-tenants are known to have spent. */
  readonly coTenants: number;
  /** Whether an earlier answer has told how much is left. */
  readonly remainingHeard: boolean;
}

/** What an answer's headers add to it. */
interface Reconciled {
  readonly limit: number;
  /** Requests that are not ours and were not known, and how long they count; `null` when there are none. */
  readonly unknown: { readonly count: number; readonly ms: number } | null;
}

/**
 * Whether an answer says how much of the window is spent, by whomever. One that has not even counted its own request
 * does not.
 */
export function tellsSpent({ limit, remaining }: Feedback, known: number): boolean {
  return remaining !== null && remaining < (limit || known);
}

/**
 * Holds rate-limit headers against the ledger. They are believed when they say that less is left than we
 * think, and never used to spend more than the sliding window allows, but for an announced limit.
 *
 * Implements: Link API > Limits.
 */
export function reconcile(feedback: Feedback, known: Known): Reconciled {
  const { remaining, resetInMs, refused } = feedback;
  const limit = feedback.limit !== null && feedback.limit > 0 ? feedback.limit : known.limit;
  if (remaining === null) return { limit, unknown: null };
  const count = limit - remaining - known.countable - known.coTenants;
  if (count <= 0) return { limit, unknown: null };
  // What is gone at the first answer may be our own, from before a restart: it counts for a whole
  // sliding window. Later it is a co-tenant's, and lasts until the upstream's window begins anew.
  const lasts = known.remainingHeard
    ? (resetInMs ?? refused?.retryAfterMs ?? known.windowMs)
    : known.windowMs;
  return { limit, unknown: { count, ms: Math.min(lasts, known.windowMs) } };
}
