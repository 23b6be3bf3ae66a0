import type { Caller } from '../operation.ts';

/** Somebody who waits for the answer to a shared request. */
export interface Waiter<T> {
  readonly caller: Caller;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
  /** Ends the watch over their patience. */
  cancelTimer: () => void;
  /** Whether the time until its turn counts on their receipt. */
  waiting: boolean;
}

/** How much longer a waiter is prepared to wait for a turn, in milliseconds. */
export function patienceOf({ caller }: { readonly caller: Caller }): number {
  return Math.max(0, caller.maxWaitMs - caller.receipt.waitedMs);
}
