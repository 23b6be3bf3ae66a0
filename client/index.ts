export { type IdempotencyReport, idempotencyKey } from './idempotency-key.ts';
export type { introspection } from './introspection.ts';
export { live } from './live.ts';
export type {
  LiveEnd,
  LiveError,
  LiveOptions,
  LivePage,
  LiveResult,
  LiveState,
} from './live-types.ts';
export {
  type PendingWrite,
  type PendingWrites,
  type PendingWritesOptions,
  pendingWrites,
  type WriteAnswer,
} from './pending-writes.ts';
export { possibleTypes } from './possible-types.ts';
export { type RetryOptions, type RetryWait, retryingFetch } from './retry.ts';
export { retryAfterMs } from './retry-after.ts';
export type { Scalars } from './scalars.ts';
export type { WriteStorage } from './write-store.ts';
