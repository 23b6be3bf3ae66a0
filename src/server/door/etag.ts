/** Whether a list of tags names this one, compared weakly, as RFC 9110 section 13.1.2 wants. */
export function holdsETag(ifNoneMatch: string | null, etag: string): boolean {
  if (ifNoneMatch === null) return false;
  if (ifNoneMatch.trim() === '*') return true;
  const bare = etag.replace(/^W\//, '');
  return ifNoneMatch.split(',').some((each) => each.trim().replace(/^W\//, '') === bare);
}
