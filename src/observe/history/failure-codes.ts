import type { OperationRecord } from '../events.ts';

/** Codes of one operation that are counted and shown. */
const CODES_SHOWN = 5;

/** Codes of callers' mistakes, which no operator can fix. */
const CALLERS_FAULT =
  /^(GRAPHQL|BAD|PERSISTED|OPERATION|TOO|IDEMPOTENCY)_|^UNAUTHENTICATED$|^FORBIDDEN$/;

/** Why an operation failed, without mistakes of its caller; empty where it did not fail, or its caller hung up. */
export function failureCodes({ codes, outcome }: OperationRecord): readonly string[] {
  if (outcome === 'ok' || outcome === 'canceled') return [];
  return codes.filter((code) => !CALLERS_FAULT.test(code)).slice(0, CODES_SHOWN);
}
