import { createHash } from 'node:crypto';

/** The tag of the data and the errors of an answer. Weak: what it cost to get them may differ. */
export function etagOf(answer: { readonly data?: unknown; readonly errors?: unknown }): string {
  const { data, errors } = answer;
  const hash = createHash('sha256').update(JSON.stringify({ data, errors }));
  return `W/"${hash.digest('base64url').slice(0, 27)}"`;
}
/** Whether a list of tags names this one, compared weakly, as RFC 9110 section 13.1.2 wants. */
export function holdsETag(ifNoneMatch: string | null, etag: string): boolean {
  if (ifNoneMatch === null) return false;
  if (ifNoneMatch.trim() === '*') return true;
  const bare = etag.replace(/^W\//, '');
  return ifNoneMatch.split(',').some((each) => each.trim().replace(/^W\//, '') === bare);
}
