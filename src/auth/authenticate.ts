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
}

/** Tokens of an identity provider, and what must be true of them. */
export interface JwtConfig {
  readonly mode: 'jwt';
  /** The URL of the provider's keys, or the shared secret. */
  readonly keys: { readonly jwksUrl: string } | { readonly secret: string };
  readonly issuer: string;
  readonly audience: string;
  readonly clockToleranceSeconds: number;
  readonly rolesClaim: string;
  /** The claim with the class; empty if callers have none. */
  readonly classClaim: string;
}

/** How callers are authenticated. */
export type AuthConfig =
  | { readonly mode: 'none' }
  | { readonly mode: 'token'; readonly file: string }
  | JwtConfig
  | { readonly mode: 'passthrough'; readonly maxKeys: number };
