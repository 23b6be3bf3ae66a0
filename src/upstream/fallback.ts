import { GatewayError } from '../errors.ts';
import type { Hit } from './cache/cache.ts';
import type { Caller } from './operation.ts';
import { CopyWillDo } from './requests/shared-request.ts';

/** The share of its patience for which an operation waits for something newer than its copies. */
const PATIENCE_SHARE = 1 / 10;
/** It waits so long in any case, which a usual round trip takes: patience is about turns. */
const SHORTEST_MS = 250;
/** It waits no longer for something newer than a copy that could still be served at once. */
const LONGEST_MS = 1000;

/** Codes of errors that say that nothing newer can be had for now. */
const OUTAGES = new Set([
  'BUDGET_EXHAUSTED',
  'UPSTREAM_UNAVAILABLE',
  'UPSTREAM_TIMEOUT',
  'UPSTREAM_INVALID_RESPONSE',
]);

/**
 * For how many milliseconds a read waits for something newer than its copy. All reads of an operation share
 * that time, whatever their depth, and so do all readers of a request that is under way.
 */
export function waitWithCopyMs(caller: Caller, copy: Hit, underWayMs: number): number {
  const share = Math.max(SHORTEST_MS, caller.maxWaitMs * PATIENCE_SHARE);
  const inAll = copy.state === 'fallback' ? share : Math.min(share, LONGEST_MS);
  return Math.max(0, inAll - Math.max(underWayMs, caller.receipt.withCopy.ms));
}

/** Whether an error says that the upstream or the budget has nothing newer for now. */
export function isOutage(error: unknown): boolean {
  return error instanceof GatewayError && OUTAGES.has(error.code);
}

/** Whether a read that ended like this is answered from its copy. */
export function copyServesAfter(error: unknown): boolean {
  if (error instanceof CopyWillDo || isOutage(error)) return true;
  return error instanceof GatewayError && error.code === 'OPERATION_TOO_EXPENSIVE';
}
