import { type AnyVariables, stringifyDocument, type TypedDocumentNode } from '@urql/core';
import type { CodedError } from './errors.ts';
import { headersOf, type Settings } from './settings.ts';
import type { Receipt } from './use-patient-query.ts';

/** An answer of the gateway as it is. */
export interface Answer<Data> {
  readonly data?: Data | null;
  readonly errors?: readonly CodedError[];
  readonly extensions?: { readonly upstream?: Receipt };
}

/** How an operation is sent. */
export interface AskOptions {
  /** Whose token; that of the page by default. */
  readonly token?: string | null;
  /** How long it may wait for its turns. */
  readonly waitSeconds: number;
  readonly signal?: AbortSignal;
}

/**
 * Sends an operation past the cache of the page, for what no panel shows. Costs what its document says.
 * @throws TypeError when the gateway cannot be reached, or the reason of `signal`.
 */
export async function ask<Data, Variables extends AnyVariables>(
  settings: Settings,
  query: TypedDocumentNode<Data, Variables> | string,
  variables: Variables,
  { token = settings.token, waitSeconds, signal }: AskOptions,
): Promise<Answer<Data>> {
  const response = await fetch(`${settings.gateway}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headersOf(token, waitSeconds) },
    body: JSON.stringify({ query: stringifyDocument(query), variables }),
    ...(signal && { signal }),
  });
  return response.json() as Promise<Answer<Data>>;
}
