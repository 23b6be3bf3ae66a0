import type { Clock } from '../clock.ts';
import type { Viewer } from './viewer.ts';

/** What of a request tells who sent it. */
interface Presented {
  /** The `Authorization` header. */
  readonly authorization: string | undefined;
  /** Where the connection comes from. */
  readonly address: string;
}

/**
 * Settles who sent a request, before any of its body is read. Costs no upstream call.
 * @throws GraphQLError `UNAUTHENTICATED` with status 401 and the `WWW-Authenticate` header.
 * @throws GatewayError `UPSTREAM_UNAVAILABLE` when that cannot be found out at the moment.
 */
export type Authenticate = (presented: Presented) => Viewer | Promise<Viewer>;

/** What of the world the ways to authenticate need. */
export interface AuthWorld {
  readonly clock: Clock;
  /** Random for each process: makes names of keys that say nothing about the keys. */
  readonly keySalt: string;
  /** Fetches the keys of the identity provider. */
  readonly fetch: typeof fetch;
  /** Tells the operator, in one sentence, what is wrong with a file or an identity provider. */
  readonly complain: (sentence: string) => void;
}
