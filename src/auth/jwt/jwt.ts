import { loopTurns } from '../../scheduling/loop-turns.ts';
import type { Authenticate, AuthWorld, JwtConfig } from '../authenticate.ts';
import { bearerOf } from '../refusal.ts';
import type { Viewer } from '../viewer.ts';
import { createJwtVerifier, isTimely } from './jwt-verifier.ts';
import { VerifiedTokens } from './verified-tokens.ts';

/** For how long a verified token is remembered at most, in milliseconds: its key may have been revoked since. */
const REMEMBERED_MS = 600_000;

/**
 * Identifies callers by tokens that an identity provider signed for this gateway: the name is `sub`, the role the
 * highest in the roles claim.
 *
 * A verified token is remembered for ten minutes, and its viewer returned synchronously while the clock is between `nbf`
 * and `exp`. All other verified facts are in the token and in the configuration, which do not change. Equal tokens that
 * arrive during a verification share it.
 */
export function createJwtCheck(config: JwtConfig, world: AuthWorld): Authenticate {
  const { clock } = world;
  const verifyJwt = createJwtVerifier(config, world);
  const verified = new VerifiedTokens();
  /** By the digests of the tokens. */
  const running = new Map<string, Promise<Viewer>>();

  const verify = async (token: string, digest: string, address: string): Promise<Viewer> => {
    try {
      // Many tokens can arrive at once: a signature costs as much as an operation.
      await loopTurns.turn(address);
      const found = await verifyJwt(token);
      verified.set(digest, found);
      return found.viewer;
    } finally {
      running.delete(digest);
    }
  };

  return ({ address, authorization }) => {
    const token = bearerOf(authorization, 'a token');
    const digest = verified.digest(token);
    const known = verified.get(digest);
    if (known) {
      const isValid =
        clock.now() - known.verifiedAt < REMEMBERED_MS && isTimely(known, clock.wall());
      if (isValid) return known.viewer;
      verified.delete(digest);
    }
    const viewer = running.get(digest) ?? verify(token, digest, address);
    running.set(digest, viewer);
    return viewer;
  };
}
