import { GatewayError } from '../errors.ts';
import type { Hit } from './cache/cache.ts';
import type { Caller } from './operation.ts';

/** Ends the wait of a reader that has a fallback; the request continues without it. */
export class FallbackWillDo extends Error {
  override readonly name = 'FallbackWillDo';
}

/** The share of its maximum wait for which an operation waits for something newer than its fallbacks. */
const PATIENCE_SHARE = 1 / 10;
/** The minimum, which covers a usual round trip. */
const SHORTEST_MS = 250;
/** It waits no longer for something newer than an entry that could still be served at once. */
const LONGEST_MS = 1000;

/** Error codes after which nothing newer is available for now. */
const OUTAGES = new Set([
  'BUDGET_EXHAUSTED',
  'UPSTREAM_UNAVAILABLE',
  'UPSTREAM_TIMEOUT',
  'UPSTREAM_INVALID_RESPONSE',
]);

/**
 * For how many milliseconds a read waits for something newer than its fallback. All reads of an operation share
 * that time, at any depth, and so do all readers of a request in flight.
 */
export function fallbackWaitMs(caller: Caller, fallback: Hit, underWayMs: number): number {
  const share = Math.max(SHORTEST_MS, caller.maxWaitMs * PATIENCE_SHARE);
  const inAll = fallback.state === 'fallback' ? share : Math.min(share, LONGEST_MS);
  return Math.max(0, inAll - Math.max(underWayMs, caller.receipt.withFallback.ms));
}

/** Whether an error says that the upstream or the budget has nothing newer for now. */
export function isOutage(error: unknown): boolean {
  return error instanceof GatewayError && OUTAGES.has(error.code);
}

/** Whether a read that failed in this way is answered from its fallback. */
export function servesAfter(error: unknown): boolean {
  if (error instanceof FallbackWillDo || isOutage(error)) return true;
  return error instanceof GatewayError && error.code === 'OPERATION_TOO_EXPENSIVE';
}
