import type { GraphQLFormattedError } from 'graphql';
import type { ErrorCode } from '../errors.ts';

/** Codes of errors that can be absent when the same operation is executed again: an upstream or its budget was not available. */
const PASSING: ReadonlySet<string> = new Set<ErrorCode>([
  'BUDGET_EXHAUSTED',
  'UPSTREAM_UNAVAILABLE',
  'UPSTREAM_TIMEOUT',
  'UPSTREAM_INVALID_RESPONSE',
]);
const FIRST_MS = 1000;
const LONGEST_MS = 300_000;
/** After this many retries, which wait for about four minutes, an error is final for its row. */
const MOST_TRIES = 8;

/**
 * Of each error with which a retry can succeed, the milliseconds until then that it states; 0 if it states none. Empty if
 * no retry can.
 */
export function waitsOf(errors: readonly Pick<GraphQLFormattedError, 'extensions'>[]): number[] {
  const passing = errors.filter(({ extensions }) => PASSING.has(String(extensions?.['code'])));
  const stated = passing.map(({ extensions }) => Number(extensions?.['retryAfterMs'] ?? 0));
  return stated.map((ms) => (Number.isFinite(ms) ? ms : 0));
}

/**
 * Milliseconds after which an operation with these errors is executed again: twice as long after each try, and not
 * before the time in an error. `null` after the last try, and if no retry can succeed.
 */
export function retryAfterMs(
  errors: readonly GraphQLFormattedError[],
  tries: number,
): number | null {
  const waits = waitsOf(errors);
  if (waits.length === 0 || tries >= MOST_TRIES) return null;
  return Math.max(Math.min(LONGEST_MS, FIRST_MS * 2 ** tries), ...waits);
}

/** Codes of errors that all further steps of a job would have. */
const ENDING: ReadonlySet<string> = new Set<ErrorCode>([
  'FORBIDDEN',
  'UNAUTHENTICATED',
  'UPSTREAM_UNAUTHENTICATED',
]);

/** Whether an error concerns the permissions of the job or the key of the gateway, and not one row. */
export function endsJob(errors: readonly GraphQLFormattedError[]): boolean {
  return errors.some(({ extensions }) => ENDING.has(String(extensions?.['code'])));
}

/** The first error, with its code. */
export function errorOf(errors: readonly GraphQLFormattedError[]): {
  readonly code: ErrorCode;
  readonly message: string;
} {
  const [first] = errors;
  const code = (first?.extensions?.['code'] ?? 'INTERNAL_SERVER_ERROR') as ErrorCode;
  return { code, message: first?.message ?? 'The result has no data.' };
}
