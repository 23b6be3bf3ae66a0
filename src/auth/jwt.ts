import {
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  jwtVerify,
} from 'jose';
import { GatewayError } from '../errors.ts';
import type { Authenticate, AuthWorld, JwtConfig } from './authenticate.ts';
import { createJwks } from './jwks.ts';
import { bearerOf, unauthenticated } from './refusal.ts';
import { highestRole } from './viewer.ts';

/**
 * Signatures by a key that only the provider has. The list is fixed, so that no token can choose
 * how it is checked, and least of all by a public key used as a secret.
 */
const ASYMMETRIC = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'EdDSA',
];

/** Characters that a `sub` may have: a name is compared, remembered and logged with each request. */
const LONGEST_NAME = 1024;

/**
 * Knows callers by tokens that an identity provider signed for this gateway: the name is `sub`, the
 * role the highest in the roles claim. A token without `exp` would be good for ever and is refused.
 * Implements: RFC 7519 section 7.2, RFC 8725.
 */
export function createJwtCheck(config: JwtConfig, world: AuthWorld): Authenticate {
  const { keys } = config;
  const getKey = 'jwksUrl' in keys ? createJwks(keys.jwksUrl, world) : sharedKey(keys.secret);
  const options: JWTVerifyOptions = {
    algorithms: 'jwksUrl' in keys ? ASYMMETRIC : ['HS256'],
    issuer: config.issuer,
    audience: config.audience,
    clockTolerance: config.clockToleranceSeconds,
    requiredClaims: ['exp', 'sub'],
  };
  return async ({ authorization }) => {
    const token = bearerOf(authorization, 'a token');
    let payload: JWTPayload;
    try {
      const currentDate = new Date(world.clock.wall());
      ({ payload } = await jwtVerify(token, getKey, { ...options, currentDate }));
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      // A reason would help who forges tokens; that one has expired helps an honest client.
      const sentence =
        error instanceof errors.JWTExpired
          ? 'This token has expired.'
          : 'This token is not valid here.';
      throw unauthenticated(sentence, true);
    }
    const { sub } = payload;
    if (!isName(sub)) throw unauthenticated('This token is not valid here.', true);
    return { name: sub, role: highestRole(rolesIn(payload, config.rolesClaim)) };
  };
}

/** Whether a `sub` can name a caller: other JSON would make one caller of many, e.g. `[object Object]`. */
function isName(sub: unknown): sub is string {
  return typeof sub === 'string' && sub.trim() !== '' && sub.length <= LONGEST_NAME;
}

function sharedKey(secret: string): JWTVerifyGetKey {
  const bytes = new TextEncoder().encode(secret);
  return () => bytes;
}

/** A claim by its name, or else by its path, as in `realm_access.roles`: a list, or words in a text. */
function rolesIn(payload: JWTPayload, claim: string): readonly unknown[] {
  let value: unknown = payload[claim];
  if (value === undefined) {
    value = payload;
    for (const step of claim.split('.')) {
      const object: unknown = typeof value === 'object' && value !== null ? value : {};
      value = Object.hasOwn(object as object, step)
        ? (object as Record<string, unknown>)[step]
        : undefined;
    }
  }
  if (typeof value === 'string') return value.split(/[\s,]+/);
  return Array.isArray(value) ? value : [];
}
