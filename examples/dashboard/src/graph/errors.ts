import type { CombinedError } from '@urql/core';

/** An error as the gateway writes it. */
export interface CodedError {
  readonly message: string;
  readonly extensions?: { readonly code?: unknown; readonly retryAfterMs?: unknown } | undefined;
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
