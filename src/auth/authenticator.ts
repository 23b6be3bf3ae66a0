import type { AuthConfig, Authenticate, Authenticator, AuthWorld } from './authenticate.ts';
import { createPassthrough } from './passthrough.ts';
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
