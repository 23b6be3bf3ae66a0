import { createHmac } from 'node:crypto';
import type { Authenticate } from './authenticate.ts';
import { bearerOf } from './refusal.ts';

/**
 * Takes the caller's own key of the link-management API, which goes upstream as it is: what it may do
 * is decided there. Whether it is right is found out by the first call that is made with it.
 *
 * Budgets and kept answers are told apart by a name made of the key and the salt, so that the key
 * itself is in no cache, log or error.
 */
export function createPassthrough(keySalt: string): Authenticate {
  return ({ authorization }) => {
    const secret = bearerOf(authorization, 'your API key of the link-management API');
    const name = createHmac('sha256', keySalt).update(secret).digest('base64url');
    return {
      name: `key-${name.slice(0, 8)}`,
      role: 'admin',
      linksCredential: { partition: `key-${name}`, secret },
    };
  };
}
