import { link, readField, required } from '../../upstream/decode/fields.ts';
import type { Write } from '../../upstream/request.ts';
import { touches } from '../touches.ts';
import { openWritten } from '../written.ts';

/** For how long a login URL works. Implements: Link API > States and transitions. */
export const LOGIN_URL_LIFETIME_MS = 3_600_000;

/**
 * Creates a URL that logs its first visitor in as a user: a secret. For administrators only. 1 upstream request: a
 * GET with a new result each time, hence a `Write`, which is never shared or cached.
 * Implements: Link API > Users > GET /api/user/login/:id.
 */
export function createLoginUrl(userId: number): Write<string> {
  return {
    method: 'GET',
    path: `/api/user/login/${userId}`,
    decode: (body, context) =>
      readField(required(link('url'), 'a URL'), openWritten(body, 'loginUrl', context)),
    touches: touches.createLoginUrl,
    // An unused login URL expires by itself.
    check: null,
    evidence: null,
  };
}
