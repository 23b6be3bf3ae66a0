/** Shorter secrets would match ordinary words; no real key is as short. */
const SHORTEST_SECRET = 6;

const LONGEST_TEXT = 8000;

/** Makes a text of unknown origin fit for a log. */
export type Scrub = (text: string) => string;

/**
 * Removes secrets from a text: those in `secrets`, the credentials, query and fragment of URLs, and
 * whatever looks like a credential. For the few texts in a log that are not ours, such as the message
 * of an unexpected error.
 */
export function createScrub(secrets: readonly string[]): Scrub {
  const known = secrets
    .filter((secret) => secret.length >= SHORTEST_SECRET)
    .flatMap((secret) => [secret, encodeURIComponent(secret)]);
  return (text) => {
    let clean = text.slice(0, LONGEST_TEXT);
    for (const secret of known) clean = clean.replaceAll(secret, '[secret]');
    return clean
      .replace(/\b([a-z][a-z\d+.-]*:\/\/)[^\s/?#@'"]*@/gi, '$1')
      .replace(/\b([a-z][a-z\d+.-]*:\/\/[^\s?#'"<>]*)[?#][^\s'"<>]*/gi, '$1')
      .replace(/\b(Bearer|Basic)\s+[\w.~+/=-]+/gi, '$1 [secret]')
      .replace(
        /\b(api[_-]?key|token|password|secret)(["']?\s*[=:]\s*["']?)[^\s"'&,;}]+/gi,
        '$1$2[secret]',
      );
  };
}
