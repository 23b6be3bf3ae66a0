import type { Authenticate, AuthWorld, JwtConfig } from '../authenticate.ts';
import { bearerOf } from '../refusal.ts';
import type { Viewer } from '../viewer.ts';
import { createJwks, type KeySet } from './jwks.ts';
import { CLOCK_TOLERANCE_SECONDS, createJwtVerifier, isTimely } from './jwt-verifier.ts';
import { VerifiedTokens } from './verified-tokens.ts';

/** What a verification rests on so far: until it has its key, the keys that there were when it began. */
interface Basis {
  revision: number;
}

/** A verification that has not ended. */
interface Verification {
  readonly basis: Basis;
  readonly viewer: Promise<Viewer>;
}

/**
 * Identifies callers by tokens that an identity provider signed for this gateway: the name is `sub`, the role the
 * highest in the roles claim.
 *
 * A verified token is remembered, and its viewer returned synchronously, as long as another verification would
 * have the same result: while the keys are unchanged and usable, and the clock is between `nbf` and `exp`. All
 * other verified facts are in the token and in the configuration, which do not change. Equal tokens that arrive
 * during a verification share it.
 */
export function createJwtCheck(config: JwtConfig, world: AuthWorld): Authenticate {
  const { keys: source } = config;
  const keys = 'jwksUrl' in source ? createJwks(source.jwksUrl, world) : sharedKey(source.secret);
  const verifyJwt = createJwtVerifier(config, keys, world);
  const verified = new VerifiedTokens();
  /** By the digests of the tokens. */
  const running = new Map<string, Verification>();

  const verify = async (token: string, digest: string, basis: Basis): Promise<Viewer> => {
    try {
      const found = await verifyJwt(token, (revision) => {
        basis.revision = revision;
      });
      verified.set(digest, found);
      return found.viewer;
    } finally {
      // Another may have begun since, with other keys.
      if (running.get(digest)?.basis === basis) running.delete(digest);
    }
  };

  return ({ authorization }) => {
    const token = bearerOf(authorization, 'a token');
    const digest = verified.digest(token);
    const known = verified.get(digest);
    if (known) {
      const isValid =
        keys.isUsable() &&
        known.revision === keys.revision &&
        isTimely(known, world.clock.wall(), CLOCK_TOLERANCE_SECONDS);
      if (isValid) return known.viewer;
      verified.delete(digest);
    }
    const other = running.get(digest);
    if (other?.basis.revision === keys.revision) return other.viewer;
    const basis = { revision: keys.revision };
    const viewer = verify(token, digest, basis);
    running.set(digest, { basis, viewer });
    return viewer;
  };
}

/** The one key that a secret is: it is read at the start, and changes with the next. */
function sharedKey(secret: string): KeySet {
  const found = { key: new TextEncoder().encode(secret), revision: 0 };
  return { revision: found.revision, isUsable: () => true, find: async () => found };
}
