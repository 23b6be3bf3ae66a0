/** Shorter secrets would match ordinary words; no real key is as short. */
const SHORTEST_SECRET = 6;

const LONGEST_TEXT = 8000;

/**
 * The credentials of a URL. Schemes are short: a longer sequence of characters is not one, and costs a search
 * each.
 */
const URL_CREDENTIALS = /([a-z][a-z\d+.-]{0,30}:\/\/)[^\s/?#'"]*@/gi;
const URL_QUERY = /([a-z][a-z\d+.-]{0,30}:\/\/[^\s?#'"<>]*)[?#][^\s'"<>]*/gi;
const SCHEME = /\b(Bearer|Basic)\s+[\w.~+/=-]+/gi;
/**
 * A name that ends in one of these words and its value: up to the end of its quotes, which are escaped in nested
 * JSON, or a word.
 */
const NAMED =
  /(api[_-]?key|token|password|secret)(\\?["']?\s*[=:]\s*)(?:(")(?:\\.|[^"\\])*|(')(?:\\.|[^'\\])*|(\\")(?:(?!\\").)*|[^\s"'\\&,;}]+)/gis;

/** Makes a text of unknown origin fit for a log. */
export type Scrub = (text: string) => string;

/**
 * Removes secrets from a text: those in `secrets`, the credentials, query and fragment of URLs, and
 * whatever looks like a credential. For the few texts in a log that are not ours, such as the message
 * of an unexpected error. Takes a few milliseconds at most, whatever the text. `secrets` is read for each: it may grow.
 */
export function createScrub(secrets: readonly string[]): Scrub {
  return (text) => {
    const known = secrets
      .filter((secret) => secret.length >= SHORTEST_SECRET)
      .flatMap((secret) => [secret, encodeURIComponent(secret)]);
    let clean = text.slice(0, LONGEST_TEXT);
    for (const secret of known) clean = clean.replaceAll(secret, '[secret]');
    if (text.length > LONGEST_TEXT) for (const secret of known) clean = withoutStart(clean, secret);
    return clean
      .replace(URL_CREDENTIALS, '$1')
      .replace(URL_QUERY, '$1')
      .replace(SCHEME, '$1 [secret]')
      .replace(NAMED, '$1$2$3$4$5[secret]');
  };
}

/** Removes a truncated secret from the end of a text. */
function withoutStart(text: string, secret: string): string {
  for (let length = secret.length - 1; length > 0; length -= 1) {
    if (text.endsWith(secret.slice(0, length))) return text.slice(0, -length);
  }
  return text;
}
