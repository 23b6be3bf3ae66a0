/** Reads a header of a request by its lower-case name, whether Node or the Fetch API holds it. */
export type HeaderReader = (name: string) => string | null | undefined;

/** Decides whether pages of an origin, as browsers write it, are allowed. */
type IsListed = (origin: string) => boolean;

/** Any of these makes a browser send a preflight, so that CORS has allowed the request. */
export const PREFLIGHT_HEADERS: readonly string[] = [
  'x-graphql-yoga-csrf',
  'apollo-require-preflight',
];

/**
 * Whether a browser says that a page of another origin, which is not listed, sent a request. Browsers send
 * `Sec-Fetch-Site` over HTTPS and to this machine. Over plain HTTP only `Origin` remains, which counts as
 * foreign unless its host is the one that the request was sent to.
 */
export function isForeignPage(header: HeaderReader, isListed: IsListed): boolean {
  const origin = header('origin');
  if (origin && isListed(origin)) return false;
  const site = header('sec-fetch-site');
  if (site) return site !== 'same-origin' && site !== 'none';
  return Boolean(origin) && !isOwn(origin ?? '', header);
}

/**
 * Whether a GET can be from a page of another origin although it has neither `Sec-Fetch-Site` nor `Origin`: over
 * plain HTTP a browser sends neither for an image, a script or a frame. Every browser identifies as `Mozilla/`,
 * which a page cannot change without a preflight. Such a request must show in another way that its page is
 * allowed: by `Referer`, or by a header that a page of another origin can send only after a preflight.
 */
export function isUnmarkedByBrowser(header: HeaderReader, isListed: IsListed): boolean {
  if (!header('user-agent')?.startsWith('Mozilla/')) return false;
  if (header('origin') || header('sec-fetch-site')) return false;
  if (/^Bearer /i.test(header('authorization') ?? '')) return false;
  if (PREFLIGHT_HEADERS.some((name) => header(name) != null)) return false;
  const origin = originOf(header('referer') ?? '');
  return origin === null || (!isListed(origin) && !isOwn(origin, header));
}

/** The origin of a URL; `null` if it is invalid. */
const originOf = keepLast((address: string): string | null =>
  URL.canParse(address) ? new URL(address).origin : null,
);

/** Names of proxies, one behind the other, that are looked at: a request can have thousands. */
const MOST_HOSTS = 8;

/**
 * Whether an origin is that of the host that a request was sent to. The scheme is not compared: behind a proxy
 * that terminates TLS it differs. A page cannot send `X-Forwarded-Host` without a preflight, so the host name that
 * a proxy received counts too.
 */
function isOwn(origin: string, header: HeaderReader): boolean {
  return isOneOf(origin, header('host') ?? '', header('x-forwarded-host') ?? '');
}

const isOneOf = keepLast((origin: string, host: string, forwardedHosts: string): boolean => {
  const own = hostOf(origin);
  if (own === null) return false;
  const { protocol } = new URL(origin);
  return [host, ...forwardedHosts.split(',', MOST_HOSTS)].some(
    (named) => hostOf(`${protocol}//${named.trim()}`) === own,
  );
});

/** Host and port of an origin as the URL standard writes them, without the scheme's own port. */
function hostOf(origin: string): string | null {
  if (!/^https?:\/\/[^/?#@\\\s]+$/i.test(origin) || !URL.canParse(origin)) return null;
  return new URL(origin).host;
}

/** Caches a function's results for its latest arguments: parsing URLs is slow. */
function keepLast<A extends readonly string[], T>(of: (...texts: A) => T): (...texts: A) => T {
  let last: { readonly texts: A; readonly answer: T } | undefined;
  return (...texts) => {
    if (!last || texts.some((text, at) => text !== last?.texts[at])) {
      last = { texts, answer: of(...texts) };
    }
    return last.answer;
  };
}
