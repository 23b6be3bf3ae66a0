import { type Dispatcher, errors, request } from 'undici';
import type { Clock } from '../clock.ts';
import type { RawAnswer } from './call.ts';

/** A request with everything on it, ready for the wire. */
export interface WireRequest {
  readonly method: Dispatcher.HttpMethod;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly timeoutMs: number;
}

/** Why no answer came. */
export class WireError extends Error {
  override readonly name = 'WireError';
  /** `unsent`: the upstream cannot have seen it. `lost`: it can. `timeout`: it can, and was slow. */
  readonly kind: 'unsent' | 'lost' | 'timeout';
  constructor(kind: 'unsent' | 'lost' | 'timeout', cause?: unknown) {
    super(`no answer (${kind})`, { cause });
    this.kind = kind;
  }
}

/** Failures that happen before a byte of the request has left. */
const UNSENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ERR_INVALID_URL',
  'UND_ERR_CONNECT_TIMEOUT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'CERT_HAS_EXPIRED',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/**
 * Sends one request and reads its whole answer. Follows no redirect and retries nothing, so that one
 * call here is one request upstream.
 * @throws WireError when no complete answer came in time.
 */
export async function sendOverWire(
  wire: { readonly dispatcher: Dispatcher; readonly clock: Clock },
  { method, url, headers, body, timeoutMs }: WireRequest,
): Promise<RawAnswer> {
  const abort = new AbortController();
  const cancel = wire.clock.after(timeoutMs, () => abort.abort());
  try {
    const answer = await request(url, {
      dispatcher: wire.dispatcher,
      method,
      headers,
      body,
      signal: abort.signal,
    });
    return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
  } catch (cause) {
    if (abort.signal.aborted) throw new WireError('timeout', cause);
    throw new WireError(wasSent(cause) ? 'lost' : 'unsent', cause);
  } finally {
    cancel();
  }
}

function wasSent(cause: unknown): boolean {
  if (cause instanceof errors.ConnectTimeoutError) return false;
  const codes = [cause, ...(cause instanceof AggregateError ? cause.errors : [])].map((error) =>
    error instanceof Error && 'code' in error ? String(error.code) : '',
  );
  return !codes.some((code) => UNSENT.has(code));
}
