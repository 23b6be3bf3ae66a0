import { hash } from 'node:crypto';
import {
  type CryptoKey,
  createRemoteJWKSet,
  customFetch,
  errors,
  type FlattenedJWSInput,
  type JWSHeaderParameters,
} from 'jose';
import { GatewayError } from '../../errors.ts';
import type { Clock } from '../../scheduling/clock.ts';

/** The keys that tokens are verified with. */
export interface KeySet {
  /** Another number whenever the keys are others than before. */
  readonly revision: number;
  /**
   * Whether the keys may be used. Refreshes them when they are due, so it is called for every request, also for
   * one whose token was verified before.
   */
  readonly isUsable: () => boolean;
  /**
   * The key of a token, and the revision that it was taken from.
   * @throws JOSEError if the set has no such key.
   * @throws GatewayError `UPSTREAM_UNAVAILABLE` if keys are needed and not available.
   */
  readonly find: (header: JWSHeaderParameters, token: FlattenedJWSInput) => Promise<FoundKey>;
}

interface FoundKey {
  readonly key: CryptoKey | Uint8Array;
  readonly revision: number;
}

/** Keys of this age are refreshed while they are still used. */
const REFRESH_AFTER_MS = 600_000;
/** Keys of this age are no longer used: one of them may have been revoked. */
const WORTHLESS_AFTER_MS = 24 * 3_600_000;
/** A token with an unknown key has the keys fetched at most this often, since anyone can make one up. */
const COOL_DOWN_MS = 30_000;
/** Without any keys, they are fetched at most this often. */
const RETRY_AFTER_MS = 1000;
/** How long one fetch may take. */
const TIMEOUT_MS = 5000;
/** Far more than any provider has keys. */
const MAX_BYTES = 1024 * 1024;

/**
 * The keys of an identity provider, by URL. New keys are fetched when a token needs them, and an outage of the
 * provider is bridged for a day. Ages are measured on the gateway's clock, so jose never fetches by itself.
 */
export function createJwks(
  url: string,
  world: {
    readonly clock: Clock;
    readonly fetch: typeof fetch;
    readonly complain: (sentence: string) => void;
  },
): KeySet {
  const { clock } = world;
  const remote = createRemoteJWKSet(new URL(url), {
    cacheMaxAge: Number.POSITIVE_INFINITY,
    cooldownDuration: Number.POSITIVE_INFINITY,
    timeoutDuration: TIMEOUT_MS,
    [customFetch]: async (address, options) => bounded(await world.fetch(address, options)),
  });
  let loadedAt = Number.NEGATIVE_INFINITY;
  let triedAt = Number.NEGATIVE_INFINITY;
  let revision = 0;
  let contents = '';

  const mayTry = (everyMs: number): boolean => remote.reloading || clock.now() - triedAt >= everyMs;
  /** `everyMs` is how often it may be tried. */
  const load = async (everyMs: number): Promise<void> => {
    if (!remote.reloading) triedAt = clock.now();
    try {
      await remote.reload();
    } catch (cause) {
      world.complain('The keys at AUTH_JWT_JWKS_URL cannot be loaded.');
      throw unavailable(everyMs, cause);
    }
    loadedAt = clock.now();
    const loaded = hash('sha256', JSON.stringify(remote.jwks()));
    if (loaded !== contents) revision += 1;
    contents = loaded;
  };

  const isUsable = (): boolean => {
    const ageMs = clock.now() - loadedAt;
    if (ageMs >= WORTHLESS_AFTER_MS) return false;
    if (ageMs >= REFRESH_AFTER_MS && mayTry(COOL_DOWN_MS) && !remote.reloading) {
      // This token is checked with the keys from before; `load` has complained to the operator.
      load(COOL_DOWN_MS).catch(() => undefined);
    }
    return true;
  };

  /** jose chooses among the keys at once; to import the chosen one may outlast the set that it is of. */
  const take = async (header: JWSHeaderParameters, token: FlattenedJWSInput): Promise<FoundKey> => {
    const takenFrom = revision;
    return { key: await remote(header, token), revision: takenFrom };
  };

  return {
    get revision() {
      return revision;
    },
    isUsable,
    async find(header, token) {
      if (!isUsable()) {
        if (!mayTry(RETRY_AFTER_MS)) throw unavailable(RETRY_AFTER_MS);
        await load(RETRY_AFTER_MS);
      }
      try {
        return await take(header, token);
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey) || !mayTry(COOL_DOWN_MS)) throw error;
        await load(COOL_DOWN_MS);
        return take(header, token);
      }
    },
  };
}

/** The same response, limited to the maximum size of keys. */
function bounded(response: Response): Response {
  let bytes = 0;
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes > MAX_BYTES) throw new TypeError(`the keys are larger than ${MAX_BYTES} bytes`);
      controller.enqueue(chunk);
    },
  });
  const { headers, status, statusText } = response;
  return new Response(response.body?.pipeThrough(limit) ?? null, { headers, status, statusText });
}

function unavailable(retryAfterMs: number, cause?: unknown): GatewayError {
  return new GatewayError(
    'UPSTREAM_UNAVAILABLE',
    'The keys of the identity provider are not available. Retry later.',
    { details: { retryAfterMs }, cause },
  );
}
