/**
 * Parses a URL; `null` if it is invalid. Not `URL.canParse`: in Node 20, optimised code rejects URLs with characters
 * such as `ü`.
 */
export function parseUrl(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}
