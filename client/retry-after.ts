/** Codes of errors that say that the same request can succeed later. */
const LATER: readonly unknown[] = ['BUDGET_EXHAUSTED', 'UPSTREAM_UNAVAILABLE', 'UPSTREAM_TIMEOUT'];

/** No request is sent again sooner, in milliseconds. */
const LEAST_MS = 1000;

/** The details of an error. */
function detailsOf(error: object): { code?: unknown; retryAfterMs?: unknown } {
  // What is no error has none.
  return Object((Object(error) as { extensions?: unknown }).extensions);
}

/** Whether the code of an error says that the same request can succeed later. */
export function isForNow(error: object): boolean {
  return LATER.includes(detailsOf(error).code);
}

/**
 * How many milliseconds to wait before the same is asked again: at least 1000, as many as the errors and the header
 * `Retry-After` say; `null` where no error says that later is better, as after `OUTCOME_UNKNOWN`.
 */
export function retryAfterMs(errors: readonly object[] = [], headers?: Headers): number | null {
  const late = errors.filter(isForNow).map((error) => Number(detailsOf(error).retryAfterMs ?? 0));
  if (!late.length) return null;
  return Math.max(LEAST_MS, ...late.filter(Number.isFinite), headers ? headerMs(headers) : 0);
}

/** What `Retry-After` says, in seconds or as a date, in milliseconds from now; 0 or less where it says nothing. */
export function headerMs(headers: Headers): number {
  // Where there is none, both are no number.
  const header = headers.get('retry-after') as string;
  return Number(header) * 1000 || Date.parse(header) - Date.now() || 0;
}
