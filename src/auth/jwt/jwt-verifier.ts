import {
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  jwtVerify,
} from 'jose';
import { GatewayError } from '../../errors.ts';
import type { AuthWorld, JwtConfig, TokenFault } from '../authenticate.ts';
import { type CallerClasses, DEFAULT_CLASS } from '../caller-class.ts';
import { unauthenticated } from '../refusal.ts';
import { highestRole } from '../viewer.ts';
import { createJwks } from './jwks.ts';
import type { VerifiedToken } from './verified-tokens.ts';

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
 * Verifies a token. One without `exp` would be valid without limit and is rejected.
 * Implements: RFC 7519 section 7.2, RFC 8725.
 * @throws GraphQLError `UNAUTHENTICATED` if the token is not valid.
 * @throws GatewayError `UPSTREAM_UNAVAILABLE` if its key is not available.
 */
type VerifyJwt = (token: string) => Promise<VerifiedToken>;

/** Tolerated difference between the clocks of the provider and the gateway. */
const CLOCK_TOLERANCE_SECONDS = 5;

/** Verifies the tokens that `config` describes. */
export function createJwtVerifier(config: JwtConfig, world: AuthWorld): VerifyJwt {
  const { classes, clock, rejected } = world;
  const keys = keysOf(config, world);
  const algorithms = 'jwksUrl' in config.keys ? ASYMMETRIC : ['HS256'];
  const options: JWTVerifyOptions = {
    algorithms,
    issuer: config.issuer,
    audience: config.audience,
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    // jose reads it behind the signature: a token can expire while its key is fetched.
    get currentDate() {
      return new Date(clock.wall());
    },
  };
  const expected: Readonly<Partial<Record<TokenFault['reason'], string>>> = {
    algorithm: algorithms.join(' '),
    audience: config.audience,
    issuer: config.issuer,
  };
  // Its reason would help to forge tokens, so the client does not learn it.
  const notValid = (reason: TokenFault['reason']): Error => {
    rejected({ reason, expected: expected[reason] });
    return unauthenticated('The token is not valid.', true);
  };
  return async (token) => {
    let payload: JWTPayload;
    try {
      ({ payload } = await jwtVerify(token, keys, options));
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      const invalid = notValid(reasonOf(error));
      // That a token has expired helps an honest client.
      throw error instanceof errors.JWTExpired
        ? unauthenticated('The token has expired.', true)
        : invalid;
    }
    const { exp, nbf = Number.NEGATIVE_INFINITY, sub } = payload;
    if (exp === undefined) throw notValid('expiry-missing');
    if (!isName(sub)) throw notValid('subject');
    const role = highestRole(wordsIn(payload, config.rolesClaim));
    const callerClass = classIn(payload, config.classClaim, classes);
    const viewer = { name: sub, role, ...(callerClass === undefined ? {} : { callerClass }) };
    return { viewer, verifiedAt: clock.now(), notBefore: nbf, expires: exp };
  };
}

/** The keys of the provider, or the one key that a shared secret is. */
function keysOf({ keys }: JwtConfig, world: AuthWorld): JWTVerifyGetKey {
  if ('jwksUrl' in keys) return createJwks(keys.jwksUrl, world);
  const key = new TextEncoder().encode(keys.secret);
  return async () => key;
}

/**
 * Whether the clock is between a token's `nbf` and `exp`, give or take the tolerance. jose compares the
 * same way, with the time rounded down to whole seconds.
 */
export function isTimely({ expires, notBefore }: VerifiedToken, wallMs: number): boolean {
  const now = Math.floor(wallMs / 1000);
  return notBefore <= now + CLOCK_TOLERANCE_SECONDS && expires > now - CLOCK_TOLERANCE_SECONDS;
}

/** The claims that jose compares, by the reasons why a token differs. */
const reasonOfClaim: Readonly<Record<string, TokenFault['reason']>> = {
  aud: 'audience',
  iss: 'issuer',
  nbf: 'not-yet-valid',
};

/** Why the library rejects a token. */
function reasonOf(error: unknown): TokenFault['reason'] {
  if (error instanceof errors.JWTExpired) return 'expired';
  if (error instanceof errors.JWTClaimValidationFailed) {
    return reasonOfClaim[error.claim] ?? 'malformed';
  }
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'signature';
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys)
    return 'key-unknown';
  return error instanceof errors.JOSEAlgNotAllowed || error instanceof errors.JOSENotSupported
    ? 'algorithm'
    : 'malformed';
}

/** Whether a `sub` can name a caller: other JSON would make one caller of many, e.g. `[object Object]`. */
function isName(sub: unknown): sub is string {
  return typeof sub === 'string' && sub.trim() !== '' && sub.length <= LONGEST_NAME;
}

/** A claim by its name, or else by its path, as in `realm_access.roles`: a list, or words in a string. */
function wordsIn(payload: JWTPayload, claim: string): readonly unknown[] {
  let value: unknown = payload[claim];
  if (value === undefined) {
    value = payload;
    for (const step of claim.split('.')) {
      value = (value as Readonly<Record<string, unknown>> | null | undefined)?.[step];
    }
  }
  if (typeof value === 'string') return value.split(/[\s,]+/);
  return Array.isArray(value) ? value : [];
}

/** The first known class in a claim; undefined for the default class, and if there is none. */
function classIn(payload: JWTPayload, claim: string, classes: CallerClasses): string | undefined {
  if (claim === '') return undefined;
  const known = (word: unknown): word is string => typeof word === 'string' && classes.has(word);
  const word = wordsIn(payload, claim).find(known);
  return word === DEFAULT_CLASS ? undefined : word;
}
