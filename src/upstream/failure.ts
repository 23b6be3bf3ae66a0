import {
  type GatewayError,
  UpstreamFailure,
  type UpstreamName,
  UpstreamRejected,
  upstreamTitle,
} from '../errors.ts';
import type { Verdict } from './call.ts';
import { WireError } from './wire.ts';

/** Why a request brought nothing. */
export type Failure = Exclude<Verdict, { kind: 'success' } | { kind: 'limited' }> | WireError;

/** What the failure of a read is called. */
export function readError(upstream: UpstreamName, cause: Failure): GatewayError {
  const title = upstreamTitle[upstream];
  const error = (
    code: ConstructorParameters<typeof UpstreamFailure>[1],
    rest: string,
    why?: unknown,
  ) => new UpstreamFailure(upstream, code, `${title} ${rest}`, why);
  if (cause instanceof WireError) {
    return cause.kind === 'timeout'
      ? error('UPSTREAM_TIMEOUT', 'did not answer in time.', cause)
      : error('UPSTREAM_UNAVAILABLE', 'cannot be reached.', cause);
  }
  switch (cause.kind) {
    case 'unauthenticated':
      return error('UPSTREAM_UNAUTHENTICATED', 'does not accept the API key it was given.');
    case 'forbidden':
      return error('UPSTREAM_FORBIDDEN', 'does not let this API key do that.');
    case 'unavailable':
      return error('UPSTREAM_UNAVAILABLE', 'is out of order.', cause.detail);
    case 'invalid':
      return error(
        'UPSTREAM_INVALID_RESPONSE',
        'gave an answer that cannot be used.',
        cause.detail,
      );
    default:
      return new UpstreamRejected(upstream, cause.reason);
  }
}
