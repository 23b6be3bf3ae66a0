import { createHmac, hash, randomBytes } from 'node:crypto';

/** Converts a text into a name that does not reveal it: equal texts have equal names. */
export type Digest = (text: string) => string;

/** Digests that only holders of a secret can make: for keys of caches, and names of credentials. */
export function createDigest(secret: string): Digest {
  return (text) => createHmac('sha256', secret).update(text).digest('base64url');
}

/**
 * Digests for keys of maps that never leave this process: with a secret of their own, at a third of the cost of
 * `createDigest`, since one call of OpenSSL makes it. From one of these, that of a longer text can be computed
 * (SHA-256 is not HMAC), so none may be sent, logged or stored elsewhere.
 */
export function createLocalDigest(): Digest {
  const secret = randomBytes(32).toString('base64');
  return (text) => hash('sha256', secret + text, 'base64url');
}
