import { createHmac } from 'node:crypto';

/** Turns a text into a name that says nothing about it: equal texts, equal names. */
export type Digest = (text: string) => string;

/** Digests that only holders of a secret can make: for keys of caches, and names of credentials. */
export function createDigest(secret: string): Digest {
  return (text) => createHmac('sha256', secret).update(text).digest('base64url');
}
