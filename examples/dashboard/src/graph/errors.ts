import type { CombinedError } from '@urql/core';

/** Codes that say that later is better. */
const LATER = ['BUDGET_EXHAUSTED', 'UPSTREAM_UNAVAILABLE', 'UPSTREAM_TIMEOUT'];

/** An error as the gateway writes it. */
export interface CodedError {
  readonly message: string;
  readonly extensions?: { readonly code?: unknown; readonly retryAfterMs?: unknown } | undefined;
}

/** In how many milliseconds to ask again; null when asking again helps nothing, or all is well. */
export function retryAfterMs(errors: readonly CodedError[]): number | null {
  const late = errors.filter(({ extensions }) => LATER.includes(String(extensions?.code)));
  if (late.length === 0) return null;
  return Math.max(1000, ...late.map(({ extensions }) => Number(extensions?.retryAfterMs ?? 0)));
}

/** Whether the budget is the reason, and not an upstream that fails. */
export function isExhausted(errors: readonly CodedError[]): boolean {
  return errors.some(({ extensions }) => extensions?.code === 'BUDGET_EXHAUSTED');
}

/** The errors of an answer; a gateway that cannot be reached is one that may come back. */
export function errorsOf(error: CombinedError | undefined): readonly CodedError[] {
  if (!error) return [];
  if (error.networkError && error.graphQLErrors.length === 0) {
    const message = 'The gateway cannot be reached.';
    return [{ message, extensions: { code: 'UPSTREAM_UNAVAILABLE', retryAfterMs: 5000 } }];
  }
  return error.graphQLErrors;
}
