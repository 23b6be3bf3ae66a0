/** Error codes that mean that the same request can succeed later. */
const LATER: readonly unknown[] = [
  'BUDGET_EXHAUSTED',
  'UPSTREAM_UNAVAILABLE',
  'UPSTREAM_TIMEOUT',
  'IDEMPOTENCY_KEY_IN_USE',
];

/** The code of a mutation that may have changed something. */
const UNKNOWN = 'OUTCOME_UNKNOWN';

/** Minimum delay before a retry, in milliseconds. */
const LEAST_MS = 1000;

/** The details of an error. */
function detailsOf(error: object): {
  code?: unknown;
  retryAfterMs?: unknown;
  candidates?: readonly unknown[];
} {
  // Values other than errors have none.
  return Object((Object(error) as { extensions?: unknown }).extensions);
}

/** Whether an error means that the same request can succeed later. `isKeyed`: it has an idempotency key. */
export function isForNow(error: object, isKeyed = false): boolean {
  const { candidates, retryAfterMs: ms } = detailsOf(error);
  // Without a delay, or with several possible results, the gateway cannot find out more.
  const isFindable = isKeyed && ms !== undefined && !candidates?.length;
  return hasCode(error, ...LATER) || (isFindable && hasCode(error, UNKNOWN));
}

/** Whether an error has one of these codes. */
export function hasCode(error: object, ...codes: readonly unknown[]): boolean {
  return codes.includes(detailsOf(error).code);
}

/** Whether an error leaves it open if the request has changed something. */
export function isOpen(error: object): boolean {
  return hasCode(error, UNKNOWN, 'IDEMPOTENCY_KEY_IN_USE');
}

/**
 * The delay before a retry in milliseconds, as the errors and the header `Retry-After` state it, and at least 1000;
 * `null` if no error permits a retry. `OUTCOME_UNKNOWN` permits one only if `isKeyed`, for a mutation that is sent again
 * with the same idempotency key.
 */
export function retryAfterMs(
  errors: readonly object[] = [],
  headers?: Headers,
  isKeyed = false,
): number | null {
  const late = errors
    .filter((error) => isForNow(error, isKeyed))
    .map((error) => Number(detailsOf(error).retryAfterMs ?? 0));
  if (!late.length) return null;
  return Math.max(LEAST_MS, ...late.filter(Number.isFinite), headers ? headerMs(headers) : 0);
}

/** The value of `Retry-After`, in seconds or as a date, in milliseconds from now; 0 or less if missing. */
export function headerMs(headers: Headers): number {
  // Without a header, both are NaN.
  const header = headers.get('retry-after') as string;
  return Number(header) * 1000 || Date.parse(header) - Date.now() || 0;
}
