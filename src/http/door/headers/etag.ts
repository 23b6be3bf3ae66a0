import { createHash } from 'node:crypto';

/**
 * The headers that the response to a GET depends on, besides its coding, while a browser may store it. `Prefer`
 * affects only `Preference-Applied`.
 * Implements: RFC 9110 section 12.5.5, RFC 7240 section 2.
 */
export const VARY_OF_GET = 'Accept, Authorization, Prefer';

/** The tag of a text, given in one piece or in several. Weak: it may be sent in several encodings. */
export function etagOfText(...pieces: readonly string[]): string {
  const hash = createHash('sha256');
  for (const piece of pieces) hash.update(piece);
  return `W/"${hash.digest('base64url').slice(0, 27)}"`;
}

/** Whether a list of tags names this one, compared weakly, as RFC 9110 section 13.1.2 wants. */
export function holdsETag(ifNoneMatch: string | null, etag: string): boolean {
  if (ifNoneMatch === null) return false;
  if (ifNoneMatch.trim() === '*') return true;
  const bare = etag.replace(/^W\//, '');
  return ifNoneMatch.split(',').some((each) => each.trim().replace(/^W\//, '') === bare);
}
