import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey } from 'jose';
import { GatewayError } from '../../errors.ts';
import type { AuthWorld } from '../authenticate.ts';

/** Keys of this age are fetched again before one of them is used: a revoked one is out of use soon. */
const MAX_AGE_MS = 600_000;
/** How long one fetch may take. */
const TIMEOUT_MS = 5000;
/** Far more than any provider has keys. */
const MAX_BYTES = 1024 * 1024;
/** After a failure, the keys are not fetched for this time. */
const RETRY_AFTER_MS = 1000;

/**
 * The keys of an identity provider, by URL: fetched when the first token needs them, again every ten minutes, and for a
 * token with an unknown key, twice a minute at most. The function that it returns throws `UPSTREAM_UNAVAILABLE` if the keys
 * are not available.
 */
export function createJwks(
  url: string,
  { clock, complain, fetch }: Pick<AuthWorld, 'clock' | 'complain' | 'fetch'>,
): JWTVerifyGetKey {
  let failedAt = Number.NEGATIVE_INFINITY;
  const hasJustFailed = (): boolean => clock.now() - failedAt < RETRY_AFTER_MS;
  const keys = createRemoteJWKSet(new URL(url), {
    cacheMaxAge: MAX_AGE_MS,
    timeoutDuration: TIMEOUT_MS,
    async [customFetch](address, options) {
      if (hasJustFailed()) throw new TypeError('the keys could not be loaded a moment ago');
      return bounded(await fetch(address, options));
    },
  });
  return async (header, token) => {
    try {
      return await keys(header, token);
    } catch (cause) {
      if (isOfToken(cause)) throw cause;
      if (!hasJustFailed()) {
        failedAt = clock.now();
        complain('The keys at AUTH_JWT_JWKS_URL cannot be loaded.');
      }
      throw new GatewayError(
        'UPSTREAM_UNAVAILABLE',
        'The keys of the identity provider are not available. Retry later.',
        { details: { retryAfterMs: RETRY_AFTER_MS }, cause },
      );
    }
  };
}

/** Whether an error says that a token has no key in the set; others are about the set. */
function isOfToken(error: unknown): boolean {
  return (
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSENotSupported
  );
}

/** The same response, limited to the maximum size of keys. */
function bounded(response: Response): Response {
  let bytes = 0;
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes > MAX_BYTES) throw new TypeError(`the keys are larger than ${MAX_BYTES} bytes`);
      controller.enqueue(chunk);
    },
  });
  const { headers, status, statusText } = response;
  return new Response(response.body?.pipeThrough(limit) ?? null, { headers, status, statusText });
}
