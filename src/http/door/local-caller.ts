import type { IncomingMessage } from 'node:http';

/** What proxies add to a request that they pass on, as parts of lower-case names of headers. */
const PASSED_ON = new RegExp(
  [
    // RFC 7239, RFC 9110, RFC 8586.
    '^(?:forwarded|via|cdn-loop)$',
    // The older form, and those of Envoy, IIS, Traefik and others.
    '^x-(?:forwarded|original|envoy|arr|azure|proxy|ssl|varnish|haproxy|rewrite|ingress)(?:-|$)',
    '^x-(?:scheme|url-scheme|http-host-override)$|^front-end-https$|^ssl-client-',
    // Networks that deliver for others.
    '^(?:x-)?(?:cf|cloudfront|fastly|akamai|amz|amzn|appengine|fly|vercel|nf|incap|ali-cdn|tailscale)-',
    // The address of the client: X-Real-IP, True-Client-IP, X-Client-IP, X-Cluster-Client-IP, CF-Connecting-IP, ...
    '(?:^|-|proxy)(?:real|client|connecting|remote|originating|source|peer|user)-?(?:ip|addr|address|host)$',
  ].join('|'),
);

/**
 * Whether a request comes from this machine itself. A request that a proxy on it has forwarded does not, nor one
 * by DNS rebinding, which names another host. nginx as a proxy uses HTTP/1.0 by default, without a header that
 * identifies it; current programs do not.
 */
export function isLocal({ headers, httpVersion, socket }: IncomingMessage): boolean {
  const loopback = /^(::ffff:)?127\.|^::1$/.test(socket.remoteAddress ?? '');
  const named = /^(localhost|127\.[\d.]+|\[::1\])(:\d+)?$/i.test(headers.host ?? '');
  if (!loopback || !named || httpVersion === '1.0') return false;
  return !Object.keys(headers).some((name) => PASSED_ON.test(name));
}
