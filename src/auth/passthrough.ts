import type { Digest } from '../digest.ts';
import type { Authenticate } from './authenticate.ts';
import { bearerOf } from './refusal.ts';

/**
 * Sends the caller's own key of the link-management API upstream: that API decides on the permissions of the key,
 * and the first request with it shows whether it is valid. No data of another API is returned before that; see
 * `Admittance`.
 *
 * Budgets and cache entries are separated by a digest of the key, so that the key itself is in no cache, log or
 * error.
 */
export function createPassthrough(digest: Digest): Authenticate {
  return ({ authorization }) => {
    const secret = bearerOf(authorization, 'your API key of the link-management API');
    const name = digest(secret);
    return {
      name: `key-${name.slice(0, 8)}`,
      role: 'admin',
      linksCredential: { partition: `key-${name}`, secret, ofCaller: true },
    };
  };
}
