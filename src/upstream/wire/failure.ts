import {
  GatewayError,
  OutcomeUnknown,
  UpstreamFailure,
  type UpstreamName,
  UpstreamRejected,
  upstreamTitle,
} from '../../errors.ts';
import type { Fault } from '../../observe/events.ts';
import type { Call, Verdict } from '../request.ts';
import { WireError } from './send.ts';

/** Why a request had no result. */
export type Failure = Exclude<Verdict, { kind: 'success' } | { kind: 'limited' }> | WireError;

/** The error of a failed read. */
export function readError(upstream: UpstreamName, cause: Failure): GatewayError {
  const title = upstreamTitle[upstream];
  const error = (
    code: ConstructorParameters<typeof UpstreamFailure>[1],
    rest: string,
    why?: unknown,
  ) => new UpstreamFailure(upstream, code, `${title} ${rest}`, why, retryDetails(cause));
  if (cause instanceof WireError) {
    return cause.kind === 'timeout'
      ? error('UPSTREAM_TIMEOUT', 'did not respond in time.', cause)
      : error('UPSTREAM_UNAVAILABLE', 'is unreachable.', cause);
  }
  switch (cause.kind) {
    case 'unauthenticated':
      return error('UPSTREAM_UNAUTHENTICATED', 'rejected the API key.');
    case 'forbidden':
      return error('UPSTREAM_FORBIDDEN', 'forbids this request: the API key lacks the permission.');
    case 'unavailable':
      return error('UPSTREAM_UNAVAILABLE', 'is unavailable.', cause.detail);
    case 'unserved':
      return unservedError(upstream, cause);
    case 'invalid':
    case 'unconfirmed':
      return error('UPSTREAM_INVALID_RESPONSE', 'sent an invalid response.', cause.detail);
    default:
      return new UpstreamRejected(upstream, cause.reason);
  }
}

/** When the upstream wants to be asked again, in milliseconds; `undefined` if it does not say. */
export function retryAfterMsOf(failure: Failure): number | undefined {
  return failure.kind === 'unavailable' ? failure.retryAfterMs : undefined;
}

function retryDetails(failure: Failure): { readonly retryAfterMs?: number } {
  const retryAfterMs = retryAfterMsOf(failure);
  return retryAfterMs === undefined ? {} : { retryAfterMs };
}

/** The error of a request that the API did not get. `rest` is about its effect. */
function unservedError(
  upstream: UpstreamName,
  { status, why }: Extract<Failure, { kind: 'unserved' }>,
  rest = '',
): GatewayError {
  const sentence = `${upstreamTitle[upstream]} did not get this request (HTTP ${status}): ${why}.`;
  const cause = `HTTP ${status}: ${why}`;
  const message = `${sentence}${rest}`;
  return new UpstreamFailure(upstream, 'UPSTREAM_INVALID_RESPONSE', message, cause, { status });
}

/**
 * What the failure of a write says of its outcome: the upstream has rejected it, nothing can have happened for another
 * reason, or neither is known.
 */
export function outcomeOf(failure: Failure): 'rejected' | 'nothing' | 'unknown' {
  if (failure instanceof WireError) {
    // A body that ended early was aborted and not ended, so the upstream has no whole request.
    return failure.kind === 'unsent' || failure.byCaller ? 'nothing' : 'unknown';
  }
  if ('detail' in failure) return 'unknown';
  return 'reason' in failure ? 'rejected' : 'nothing';
}

/**
 * The error for a failed write: `OUTCOME_UNKNOWN` unless it is certain that nothing happened. `check` names the
 * field to query, e.g. `Query.campaigns`; `null` if a second attempt does no harm.
 */
export function writeError(
  upstream: UpstreamName,
  cause: Failure,
  check: string | null,
): GatewayError {
  if (cause.kind === 'unserved') return unservedError(upstream, cause, ' Nothing was changed.');
  if (outcomeOf(cause) !== 'unknown') return readError(upstream, cause);
  const reason = 'detail' in cause ? cause.detail : cause;
  const advice = check === null ? 'It is safe to retry.' : `Check ${check} before you retry.`;
  return new OutcomeUnknown(upstream, advice, {
    check,
    cause: reason,
    details: retryDetails(cause),
  });
}

/** The error of a request that was not sent, because the circuit breaker is open. */
export function outOfOrder(upstream: UpstreamName, retryAfterMs: number): GatewayError {
  return new GatewayError(
    'UPSTREAM_UNAVAILABLE',
    `${upstreamTitle[upstream]} is unavailable. Retry in ${Math.ceil(retryAfterMs / 1000)} s.`,
    { details: { upstream, retryAfterMs: Math.ceil(retryAfterMs) } },
  );
}

/** The error of a request that was not sent, because its slot could not be saved. */
export function notSaved(upstream: UpstreamName, cause: unknown): GatewayError {
  const api = upstreamTitle[upstream].replace('The', 'the');
  return new UpstreamFailure(
    upstream,
    'UPSTREAM_UNAVAILABLE',
    `The gateway cannot save its state at this moment, so it sends nothing to ${api}. Retry in 1 s.`,
    cause,
    { retryAfterMs: 1000 },
  );
}

/**
 * The cause of a failure; `null` if the upstream has responded, even with a refusal. `host`: it cannot be reached.
 * `resource`: it had no usable response to this request, which may be due to its subject. `caller`: the request
 * was interrupted or depends on its sender, as an upload does.
 */
export function faultOf(failure: Failure, { stream }: Pick<Call<unknown>, 'stream'>): Fault | null {
  if (failure instanceof WireError) {
    if (failure.byCaller) return 'caller';
    if (failure.kind === 'unsent') return 'host';
  } else if (failure.kind !== 'unavailable' && failure.kind !== 'invalid') {
    return null;
  }
  return stream ? 'caller' : 'resource';
}

/** Maximum number of characters of a reason, because it can contain a path of the response. */
const LONGEST_REASON = 120;

/** Why a request failed, in a few words for the operator; `undefined` if the code is sufficient. */
export function reasonInWords(failure: Failure, timeoutMs: number): string | undefined {
  if (failure instanceof WireError) {
    if (failure.kind === 'timeout') return `no response within ${timeoutMs / 1000} s`;
    const code = systemCode(failure.cause);
    const what = failure.kind === 'lost' ? 'connection lost' : 'unreachable';
    return code === '' ? what : `${what} (${code})`;
  }
  if (failure.kind === 'unauthenticated') return 'API key rejected';
  if (failure.kind === 'unserved') return `HTTP ${failure.status}: ${failure.why}`;
  return 'detail' in failure ? failure.detail.slice(0, LONGEST_REASON) : undefined;
}

/** The first system or library code in an error, its causes or its parts; empty if there is none. */
export function systemCode(error: unknown, depth = 0): string {
  if (!(error instanceof Error) || depth > 4) return '';
  const inner = error instanceof AggregateError ? error.errors[0] : error.cause;
  const own = 'code' in error && typeof error.code === 'string' ? error.code : '';
  // A library's own code for a broken socket hides its cause.
  return (
    (own.startsWith('UND_ERR') ? systemCode(inner, depth + 1) : '') ||
    own ||
    systemCode(inner, depth + 1)
  );
}

/** Whether the connection was lost during a request, for example because the upstream closed it as idle. */
export function isLost(failure: Failure): boolean {
  return failure instanceof WireError && failure.kind === 'lost';
}
