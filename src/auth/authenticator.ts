import type { Digest } from '../digest.ts';
import type { AuthConfig, Authenticate, Authenticator, AuthWorld } from './authenticate.ts';
import { bearerOf } from './refusal.ts';
import { createTokenCheck } from './token.ts';

/** Creates the configured authenticator. */
export function createAuthenticator(config: AuthConfig, world: AuthWorld): Authenticator {
  switch (config.mode) {
    case 'none':
      return ({ address }) => ({ name: address, isAnonymous: true, role: 'admin' });
    case 'token':
      return createTokenCheck(config.file, world);
    case 'jwt': {
      // Loaded only if used: all other gateways start faster.
      let check: Authenticate | null = null;
      const loading = import('./jwt/jwt.ts').then(({ createJwtCheck }) => {
        check = createJwtCheck(config, world);
        return check;
      });
      // Without a promise once it is loaded: a remembered token costs no turn of the event loop.
      return (presented) =>
        check ? check(presented) : loading.then((loaded) => loaded(presented));
    }
    default:
      return createPassthrough(world.digest);
  }
}

/**
 * Sends the caller's own key of the link-management API upstream: that API decides on the permissions of the key,
 * and the first request with it shows whether it is valid. No data of another API is returned before that; see
 * `Admittance`.
 *
 * Budgets and cache entries are separated by a digest of the key, so that the key itself is in no cache, log or
 * error.
 */
function createPassthrough(digest: Digest): Authenticate {
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
