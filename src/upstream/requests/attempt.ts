import type { SharedResult } from '../budget/budget.ts';
import type { Feedback } from '../wire/rate-limit-headers.ts';

/**
 * What came of one attempt to send a request. `unsent`: it stayed here, because it is not needed any more or
 * for an error, which its readers get. `refused`: the upstream did nothing, for its rate limit.
 * `again`: the connection broke under a read, which wants another slot. `late`: so does what did not leave, for its
 * slot was given too long ago.
 */
export type Attempt<T> =
  | { readonly kind: 'unsent'; readonly error?: unknown }
  | { readonly kind: 'refused'; readonly feedback: Feedback }
  | { readonly kind: 'again'; readonly feedback: Feedback }
  | { readonly kind: 'late' }
  | ({ readonly kind: 'value'; readonly feedback: Feedback; readonly value: T } & Aftermath)
  | ({ readonly kind: 'error'; readonly feedback: Feedback; readonly error: unknown } & Aftermath);

/** What else follows from an answer. */
interface Aftermath {
  /** Those who wait are told when this resolves; at once where it is absent. */
  readonly settled?: Promise<void> | undefined;
  readonly result?: SharedResult | undefined;
}

/** An answer, or that there is none. */
export type Outcome<T> = { readonly value: T } | { readonly error: unknown };

/** Our own mistakes end like any other failure: told to those who wait, the slot given back in time. */
export function unforeseen(error: unknown): Attempt<never> {
  const feedback = { limit: null, remaining: null, resetInMs: null };
  return { kind: 'error', feedback, error };
}
