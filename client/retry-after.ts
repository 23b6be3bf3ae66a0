/** Error codes that mean that the same request can succeed later. */
const LATER: readonly unknown[] = ['BUDGET_EXHAUSTED', 'UPSTREAM_UNAVAILABLE', 'UPSTREAM_TIMEOUT'];

/** Minimum delay before a retry, in milliseconds. */
const LEAST_MS = 1000;

/** The details of an error. */
function detailsOf(error: object): { code?: unknown; retryAfterMs?: unknown } {
  // Values other than errors have none.
  return Object((Object(error) as { extensions?: unknown }).extensions);
}

/** Whether the code of an error means that the same request can succeed later. */
export function isForNow(error: object): boolean {
  return LATER.includes(detailsOf(error).code);
}

/**
 * The delay before a retry in milliseconds, as the errors and the header `Retry-After` state it, and at least 1000;
 * `null` if no error permits a retry, as after `OUTCOME_UNKNOWN`.
 */
export function retryAfterMs(errors: readonly object[] = [], headers?: Headers): number | null {
  const late = errors.filter(isForNow).map((error) => Number(detailsOf(error).retryAfterMs ?? 0));
  if (!late.length) return null;
  return Math.max(LEAST_MS, ...late.filter(Number.isFinite), headers ? headerMs(headers) : 0);
}

/** The value of `Retry-After`, in seconds or as a date, in milliseconds from now; 0 or less if missing. */
export function headerMs(headers: Headers): number {
  // Without a header, both are NaN.
  const header = headers.get('retry-after') as string;
  return Number(header) * 1000 || Date.parse(header) - Date.now() || 0;
}
