import { type LiveState, retryAfterMs } from 'links-market-client';
import { useEffect, useRef, useState } from 'react';
import { type AnyVariables, type TypedDocumentNode, type UseQueryResponse, useQuery } from 'urql';
import { type CodedError, errorsOf, isExhausted } from './errors.ts';

/** What an answer cost, as `extensions.upstream` says it. */
export interface Receipt {
  readonly calls: number;
  readonly saved: { readonly cache: number; readonly coalesced: number };
  readonly stale: number;
  readonly refreshes: number;
  readonly maxAgeMs: number;
  readonly waitedMs: number;
}

/** A receipt, and when it came. */
export interface DatedReceipt {
  readonly receipt: Receipt;
  /** By the clock of this page, in milliseconds. */
  readonly receivedAt: number;
}

/** When a panel asks again by itself, and why. */
export interface Retry {
  /** By the clock of this page, in milliseconds. */
  readonly at: number;
  readonly exhausted: boolean;
}

/** A query as a panel shows it. */
export interface PatientQuery<Data> {
  readonly data: Data | undefined;
  /** Nothing has come yet. */
  readonly loading: boolean;
  /** `data` is that of the previous variables, until the next has come. */
  readonly fetching: boolean;
  /** More of the answer is on its way. */
  readonly hasNext: boolean;
  /** What went wrong for good. */
  readonly errors: readonly CodedError[];
  readonly retry: Retry | null;
  readonly receipt: DatedReceipt | null;
  /** Whether it is kept current; `null` for a query that is asked once. */
  readonly state: LiveState | null;
  readonly again: () => void;
}

interface Extensions {
  readonly upstream?: Receipt;
  readonly live?: { readonly ageMs: number };
  readonly state?: LiveState;
  readonly receivedAt?: number;
}

/**
 * Asks, and asks again by itself when an error says when that is better. What came before stays meanwhile.
 * Costs what its document says; asking again costs only what is still missing.
 */
export function usePatientQuery<Data, Variables extends AnyVariables>(
  query: TypedDocumentNode<Data, Variables>,
  variables: Variables,
  { pause = false } = {},
): PatientQuery<Data> {
  const [result, execute]: UseQueryResponse<Data, Variables> = useQuery({
    query,
    variables,
    pause,
  });
  const { data, error, fetching, hasNext, extensions } = result;
  const again = useRef(() => {});
  again.current = () => execute({ requestPolicy: 'network-only' });

  const settled = !fetching && !hasNext && !result.stale;
  const errors = errorsOf(error);
  const retryMs = settled ? retryAfterMs(errors) : null;
  const [retry, setRetry] = useState<Retry | null>(null);
  useEffect(() => {
    if (retryMs === null) {
      if (settled) setRetry(null);
      return undefined;
    }
    setRetry({ at: Date.now() + retryMs, exhausted: isExhausted(errors) });
    const timer = setTimeout(() => again.current(), retryMs);
    return () => clearTimeout(timer);
    // Each answer is another object, and `errors` is made of it.
  }, [error, retryMs, settled]);

  const told = extensions as Extensions | undefined;
  const [receipt, setReceipt] = useState<DatedReceipt | null>(null);
  useEffect(() => {
    // What the cache of the page answers has none: the last one still holds.
    if (!told?.upstream) return;
    const receivedAt = told.receivedAt ?? Date.now();
    const maxAgeMs = told.live?.ageMs ?? told.upstream.maxAgeMs;
    setReceipt({ receipt: { ...told.upstream, maxAgeMs }, receivedAt });
  }, [told]);

  // What failed has nothing to show a cost of.
  const answered = errors.length === 0 || Object.values(data ?? {}).some((value) => value !== null);

  return {
    data,
    loading: data === undefined && errors.length === 0 && !pause,
    fetching,
    hasNext,
    errors: retryMs === null ? errors : [],
    retry: settled && retryMs === null ? null : retry,
    receipt: answered ? receipt : null,
    state: told?.state ?? null,
    again: () => again.current(),
  };
}
