import type { AtOnce } from '../at-once.ts';
import type { Credential } from '../auth/credential.ts';
import type { UpstreamName } from '../errors.ts';
import type { KeyState } from './budget/budgets.ts';
import type { EntryState } from './cache/cache.ts';
import type { Access, Looking } from './operation.ts';
import type { Call, Read, Write } from './request.ts';

/** One upstream API as operations ask it: for real, for a price only, or after an admission. */
export interface UpstreamClient {
  readonly upstream: UpstreamName;
  /**
   * Answers a read: 0 upstream calls from the cache, at once where that can be, or with a request in flight;
   * else 1.
   * @throws GatewayError with any `UPSTREAM_...` code, `BUDGET_EXHAUSTED` or `OPERATION_TOO_EXPENSIVE`.
   */
  read<T>(read: Read<T>, access: Access): AtOnce<T>;
  /**
   * Sends a write: exactly 1 upstream call, which is never repeated once it can have had an effect.
   * When this returns or throws, no reader will be shown the state before it any more.
   * @throws UpstreamRejected `UPSTREAM_REJECTED` when the upstream said no.
   * @throws GatewayError `OUTCOME_UNKNOWN` when it may or may not have happened; `BUDGET_EXHAUSTED` and
   * the other `UPSTREAM_...` codes when it has not.
   */
  write<T>(write: Write<T>, access: Access): Promise<T>;
  /**
   * Sends a read whose answer is a secret: exactly 1 upstream call, never shared, cached or repeated.
   * @throws GatewayError as `read` does.
   */
  readSecret<T>(call: Call<T>, access: Access): Promise<T>;
  /** Whether other replicas may have copies that this process has not. */
  readonly sharesCopies: boolean;
  /**
   * Brings what other replicas have of these reads into the cache, so that `peek` finds it: no upstream call.
   * Nothing to wait for where this process is alone, or has all of it.
   */
  bring(reads: readonly Read<unknown>[], credential: Credential): AtOnce<void>;
  /**
   * What the cache holds for a read, whatever its age, or the operation has waited for itself: no call, no refresh,
   * no line on a receipt.
   */
  peek<T>(read: Read<T>, looking: Looking): { value: T; state: EntryState } | undefined;
  /** Whether an equal read is in flight that a reader could share now. */
  inFlight(read: Read<unknown>, credential: Credential): boolean;
  /** How the budget of a credential's key stands. Costs nothing. */
  budgetState(credential: Credential): KeyState;
}
