import { createHash } from 'node:crypto';

/** The tag of the data and the errors of an answer. Weak: what it cost to get them may differ. */
export function etagOf(answer: { readonly data?: unknown; readonly errors?: unknown }): string {
  const { data, errors } = answer;
  return etagOfText(JSON.stringify({ data, errors }));
}

/** The same, of data and errors as JSON. */
export function etagOfText(json: string): string {
  return `W/"${createHash('sha256').update(json).digest('base64url').slice(0, 27)}"`;
}

/** Whether a list of tags names this one, compared weakly, as RFC 9110 section 13.1.2 wants. */
export function holdsETag(ifNoneMatch: string | null, etag: string): boolean {
  if (ifNoneMatch === null) return false;
  if (ifNoneMatch.trim() === '*') return true;
  const bare = etag.replace(/^W\//, '');
  return ifNoneMatch.split(',').some((each) => each.trim().replace(/^W\//, '') === bare);
}
