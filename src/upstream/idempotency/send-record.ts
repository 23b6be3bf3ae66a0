import type { Answered } from '../reads/fetch.ts';
import type { Outcome } from '../reads/waiter.ts';

/** Records the requests of one write, from the slot to the outcome, whether a caller waits or not. Nothing throws. */
export interface SendRecord<T> {
  /** It has its slot, and is sent as soon as that is saved. */
  leaving(): void;
  /**
   * It was not sent, or was refused for the rate limit. Without an `outcome`, it waits for another slot or is over. With
   * one, it is over: an error that is not a `GatewayError` is a bug, and the request can have been sent.
   */
  stayed(outcome?: Outcome<T> | null): void;
  /** It has its outcome, before the caller has it. */
  answered(answered: Answered<T>): void;
  /** Nothing of it follows: it has an outcome, or no caller waits for it. */
  ended(): void;
}
