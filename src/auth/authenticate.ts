import type { Digest } from '../digest.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { CallerClasses } from './caller-class.ts';
import type { Viewer } from './viewer.ts';

/** The parts of a request that identify its sender. */
interface Presented {
  /** The `Authorization` header. */
  readonly authorization: string | undefined;
  /** The address of the connection. */
  readonly address: string;
}

/**
 * Identifies the caller of a request, before any of its body is read. Costs no upstream request.
 * @throws GraphQLError `UNAUTHENTICATED` with status 401 and the `WWW-Authenticate` header.
 * @throws GatewayError `UPSTREAM_UNAVAILABLE` if that is currently impossible.
 */
export type Authenticate = (presented: Presented) => Viewer | Promise<Viewer>;

/** Identifies callers, and finds some of them again without their credentials. */
export interface Authenticator extends Authenticate {
  /** The caller with a name, with its current permissions; `null` if it has none. Absent if callers are not known by name. */
  readonly named?: (name: string) => Viewer | null;
  /** Whether `AUTH_TOKENS_FILE` cannot be used, so that older tokens are valid. Absent without this file. */
  readonly isFileUnusable?: () => boolean;
}

/** The dependencies of the authenticators. */
export interface AuthWorld {
  readonly clock: Clock;
  /** The classes that a caller can have. */
  readonly classes: CallerClasses;
  /** Makes names of keys that say nothing about the keys. */
  readonly digest: Digest;
  /** Fetches the keys of the identity provider. */
  readonly fetch: typeof fetch;
  /** Reports a problem with a file or an identity provider to the operator, in one sentence. */
  readonly complain: (sentence: string) => void;
  /** Reports to the operator why a JWT is not valid. Its sender does not learn it. */
  readonly rejected: (fault: TokenFault) => void;
}

/** The reasons why a JWT is not valid. */
export const tokenFaults = [
  'algorithm',
  'audience',
  'expired',
  'expiry-missing',
  'issuer',
  'key-unknown',
  'malformed',
  'not-yet-valid',
  'signature',
  'subject',
] as const;

/** Why a JWT is not valid: without any of its content, which anyone can write. */
export interface TokenFault {
  readonly reason: (typeof tokenFaults)[number];
  /** The value of the configuration that it differs from. */
  readonly expected?: string | undefined;
}

/** Tokens of an identity provider, and what must be true of them. */
export interface JwtConfig {
  readonly mode: 'jwt';
  /** The URL of the provider's keys, or the shared secret. */
  readonly keys: { readonly jwksUrl: string } | { readonly secret: string };
  readonly issuer: string;
  readonly audience: string;
  readonly rolesClaim: string;
  /** The claim with the class; empty if callers have none. */
  readonly classClaim: string;
}

/** How callers are authenticated. */
export type AuthConfig =
  | { readonly mode: 'none' }
  | { readonly mode: 'token'; readonly file: string }
  | JwtConfig
  | { readonly mode: 'passthrough' };
