import { parseUrl } from '../upstream/decode/url.ts';

/**
 * The last part of a URL, as it was set; `null` without a URL. Of a slug that the upstream has changed, it is what
 * became of it.
 */
export function slugOf(url: string | null): string | null {
  const parsed = url === null ? null : parseUrl(url);
  const last = parsed?.pathname.split('/').findLast(Boolean);
  if (last === undefined) return null;
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}
