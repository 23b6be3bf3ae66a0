import type { Credential } from '../../auth/credential.ts';
import type { Slot } from '../budget/budget.ts';
import type { Call } from '../request.ts';
import type { Failure } from '../wire/failure.ts';
import { type Feedback, NO_FEEDBACK } from '../wire/rate-limit-headers.ts';
import type { Wire } from '../wire/wire.ts';
import type { Outcome } from './waiter.ts';
import type { Waiters } from './waiters.ts';

/** What came of a request that has left, and what its answer says of the budget. */
export type Answered<T> = { readonly feedback: Feedback } & (
  | { readonly kind: 'value'; readonly value: T; readonly bytes: number }
  | { readonly kind: 'failure'; readonly failure: Failure }
);

/** One request in one slot. */
interface Attempt<T> {
  /** What it is called on receipts. */
  readonly key: string;
  /** Whether an older answer is known. */
  readonly renews: boolean;
  readonly call: Call<T>;
  readonly credential: Credential;
  /** Ends the slot of a request that has left; `null` where it has to go again. */
  readonly settle: (answered: Answered<T>) => Outcome<T> | null;
}

/**
 * Sends a request in its slot: at most 1 upstream call. Resolves with what its waiters get; `null` where it did not
 * happen, or has to go again, and wants another slot. Never rejects.
 */
export async function attempt<T>(
  { waiters, wire }: { readonly waiters: Waiters<T>; readonly wire: Wire },
  slot: Slot,
  { call, credential, key, renews, settle }: Attempt<T>,
): Promise<Outcome<T> | null> {
  try {
    const departing = waiters.leaves(key, renews);
    const { feedback, outcome } = await wire.send(call, credential, departing, slot.mayLeave);
    if (outcome.kind === 'late' || outcome.kind === 'heldBack') {
      waiters.stays(key);
      slot.release();
      return outcome.kind === 'late' ? null : { error: outcome.error };
    }
    waiters.answered();
    if (outcome.kind !== 'refused') return settle({ feedback, ...outcome });
    slot.end(feedback);
    return null;
  } catch (error) {
    // A defect of ours ends like any other failure: those who wait get it, and the slot counts.
    slot.end(NO_FEEDBACK);
    return { error };
  }
}
